// SPDX-License-Identifier: Apache-2.0
// write_example FILE: writes a predictions file and prints its digest, for the test of the recipe
// in docs/formats.md.
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <tally/base/error.hpp>
#include <tally/predictions/predictions_writer.hpp>

#include "publish_predictions.hpp"

namespace tally::predictions {
namespace {

constexpr std::int64_t kRows = 12;

template <class T>
void append_ramp(PredictionsWriter& writer, std::int64_t column, std::int64_t values_per_row) {
  std::vector<T> values(static_cast<std::size_t>(kRows * values_per_row));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i * i % 97);
  writer.append(column, kRows, std::as_bytes(std::span(values)));
}

// Of 0, 1, 2, … bytes.
void append_texts(PredictionsWriter& writer, std::int64_t column) {
  std::vector<std::int64_t> lengths(kRows);
  std::iota(lengths.begin(), lengths.end(), 0);
  const std::string bytes(kRows * (kRows - 1) / 2, 'x');
  writer.append_lengths(column, kRows, std::as_bytes(std::span(lengths)));
  writer.append_elements(column, std::ssize(bytes), std::as_bytes(std::span(bytes)));
}

void write(const char* path) {
  PredictionsWriter writer(path,
                           {{"prediction", DType::i64, {}},
                            {"label_rank", DType::i32, {}},
                            {"Upper", DType::u8, {}},
                            {"probabilities", DType::f32, {4}},
                            {"boxes", DType::f64, {2, 3}},
                            {"empty", DType::f32, {0}},
                            {"text", DType::u8, {}, true}},
                           kRows, {0, 0, 0, 0, 0, 0, kRows * (kRows - 1) / 2});
  append_ramp<std::int64_t>(writer, 0, 1);
  append_ramp<std::int32_t>(writer, 1, 1);
  append_ramp<std::uint8_t>(writer, 2, 1);
  append_ramp<float>(writer, 3, 4);
  append_ramp<double>(writer, 4, 6);
  append_ramp<float>(writer, 5, 0);
  append_texts(writer, 6);
  std::puts(writer.digest().c_str());
  publish(writer, {{"model", "größe.pt"}});
}

}  // namespace
}  // namespace tally::predictions

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    tally::predictions::write(argv[1]);
  } catch (const tally::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return tally::exit_code(error.kind());
  }
  return 0;
}
