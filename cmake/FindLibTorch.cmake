# SPDX-License-Identifier: Apache-2.0
# LibTorch as it lies in PyTorch's Python wheel (or a LibTorch archive): target LibTorch::LibTorch.
#
# Hint: LibTorch_ROOT (variable or environment) = …/site-packages/torch; otherwise TALLY_PYTHON, then
# python3, is asked for the path of its torch (torch itself is not imported). PyTorch's own
# TorchConfig.cmake is not used: it demands a CUDA toolkit whenever the wheel was built with CUDA.
# Only the CPU half is linked: loading the CUDA half costs every rank 0.1 s and 120 MB. Where there is one,
# LibTorch::cuda is both, for libraries that are loaded on GPUs only.
set(_hint ${LibTorch_ROOT} $ENV{LibTorch_ROOT})
if(NOT _hint)
  find_program(_python NAMES python3 HINTS ENV VIRTUAL_ENV PATH_SUFFIXES bin NO_CACHE)
  if(DEFINED ENV{TALLY_PYTHON})
    set(_python $ENV{TALLY_PYTHON})
  endif()
  execute_process(
    COMMAND ${_python} -c "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')"
    OUTPUT_VARIABLE _hint OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()

find_path(LibTorch_INCLUDE_DIR torch/headeronly/version.h
          HINTS ${_hint} PATH_SUFFIXES include NO_DEFAULT_PATH)
get_filename_component(_root "${LibTorch_INCLUDE_DIR}" DIRECTORY)
foreach(_lib IN ITEMS torch_cpu c10 torch_cuda c10_cuda)
  find_library(LibTorch_${_lib}_LIBRARY ${_lib} HINTS ${_root}/lib NO_DEFAULT_PATH)
endforeach()
if(LibTorch_INCLUDE_DIR)
  file(STRINGS ${LibTorch_INCLUDE_DIR}/torch/headeronly/version.h _version
       REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) [0-9]+")
  string(REGEX REPLACE ".*MAJOR ([0-9]+).*MINOR ([0-9]+).*PATCH ([0-9]+).*" "\\1.\\2.\\3"
         LibTorch_VERSION "${_version}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch
  REQUIRED_VARS LibTorch_torch_cpu_LIBRARY LibTorch_c10_LIBRARY
                LibTorch_INCLUDE_DIR
  VERSION_VAR LibTorch_VERSION
  HANDLE_VERSION_RANGE
  REASON_FAILURE_MESSAGE "Set LibTorch_ROOT to …/site-packages/torch, or run jobs/setup.sh.")

if(LibTorch_FOUND AND NOT TARGET LibTorch::LibTorch)
  foreach(_lib IN ITEMS c10 torch_cpu)
    add_library(LibTorch::${_lib} SHARED IMPORTED)
    set_target_properties(LibTorch::${_lib} PROPERTIES
      IMPORTED_LOCATION ${LibTorch_${_lib}_LIBRARY})
  endforeach()
  add_library(LibTorch::LibTorch INTERFACE IMPORTED)
  target_include_directories(LibTorch::LibTorch SYSTEM INTERFACE
    ${LibTorch_INCLUDE_DIR} ${LibTorch_INCLUDE_DIR}/torch/csrc/api/include)
  target_compile_definitions(LibTorch::LibTorch INTERFACE _GLIBCXX_USE_CXX11_ABI=1)
  target_link_libraries(LibTorch::LibTorch INTERFACE LibTorch::torch_cpu LibTorch::c10)
  target_link_options(LibTorch::LibTorch INTERFACE "LINKER:--allow-shlib-undefined")
  if(LibTorch_torch_cuda_LIBRARY AND LibTorch_c10_cuda_LIBRARY)
    add_library(LibTorch::cuda INTERFACE IMPORTED)
    target_link_libraries(LibTorch::cuda INTERFACE
      LibTorch::LibTorch ${LibTorch_torch_cuda_LIBRARY} ${LibTorch_c10_cuda_LIBRARY})
  endif()
endif()
mark_as_advanced(LibTorch_INCLUDE_DIR LibTorch_torch_cpu_LIBRARY LibTorch_c10_LIBRARY
                 LibTorch_torch_cuda_LIBRARY LibTorch_c10_cuda_LIBRARY)
