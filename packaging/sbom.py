#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tally-VERSION.spdx.json, the bill of materials of a built program, in SPDX 2.3 (https://spdx.github.io/spdx-spec).

Usage: packaging/sbom.py --build FOLDER --output FOLDER

It names what the program was linked with, as the build folder and the program itself tell, and the Python packages of
data_tools/requirements.lock. Versions are those of the Debian packages and wheels that the files belong to; of other files
they are not asserted. `cmake --install` and cpack run it. SOURCE_DATE_EPOCH, where set, is the date.
"""

import argparse
import json
import os
import re
import subprocess
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from email.parser import Parser
from pathlib import Path
from urllib.parse import quote

ROOT = Path(__file__).resolve().parents[1]
UNKNOWN = "NOASSERTION"
# What docs/notices.md says, and what is not in the program: (beginning of the file's name, component, licence).
KNOWN = (
    ("libfmt", "fmt", "MIT"),
    ("libspdlog", "spdlog", "MIT"),
    ("nlohmann_json", "nlohmann-json", "MIT"),
    ("libisal", "isa-l", "BSD-3-Clause"),
    ("libtcmalloc", "gperftools", "BSD-3-Clause"),
    ("libcrypto", "openssl", "Apache-2.0"),
    ("libunistring", "libunistring", "LGPL-3.0-or-later OR GPL-2.0-or-later"),
    ("libboost", "boost", "BSL-1.0"),
    ("multiprecision", "boost", "BSL-1.0"),
    ("pbf_reader", "protozero", "BSD-2-Clause"),
    ("libmpi", "openmpi", "BSD-3-Clause-Open-MPI"),
    ("libhdf5", "hdf5", "LicenseRef-HDF5"),
    ("nccl", "nccl", UNKNOWN),
    ("libtorch", "torch", "BSD-3-Clause"),
    ("libc10", "torch", "BSD-3-Clause"),
    ("libcudart", "cuda-runtime", "LicenseRef-NVIDIA-Proprietary"),
    ("libstdc++", "libstdc++", "GPL-3.0-or-later WITH GCC-exception-3.1"),
    ("libgcc", "libgcc", "GPL-3.0-or-later WITH GCC-exception-3.1"),
    ("libc.", "glibc", "LGPL-2.1-or-later"),
    ("libm.", "glibc", "LGPL-2.1-or-later"),
    ("ld-linux", "glibc", "LGPL-2.1-or-later"),
)
# What is linked and shows in no dynamic section: entries of CMake's cache, and a file below them.
INSIDE = {
    "Boost_PROGRAM_OPTIONS_LIBRARY_RELEASE": "",
    "Boost_INCLUDE_DIR": "boost/multiprecision/cpp_int.hpp",
    "OPENSSL_CRYPTO_LIBRARY": "",
    "Unistring_LIBRARY": "",
    "Tcmalloc_LIBRARY": "",
    "nlohmann_json_DIR": "nlohmann_jsonConfig.cmake",
    "Nccl_INCLUDE_DIR": "nccl.h",
    "Protozero_INCLUDE_DIR": "protozero/pbf_reader.hpp",
}
EXTRACTED = {
    "LicenseRef-HDF5": "The licence of HDF5, similar to BSD-3-Clause: https://www.hdfgroup.org/licenses",
    "LicenseRef-NVIDIA-Proprietary": "The end user licence agreement of NVIDIA's CUDA Toolkit: https://docs.nvidia.com/cuda/eula",
}


@dataclass(frozen=True)
class Component:
    name: str
    version: str = ""
    licence: str = UNKNOWN
    purl: str = ""
    relation: str = "DYNAMIC_LINK"

    @property
    def spdx_id(self) -> str:
        return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.]+", "-", f"{self.name}-{self.version}").strip("-")


def output_of(*command: object) -> str:
    """Empty where the program is not there or fails."""
    try:
        return subprocess.run([*map(str, command)], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""


def cache_of(build: Path) -> dict[str, str]:
    lines = (build / "CMakeCache.txt").read_text().splitlines()
    return {key: value for key, value in re.findall(r"^([\w+-]+):\w+=(.*)$", "\n".join(lines), flags=re.MULTILINE)}


def debian_owner(file: Path) -> tuple[str, str] | None:
    """(version, package URL) of the Debian package that has the file, by one of its names."""
    real = file.resolve()
    for path in (file, real, Path(str(real).removeprefix("/usr"))):
        owner = output_of("dpkg-query", "--search", path).split(": ")[0].split(",")[0]
        fields = output_of("dpkg-query", "--show", "--showformat", "${Package} ${Version} ${Architecture}", owner).split()
        if owner and len(fields) == 3:
            system = re.search(r"^ID=(\w+)", Path("/etc/os-release").read_text(), flags=re.MULTILINE)
            name, version, architecture = fields
            return version, f"pkg:deb/{system[1] if system else 'debian'}/{name}@{quote(version)}?arch={architecture}"
    return None


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def metadata(folder: Path) -> Message:
    """Of a Python package, whose folder *.dist-info this is."""
    return Parser().parsestr((folder / "METADATA").read_text(errors="replace"), headersonly=True)


def licence_of(facts: Message) -> str:
    of_nvidia = plain(facts["Name"]).startswith("nvidia-")
    return facts.get("License-Expression") or ("LicenseRef-NVIDIA-Proprietary" if of_nvidia else UNKNOWN)


def wheel_owner(file: Path) -> tuple[str, str, str] | None:
    """(version, package URL, licence) of the Python package that has the file."""
    packages = next((folder for folder in file.parents if folder.name in ("site-packages", "dist-packages")), None)
    if packages is None:
        return None
    line = f"{file.relative_to(packages)},"
    for record in packages.glob("*.dist-info/RECORD"):
        if any(entry.startswith(line) for entry in record.read_text(errors="replace").splitlines()):
            facts = metadata(record.parent)
            name, version = plain(facts["Name"]), facts["Version"]
            return version, f"pkg:pypi/{name}@{version}", licence_of(facts)
    return None


def component_of(file: Path, relation: str) -> Component:
    name, licence = next(
        ((name, licence) for start, name, licence in KNOWN if file.name.startswith(start) or start in file.parts),
        (file.name.split(".so")[0], UNKNOWN),
    )
    if wheel := wheel_owner(Path(os.path.normpath(file))):
        version, purl, of_wheel = wheel
        return Component(name, version, of_wheel if licence == UNKNOWN else licence, purl, relation)
    version, purl = debian_owner(file) or ("", "")
    return Component(name, version, licence, purl, relation)


def linked(build: Path) -> Iterator[Component]:
    for file in (build / "tally", build / "libtally_torch.so"):  # where it is built, it has what needs LibTorch
        if not file.exists():
            continue
        loaded = dict(re.findall(r"^\s*(\S+)(?: => (\S+))? \(0x", output_of("ldd", file), flags=re.MULTILINE))
        for needed in re.findall(r"NEEDED\s+(\S+)", output_of("objdump", "-p", file)):
            path = loaded.get(needed) or next((full for full in loaded if full.endswith(f"/{needed}")), needed)
            yield component_of(Path(path), "DYNAMIC_LINK")
    cache = cache_of(build)
    for key, below in INSIDE.items():
        file = Path(cache.get(key, "")) / below
        if key.startswith("Protozero") and not (build / "libtally_openvino_engine.so").exists():
            continue  # it is found where OpenVINO is not, too
        if file.is_file():
            relation = "OPTIONAL_DEPENDENCY_OF" if key == "Nccl_INCLUDE_DIR" else "STATIC_LINK"
            yield component_of(file, relation if ".so" not in file.name else "DYNAMIC_LINK")


def python_packages(build: Path) -> Iterator[Component]:
    """Those of the lock, with the licences that the environment of the build has of them."""
    packages = Path(cache_of(build).get("LibTorch_INCLUDE_DIR", "")).parents[1]  # of site-packages/torch/include
    installed = packages.glob("*.dist-info")
    licences = {plain(facts["Name"]): licence_of(facts) for facts in map(metadata, installed)}
    lock = (ROOT / "data_tools" / "requirements.lock").read_text()
    for name, version, marker in re.findall(r"^([a-z0-9-]+)==(\S+)(.*)\\$", lock, flags=re.MULTILINE):
        if "'win32'" not in marker and "'emscripten'" not in marker:
            yield Component(name, version, licences.get(name, UNKNOWN), f"pkg:pypi/{name}@{version}", "RUNTIME_DEPENDENCY_OF")


def package(component: Component) -> dict[str, object]:
    entry: dict[str, object] = {
        "SPDXID": component.spdx_id, "name": component.name, "downloadLocation": UNKNOWN, "filesAnalyzed": False,
        "licenseConcluded": component.licence, "licenseDeclared": component.licence, "copyrightText": UNKNOWN,
    }  # fmt: skip
    if component.version:
        entry["versionInfo"] = component.version
    if component.purl:
        reference = {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": component.purl}
        entry["externalRefs"] = [reference]
    return entry


def relationship(tally: Component, other: Component) -> dict[str, str]:
    """X_OF leads from the other to Tally, links lead from Tally to the other."""
    ends = (other, tally) if other.relation.endswith("_OF") else (tally, other)
    return {
        "spdxElementId": ends[0].spdx_id, "relationshipType": other.relation, "relatedSpdxElement": ends[1].spdx_id,
    }  # fmt: skip


def document(version: str, components: list[Component]) -> dict[str, object]:
    tally = Component("tally", version, "Apache-2.0")
    packages = [package(each) for each in (tally, *components)]
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH") or time.time())
    own_licences = sorted(set(re.findall(r"LicenseRef-[\w.-]+", " ".join(each.licence for each in components))))
    content = {
        "packages": packages,
        "relationships": [
            {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": tally.spdx_id},
            *(relationship(tally, each) for each in components),
        ],
        "hasExtractedLicensingInfos": [
            {"licenseId": licence, "extractedText": EXTRACTED.get(licence, "As the package itself says.")}
            for licence in own_licences
        ],
    }
    # The name of a document must be its own: it follows from what it says.
    own = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(content) + str(seconds))
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"tally-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/tally-{version}-{own}",
        "creationInfo": {
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)),
            "creators": ["Tool: packaging/sbom.py"],
        },
    } | content  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=Path, required=True, help="a build folder with a built tally")
    parser.add_argument("--output", type=Path, required=True, help="the folder to write to")
    arguments = parser.parse_args()
    if not (arguments.build / "tally").is_file():
        parser.error(f"'{arguments.build}' holds no built tally")
    version = cache_of(arguments.build)["CMAKE_PROJECT_VERSION"]
    found = {each.spdx_id: each for each in python_packages(arguments.build)}
    # What is linked stands in its place, and not beside it.
    for each in linked(arguments.build):
        found = {key: other for key, other in found.items() if not each.purl or other.purl != each.purl or key == each.spdx_id}
        found[each.spdx_id] = each
    file = arguments.output / f"tally-{version}.spdx.json"
    text = json.dumps(document(version, sorted(found.values(), key=lambda each: each.spdx_id)), indent=1)
    file.write_text(text + "\n")
    print(f"wrote {file}")


if __name__ == "__main__":
    main()
