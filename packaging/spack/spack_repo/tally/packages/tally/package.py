# SPDX-License-Identifier: Apache-2.0
"""Tally for Spack 1.0 or newer. From a clone of the project:

    spack repo add packaging/spack/spack_repo/tally
    spack install tally            # or: tally +cuda cuda_arch=80

The source is the clone itself, at its newest commit.
"""

from pathlib import Path

from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class Tally(CMakePackage, CudaPackage):
    """Exact, MPI-native distributed evaluation of trained PyTorch models."""

    git = Path(__file__).resolve().parents[6].as_uri()

    license("Apache-2.0")

    version("main", branch="main")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("mpi")
    depends_on("hdf5~mpi+threadsafe")
    depends_on("openssl~shared")
    depends_on("boost@1.74:+program_options")
    depends_on("isa-l")
    depends_on("libunistring")
    depends_on("spdlog@1.10:")
    depends_on("fmt")
    depends_on("nlohmann-json@3.11:")
    depends_on("py-torch@2.10:2.15")
    depends_on("py-torch+cuda", when="+cuda")
    depends_on("googletest+gmock", type="test")

    # What the tools of data_tools import.
    depends_on("python@3.10:", type="run")
    depends_on("py-h5py", type="run")
    depends_on("py-numpy", type="run")

    conflicts("cuda_arch=none", when="+cuda", msg="name the GPUs: cuda_arch=80")
    conflicts("%gcc@:11")

    def cmake_args(self):
        torch = Path(self.spec["py-torch"].package.cmake_prefix_paths[0]).parent.parent
        args = [
            self.define("LibTorch_ROOT", str(torch)),
            self.define("MPI_CXX_COMPILER", self.spec["mpi"].mpicxx),
            self.define("BUILD_TESTING", self.run_tests),
            self.define_from_variant("TALLY_CUDA", "cuda"),
        ]
        if self.spec.satisfies("+cuda"):
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES", self.spec.variants["cuda_arch"].value))
        return args
