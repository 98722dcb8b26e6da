# SPDX-License-Identifier: Apache-2.0
"""Networks of many families, with random weights, and whether training mode shows in what they return."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tally_data.encoding import IMAGENET
from tally_data.writer import DataSetWriter
from torch import nn

CLASSES = 5
# Family and network: the smallest of most of timm's families, and others that differ in what they are made of.
TIMM = """
byoanet:eca_halonext26ts byobnet:test_byobnet byobnet:mobileone_s0 byobnet:repvgg_a0 byobnet:resnet32ts
cait:cait_xxs24_224 coat:coat_tiny coat:coat_lite_tiny convit:convit_tiny convmixer:convmixer_768_32 convnext:test_convnext
convnext:convnext_atto convnext:convnextv2_atto cpubone:cpubone_nano crossvit:crossvit_tiny_240
cspnet:cs3darknet_s cspnext:cspnext_tiny davit:davit_tiny deit:deit_tiny_patch16_224 deit:deit_tiny_distilled_patch16_224
densenet:densenet121 densenet:densenetblur121d dla:dla46x_c dla:dla46_c dpn:dpn48b edgenext:edgenext_xx_small
efficientformer:efficientformer_l1 efficientformer_v2:efficientformerv2_s0 efficientnet:mnasnet_small
efficientnet:efficientnet_lite0 efficientnet:mobilenetv2_035 efficientnet:tf_efficientnet_b0 efficientnet:mixnet_s
efficientvim:efficientvim_m1 efficientvit_mit:efficientvit_b0 efficientvit_msra:efficientvit_m0
eva:vit_tiny_patch16_dinov3_qkvb eva:eva02_tiny_patch14_224 fasternet:fasternet_t0 fastvit:fastvit_t8
focalnet:focalnet_tiny_srf gcvit:gcvit_xxtiny ghostnet:ghostnet_050 ghostnet:ghostnetv3_050 hardcorenas:hardcorenas_b
hgnet:hgnetv2_b0 hiera:hiera_tiny_224 hrnet:hrnet_w18_small iformer:iformer_t inception_next:inception_next_atto
inception_v3:inception_v3 lcnetv2:lcnetv2_small levit:levit_128s lowformer:lowformer_b0 mambaout:mambaout_femto
maxxvit:test_coatnet maxxvit:test_maxvit metaformer:caformer_s18 metaformer:poolformer_s12 mlp_mixer:gmlp_ti16_224
mlp_mixer:gmixer_12_224 mlp_mixer:resmlp_12_224 mobilenetv3:mobilenetv3_small_050 mobilenetv3:lcnet_050
mobilevit:mobilevit_xxs mobilevit:mobilevitv2_050 mvitv2:mvitv2_tiny nest:nest_tiny nextvit:nextvit_small
nfnet:test_nfnet nfnet:nf_regnet_b0 pit:pit_ti_224 pvt_v2:pvt_v2_b0 rdnet:rdnet_tiny regnet:regnetx_002
regnet:regnety_002 repghost:repghostnet_050 repvit:repvit_m1 res2net:res2next50 resnest:resnest14d resnet:resnet10t
resnet:resnet18 resnet:seresnext26d_32x4d resnetv2:resnetv2_18 resnetv2:resnetv2_50x1_bit rexnet:rexnet_100
selecsls:selecsls42 senet:legacy_seresnet18 sequencer:sequencer2d_s shvit:shvit_s1 sknet:skresnet18 starnet:starnet_s050
swiftformer:swiftformer_xs swin_transformer:swin_tiny_patch4_window7_224
swin_transformer_v2:swinv2_tiny_window8_256 swin_transformer_v2_cr:swinv2_cr_tiny_224 tiny_vit:tiny_vit_5m_224
tnt:tnt_s_legacy_patch16_224 tresnet:tresnet_m twins:twins_svt_small visformer:visformer_tiny vision_transformer:test_vit
vision_transformer:vit_tiny_patch16_224 vision_transformer_hybrid:vit_tiny_r_s16_p8_224
vision_transformer_relpos:test_vit_relpos vitamin:vitamin_small_224 volo:volo_d1_224 vovnet:ese_vovnet19b_slim_dw
xception_aligned:xception41p xcit:xcit_nano_12_p8_224
""".split()
TORCHVISION = """
alexnet convnext_tiny densenet121 efficientnet_b0 efficientnet_v2_s googlenet inception_v3 mnasnet0_5
mobilenet_v2 mobilenet_v3_small regnet_x_400mf resnet18 resnext50_32x4d shufflenet_v2_x0_5 squeezenet1_1 swin_t swin_v2_t
vgg11_bn vit_b_16
""".split()
_TEXT = {
    "vocab_size": 40, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64,
    "max_position_embeddings": 160, "type_vocab_size": 1,
}  # fmt: skip
_GPT2 = {"vocab_size": 40, "n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 160, "pad_token_id": 0}
_DISTILBERT = {"vocab_size": 40, "dim": 32, "hidden_dim": 64, "n_layers": 2, "n_heads": 2, "max_position_embeddings": 160}
TRANSFORMERS: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": ("BertForSequenceClassification", _TEXT),
    "roberta": ("RobertaForSequenceClassification", _TEXT | {"pad_token_id": 1}),
    "distilbert": ("DistilBertForSequenceClassification", _DISTILBERT),
    "electra": ("ElectraForSequenceClassification", _TEXT | {"embedding_size": 16}),
    "albert": ("AlbertForSequenceClassification", _TEXT | {"embedding_size": 16}),
    "camembert": ("CamembertForSequenceClassification", _TEXT | {"pad_token_id": 1}),
    "deberta-v2": ("DebertaV2ForSequenceClassification", _TEXT),
    "mpnet": ("MPNetForSequenceClassification", _TEXT | {"pad_token_id": 1}),
    "gpt2": ("GPT2ForSequenceClassification", _GPT2),
}


@dataclass(frozen=True)
class Subject:
    """name: timm:resnet18; model: the exporter's --model; module: the same; shape: of an image, or None."""

    name: str
    model: str
    module: nn.Module
    options: list[str]
    shape: tuple[int, int, int] | None

    def example(self) -> tuple[torch.Tensor, ...]:
        torch.manual_seed(1)
        if self.shape is not None:
            return (torch.randn(4, *self.shape),)
        return torch.randint(2, 40, (4, 12)), torch.ones(4, 12, dtype=torch.int64)


def _strewn(module: nn.Module) -> nn.Module:
    """Weights that are all zero would hide what lies before them."""
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for value in module.parameters():
            if not value.any() or value.abs().max() < 1e-3:  # the scales of layers, too
                value.copy_(torch.randn(value.shape, generator=generator) / 10)
    return module


def _takes(module: nn.Module, side: int) -> bool:
    try:
        with torch.no_grad():
            return module.eval()(torch.zeros(2, 3, side, side)).shape == (2, CLASSES)
    except Exception:
        return False


def _image_subject(name: str, module: nn.Module, side: int) -> Subject:
    side = next(one for one in (64, 128, side) if one == side or _takes(module, one))
    shape = (3, side, side)
    options = ["--num-classes", str(CLASSES), "--input-shape", ",".join(map(str, shape))]
    return Subject(name, name, _strewn(module), options, shape)


def timm_subject(name: str) -> Subject:
    import timm

    def make() -> nn.Module:
        torch.manual_seed(0)
        made = {"pretrained": False, "exportable": True, "num_classes": CLASSES}
        for more in ({"drop_rate": 0.2, "drop_path_rate": 0.2}, {"drop_rate": 0.2}, {}):
            try:
                return timm.create_model(name, **made, **more)
            except TypeError:
                continue
        raise AssertionError(name)

    return _image_subject(f"timm:{name}", make(), timm.get_pretrained_cfg(name).input_size[-1])


def torchvision_subject(name: str) -> Subject:
    import torchvision

    more = {"init_weights": False, "aux_logits": False} if name in ("googlenet", "inception_v3") else {}
    torch.manual_seed(0)
    module = torchvision.models.get_model(name, weights=None, num_classes=CLASSES, **more)
    side = torchvision.models.get_model_weights(name).DEFAULT.transforms().crop_size[0]
    return _image_subject(f"torchvision:{name}", module, side)


def transformers_subject(kind: str, folder: Path) -> Subject:
    import transformers

    class_name, sizes = TRANSFORMERS[kind]
    config = folder / kind / "config.json"
    config.parent.mkdir(parents=True, exist_ok=True)
    labels = {str(number): f"L{number}" for number in range(CLASSES)}
    config.write_text(json.dumps({"model_type": kind, "architectures": [class_name], "id2label": labels} | sizes))

    class Scores(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            found = getattr(transformers, class_name)
            self.model = found(found.config_class.from_json_file(config))
            self.model.config.use_cache = False

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
            return self.model(input_ids, attention_mask=attention_mask).logits

    return Subject(f"hf:{kind}", f"hf:{config}", _strewn(Scores()), [], None)


def names() -> list[str]:
    """timm's, torchvision's and transformers'."""
    of_timm = [f"timm:{family.partition(':')[2]}" for family in TIMM]
    return of_timm + [f"torchvision:{name}" for name in TORCHVISION] + [f"hf:{kind}" for kind in TRANSFORMERS]


def make_subject(name: str, folder: Path) -> Subject:
    library, _, name = name.partition(":")
    if library == "hf":
        return transformers_subject(name, folder)
    return {"timm": timm_subject, "torchvision": torchvision_subject}[library](name)


def shows_training_mode(subject: Subject) -> list[str]:
    """How what the module returns in training mode depends on the seed and on the rest of the batch."""
    module, example = subject.module.train(), subject.example()

    @torch.no_grad()
    def run(seed: int, batch: tuple[torch.Tensor, ...]) -> torch.Tensor:
        torch.manual_seed(seed)
        found = module(*batch)
        return (found[0] if isinstance(found, (tuple, list)) else found).double()

    first = run(1, example)
    # A few tries: a rare drop may miss all rows.
    is_random = not all(torch.equal(first, run(seed, example)) for seed in range(2, 6))
    others = tuple(torch.cat([tensor[:1], tensor[1:].flip(0).roll(1, -1)]) for tensor in example)
    largest = first.abs().max()
    of_batch = bool((run(1, others)[0] - first[0]).abs().max() > 1e-4 * largest)
    return ["random"] * is_random + ["batch"] * (of_batch and not is_random or _has_batch_statistics(module))


def _has_batch_statistics(module: nn.Module) -> bool:
    return any(isinstance(part, nn.modules.batchnorm._BatchNorm) and part.training for part in module.modules())


def trace(module: nn.Module, example: tuple[torch.Tensor, ...]) -> torch.jit.ScriptModule:
    """As by hand: torch.jit.trace and nothing else."""
    with torch.no_grad():
        return torch.jit.trace(module, example, check_trace=False, strict=False)


def write_data(path: Path, shape: tuple[int, int, int] | None, rows: int = 4) -> Path:
    rng = np.random.default_rng(0)
    with DataSetWriter(path, task="multiclass", num_classes=CLASSES, num_samples=rows, overwrite=True) as out:
        out.add_target("label", data=np.arange(rows) % CLASSES)
        if shape is not None:
            pixels = rng.integers(0, 256, (rows, *shape[1:], 3), np.uint8)
            out.add_image(height=shape[1], width=shape[2], encoding=IMAGENET, data=pixels)
            return path
        for name, values in (("input_ids", rng.integers(2, 40, (rows, 12))), ("attention_mask", np.ones((rows, 12)))):
            out.add_input(name, dtype="int32", shape=[12], data=values.astype(np.int32))
    return path


def export(subject: Subject, output: Path) -> list[str]:
    """By the exporter, in this process; the lines that it prints."""
    import contextlib
    import io
    from unittest import mock

    import export_model

    command = ["export_model", "--model", subject.model, "--output", str(output), "--overwrite", *subject.options]
    printed = io.StringIO()
    with mock.patch.object(sys, "argv", command), contextlib.redirect_stdout(printed):
        export_model.main()
    return printed.getvalue().splitlines()
