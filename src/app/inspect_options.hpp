// What `tally inspect` was asked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tally::app {

// Which rows of a predictions.h5, as typed.
struct SampleOptions {
  std::optional<std::int64_t> worst, show;
  std::optional<std::string> label, predicted;  // a class, by number or name
  std::vector<std::string> groups;              // "camera=2"; all of them hold
  bool wrong = false;
  std::optional<std::string> data;

  bool any() const {
    return worst || show || label || predicted || !groups.empty() || wrong || data;
  }
};

struct InspectOptions {
  std::string file;
  bool verify = false;
  std::optional<std::string> add_checksums;
  SampleOptions samples;
};

// Error(usage) for what is unknown, without its value, or excludes another option.
InspectOptions parse_inspect_options(const std::vector<std::string>& arguments);

}  // namespace tally::app
