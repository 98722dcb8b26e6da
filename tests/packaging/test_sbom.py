# SPDX-License-Identifier: Apache-2.0
"""The bill of materials names what a built program is linked with and what the tools need, in valid SPDX."""

import importlib.metadata
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def write_bill(folder: Path) -> Path:
    command = [sys.executable, ROOT / "packaging/sbom.py", "--build", os.environ["TALLY_TEST_BUILD"], "--output", folder]
    run = subprocess.run(command, env=os.environ | {"SOURCE_DATE_EPOCH": "1700000000"}, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    (file,) = folder.glob("tally-*.spdx.json")
    assert run.stdout == f"wrote {file}\n"
    return file


@pytest.fixture(scope="module")
def bill(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bill(tmp_path_factory.mktemp("bill"))


@pytest.fixture(scope="module")
def packages(bill: Path) -> dict[str, dict]:
    return {package["name"]: package for package in json.loads(bill.read_text())["packages"]}


def test_it_is_valid(bill: Path) -> None:
    pytest.importorskip("spdx_tools", reason="spdx-tools (tests/requirements.txt) is not installed")
    from spdx_tools.spdx.parser.parse_anything import parse_file
    from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document

    assert validate_full_spdx_document(parse_file(str(bill))) == []


def test_all_references_lead_to_packages(bill: Path) -> None:
    document = json.loads(bill.read_text())
    ids = [package["SPDXID"] for package in document["packages"]]
    assert len(ids) == len(set(ids))
    links = document["relationships"]
    assert {link["spdxElementId"] for link in links} | {link["relatedSpdxElement"] for link in links} == {
        "SPDXRef-DOCUMENT", *ids,
    }  # fmt: skip
    defined = {each["licenseId"] for each in document["hasExtractedLicensingInfos"]}
    named = set(re.findall(r"LicenseRef-[\w.-]+", " ".join(package["licenseDeclared"] for package in document["packages"])))
    assert named == defined


def test_what_the_program_is_linked_with_is_there(packages: dict[str, dict]) -> None:
    build = Path(os.environ["TALLY_TEST_BUILD"])
    files = [path for path in (build / "tally", build / "libtally_torch.so") if path.exists()]
    needed = subprocess.run(["objdump", "-p", *files], capture_output=True, text=True, check=True).stdout
    assert "libtorch_cpu" in needed
    for soname in re.findall(r"NEEDED\s+(\S+)\.so", needed):
        known = {"libc10": "torch", "libtorch_cpu": "torch", "libm": "glibc", "libc": "glibc", "libgcc_s": "libgcc",
                 "ld-linux-x86-64": "glibc", "libisal": "isa-l", "libcudart": "cuda-runtime", "libmpi": "openmpi",
                 "libhdf5_serial": "hdf5", "libstdc++": "libstdc++"}  # fmt: skip
        assert known.get(soname, soname.removeprefix("lib")) in packages
    assert packages["torch"]["versionInfo"] == importlib.metadata.version("torch")


def test_licences_are_those_of_the_notices(packages: dict[str, dict]) -> None:
    rows = [line.split("|")[1:3] for line in (ROOT / "docs/notices.md").read_text().splitlines() if line.startswith("| [")]
    names = {"{fmt}": "fmt", "JSON for Modern C++": "nlohmann-json"}
    noticed = {}
    for name, licence in rows:
        name = re.search(r"\[(.*?)\]", name)[1]
        noticed[names.get(name, name.lower())] = licence.split(",")[0].strip().replace(" or ", " OR ")
    assert len(noticed) == 9
    # Without tcmalloc, or ONNX models, a program is built, too.
    assert noticed.keys() - {"gperftools", "protozero"} <= packages.keys()
    assert {name: packages[name]["licenseDeclared"] for name in noticed if name in packages} == {
        name: licence for name, licence in noticed.items() if name in packages
    }


def test_packages_of_the_lock_are_there_in_their_versions(packages: dict[str, dict]) -> None:
    for name in ("h5py", "numpy", "transformers", "typing-extensions"):
        assert packages[name]["versionInfo"] == importlib.metadata.version(name)
        assert packages[name]["externalRefs"][0]["referenceLocator"].startswith(f"pkg:pypi/{name}@")


def test_it_is_the_same_each_time(bill: Path, tmp_path: Path) -> None:
    assert write_bill(tmp_path).read_bytes() == bill.read_bytes()
    assert os.environ["TALLY_TEST_BUILD"] not in bill.read_text()


def test_a_folder_without_a_program_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, ROOT / "packaging/sbom.py", "--build", tmp_path, "--output", tmp_path]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 2
    assert "holds no built tally" in run.stderr
