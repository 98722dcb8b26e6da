# SPDX-License-Identifier: Apache-2.0
# cmake -DLIBTORCH_CUDA=…/libtorch_cuda.so -P print_cuda_runtime.cmake: what TallyCudaRuntime.cmake finds.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/../../cmake/TallyCudaRuntime.cmake)
tally_find_cuda_runtime("${LIBTORCH_CUDA}")
if(TALLY_NO_CUDART)
  message(STATUS "none: ${TALLY_NO_CUDART}")
else()
  message(STATUS "${TALLY_CUDART_LIBRARY} ${TALLY_CUDART_MAJOR} ${TALLY_CUDART_VERSION}")
endif()
