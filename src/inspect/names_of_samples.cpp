// SPDX-License-Identifier: Apache-2.0
#include <tally/inspect/names_of_samples.hpp>

#include <optional>

#include <tally/base/error.hpp>
#include <tally/data/data_set.hpp>
#include <tally/data/sample_names.hpp>

namespace tally::app {
namespace {

std::optional<data::DataSet> open_named(const std::string& path, const std::string& identity) try {
  data::DataSet data_set(path);
  // The identity of a data set without checksums takes time, which one without names is not worth.
  if (!data::has_sample_names(data_set.info()) || data_set.identity() != identity) return {};
  return data_set;
} catch (const Error&) {
  return {};
}

}  // namespace

std::map<std::int64_t, std::string> names_of_samples(const std::string& path,
                                                     const std::string& identity,
                                                     std::span<const std::int64_t> indices) {
  std::map<std::int64_t, std::string> names;
  if (indices.empty()) return names;
  auto data_set = open_named(path, identity);
  if (!data_set) return names;
  for (const std::int64_t index : indices) {
    // A damaged result may hold the index of a sample that is not there.
    if (index < 0 || index >= data_set->info().num_samples) continue;
    names[index] = data::read_sample_name(*data_set, index);
  }
  return names;
}

}  // namespace tally::app
