# SPDX-License-Identifier: Apache-2.0
# The standard headers and fmt, which most files include, compiled once for all rooms. Public headers
# are also compiled alone (tests/guard), so that none leans on them.
add_library(tally_headers OBJECT ${PROJECT_SOURCE_DIR}/src/precompiled_headers.cpp)
target_link_libraries(tally_headers PRIVATE tally_build_flags fmt::fmt)
target_precompile_headers(tally_headers PRIVATE
  <algorithm> <array> <cstdint> <filesystem> <functional> <map> <memory> <optional> <span> <string>
  <string_view> <vector> <fmt/format.h> <fmt/ranges.h>)

function(tally_compile_cold target)
  target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
endfunction()

# With TALLY_UNITY, twelve bodies in C++ at a time, which read their headers once; not those with options of their own.
function(tally_compile_together target)
  if(TALLY_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
    # No file is the main one then, so that every private type in an unnamed namespace is warned of.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
  endif()
endfunction()

# Sets TALLY_ROOMS, bottom up, and TALLY_ROOM_<room>_USES to the rooms that each may use, by src/rooms.txt. The include
# root of each room, TALLY_INCLUDE_ROOTS/<room>, holds a link to its public headers and nothing else: no compile line
# names include/ itself, where those of all rooms lie.
set(TALLY_INCLUDE_ROOTS ${PROJECT_BINARY_DIR}/include_roots)
set(TALLY_ROOM_TABLE ${PROJECT_SOURCE_DIR}/src/rooms.txt)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${TALLY_ROOM_TABLE})
set(TALLY_ROOMS)
file(STRINGS ${TALLY_ROOM_TABLE} _lines)
foreach(line IN LISTS _lines)
  if(line STREQUAL "[vendors]")
    break()
  elseif(line MATCHES "^([a-z0-9_]+):(.*)$")
    list(APPEND TALLY_ROOMS ${CMAKE_MATCH_1})
    file(MAKE_DIRECTORY ${TALLY_INCLUDE_ROOTS}/${CMAKE_MATCH_1}/tally)
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/include/tally/${CMAKE_MATCH_1}
         ${TALLY_INCLUDE_ROOTS}/${CMAKE_MATCH_1}/tally/${CMAKE_MATCH_1} SYMBOLIC)
    separate_arguments(TALLY_ROOM_${CMAKE_MATCH_1}_USES UNIX_COMMAND "${CMAKE_MATCH_2}")
  endif()
endforeach()

# tally_room(NAME [COLD | TOGETHER] SOURCES a.cpp … [ALONE b.cpp …] [VENDOR lib …] [CUDA a_cuda.cpp b.cu … NO_CUDA a_no_cuda.cpp b_no_cuda.cpp …])
#
# One static library per room. Its public headers live in include/tally/<room>/, private ones
# beside the bodies. A room sees only the public headers of the rooms that src/rooms.txt lets it use, and of
# those that these use; its VENDOR libraries stay private: a forbidden include does not compile.
#
# Of twins, a build with CUDA compiles those of CUDA and links its runtime; another one those that do without, of the same
# names.
#
# Rooms where no time is spent per sample are COLD: compiled for a fast build. Bodies of these, and of rooms that are
# TOGETHER, may be compiled several at a time, but those that are ALONE, the loops over scores. A file that tests/simulated_gpu
# has a twin of is ALONE as well, and twins always are: the linker takes an object whole, and would find both definitions.
function(tally_room name)
  cmake_parse_arguments(ARG "COLD;TOGETHER" "" "SOURCES;ALONE;VENDOR;CUDA;NO_CUDA" ${ARGN})
  set(twins ${ARG_NO_CUDA})
  if(TALLY_HAS_CUDA AND ARG_CUDA)
    set(twins ${ARG_CUDA})
    list(APPEND ARG_VENDOR tally::cudart)
  endif()
  add_library(tally_${name} STATIC ${ARG_SOURCES} ${ARG_ALONE} ${twins})
  foreach(file IN LISTS ARG_ALONE ARG_CUDA ARG_NO_CUDA)
    set_property(SOURCE ${file} PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)
  endforeach()
  add_library(tally::${name} ALIAS tally_${name})
  target_include_directories(tally_${name}
    PUBLIC ${TALLY_INCLUDE_ROOTS}/${name}
    PRIVATE ${PROJECT_SOURCE_DIR}/src/${name})
  list(TRANSFORM TALLY_ROOM_${name}_USES PREPEND tally:: OUTPUT_VARIABLE uses)
  target_link_libraries(tally_${name} PUBLIC ${uses} PRIVATE tally_build_flags ${ARG_VENDOR})
  target_precompile_headers(tally_${name} REUSE_FROM tally_headers)
  if(ARG_COLD)
    tally_compile_cold(tally_${name})
  endif()
  if(ARG_COLD OR ARG_TOGETHER)
    tally_compile_together(tally_${name})
  endif()
  set_property(GLOBAL APPEND PROPERTY TALLY_ROOM_TARGETS tally_${name})
  if(NOT ARG_CUDA)
    set_property(GLOBAL APPEND PROPERTY TALLY_ROOMS_WITHOUT_CUDA tally_${name})
  endif()
endfunction()

# tally_sees_torch(NAME a.cpp …): the files of a room that see torch, as objects compiled apart. Torch's include
# folder carries an fmt without the library, whose header-only form costs each file 3 s: they get the
# same fmt as everybody, found first.
function(tally_sees_torch name)
  get_target_property(fmt_includes fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/first)
  file(CREATE_LINK ${fmt_includes}/fmt ${CMAKE_CURRENT_BINARY_DIR}/first/fmt SYMBOLIC)
  add_library(${name} OBJECT ${ARGN})
  target_include_directories(${name} SYSTEM BEFORE PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/first)
  target_link_libraries(${name} PRIVATE tally_build_flags LibTorch::LibTorch)
  tally_compile_cold(${name})
  tally_compile_together(${name})
endfunction()
