# SPDX-License-Identifier: Apache-2.0
# tally_test(NAME [SINGLY] SOURCES a.cpp … [USES room …] [VENDOR lib …] [NP 1 2 3 5] [TIMEOUT s])
#
# One GoogleTest executable for a room. With TALLY_UNITY its sources are compiled together; SINGLY prevents that where
# their helpers have the same names. With NP it is run under mpirun once per rank count and links
# the MPI test main (tests/support/mpi_test_main.cpp); a hang is a failure, so the timeout is short.
find_package(GTest REQUIRED)
include(GoogleTest)

# GoogleTest's headers and the usual standard ones, compiled once for all tests. Its owner defines no
# macro, so that tests with and without definitions of their own can use it. Tests are compiled to be
# compiled fast: what they measure is in the rooms.
add_library(tally_test_headers OBJECT ${PROJECT_SOURCE_DIR}/tests/support/precompiled_headers.cpp)
target_link_libraries(tally_test_headers PRIVATE tally_build_flags GTest::gmock GTest::gtest)
target_precompile_headers(tally_test_headers PRIVATE
  <gmock/gmock.h> <gtest/gtest.h> <algorithm> <cmath> <filesystem> <fstream> <functional> <map>
  <numeric> <random> <set> <sstream> <string> <vector>)

set(TALLY_TEST_PATIENCE 1 CACHE STRING "Times the limits of tests, where machines have other work or MPIs are slow")

function(tally_compile_as_test target)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O0>)
endfunction()
tally_compile_as_test(tally_test_headers)

# Open MPI keeps files of its jobs in ompi.HOST.UID. The last job to end removes that folder, and
# fails another that begins in that moment: here it exists all the time.
cmake_host_system_information(RESULT _host QUERY HOSTNAME)
execute_process(COMMAND id -u OUTPUT_VARIABLE _user OUTPUT_STRIP_TRAILING_WHITESPACE)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/mpi/ompi.${_host}.${_user}/kept)
set(TALLY_MPI_TEST_ENVIRONMENT
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
    OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_orte_tmpdir_base=${PROJECT_BINARY_DIR}/mpi
    # The same for Open MPI 5 and for MPICH: each MPI reads its own.
    PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe PRTE_MCA_hwloc_default_binding_policy=none
    MPIR_CVAR_ENABLE_HEAVY_YIELD=1 MPIR_CVAR_CH4_PROGRESS_THROTTLE=1
    MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT=1)
# MPICH's launcher, Hydra, ends with the number of the signal that ended a rank, others with 128 more. It kills the other
# ranks of an aborted job at once, and leaves them no time to remove anything.
execute_process(COMMAND ${MPIEXEC_EXECUTABLE} --version OUTPUT_VARIABLE _launcher ERROR_QUIET)
set(TALLY_MPI_IS_MPICH OFF)
if(_launcher MATCHES HYDRA)
  set(TALLY_MPI_IS_MPICH ON)
endif()
# As in the preset, which this replaces; and Open MPI has no frame pointers: its leaks are known by their callers.
if(TALLY_SANITIZE MATCHES address)
  set(TALLY_ASAN_OPTIONS
      ASAN_OPTIONS=fast_unwind_on_malloc=0:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0)
  list(APPEND TALLY_MPI_TEST_ENVIRONMENT ${TALLY_ASAN_OPTIONS})
endif()

function(tally_test name)
  cmake_parse_arguments(ARG "SINGLY" "TIMEOUT" "SOURCES;USES;VENDOR;NP" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  math(EXPR ARG_TIMEOUT "${TALLY_TEST_PATIENCE} * ${ARG_TIMEOUT}")
  if(TALLY_SANITIZE OR TALLY_COVERAGE)  # which make everything slower
    math(EXPR ARG_TIMEOUT "10 * ${ARG_TIMEOUT}")
  endif()
  add_executable(${name} ${ARG_SOURCES})
  tally_compile_as_test(${name})
  if(NOT ARG_SINGLY)
    tally_compile_together(${name})
  endif()
  target_precompile_headers(${name} REUSE_FROM tally_test_headers)
  if("model" IN_LIST ARG_USES)
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/leave_out_broken_amx.cpp)
  endif()
  list(TRANSFORM ARG_USES PREPEND tally::)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_USES} tally_build_flags ${ARG_VENDOR})
  if(NOT ARG_NP)
    target_link_libraries(${name} PRIVATE GTest::gmock GTest::gtest_main)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS unit)
    return()
  endif()
  target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/mpi_test_main.cpp)
  target_link_libraries(${name} PRIVATE tally::comm GTest::gmock GTest::gtest MPI::MPI_CXX)
  foreach(np IN LISTS ARG_NP)
    add_test(NAME ${name}.np${np}
             COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${np} $<TARGET_FILE:${name}>)
    set_tests_properties(${name}.np${np} PROPERTIES
      TIMEOUT ${ARG_TIMEOUT} PROCESSORS 2 LABELS mpi
      ENVIRONMENT "${TALLY_MPI_TEST_ENVIRONMENT};TALLY_TEST_RANKS=${np}")
  endforeach()
endfunction()
