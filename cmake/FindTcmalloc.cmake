# SPDX-License-Identifier: Apache-2.0
# gperftools' allocator without its profilers: target Tcmalloc::minimal, the archive where there is one.
find_path(Tcmalloc_INCLUDE_DIR gperftools/malloc_extension.h)
find_library(Tcmalloc_LIBRARY NAMES libtcmalloc_minimal.a tcmalloc_minimal)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Tcmalloc REQUIRED_VARS Tcmalloc_LIBRARY Tcmalloc_INCLUDE_DIR)
if(Tcmalloc_FOUND AND NOT TARGET Tcmalloc::minimal)
  add_library(Tcmalloc::minimal INTERFACE IMPORTED)
  target_include_directories(Tcmalloc::minimal SYSTEM INTERFACE ${Tcmalloc_INCLUDE_DIR})
  target_link_libraries(Tcmalloc::minimal INTERFACE Threads::Threads)
  # Whether or not something asks for it: it takes the place of the system's malloc().
  if(Tcmalloc_LIBRARY MATCHES "\\.a$")
    target_link_options(Tcmalloc::minimal INTERFACE
      "LINKER:--push-state,--whole-archive,${Tcmalloc_LIBRARY},--pop-state")
  else()
    target_link_libraries(Tcmalloc::minimal INTERFACE
      "-Wl,--push-state,--no-as-needed" ${Tcmalloc_LIBRARY} "-Wl,--pop-state")
  endif()
endif()
