# SPDX-License-Identifier: Apache-2.0
# cmake -DNVCC=… -DFLAGS=… -DSOURCE=a.cu -P kernel_traps.cmake
#
# nvcc compiles a function that takes the address of a host's constant (as std::max() does) into a
# trap, without a word: the kernel fails on the GPU, and nothing shows it elsewhere.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND ${NVCC} ${FLAGS} -ptx -arch=compute_80 -o /dev/stdout ${SOURCE}
                OUTPUT_VARIABLE ptx COMMAND_ERROR_IS_FATAL ANY)
if(NOT ptx MATCHES "\\.entry")
  message(FATAL_ERROR "${SOURCE} has no kernel")
endif()
string(REGEX MATCHALL "\ttrap" traps "${ptx}")
list(LENGTH traps num_traps)
if(num_traps GREATER 0)
  message(FATAL_ERROR "${SOURCE} has ${num_traps} traps")
endif()
