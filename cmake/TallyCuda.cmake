# Whether this build knows GPUs, and with which compiler and runtime library.
#
# TALLY_CUDA=AUTO builds for GPUs where a CUDA compiler is found: in PATH or CUDACXX, or among the
# Python packages beside LibTorch (jobs/setup.sh --with-cuda puts it there). Such a program also runs
# where there is no GPU and no driver. Sets TALLY_HAS_CUDA; target tally::cudart.
set(TALLY_CUDA AUTO CACHE STRING "Build for GPUs: AUTO (where a CUDA compiler is found), ON, OFF")
set_property(CACHE TALLY_CUDA PROPERTY STRINGS AUTO ON OFF)
set(TALLY_HAS_CUDA OFF)
if(NOT TALLY_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "TALLY_CUDA is '${TALLY_CUDA}', expected AUTO, ON or OFF")
endif()
if(TALLY_CUDA STREQUAL OFF)
  return()
endif()

# Gives up on GPUs: an error where they were asked for.
macro(tally_without_cuda reason)
  if(TALLY_CUDA STREQUAL ON)
    message(FATAL_ERROR "TALLY_CUDA=ON, but ${reason}")
  endif()
  message(STATUS "${reason}: this build computes on CPUs only")
  return()
endmacro()

get_filename_component(_wheels "${LibTorch_INCLUDE_DIR}/../.." ABSOLUTE)
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  find_program(_nvcc nvcc NO_CACHE)
  if(NOT _nvcc)
    find_program(_nvcc nvcc HINTS ${_wheels}/nvidia/cu13/bin NO_DEFAULT_PATH NO_CACHE)
    if(_nvcc)
      set(CMAKE_CUDA_COMPILER ${_nvcc})
    endif()
  endif()
endif()
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  # Machine code for each generation of GPUs, and what later ones compile for themselves.
  set(CMAKE_CUDA_ARCHITECTURES all-major)
endif()
# One CUDA runtime in the process: the shared one that LibTorch brings.
set(CMAKE_CUDA_RUNTIME_LIBRARY None)
include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  tally_without_cuda("there is no CUDA compiler (CUDACXX names one, jobs/setup.sh --with-cuda brings one)")
endif()
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)

find_library(TALLY_CUDART_LIBRARY
  NAMES libcudart.so.${CUDAToolkit_VERSION_MAJOR}
  HINTS ${_wheels}/nvidia/cu${CUDAToolkit_VERSION_MAJOR}/lib NO_DEFAULT_PATH)
if(NOT TALLY_CUDART_LIBRARY)
  tally_without_cuda("LibTorch brings no runtime of CUDA ${CUDAToolkit_VERSION_MAJOR}")
endif()
set(_runtime_header ${_wheels}/nvidia/cu${CUDAToolkit_VERSION_MAJOR}/include/cuda_runtime_api.h)
file(STRINGS ${_runtime_header} _runtime_version REGEX "define CUDART_VERSION +[0-9]+")
string(REGEX MATCH "[0-9]+" _runtime_version "${_runtime_version}")
math(EXPR _compiler_version "${CUDAToolkit_VERSION_MAJOR} * 1000 + ${CUDAToolkit_VERSION_MINOR} * 10")
if(_compiler_version GREATER _runtime_version)
  tally_without_cuda("the compiler's CUDA ${CUDAToolkit_VERSION} is newer than LibTorch's runtime")
endif()
add_library(tally_cudart INTERFACE)
add_library(tally::cudart ALIAS tally_cudart)
target_include_directories(tally_cudart SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
add_library(tally_cudart_file SHARED IMPORTED)
set_target_properties(tally_cudart_file PROPERTIES IMPORTED_LOCATION ${TALLY_CUDART_LIBRARY})
target_link_libraries(tally_cudart INTERFACE tally_cudart_file)

if(TALLY_CCACHE AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${TALLY_CCACHE})
endif()
# CMake before 3.26 knows no language level above 17 for this compiler.
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
endif()
set(CMAKE_CUDA_STANDARD 20)
# Kernels share constexpr functions with the CPU and must round as it does.
set(TALLY_CUDA_OPTIONS --expt-relaxed-constexpr --fmad=false)
add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:${TALLY_CUDA_OPTIONS}>")
set(TALLY_HAS_CUDA ON)
message(STATUS "GPUs: CUDA ${CUDAToolkit_VERSION}, runtime ${TALLY_CUDART_LIBRARY}")
