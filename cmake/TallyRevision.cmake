# SPDX-License-Identifier: Apache-2.0
# Writes revision.hpp with the git commit at each build; the file changes only when the commit does.
# Also run as a script: cmake -DSOURCE=… -DOUTPUT=… -P TallyRevision.cmake
if(CMAKE_SCRIPT_MODE_FILE)
  cmake_minimum_required(VERSION 3.25)
  set(revision unknown)
  execute_process(COMMAND git -C ${SOURCE} describe --always --abbrev=12 --dirty=+ --exclude=*
                  OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE
                  RESULT_VARIABLE result ERROR_QUIET)
  if(result EQUAL 0)
    set(revision ${described})
  endif()
  file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT
       "#pragma once\ninline constexpr char kRevision[] = \"@revision@\";\n")
  return()
endif()

add_custom_target(tally_revision
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR}
          -DOUTPUT=${CMAKE_CURRENT_BINARY_DIR}/revision.hpp -P ${CMAKE_CURRENT_LIST_FILE}
  BYPRODUCTS ${CMAKE_CURRENT_BINARY_DIR}/revision.hpp
  COMMENT "Asking git for the revision")
