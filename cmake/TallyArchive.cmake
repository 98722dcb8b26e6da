# SPDX-License-Identifier: Apache-2.0
# Runs at install time, with the variables that TallyInstall.cmake sets. Writes the module files, and
# where CPack stages an archive makes its tree one that runs from any folder of another machine.
cmake_minimum_required(VERSION 3.25)
set(root "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}")
string(FIND "${CMAKE_INSTALL_PREFIX}" "/_CPack_Packages/" staged)

# Module files say where the program is: an archive's ask for their own place, installed ones may be
# copied to where a site keeps its module files.
if(staged EQUAL -1)
  set(prefix_tcl "{${CMAKE_INSTALL_PREFIX}}")
  set(prefix_lua "[[${CMAKE_INSTALL_PREFIX}]]")
  set(libtorch_hint "")
else()
  set(prefix_tcl "[file normalize [file join [file dirname $ModulesCurrentModulefile] .. .. .. ..]]")
  set(prefix_lua "(myFileName():gsub('/${share}/modulefiles/.*', ''))")
  set(libtorch_hint "Set LibTorch_ROOT to PyTorch's folder (.../site-packages/torch) before running it.")
endif()
foreach(suffix IN ITEMS tcl lua)
  string(REPLACE tcl "" name "${version}.${suffix}")
  string(REGEX REPLACE "\\.$" "" name "${name}")
  configure_file(${packaging}/modules/tally.${suffix}.in
                 "${root}/${share}/modulefiles/tally/${name}" @ONLY)
endforeach()
if(staged EQUAL -1)
  return()
endif()

# In an archive bin/tally is a script that finds LibTorch and starts the program. Of the RUNPATH stay the
# folder beside the program and, last, those of MPI and HDF5, which are right on the cluster the archive
# was built on. LibTorch's and those of the wheels beside it go: they are somebody's Python environment,
# and an archive that silently depends on it works until its owner tidies up. So does whatever else lies
# in a home folder.
set(program "${root}/${libexec}/tally")
file(MAKE_DIRECTORY "${root}/${libexec}")
file(RENAME "${root}/${bin}/tally" "${program}")
execute_process(COMMAND ${objdump} -p "${program}" OUTPUT_VARIABLE facts COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCH "RUNPATH +([^\n]*)" facts "${facts}")
string(REPLACE ":" ";" folders "${CMAKE_MATCH_1}")
cmake_path(SET wheels NORMALIZE "${libtorch}/../../..")  # of site-packages/torch/lib/libtorch_cpu.so
set(runpath "\$ORIGIN/../../${lib}/tally")
foreach(folder IN LISTS folders)
  string(FIND "${folder}/" "${wheels}" in_wheels)
  string(FIND "${folder}/" "$ENV{HOME}/" in_home)
  if(folder MATCHES "^/" AND NOT in_wheels EQUAL 0 AND NOT in_home EQUAL 0)
    string(APPEND runpath ":${folder}")
  endif()
endforeach()
file(RPATH_SET FILE "${program}" NEW_RPATH "${runpath}")
# Where LibTorch is, the script finds out, and OpenVINO beside it.
foreach(name IN ITEMS libtally_openvino_engine.so libtally_torch.so)
  set(library "${root}/${lib}/tally/${name}")
  if(EXISTS "${library}")
    file(RPATH_SET FILE "${library}" NEW_RPATH "\$ORIGIN")
  endif()
endforeach()
file(INSTALL "${packaging}/archive/tally" DESTINATION "${root}/${bin}" USE_SOURCE_PERMISSIONS)
