# SPDX-License-Identifier: Apache-2.0
# CUDA's runtime library as LibTorch's CUDA half finds it: one runtime serves both in a process. It lies beside
# PyTorch's wheel, in a toolkit, a container, conda's or Spack's prefix, or in LibTorch's own folder.
#
# tally_find_cuda_runtime(): sets TALLY_CUDART_LIBRARY, TALLY_CUDART_MAJOR and, where its header lies near it,
# TALLY_CUDART_VERSION (13000 for 13.0); or TALLY_NO_CUDART to the reason why there is none.
macro(tally_find_cuda_runtime libtorch_cuda)
  unset(TALLY_CUDART_LIBRARY)
  unset(TALLY_CUDART_VERSION)
  unset(TALLY_NO_CUDART)
  set(_found "")
  if(EXISTS "${libtorch_cuda}")
    execute_process(COMMAND ldd ${libtorch_cuda} OUTPUT_VARIABLE _found ERROR_QUIET)
  endif()
  if(_found MATCHES "libcudart[^ ]*\\.so\\.([0-9]+)[^ ]* => (/[^\n]+) \\(0x")
    set(TALLY_CUDART_MAJOR ${CMAKE_MATCH_1})
    get_filename_component(TALLY_CUDART_LIBRARY "${CMAKE_MATCH_2}" ABSOLUTE)
    tally_read_cuda_version()
  elseif(_found MATCHES "libcudart[^ ]*\\.so\\.[0-9]+")
    set(TALLY_NO_CUDART "LibTorch needs ${CMAKE_MATCH_0}, which is not found (load CUDA's module, or set LD_LIBRARY_PATH)")
  else()
    set(TALLY_NO_CUDART "this LibTorch is one for CPUs")
    if(EXISTS "${libtorch_cuda}")
      set(TALLY_NO_CUDART "ldd does not say which libcudart LibTorch's ${libtorch_cuda} needs")
    endif()
  endif()
endmacro()

macro(tally_read_cuda_version)
  get_filename_component(_folder "${TALLY_CUDART_LIBRARY}" DIRECTORY)
  foreach(_header IN ITEMS ../include ../../include ../../../include)
    set(_header ${_folder}/${_header}/cuda_runtime_api.h)
    if(EXISTS "${_header}" AND NOT DEFINED TALLY_CUDART_VERSION)
      file(STRINGS "${_header}" _line REGEX "define CUDART_VERSION +[0-9]+")
      if(_line MATCHES "CUDART_VERSION +(${TALLY_CUDART_MAJOR}0[0-9]+)")  # not another CUDA's
        set(TALLY_CUDART_VERSION ${CMAKE_MATCH_1})
      endif()
    endif()
  endforeach()
endmacro()
