// SPDX-License-Identifier: Apache-2.0
// As scores, and as predicted classes.
#include "array_rows.hpp"
#include "array_rows_all.hpp"
#include "harness.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tally;
  fuzz::write_input("scores.csv", fuzz::text_of(data, size));
  const auto read = [](app::CsvCells cells) {
    const auto rows = app::csv_rows("scores.csv", "logits", {"cat", "dog"}, cells);
    fuzz::read_all_rows(*rows);
  };
  fuzz::is_read({ErrorKind::dataset}, [&] { read(app::CsvCells::classes); });
  return fuzz::read_or_refuse({ErrorKind::dataset}, [&] { read(app::CsvCells::numbers); });
}
