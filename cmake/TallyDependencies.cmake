# SPDX-License-Identifier: Apache-2.0
# Every library from outside, found once. Rooms name the targets; small libraries are linked
# statically where Debian ships an archive, so that an installed program needs few of them.
find_package(Threads REQUIRED)
set(MPI_CXX_SKIP_MPICXX ON)  # the C interface only
find_package(MPI REQUIRED COMPONENTS CXX)
# Open MPI 5's wrapper adds -pthread, which sets a macro that the precompiled headers lack; Threads links what it is for.
get_target_property(_mpi_options MPI::MPI_CXX INTERFACE_COMPILE_OPTIONS)
if(_mpi_options)
  list(FILTER _mpi_options EXCLUDE REGEX "-pthread$")
  set_target_properties(MPI::MPI_CXX PROPERTIES INTERFACE_COMPILE_OPTIONS "${_mpi_options}")
endif()
set(HDF5_PREFER_PARALLEL FALSE)
find_package(HDF5 REQUIRED COMPONENTS C)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
set(OPENSSL_USE_STATIC_LIBS ON)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
set(Boost_USE_STATIC_LIBS ON)
find_package(Boost 1.74 REQUIRED COMPONENTS program_options)
find_package(Isal REQUIRED)
find_package(Unistring REQUIRED)
option(TALLY_TORCH_LATER "Configure without LibTorch, to build tally_without_torch alone" OFF)
if(NOT TALLY_TORCH_LATER)
  find_package(LibTorch 2.10...<2.16 REQUIRED)
else()
  add_library(LibTorch::LibTorch INTERFACE IMPORTED)
endif()
# The check of pointers to virtual tables needs the type information of c10::DynamicType, which LibTorch does not export.
if(TALLY_SANITIZE MATCHES undefined)
  target_compile_options(LibTorch::LibTorch INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=vptr>)
endif()
find_package(Tcmalloc)  # networks run faster with it; -DCMAKE_DISABLE_FIND_PACKAGE_Tcmalloc=ON leaves it out
find_program(TALLY_PYTHON python3
             DOC "Python of the set-up environment, for data tools and tests")
