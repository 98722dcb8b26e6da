#include "find_subgroups.hpp"

#include <algorithm>
#include <cstring>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>
#include <tally/comm/agree.hpp>
#include <tally/data/groups.hpp>
#include <tally/data/read_column.hpp>

namespace tally::app {
namespace {

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

// Collective. All values of all ranks, on every rank; too many only in part.
std::vector<std::int32_t> unite(const comm::Communicator& comm,
                                const std::vector<std::int32_t>& of_this_rank) {
  std::vector<std::int32_t> united;
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
    if (!session.data.set->info().groups.empty()) {
      notes.add("no metrics by subgroup: detections of all images are ranked together");
    }
    return found;
  }
  if (scores_units(session)) {  // groups are of samples, of which nothing was read
    if (!session.data.set->info().groups.empty()) {
      notes.add("no metrics by subgroup: they need the samples that were predicted");
    }
    return found;
  }
  const auto samples = session.plan.grid->samples_of(session.plan.slice);
  const auto& columns = session.data.set->info().groups;
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
