// Putting the samples of each unit together, whatever the units are and however many ranks have
// their samples.
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
#include <tally/predictions/log.hpp>
#include <tally/session/local_result.hpp>
#include <tally/session/retained_samples.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// The unit of a sample: /targets/unit.
std::int64_t unit_of(const EvaluationSession& session, std::int64_t sample);
// The unit of which --limit leaves some samples only; -1: none.
std::int64_t cut_unit(const EvaluationSession& session);

// What of some samples of a unit is kept, in their order.
template <class Found>
struct UnitPart {
  std::int64_t unit = 0;
  Found found;
};

// A record of the loop.
template <class Found>
struct UnitSample {
  std::int64_t index = 0;  // global, of the sample
  bool finite = true;
  UnitPart<Found> part;
};

// One rank's units: those whose first sample is its own. Maker makes them:
//   Found                                   of some samples of a unit
//   kOne, kMany                             "question", "questions"
//   Maker(const EvaluationSession&, LocalUnits&)
//   task()                                  counts samples
//   samples_in(window)                      of a window of kept records, UnitSample<Found> each
//   merge(more, found)                      `more` is of samples behind those of `found`
//   pack(found, bytes), unpack(bytes)       for the way to another rank
//   score(parts, cut, log, kept)            complete units that follow one another, of which `cut`
//                                           may be one
//   finish()                                after the last
template <class Maker>
class UnitAggregator {
 public:
  using Found = typename Maker::Found;
  using Part = UnitPart<Found>;

  // Both results outlive it; `units` is filled.
  UnitAggregator(const EvaluationSession& session, const LocalSamples& samples, LocalUnits& units)
      : session_(session),
        samples_(samples),
        units_(units),
        maker_(session, units),
        cut_(cut_unit(session)) {
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
  std::vector<std::byte> head() const {
    std::vector<std::byte> bytes;
    if (!head_) return bytes;
    const auto unit = std::as_bytes(std::span(&head_->unit, 1));
    bytes.assign(unit.begin(), unit.end());
    maker_.pack(head_->found, bytes);
    return bytes;
  }

  // heads: those of all ranks, in their order.
  void finish(const std::vector<std::vector<std::byte>>& heads) {
    for (const auto& bytes : heads) {
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

  void take(UnitSample<Found> sample) {
    const metrics::SampleRecord row{checked_cast<std::uint64_t>(sample.index), sample.finite};
    maker_.task().count({&row, 1}, units_.state);
    if (sample.part.unit != last_unit_) return begin(std::move(sample));
    auto& part = open_ ? open_ : head_;
    if (part) {
      maker_.merge(std::move(sample.part.found), part->found);
    } else {
      part = std::move(sample.part);
    }
  }

  void begin(UnitSample<Found> sample) {
    if (sample.part.unit != last_unit_ + 1) {
      throw Error(ErrorKind::dataset,
                  format("/targets/unit[{}] = {} after {}, expected the same or the next {}",
                         sample.index, sample.part.unit, last_unit_, Maker::kOne),
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
                       info.num_units, Maker::kMany),
                kPrepareAgain);
  }

  void score_owned() {
    if (!owned_.empty())
      maker_.score(std::span<const Part>(owned_), cut_, units_.log, units_.retained);
    owned_.clear();
  }

  const EvaluationSession& session_;
  const LocalSamples& samples_;
  LocalUnits& units_;
  Maker maker_;
  std::int64_t cut_;
  std::int64_t last_unit_ = -1;  // of the sample before the one to come
  // The first samples may belong to the last unit of an earlier rank.
  std::optional<Part> head_;
  std::optional<Part> open_;  // own, to which more samples may come
  std::vector<Part> owned_;   // complete
};

}  // namespace tally::app
