// SPDX-License-Identifier: Apache-2.0
#include "class_weights_and_subgroups.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/base/parse_number.hpp>
#include <tally/base/printable.hpp>
#include <tally/comm/agree.hpp>
#include <tally/data/column_values.hpp>

namespace tally::app {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

Error refused(const std::string& path, const std::string& why) {
  return {ErrorKind::usage, format("class weights '{}' {}", printable(path), why),
          "The file has one number from 0 up per class, in the order of the classes."};
}

double weight_of(std::string_view word, const std::string& path) {
  const auto weight = parse_number<double>(word);
  if (weight && std::isfinite(*weight) && *weight >= 0) return *weight;
  // A file that is given by mistake may be one long word: only its beginning is quoted.
  throw refused(path, format("hold '{}'", printable(std::string(word.substr(0, 40)))));
}

std::vector<double> parse(std::string_view text, const std::string& path,
                          std::int64_t num_classes) {
  std::vector<double> weights;
  for (std::size_t at = text.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBlanks, at), text.size());
    weights.push_back(weight_of(text.substr(at, end - at), path));
    at = text.find_first_not_of(kBlanks, end);
  }
  if (std::ssize(weights) != num_classes) {
    throw refused(
        path, format("hold {} numbers, the data set has {} classes", weights.size(), num_classes));
  }
  // Without a positive weight a weighted mean would be 0/0.
  if (std::ranges::all_of(weights, [](double weight) { return weight == 0; })) {
    throw refused(path, "are all 0");
  }
  return weights;
}

}  // namespace

std::vector<double> read_class_weights(const comm::Communicator& comm, const std::string& path,
                                       std::int64_t num_classes) {
  if (path.empty()) return {};
  std::vector<std::byte> bytes;
  comm::agree_on(comm, [&] {
    if (comm.is_root()) {
      bytes = read_file(path, ErrorKind::usage, "class weights", kMaxClassesFileBytes);
    }
  });
  comm.broadcast(bytes);
  std::vector<double> weights;
  comm::agree_on(comm, [&] {
    weights = parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path, num_classes);
  });
  return weights;
}

namespace {

// The states of all subgroups of one column take at most so many bytes on every rank.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;

std::string as_bytes(const std::vector<std::int32_t>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(std::int32_t)};
}

void append_values(std::string_view bytes, std::vector<std::int32_t>& values) {
  const std::size_t before = values.size();
  values.resize(before + bytes.size() / sizeof(std::int32_t));
  if (!bytes.empty()) std::memcpy(values.data() + before, bytes.data(), bytes.size());
}

void sort_and_unite(std::vector<std::int32_t>& values) {
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

// Collective. Returns the values of all ranks on every rank. A rank that has too many sends one
// more than is allowed, which is enough for all to see that there are too many.
std::vector<std::int32_t> unite(const comm::Communicator& comm,
                                const std::vector<std::int32_t>& of_this_rank) {
  std::vector<std::int32_t> united;
  // Values that ranks share go after each rank, so that the union stays small for many ranks.
  for (const std::string& bytes : comm.gather(as_bytes(of_this_rank))) {
    append_values(bytes, united);
    sort_and_unite(united);
  }
  std::vector<std::int32_t> values;
  append_values(comm.broadcast(as_bytes(united)), values);
  return values;
}

bool can_be_kept(const EvaluationSession& session, const std::string& path, std::size_t num_values,
                 Notes& notes) {
  const auto bytes =
      static_cast<std::int64_t>(num_values) * session.scoring.task->resample_layout()->num_bytes();
  // All ranks have the same union, and so leave out the same columns.
  if (num_values <= data::kMaxGroupValues && bytes <= kMostBytes) return true;
  notes.add(num_values > data::kMaxGroupValues
                ? format("no metrics by {}: it has more than {} different values", path,
                         data::kMaxGroupValues)
                : format("no metrics by {}: its {} values would take {} MiB on every rank", path,
                         num_values, bytes >> 20));
  return false;
}

}  // namespace

std::vector<Subgroups> find_subgroups(const comm::Communicator& comm,
                                      const EvaluationSession& session, Notes& notes) {
  std::vector<Subgroups> found;
  if (session.scoring.capabilities().detections != nullptr) {
    if (!session.data.set->info().columns.groups.empty()) {
      notes.add("no metrics by subgroup: detections of all images are ranked together");
    }
    return found;
  }
  if (is_rescoring_units(session)) {  // groups are of samples, of which nothing was read
    if (!session.data.set->info().columns.groups.empty()) {
      notes.add("no metrics by subgroup: they need the samples that were predicted");
    }
    return found;
  }
  const auto samples = session.plan.grid->samples_of(session.plan.slice);
  const auto& columns = session.data.set->info().columns.groups;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    std::vector<std::int32_t> local;
    comm::agree_on(comm, [&] {
      local = data::group_values(*session.data.set, columns[c], samples.first, samples.count);
    });
    auto values = unite(comm, local);
    if (can_be_kept(session, columns[c].path, values.size(), notes))
      found.push_back({c, std::move(values)});
  }
  return found;
}

}  // namespace tally::app
