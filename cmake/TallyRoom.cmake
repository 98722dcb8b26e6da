# tally_room(NAME SOURCES a.cpp … [USES base plan …] [VENDOR lib …])
#
# One static library per room. Its public headers live in include/<room>/tally/<room>/, private ones
# beside the bodies. A room sees only the public headers of the rooms it USES, and its VENDOR
# libraries stay private: a forbidden include does not compile.
function(tally_room name)
  cmake_parse_arguments(ARG "" "" "SOURCES;USES;VENDOR" ${ARGN})
  add_library(tally_${name} STATIC ${ARG_SOURCES})
  add_library(tally::${name} ALIAS tally_${name})
  target_include_directories(tally_${name}
    PUBLIC ${PROJECT_SOURCE_DIR}/include/${name}
    PRIVATE ${PROJECT_SOURCE_DIR}/src/${name})
  list(TRANSFORM ARG_USES PREPEND tally::)
  target_link_libraries(tally_${name} PUBLIC ${ARG_USES} PRIVATE tally_build_flags ${ARG_VENDOR})
  set_property(GLOBAL APPEND PROPERTY TALLY_ROOM_TARGETS tally_${name})
endfunction()
