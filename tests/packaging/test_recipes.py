# SPDX-License-Identifier: Apache-2.0
"""The recipes for Spack and Apptainer agree with the project. Neither tool is needed: Spack's file runs with a stand-in
that records what it declares, and of Apptainer's file the sections are read."""

import re
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RECIPE = ROOT / "packaging" / "spack" / "spack_repo" / "tally" / "packages" / "tally" / "package.py"
DEFINITION = ROOT / "packaging" / "apptainer" / "tally.def"
SETUP = ROOT / "jobs" / "setup.sh"


class StandIn:
    """CMakePackage and CudaPackage as far as the recipe calls them; `with_cuda` is the variant."""

    run_tests = True
    with_cuda = False

    def define(self, name: str, value: object) -> tuple[str, object]:
        return name, value

    def define_from_variant(self, name: str, variant: str) -> tuple[str, object]:
        assert variant == "cuda"
        return name, self.with_cuda

    @property
    def spec(self) -> "Spec":
        return Spec(self.with_cuda)


class Spec:
    """A concrete spec: its dependencies and variants."""

    def __init__(self, with_cuda: bool) -> None:
        self.with_cuda = with_cuda
        self.variants = {"cuda_arch": types.SimpleNamespace(value=("80", "90"))}

    def satisfies(self, text: str) -> bool:
        assert text == "+cuda"
        return self.with_cuda

    def __getitem__(self, name: str) -> types.SimpleNamespace:
        torch = types.SimpleNamespace(cmake_prefix_paths=["/view/torch/share/cmake"])
        known = {
            "py-torch": types.SimpleNamespace(package=torch),
            "mpi": types.SimpleNamespace(mpicxx="/mpi/bin/mpicxx"),
        }
        return known[name]


@pytest.fixture
def recipe() -> Iterator[tuple[type, list[str]]]:
    """The recipe's class, and the names of what it depends on."""
    depends: list[str] = []
    directives = types.ModuleType("spack.package")
    directives.depends_on = lambda spec, **_: depends.append(re.match(r"[\w-]+", spec)[0])
    directives.license = directives.version = directives.conflicts = lambda *_, **__: None
    bases = types.ModuleType("bases")
    bases.CMakePackage, bases.CudaPackage = type("CMakePackage", (StandIn,), {}), type("CudaPackage", (), {})
    modules = {name: types.ModuleType(name) for name in ("spack", "spack_repo", "spack_repo.builtin",
                                                         "spack_repo.builtin.build_systems")}  # fmt: skip
    modules |= {"spack.package": directives}
    modules |= {f"spack_repo.builtin.build_systems.{name}": bases for name in ("cmake", "cuda")}
    with pytest.MonkeyPatch.context() as patch:
        for name, module in modules.items():
            patch.setitem(sys.modules, name, module)
        names = {"__file__": str(RECIPE), "__name__": "recipe"}
        exec(compile(RECIPE.read_text(), RECIPE, "exec"), names)
        yield names["Tally"], depends


@pytest.mark.parametrize("with_cuda", [False, True])
def test_spack_passes_options_that_the_build_has(with_cuda: bool, recipe: tuple[type, list[str]]) -> None:
    package = recipe[0]()
    package.with_cuda = with_cuda
    passed = dict(package.cmake_args())
    assert passed["LibTorch_ROOT"] == "/view/torch"
    assert ("CMAKE_CUDA_ARCHITECTURES" in passed) == with_cuda
    known = "".join(path.read_text() for path in (ROOT / "cmake").glob("*.cmake"))
    if not (ROOT / "cmake" / "TallyCuda.cmake").exists():
        del passed["TALLY_CUDA"]  # this build is for CPUs; CMake passes over what it does not know
    for name in passed:
        assert name.startswith(("CMAKE_", "MPI_", "BUILD_")) or re.search(rf"\b{name}\b", known), name


def test_spack_depends_on_what_setup_installs(recipe: tuple[type, list[str]]) -> None:
    table = (ROOT / "jobs" / "packages-debian.txt").read_text().splitlines()
    rows = [line.split() for line in table if line and not line.startswith("#")]
    wanted = {re.match(r"[\w-]+", row[4])[0] for row in rows if row[1] == "build" and row[4] != "-"}
    # Spack brings the compiler and the generator itself, and any MPI will do.
    provided = {"gcc", "ninja", "openmpi"}
    assert wanted - provided <= set(recipe[1])
    assert {"mpi", "py-torch"} <= set(recipe[1])


def test_spack_takes_its_source_from_this_clone(recipe: tuple[type, list[str]]) -> None:
    assert recipe[0].git == ROOT.as_uri()


def sections() -> dict[str, str]:
    header, *parts = re.split(r"^%(\w+)\n", DEFINITION.read_text(), flags=re.M)
    facts = [line for line in header.split("\n") if line and not line.startswith("#")]
    assert dict(line.split(": ") for line in facts) == {"Bootstrap": "docker", "From": "debian:12"}
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_apptainer_copies_all_that_the_build_needs() -> None:
    copied = dict(line.split() for line in sections()["files"].splitlines() if line)
    assert set(copied.values()) == {"/src/tally/"}
    tracked = {path.name for path in ROOT.iterdir() if not path.name.startswith((".", "build"))}
    assert all((ROOT / name).exists() for name in copied)
    assert tracked & {"CMakeLists.txt", "cmake", "include", "src", "jobs", "tests", "packaging"} <= set(copied)


@pytest.mark.parametrize("section", ["post", "environment", "runscript", "test"])
def test_apptainer_sections_are_shell(section: str) -> None:
    checked = subprocess.run(["sh", "-n"], input=sections()[section], text=True, capture_output=True)
    assert checked.returncode == 0, checked.stderr


def test_apptainer_calls_setup_as_it_is() -> None:
    (call,) = re.findall(r"^\s*jobs/setup\.sh(.*)$", sections()["post"], flags=re.M)
    assert all(option in SETUP.read_text() for option in call.split())
    assert set(sections()) == {"help", "labels", "files", "post", "environment", "runscript", "test"}
