// SPDX-License-Identifier: Apache-2.0
// Attributes, tables and rows of a data set: all that `tally inspect --verify` looks at.
#include <tally/data/describe_data_set.hpp>

#include "harness.hpp"
#include "hdf5_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tally;
  const auto file = fuzz::write_hdf5_input(fuzz::text_of(data, size));
  return fuzz::read_or_refuse({ErrorKind::dataset}, [&] {
    data::DataSet data_set(file);
    data::describe(data_set);
    data::verify(data_set);
  });
}
