# SPDX-License-Identifier: Apache-2.0
# GNU libunistring (case, categories): target Unistring::unistring. Its archive where there is one.
find_path(Unistring_INCLUDE_DIR unicase.h)
find_library(Unistring_LIBRARY NAMES libunistring.a unistring)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Unistring REQUIRED_VARS Unistring_LIBRARY Unistring_INCLUDE_DIR)
if(Unistring_FOUND AND NOT TARGET Unistring::unistring)
  add_library(Unistring::unistring UNKNOWN IMPORTED)
  set_target_properties(Unistring::unistring PROPERTIES
    IMPORTED_LOCATION ${Unistring_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${Unistring_INCLUDE_DIR})
endif()
