// SPDX-License-Identifier: Apache-2.0
// Makes units of the samples that belong to them, after the loop, on however many ranks these
// samples are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/comm/communicator.hpp>
#include <tally/predictions/prediction_log.hpp>
#include <tally/session/local_result.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// Putting the samples of each unit together, whatever the units are and however many ranks have
// their samples.

// The unit of a sample: /targets/unit.
std::int64_t unit_of(const EvaluationSession& session, std::int64_t sample);
// The unit of which --limit leaves some samples only; -1: none.
std::int64_t truncated_unit(const EvaluationSession& session);

// What is known of some samples of one unit that follow one another.
template <class Partial>
struct UnitPart {
  std::int64_t unit = 0;
  Partial found;
};

// A record of the loop.
template <class Partial>
struct UnitSample {
  std::int64_t index = 0;  // global, of the sample
  bool finite = true;
  UnitPart<Partial> part;
};

// One rank's units: those whose first sample is its own. Maker makes them:
//   Partial                                   of some samples of a unit
//   kSingular, kPlural                             "question", "questions"
//   Maker(const EvaluationSession&, LocalUnits&)
//   task()                                  counts samples
//   samples_in(window)                      of a window of kept records, UnitSample<Partial> each
//   merge(more, found)                      `more` is of samples behind those of `found`
//   pack(found, bytes), unpack(bytes)       for the way to another rank
//   score(parts, cut, log, kept)            complete units that follow one another, of which `cut`
//                                           may be one
//   finish()                                after the last
// One whose units predictions.h5 holds, to be scored again, also has:
//   read_saved(saved, set, units)           SavedUnits<Partial> of these units
//   is_finite(found)                        whether all scores of a unit are
template <class Maker>
class UnitAggregator {
 public:
  using Partial = typename Maker::Partial;
  using Part = UnitPart<Partial>;

  // The session, `samples` and `units` must outlive it; `units` is filled.
  UnitAggregator(const EvaluationSession& session, const LocalSamples& samples, LocalUnits& units)
      : session_(session),
        samples_(samples),
        units_(units),
        maker_(session, units),
        truncated_(truncated_unit(session)) {
    const auto own = session.plan.grid->samples_of(session.plan.slice);
    if (own.count == 0) return;
    if (own.first > 0) last_unit_ = unit_of(session, own.first - 1);
    units.first_index = last_unit_ + 1;
  }

  void take_samples() {
    evaluate::for_each_window(retained_samples(session_, samples_),
                              [&](std::int64_t, const auto& window) {
                                for (auto& sample : maker_.samples_in(window)) {
                                  take(std::move(sample));
                                }
                              });
  }

  // What belongs to the last unit of an earlier rank, or nothing.
  std::vector<std::byte> carry_over() const {
    std::vector<std::byte> bytes;
    if (!carry_over_) return bytes;
    const auto unit = std::as_bytes(std::span(&carry_over_->unit, 1));
    bytes.assign(unit.begin(), unit.end());
    maker_.pack(carry_over_->found, bytes);
    return bytes;
  }

  // carry_overs: those of all ranks, in their order.
  void finish(const std::vector<std::vector<std::byte>>& carry_overs) {
    for (const auto& bytes : carry_overs) {
      std::int64_t unit = 0;
      if (bytes.empty()) continue;
      std::memcpy(&unit, bytes.data(), sizeof unit);
      if (!open_ || unit != open_->unit) continue;
      maker_.merge(maker_.unpack(std::span(bytes).subspan(sizeof unit)), open_->found);
    }
    if (open_) owned_.push_back(std::move(*open_));
    score_owned();
    check_end();
    maker_.finish();
  }

 private:
  // Whose texts are held at a time.
  static constexpr std::size_t kUnitsAtATime = 256;
  static constexpr const char* kPrepareAgain = "Prepare the data set again (data_tools/SCHEMA.md).";

  void take(UnitSample<Partial> sample) {
    const metrics::SampleRecord row{checked_cast<std::uint64_t>(sample.index), sample.finite};
    maker_.task().count({&row, 1}, units_.state);
    if (sample.part.unit != last_unit_) return begin(std::move(sample));
    auto& part = open_ ? open_ : carry_over_;
    if (part) {
      maker_.merge(std::move(sample.part.found), part->found);
    } else {
      part = std::move(sample.part);
    }
  }

  void begin(UnitSample<Partial> sample) {
    if (sample.part.unit != last_unit_ + 1) {
      throw Error(ErrorKind::dataset,
                  format("/targets/unit[{}] = {} after {}, expected the same or the next {}",
                         sample.index, sample.part.unit, last_unit_, Maker::kSingular),
                  kPrepareAgain);
    }
    if (open_) owned_.push_back(std::move(*open_));
    if (owned_.size() >= kUnitsAtATime) score_owned();
    last_unit_ = sample.part.unit;
    units_.unit_samples.push_back(sample.index);
    open_ = std::move(sample.part);
  }

  void check_end() const {
    const auto& info = session_.data.set->info();
    const auto samples = session_.plan.grid->samples_of(session_.plan.slice);
    const bool has_last = samples.count > 0 && samples.end() == info.num_samples;
    if (!has_last || last_unit_ == info.num_units - 1) return;
    throw Error(ErrorKind::dataset,
                format("/targets/unit ends with {}, but there are {} {}", last_unit_,
                       info.num_units, Maker::kPlural),
                kPrepareAgain);
  }

  void score_owned() {
    if (!owned_.empty())
      maker_.score(std::span<const Part>(owned_), truncated_, units_.log, units_.retained);
    owned_.clear();
  }

  const EvaluationSession& session_;
  const LocalSamples& samples_;
  LocalUnits& units_;
  Maker maker_;
  std::int64_t truncated_;
  std::int64_t last_unit_ = -1;  // of the sample before the one to come
  // The first samples may belong to the last unit of an earlier rank.
  std::optional<Part> carry_over_;
  std::optional<Part> open_;  // own, to which more samples may come
  std::vector<Part> owned_;   // complete
};

// How many units are scored: samples, or what several of them make. With --limit those of which a
// sample is evaluated. Reads the data set; throws Error(dataset).
std::int64_t count_units(const EvaluationSession& session);

// Collective. Where several samples make a unit: puts together what the loop kept of the samples of
// each unit, on the rank that has its first one, and scores the units. Elsewhere the samples are
// the units. Throws comm::AgreedFailure.
LocalUnits join_units(const comm::Communicator& comm, const EvaluationSession& session,
                      LocalSamples samples);

}  // namespace tally::app
