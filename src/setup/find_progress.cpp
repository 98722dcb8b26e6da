// SPDX-License-Identifier: Apache-2.0
#include "find_progress.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include <tally/base/build_info.hpp>
#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/comm/agree.hpp>
#include <tally/report/describe_report.hpp>
#include <tally/session/loop_observations.hpp>

namespace tally::app {
namespace {

using Json = nlohmann::json;
using resume::PartName;
using resume::Progress;

Json part_json(const PartName& part) { return Json::array({part.attempt, part.rank}); }

PartName part_from(const Json& json) { return {json.at(0).get<int>(), json.at(1).get<int>()}; }

// Without the State, which the rank that has read it keeps.
Json progress_json(const Progress& progress) {
  Json done = Json::array();
  for (const auto& range : progress.done) done.push_back({range.first, range.count});
  return {{"part", part_json(progress.part)}, {"world_size", progress.world_size},
          {"identity", progress.identity},    {"observations", progress.observations},
          {"sequence", progress.sequence},    {"records_bytes", progress.records_bytes},
          {"done", std::move(done)}};
}

Progress progress_from(const Json& json) {
  Progress progress{.part = part_from(json.at("part")),
                    .world_size = json.at("world_size").get<int>(),
                    .identity = json.at("identity").get<std::string>(),
                    .observations = json.at("observations").get<std::string>(),
                    .sequence = json.at("sequence").get<std::int64_t>(),
                    .done = {},
                    .state = {},
                    .records_bytes = json.at("records_bytes").get<std::int64_t>()};
  for (const Json& range : json.at("done")) {
    progress.done.push_back({range.at(0).get<std::int64_t>(), range.at(1).get<std::int64_t>()});
  }
  return progress;
}

bool fits(const Progress& progress, const plan::BatchGrid& grid) {
  return std::ranges::all_of(progress.done, [&](const plan::BatchRange& range) {
    return plan::are_whole_blocks(grid, range);
  });
}

// Collective. The parts that lie in the folder, as rank 0 sees it, so that all ranks see the same.
std::vector<PartName> listed_parts(const comm::Communicator& comm,
                                   const std::filesystem::path& folder) {
  Json names = Json::array();
  comm::agree_on(comm, [&] {
    if (!comm.is_root()) return;
    for (const auto& part : resume::list_parts(folder)) names.push_back(part_json(part));
  });
  std::vector<PartName> parts;
  for (const Json& name : Json::parse(comm.broadcast(names.dump()))) {
    parts.push_back(part_from(name));
  }
  return parts;
}

bool is_readable(const Progress& progress) {
  return facts_from(progress.identity) && observations_from(progress.observations);
}

// Collective. Each rank reads some parts whole, and keeps their States; what else they say comes to
// all ranks.
std::vector<Progress> read_parts(const comm::Communicator& comm,
                                 const std::filesystem::path& folder,
                                 const std::vector<PartName>& names) {
  std::vector<Progress> own;
  Json found = Json::array();
  comm::agree_on(comm, [&] {
    for (std::size_t i = to_size(comm.rank()); i < names.size(); i += to_size(comm.world_size())) {
      auto progress = resume::load_part(folder, names[i]);
      if (!progress || !is_readable(*progress)) continue;
      found.push_back(progress_json(*progress));
      own.push_back(std::move(*progress));
    }
  });
  // Other bytes than UTF-8 cannot be in what a run has written as JSON.
  const auto texts = comm.gather(found.dump(-1, ' ', false, Json::error_handler_t::replace));
  Json all = Json::array();
  for (const auto& text : texts) {
    for (auto& one : Json::parse(text)) all.push_back(std::move(one));
  }
  std::vector<Progress> parts;
  for (const Json& one : Json::parse(comm.broadcast(all.dump()))) {
    parts.push_back(progress_from(one));
  }
  std::ranges::sort(parts, {}, &Progress::part);
  for (auto& progress : own) {
    std::ranges::find(parts, progress.part, &Progress::part)->state = std::move(progress.state);
  }
  return parts;
}

// Two attempts have the same batches where a part of the first could not be read when the second
// began. The later one counts: others may follow from it.
void drop_overlaps(std::vector<Progress>& parts) {
  std::vector<plan::BatchRange> taken;
  const auto overlaps = [&](const Progress& progress) {
    return std::ranges::any_of(progress.done, [&](const auto& own) {
      return std::ranges::any_of(taken, [&](const auto& other) {
        return own.first < other.end() && other.first < own.end();
      });
    });
  };
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (overlaps(*part)) {
      part->done.clear();
      continue;
    }
    taken.insert(taken.end(), part->done.begin(), part->done.end());
  }
  std::erase_if(parts, [](const Progress& progress) { return progress.done.empty(); });
}

}  // namespace

void find_progress(const comm::Communicator& comm, EvaluationSession& session) {
  if (!session.output.resume) return;
  const auto folder = progress_folder(session);
  const auto names = listed_parts(comm, folder);
  for (const auto& part : names) session.attempt = std::max(session.attempt, part.attempt + 1);
  session.output.parts = names;
  auto parts = read_parts(comm, folder, names);
  const auto num_found = std::ssize(parts);
  drop_overlaps(parts);
  session.output.num_damaged_parts = std::ssize(names) - num_found;
  if (parts.empty()) return;
  auto& resumption = session.resumption.emplace();
  resumption.facts = *facts_from(parts.back().identity);
  resumption.parts = std::move(parts);
  session.output.overwrite = session.output.overwrite || resumption.facts.overwrites;
}

namespace {

void note_other_build(const Resumption& resumption, Notes& notes) {
  const auto& earlier = resumption.facts.revision;
  if (earlier.empty() || earlier == build_info().revision) return;
  notes.add(format("the progress was made by another build of tally ({}; this is {})",
                   printable(earlier), build_info().revision));
}

}  // namespace

void note_progress(const EvaluationSession& session, Notes& notes) {
  if (!session.output.resume || session.output.is_complete) return;
  const auto damaged = session.output.num_damaged_parts;
  if (session.resumption) {
    notes.add(format("--resume goes on behind {} of {} samples", session.resumption->num_samples,
                     session.plan.grid->num_samples()));
    note_other_build(*session.resumption, notes);
    if (damaged == 0) return;
    notes.add(
        format("{} part{} of the progress {} damaged or incomplete: what {} held is "
               "evaluated anew",
               damaged, damaged == 1 ? "" : "s", damaged == 1 ? "is" : "are",
               damaged == 1 ? "it" : "they"));
    return;
  }
  notes.add(damaged == 0 ? "--resume: there is no progress to go on from, the run starts anew"
                         : "--resume: no part of the progress is whole, the run starts anew");
}

void require_own_progress(const comm::Communicator& comm, EvaluationSession& session) {
  if (!session.resumption) return;
  comm::agree_on(comm, [&] {
    const auto now = facts_of(session, {});
    for (const auto& part : session.resumption->parts) {
      if (auto differs = difference(*facts_from(part.identity), now, session.output.folder)) {
        throw Error(*differs);
      }
    }
  });
}

namespace {

// A report that is whole says that its result was, once.
void require_files(const std::filesystem::path& folder, const report::ReportedFiles& files) {
  std::vector<std::string> names{"metrics.h5"};
  if (files.predictions) names.emplace_back("predictions.h5");
  names.insert(names.end(), files.texts.begin(), files.texts.end());
  for (const auto& name : names) {
    if (is_there(folder / name)) continue;
    throw Error(ErrorKind::output,
                format("output folder '{}' holds a complete report, but not the {} that belongs to "
                       "it",
                       printable(folder.string()), printable(name)),
                "Put it back, or evaluate again with --overwrite in the place of --resume.");
  }
}

[[noreturn]] void refuse_other_result(const std::string& folder, bool is_readable) {
  throw Error(ErrorKind::output,
              format("output folder '{}' holds {}", printable(folder),
                     is_readable ? "the complete result of other inputs or settings"
                                 : "a report.json that cannot be read, or is none of tally"),
              "Name another one with --output, or replace it with --overwrite in the place of "
              "--resume.");
}

}  // namespace

bool has_complete_result(const comm::Communicator& comm, const EvaluationSession& session) {
  if (!session.output.resume) return false;
  bool is_ours = false;
  comm::agree_on(comm, [&] {
    if (!comm.is_root()) return;
    const std::filesystem::path folder = session.output.folder;
    if (!is_there(folder / "report.json")) return;
    const auto found = report::files_of_report(folder / "report.json");
    is_ours = found && found->inputs_digest == inputs_digest(facts_of(session, {}));
    if (is_ours) return require_files(folder, *found);
    if (!session.output.overwrite) refuse_other_result(session.output.folder, found.has_value());
  });
  return comm.max(std::int64_t{is_ours}) != 0;
}

namespace {

// A part may be whole and still be none that a run of this version has written.
void drop_misfits(EvaluationSession& session) {
  if (!session.resumption) return;
  session.output.num_damaged_parts += static_cast<std::int64_t>(
      std::erase_if(session.resumption->parts,
                    [&](const Progress& progress) { return !fits(progress, *session.plan.grid); }));
  if (session.resumption->parts.empty()) session.resumption.reset();
}

}  // namespace

void plan_what_is_left(const comm::Communicator& comm, EvaluationSession& session) {
  auto& plan = session.plan;
  std::vector<plan::DoneBatches> done;
  drop_misfits(session);
  if (session.resumption) {
    const auto& parts = session.resumption->parts;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      for (const auto& range : parts[i].done) {
        done.push_back({range, checked_cast<std::int64_t>(i)});
      }
    }
  }
  comm::agree_on(comm, [&] {
    const plan::RemainingBatches left(*plan.grid, std::move(done));
    plan.slice = left.slice_of(comm.rank(), comm.world_size());
    plan.segments = left.segments_of(plan.slice);
    if (session.resumption) session.resumption->num_samples = left.num_done_samples();
  });
}

}  // namespace tally::app
