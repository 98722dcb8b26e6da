// SPDX-License-Identifier: Apache-2.0
// predictions.h5 under its own name, as publish gives it one.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include <tally/predictions/predictions_writer.hpp>

namespace tally {

inline void publish(predictions::PredictionsWriter& writer,
                    const std::map<std::string, std::string>& attributes = {}) {
  const auto written = writer.finish(attributes);
  const auto name = written.string();
  std::filesystem::rename(written, name.substr(0, name.rfind(".partial-")));
}

inline void publish(predictions::PredictionsWriter&& writer,
                    const std::map<std::string, std::string>& attributes = {}) {
  publish(writer, attributes);
}

}  // namespace tally
