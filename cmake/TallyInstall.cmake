# `cmake --install`: the program, and beside it the one small library that Debian ships no archive
# of. MPI, HDF5 and LibTorch stay where they are.
set_target_properties(tally_program PROPERTIES
  INSTALL_RPATH_USE_LINK_PATH ON
  INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}/tally")
install(TARGETS tally_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
file(REAL_PATH ${Isal_LIBRARY} _isal_file)
get_filename_component(_isal_folder ${_isal_file} DIRECTORY)
install(FILES ${_isal_folder}/libisal.so.2 ${_isal_file}
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/tally OPTIONAL)
install(DIRECTORY data_tools/ DESTINATION ${CMAKE_INSTALL_DATADIR}/tally/data_tools
        USE_SOURCE_PERMISSIONS PATTERN __pycache__ EXCLUDE)
install(FILES README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
