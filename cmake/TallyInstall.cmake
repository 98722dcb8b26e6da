# `cmake --install`: the program, and beside it the small libraries of which Debian ships no archive.
# MPI, HDF5 and LibTorch stay where they are.
set_target_properties(tally_program PROPERTIES
  INSTALL_RPATH_USE_LINK_PATH ON
  INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}/tally")
install(TARGETS tally_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

# Installs the file behind a shared library under the name the program looks for.
function(tally_install_beside library)
  file(REAL_PATH ${library} file)
  execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${file} OUTPUT_VARIABLE facts ERROR_QUIET)
  if(facts MATCHES "SONAME +([^\n ]+)")
    install(FILES ${file} DESTINATION ${CMAKE_INSTALL_LIBDIR}/tally RENAME ${CMAKE_MATCH_1})
  endif()
endfunction()

tally_install_beside(${Isal_LIBRARY})
foreach(name IN ITEMS fmt spdlog)
  find_library(TALLY_${name}_LIBRARY ${name})
  if(TALLY_${name}_LIBRARY)
    tally_install_beside(${TALLY_${name}_LIBRARY})
  endif()
endforeach()

install(DIRECTORY ${PROJECT_SOURCE_DIR}/data_tools/ DESTINATION ${CMAKE_INSTALL_DATADIR}/tally/data_tools
        USE_SOURCE_PERMISSIONS PATTERN __pycache__ EXCLUDE)
# README's links lead to these.
install(FILES ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${PROJECT_SOURCE_DIR}/data_tools/SCHEMA.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/data_tools)
