# SPDX-License-Identifier: Apache-2.0
# `cmake --install`: the program, and beside it the small libraries of which Debian ships no archive.
# MPI, HDF5 and LibTorch stay where they are: an installed program finds them by the absolute paths at
# the end of its RUNPATH. `cpack -G TGZ` makes an archive to carry elsewhere (TallyArchive.cmake).
set_target_properties(tally_program PROPERTIES
  INSTALL_RPATH_USE_LINK_PATH ON
  INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}/tally")
install(TARGETS tally_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
foreach(library IN ITEMS tally_openvino_engine tally_torch)
  if(TARGET ${library})
    set_target_properties(${library} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON INSTALL_RPATH "$ORIGIN")
  endif()
endforeach()
foreach(library IN ITEMS tally_cuda_graphs tally_openvino_engine tally_torch)
  if(TARGET ${library})
    install(TARGETS ${library} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tally)
  endif()
endforeach()

# Installs the file behind a shared library under the name the program looks for.
function(tally_install_beside library)
  file(REAL_PATH ${library} file)
  execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${file} OUTPUT_VARIABLE facts ERROR_QUIET)
  if(facts MATCHES "SONAME +([^\n ]+)")
    install(FILES ${file} DESTINATION ${CMAKE_INSTALL_LIBDIR}/tally RENAME ${CMAKE_MATCH_1})
  endif()
endfunction()

tally_install_beside(${Isal_LIBRARY})
tally_install_beside(${Unistring_LIBRARY})  # where it is no archive
if(Tcmalloc_FOUND)
  tally_install_beside(${Tcmalloc_LIBRARY})
endif()
foreach(name IN ITEMS fmt spdlog)
  find_library(TALLY_${name}_LIBRARY ${name})
  if(TALLY_${name}_LIBRARY)
    tally_install_beside(${TALLY_${name}_LIBRARY})
  endif()
endforeach()

set(_share ${CMAKE_INSTALL_DATADIR}/tally)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/data_tools/ DESTINATION ${_share}/data_tools
        USE_SOURCE_PERMISSIONS PATTERN __pycache__ EXCLUDE)
install(PROGRAMS ${PROJECT_SOURCE_DIR}/jobs/evaluate-cpu.sbatch
                 ${PROJECT_SOURCE_DIR}/jobs/evaluate-gpu.sbatch
                 ${PROJECT_SOURCE_DIR}/jobs/evaluate-array.sbatch
                 ${PROJECT_SOURCE_DIR}/jobs/collect-reports.py
        DESTINATION ${_share}/jobs)
install(FILES ${PROJECT_SOURCE_DIR}/jobs/lib/evaluation_job.sh DESTINATION ${_share}/jobs/lib)
install(PROGRAMS ${PROJECT_SOURCE_DIR}/jobs/examples/train.sbatch
                 ${PROJECT_SOURCE_DIR}/jobs/examples/watch.sbatch
                 ${PROJECT_SOURCE_DIR}/jobs/examples/train_mnist_ddp.py
        DESTINATION ${_share}/jobs/examples)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/jobs/machines DESTINATION ${_share}/jobs USE_SOURCE_PERMISSIONS)
# The links of README.md and docs/ lead to these.
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${PROJECT_SOURCE_DIR}/data_tools/SCHEMA.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/data_tools)

# The notices of the libraries that are in the program or beside it (docs/notices.md), as Debian's packages have them.
foreach(package IN ITEMS libfmt-dev libgoogle-perftools-dev libisal-dev libprotozero-dev libspdlog-dev libssl-dev libunistring-dev
                         nlohmann-json3-dev)
  install(FILES /usr/share/doc/${package}/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR}/notices
          RENAME ${package}.txt OPTIONAL)
endforeach()

# The bill of materials (packaging/sbom.py), which needs no package of Python.
if(TALLY_PYTHON)
  install(CODE "
    execute_process(COMMAND [[${TALLY_PYTHON}]] [[${PROJECT_SOURCE_DIR}/packaging/sbom.py]]
                            --build [[${PROJECT_BINARY_DIR}]] --output [[${PROJECT_BINARY_DIR}]]
                    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)")
  install(FILES ${PROJECT_BINARY_DIR}/tally-${PROJECT_VERSION}.spdx.json DESTINATION ${CMAKE_INSTALL_DOCDIR})
endif()

# What is left depends on where the files go: module files, and the changes that make an archive.
install(CODE "
  set(packaging [[${PROJECT_SOURCE_DIR}/packaging]])
  set(version ${PROJECT_VERSION})
  set(bin ${CMAKE_INSTALL_BINDIR})
  set(lib ${CMAKE_INSTALL_LIBDIR})
  set(libexec ${CMAKE_INSTALL_LIBEXECDIR}/tally)
  set(share ${_share})
  set(objdump [[${CMAKE_OBJDUMP}]])
  set(libtorch [[${LibTorch_torch_cpu_LIBRARY}]])
  include([[${PROJECT_SOURCE_DIR}/cmake/TallyArchive.cmake]])")

set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_FILE_NAME tally-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
include(CPack)
