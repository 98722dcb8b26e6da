# SPDX-License-Identifier: Apache-2.0
# Whether this build reads ONNX models, which OpenVINO runs: its Python package has headers and libraries, and is looked
# for beside LibTorch (jobs/setup.sh --with-openvino puts it there) or where OpenVINO_DIR says.
#
# Sets TALLY_HAS_OPENVINO; target openvino::runtime.
set(TALLY_OPENVINO AUTO CACHE STRING "Read ONNX models: AUTO (where OpenVINO and protozero are found), ON, OFF")
set_property(CACHE TALLY_OPENVINO PROPERTY STRINGS AUTO ON OFF)
set(TALLY_HAS_OPENVINO OFF)
if(NOT TALLY_OPENVINO MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "TALLY_OPENVINO is '${TALLY_OPENVINO}', expected AUTO, ON or OFF")
endif()
get_filename_component(_wheels "${LibTorch_INCLUDE_DIR}/../.." ABSOLUTE)
# For jobs/setup.sh, which configures anew when it comes.
set(_beside none)
if(EXISTS ${_wheels}/openvino/cmake/OpenVINOConfig.cmake)
  set(_beside there)
endif()
set(TALLY_OPENVINO_BESIDE ${_beside} CACHE INTERNAL "")
find_path(Protozero_INCLUDE_DIR protozero/pbf_reader.hpp)
mark_as_advanced(Protozero_INCLUDE_DIR)
# A sanitizer would need OpenVINO's libraries to be compiled with it, too.
if(TALLY_OPENVINO STREQUAL OFF OR TALLY_SANITIZE OR TALLY_FUZZ OR TALLY_TORCH_LATER)
  return()
endif()

# Its own version file takes no range.
find_package(OpenVINO QUIET COMPONENTS Runtime HINTS ${_wheels}/openvino/cmake)
if(OpenVINO_FOUND AND OpenVINO_VERSION VERSION_GREATER_EQUAL 2025 AND Protozero_INCLUDE_DIR)
  set(TALLY_HAS_OPENVINO ON)
  message(STATUS "ONNX: yes (OpenVINO ${OpenVINO_VERSION})")
elseif(TALLY_OPENVINO STREQUAL ON)
  message(FATAL_ERROR "TALLY_OPENVINO=ON, but OpenVINO of 2025 or later (Python package openvino) or protozero is missing")
else()
  message(STATUS "ONNX: no, because OpenVINO or protozero is missing (jobs/setup.sh --with-openvino brings them)")
endif()
