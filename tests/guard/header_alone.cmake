# SPDX-License-Identifier: Apache-2.0
# Compiles each public header alone, twice in one file, with the include roots that rooms.txt gives
# its room: what it needs it includes itself, and a forbidden header is not found.

# The rooms that `room` may use, and theirs, since a header may include what another one includes.
function(tally_reachable_rooms table room result)
  set(found ${room})
  set(pending ${room})
  while(pending)
    list(POP_FRONT pending current)
    file(STRINGS ${table} line REGEX "^${current}:")
    string(REGEX REPLACE "^${current}: *" "" uses "${line}")
    string(REPLACE " " ";" uses "${uses}")
    list(REMOVE_ITEM uses ${found})
    list(APPEND found ${uses})
    list(APPEND pending ${uses})
  endwhile()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# Adds the object library header_alone_<room>; include_dir holds <room>/tally/<room>/*.hpp.
function(tally_headers_alone table include_dir room)
  file(GLOB headers CONFIGURE_DEPENDS RELATIVE ${include_dir}/${room}
       ${include_dir}/${room}/tally/${room}/*.hpp)
  if(NOT headers)
    return()
  endif()
  set(sources)
  foreach(header IN LISTS headers)
    get_filename_component(name ${header} NAME_WE)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/header_alone/${room}_${name}.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "#include <${header}>\n#include <${header}>\n")
    list(APPEND sources ${source})
  endforeach()
  tally_reachable_rooms(${table} ${room} roots)
  list(TRANSFORM roots PREPEND ${include_dir}/)
  add_library(header_alone_${room} OBJECT ${sources})
  target_include_directories(header_alone_${room} PRIVATE ${roots})
  target_compile_options(header_alone_${room} PRIVATE -O0)
endfunction()
