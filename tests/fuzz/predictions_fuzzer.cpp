// SPDX-License-Identifier: Apache-2.0
#include <tally/predictions/predictions_text.hpp>
#include <tally/predictions/saved_rows.hpp>

#include "harness.hpp"
#include "hdf5_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tally;
  const auto file = fuzz::write_hdf5_input(fuzz::text_of(data, size));
  return fuzz::read_or_refuse({ErrorKind::dataset}, [&] {
    predictions::describe(file);
    const predictions::SavedRows saved(file);
    for (const auto& column : saved.columns()) {
      if (saved.reader().kind_of("/" + column) == hdf5::ObjectKind::dataset) {
        saved.read<double>(column, 0, saved.num_rows());
      } else {
        saved.lengths(column, 0, saved.num_rows());
        saved.elements<std::uint8_t>(column, 0, saved.num_rows());
      }
    }
  });
}
