// SPDX-License-Identifier: Apache-2.0
// Records of a run: the input is one frame, whose first two numbers are its samples. Its checksums
// are made here, so that what is behind them is looked at.
#include <cstring>
#include <tally/base/format.hpp>
#include <vector>

#include "harness.hpp"
#include "progress_part.hpp"
#include "record_frames.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tally;
  std::int64_t samples[2]{};
  if (size < sizeof samples) return 0;
  std::memcpy(samples, data, sizeof samples);
  const auto rest = fuzz::text_of(data, size).substr(sizeof samples);
  std::string frame(resume::kFrameHeaderBytes, ' ');
  frame += rest;
  resume::fill_in_header({samples[0], samples[1]}, std::as_writable_bytes(std::span(frame)));
  const auto progress = fuzz::load(
      format(R"({{"format":"tally-progress","version":1,"attempt":1,"rank":0,"world_size":1,)"
             R"("sequence":1,"records_bytes":{},"done":[[0,1]],"identity_bytes":0,)"
             R"("observations_bytes":0,"state_length":0}})"
             "\n",
             frame.size()),
      frame);
  if (!progress) return 0;
  const resume::RecordColumns columns{
      .log = {{"label", DType::i64, {}}, {"answer", DType::u8, {}, true}},
      .retained = {{"boxes", DType::f32, {4}, true}}};
  return fuzz::read_or_refuse({ErrorKind::output}, [&] {
    const resume::RecordsReader reader(".", *progress, columns);
    reader.read({0, 3}, [](const auto&, const auto&) {});
  });
}
