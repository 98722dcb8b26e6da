# SPDX-License-Identifier: Apache-2.0
# nccl.h of the NCCL that LibTorch uses, as its wheel lies beside PyTorch's: target Nccl::headers.
# Nothing is linked: the library is loaded at run time, and only where NCCL is asked for.
get_filename_component(_packages "${LibTorch_INCLUDE_DIR}/../.." ABSOLUTE)
if(Nccl_INCLUDE_DIR AND NOT EXISTS ${Nccl_INCLUDE_DIR}/nccl.h)
  unset(Nccl_INCLUDE_DIR CACHE)  # of an environment that is gone
endif()
find_path(Nccl_INCLUDE_DIR nccl.h
          HINTS ${Nccl_ROOT} $ENV{Nccl_ROOT} ${_packages}/nvidia/nccl PATH_SUFFIXES include)
if(Nccl_INCLUDE_DIR)
  file(STRINGS ${Nccl_INCLUDE_DIR}/nccl.h _version REGEX "define NCCL_(MAJOR|MINOR|PATCH) [0-9]+")
  string(REGEX REPLACE ".*MAJOR ([0-9]+).*MINOR ([0-9]+).*PATCH ([0-9]+).*" "\\1.\\2.\\3"
         Nccl_VERSION "${_version}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Nccl REQUIRED_VARS Nccl_INCLUDE_DIR VERSION_VAR Nccl_VERSION)
if(Nccl_FOUND AND NOT TARGET Nccl::headers)
  add_library(Nccl::headers INTERFACE IMPORTED)
  target_include_directories(Nccl::headers SYSTEM INTERFACE ${Nccl_INCLUDE_DIR})
endif()
mark_as_advanced(Nccl_INCLUDE_DIR)
