# SPDX-License-Identifier: Apache-2.0
"""What the metrics of a run should be, by torchmetrics, torch and scikit-learn, over the logits that it saved."""

import sklearn.metrics
import torch
from torchmetrics.functional import classification as tm

NAMES = (
    "standard,accuracy_top2,accuracy_top3,f0.5_macro,f2_weighted,specificity_micro,specificity_weighted,jaccard_micro,"
    "jaccard_weighted,cohen_kappa_linear,cohen_kappa_quadratic,hinge,calibration_error_l2,calibration_error_max,"
    "confusion_by_true,confusion_by_predicted,confusion_by_all"
)


def by_torchmetrics(
    logits: torch.Tensor, labels: torch.Tensor, bins: int = 15, are_log_probabilities: bool = False
) -> dict[str, float]:
    """NAMES of these scored samples, but for the loss and what torchmetrics lacks: those are torch's and sklearn's."""
    given, classes = (logits, labels), logits.shape[1]
    # A softmax in float32 makes 1 of what is 4e-8 below: another bin. See docs/metrics.md.
    log_probability = logits.double() if are_log_probabilities else logits.double().log_softmax(1)
    probability = log_probability.exp()
    rounded = probability.float()
    averages = ("macro", "micro", "weighted")
    functions = {
        "specificity": tm.multiclass_specificity, "jaccard": tm.multiclass_jaccard_index,
        "precision": tm.multiclass_precision, "recall": tm.multiclass_recall, "f1": tm.multiclass_f1_score,
    }  # fmt: skip
    made = {f"{name}_{one}": f(*given, classes, average=one) for name, f in functions.items() for one in averages}
    for k in (1, 2, 3, 5):
        name = "accuracy" if k == 1 else f"accuracy_top{k}"
        made[name] = tm.multiclass_accuracy(*given, classes, average="micro", top_k=k)
    for name, norm in (("ece", "l1"), ("calibration_error_l2", "l2"), ("calibration_error_max", "max")):
        made[name] = tm.multiclass_calibration_error(rounded, labels, classes, n_bins=bins, norm=norm)
    made |= {
        "f0.5_macro": tm.multiclass_fbeta_score(*given, 0.5, classes, average="macro"),
        "f2_weighted": tm.multiclass_fbeta_score(*given, 2.0, classes, average="weighted"),
        "cohen_kappa": tm.multiclass_cohen_kappa(*given, classes),
        "cohen_kappa_linear": tm.multiclass_cohen_kappa(*given, classes, weights="linear"),
        "cohen_kappa_quadratic": tm.multiclass_cohen_kappa(*given, classes, weights="quadratic"),
        "mcc": tm.multiclass_matthews_corrcoef(*given, classes),
        "hinge": tm.multiclass_hinge_loss(rounded, labels, classes),
    }
    return {name: value.item() for name, value in made.items()} | {
        "loss": torch.nn.functional.nll_loss(log_probability, labels).item(),
        "brier": ((probability - torch.eye(classes)[labels]) ** 2).sum(1).mean().item(),
        "balanced_accuracy": sklearn.metrics.balanced_accuracy_score(labels, logits.argmax(1)),
    }
