# SPDX-License-Identifier: Apache-2.0
# Build-wide settings: language level, warnings, sanitizers, compiler cache.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

option(TALLY_FUZZ "Build nothing but the fuzz tests, with Clang's libFuzzer" OFF)
set(TALLY_SANITIZE "" CACHE STRING "The compiler's sanitizers, as -fsanitize names them: address,undefined or thread")
option(TALLY_WERROR "Treat warnings in our own code as errors" ON)
option(TALLY_UNITY "Compile bodies of a room or a test together: a fresh build takes less time, a changed file more" OFF)

find_program(TALLY_CCACHE ccache)
if(TALLY_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Without the first two, ccache refuses whatever uses a precompiled header. With the third it takes dependencies from
  # the compiler, and need not run the preprocessor before it.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1 ${TALLY_CCACHE})
endif()

add_library(tally_build_flags INTERFACE)
set(_warnings -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
              -Woverloaded-virtual $<$<BOOL:${TALLY_WERROR}>:-Werror>)
target_compile_options(tally_build_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:${_warnings}>)
# Ranks compare what they run by it (setup/open_session.cpp).
target_link_options(tally_build_flags INTERFACE LINKER:--build-id=sha1)
if(TALLY_SANITIZE)
  set(_sanitizers -fsanitize=${TALLY_SANITIZE} -fno-sanitize-recover=undefined
                  -fno-omit-frame-pointer)
  if(TALLY_SANITIZE MATCHES thread)  # Boost.Asio has fences, which ThreadSanitizer does not see
    list(APPEND _sanitizers $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
  endif()
  target_compile_options(tally_build_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:${_sanitizers}>)
  target_link_options(tally_build_flags INTERFACE -fsanitize=${TALLY_SANITIZE})
endif()
if(TALLY_FUZZ)  # what is reached by which input
  target_compile_options(tally_build_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Counts of the preset 'coverage' are written at a normal exit, and here also where a process ends itself in another way.
string(REGEX MATCH "--coverage" TALLY_COVERAGE "${CMAKE_CXX_FLAGS}")
if(TALLY_COVERAGE)
  add_library(tally_write_counts STATIC ${PROJECT_SOURCE_DIR}/tests/support/write_counts.cpp)
  target_link_libraries(tally_build_flags INTERFACE tally_write_counts)
  target_link_options(tally_build_flags INTERFACE
    $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:LINKER:--undefined=__wrap_abort,--wrap=_exit,--wrap=_Exit,--wrap=abort,--wrap=raise>)
endif()

# Exact arithmetic needs the IEEE operations that are written, whatever the compiler's default.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
