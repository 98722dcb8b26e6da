// SPDX-License-Identifier: Apache-2.0
#include <tally/distributed_metrics/detection_average_precision.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <tuple>

#include <tally/base/checked_cast.hpp>
#include <tally/comm/agree.hpp>
#include <tally/exact/sum.hpp>
#include <tally/ordered_metrics/precision_at_recalls.hpp>

namespace tally::distributed_metrics {
namespace {

using metrics::DetectionRecord;
using metrics::kNumAreaRanges;
using metrics::kNumIouThresholds;
using Rows = std::vector<DetectionRecord>;

constexpr auto kKind = exact::SumKind::float64;
// These are the indices of the overlaps 0.50 and 0.75, of which ap50 and ap75 are made.
constexpr int kHalf = 0, kThreeQuarters = 5;
constexpr int kAllThresholds = -1;

// Says of which area range and overlap a metric is the mean; the order is that of the members of
// AveragePrecisions.
struct MetricRange {
  int area;
  int threshold;
};
constexpr std::array<MetricRange, 6> kMetrics{{{metrics::kAllAreas, kAllThresholds},
                                               {metrics::kAllAreas, kHalf},
                                               {metrics::kAllAreas, kThreeQuarters},
                                               {metrics::kSmall, kAllThresholds},
                                               {metrics::kMedium, kAllThresholds},
                                               {metrics::kLarge, kAllThresholds}}};

// Each class has a mean for each area range and overlap, and behind them its ap.
constexpr std::int64_t kMeansPerClass = kNumAreaRanges * kNumIouThresholds + 1;

// This is a window of the rows of this rank, sorted by the rank that they go to, as
// all_to_all_rows() wants them.
struct Parcel {
  Rows rows;
  std::vector<std::int64_t> rows_to_rank;
};

Parcel packed(Rows rows, const std::vector<int>& owners, int num_ranks) {
  Parcel parcel{std::move(rows), std::vector<std::int64_t>(to_size(num_ranks), 0)};
  const auto owner = [&](const DetectionRecord& row) { return owners.at(to_size(row.label)); };
  for (const DetectionRecord& row : parcel.rows) ++parcel.rows_to_rank[to_size(owner(row))];
  std::ranges::stable_sort(parcel.rows, {}, owner);
  return parcel;
}

// Counts the rows that this rank will hold in the end, so that their room is taken once.
std::size_t num_owned(std::span<const std::int64_t> rows_per_class, const std::vector<int>& owners,
                      int rank) {
  std::int64_t rows = 0;
  for (std::size_t c = 0; c < owners.size(); ++c) rows += owners[c] == rank ? rows_per_class[c] : 0;
  return to_size(rows);
}

// Collective. Appends to `local` the rows of all ranks whose classes are this rank's, class by
// class and ranked: by score, equal scores by the order of the images.
void exchange_rows(const comm::Communicator& comm, const DetectionRows& rows,
                   const std::vector<int>& owners, Rows& local) {
  // All ranks may send all of a window to the same one.
  const std::int64_t window = std::max<std::int64_t>(
      1, rows.window_bytes / std::int64_t{sizeof(DetectionRecord)} / comm.world_size());
  // Every rank takes part in every exchange, also when its own rows are sent.
  const std::int64_t most = comm.max(rows.num_rows);
  for (std::int64_t first = 0; first < most; first += window) {
    Parcel parcel;
    comm::agree_on(comm, [&] {
      Rows some(to_size(std::clamp<std::int64_t>(rows.num_rows - first, 0, window)));
      if (!some.empty()) rows.read(first, std::ssize(some), some);
      parcel = packed(std::move(some), owners, comm.world_size());
    });
    const auto bytes = comm.all_to_all_rows(std::as_bytes(std::span(parcel.rows)),
                                            sizeof(DetectionRecord), parcel.rows_to_rank);
    // A rank that cannot hold the rows must say so before the others enter the next exchange.
    comm::agree_on(comm, [&] {
      const std::size_t before = local.size();
      local.resize(before + bytes.size() / sizeof(DetectionRecord));
      if (!bytes.empty()) std::memcpy(&local[before], bytes.data(), bytes.size());
    });
  }
  // No two rows are equal in all four, so the order does not depend on how the rows were spread.
  // Equal scores keep the order of the images, then that of `place`, as in pycocotools.
  std::ranges::sort(local, {}, [](const DetectionRecord& row) {
    return std::tuple(row.label, -row.score, row.image, row.place);
  });
}

// Holds what the classes of a rank give. Each entry is either a limb of an exact sum, which adds up
// over ranks, or the bits of a double that one rank writes and the others leave 0. So one sum of
// integers shares everything and is the evidence for the digest.
class Sums {
 public:
  explicit Sums(std::span<const std::int64_t> num_objects)
      : num_objects_(num_objects),
        limbs_per_sum_(exact::num_limbs(kKind)),
        values_(to_size(std::ssize(kMetrics) * limbs_per_sum_ + num_classes() * kMeansPerClass)) {}

  // ranked: the rows of class c; there may be none.
  void add_class(std::int64_t c, std::span<const DetectionRecord> ranked) {
    Limbs of_class(to_size(limbs_per_sum_));
    for (int area = 0; area < kNumAreaRanges; ++area) {
      const std::int64_t objects = num_objects_[to_size(c * kNumAreaRanges + area)];
      if (objects == 0) continue;
      for (int t = 0; t < kNumIouThresholds; ++t) {
        const auto precisions =
            ordered_metrics::precision_at_recalls(ranked, metrics::verdict_bit(area, t), objects);
        Limbs alone(to_size(limbs_per_sum_));
        exact::add_all(alone, precisions);
        mean_bits(c, area * kNumIouThresholds + t) = bits(exact::mean(alone, kKind, kPoints));
        if (area == metrics::kAllAreas) exact::add_all(of_class, precisions);
        for (std::size_t metric = 0; metric < kMetrics.size(); ++metric) {
          const MetricRange& range = kMetrics[metric];
          if (range.area != area) continue;
          if (range.threshold != kAllThresholds && range.threshold != t) continue;
          exact::add_all(sum(metric), precisions);
        }
      }
    }
    mean_bits(c, kMeansPerClass - 1) =
        bits(exact::mean(of_class, kKind, kPoints * kNumIouThresholds));
  }

  void add_up(const comm::Communicator& comm) {
    comm.sum_in_place(values_);
    // A limb of several ranks may exceed 32 bits; the digest needs the canonical form.
    for (std::size_t metric = 0; metric < kMetrics.size(); ++metric) {
      exact::canonicalise(sum(metric));
    }
  }

  AveragePrecisions values() {
    AveragePrecisions found;
    for (std::int64_t c = 0; c < num_classes(); ++c) {
      auto& of_class = found.classes.emplace_back();
      if (num_objects_[to_size(c * kNumAreaRanges + metrics::kAllAreas)] == 0) continue;
      of_class.ap = std::bit_cast<double>(mean_bits(c, kMeansPerClass - 1));
      of_class.ap50 = std::bit_cast<double>(mean_bits(c, kHalf));
    }
    const std::array wanted{&found.ap,       &found.ap50,      &found.ap75,
                            &found.ap_small, &found.ap_medium, &found.ap_large};
    for (std::size_t metric = 0; metric < wanted.size(); ++metric) *wanted[metric] = mean(metric);
    found.evidence = values_;
    return found;
  }

 private:
  using Limbs = std::vector<std::int64_t>;
  static constexpr std::int64_t kPoints = ordered_metrics::kNumRecallPoints;

  static std::int64_t bits(double value) { return std::bit_cast<std::int64_t>(value); }
  std::int64_t num_classes() const { return std::ssize(num_objects_) / kNumAreaRanges; }

  std::span<std::int64_t> sum(std::size_t metric) {
    return std::span(values_).subspan(metric * to_size(limbs_per_sum_), to_size(limbs_per_sum_));
  }
  std::int64_t& mean_bits(std::int64_t c, std::int64_t which) {
    return values_[to_size(std::ssize(kMetrics) * limbs_per_sum_ + c * kMeansPerClass + which)];
  }

  std::optional<double> mean(std::size_t metric) {
    const MetricRange& range = kMetrics[metric];
    std::int64_t count = 0;
    for (std::int64_t c = 0; c < num_classes(); ++c) {
      if (num_objects_[to_size(c * kNumAreaRanges + range.area)] == 0) continue;
      count += kPoints * (range.threshold == kAllThresholds ? kNumIouThresholds : 1);
    }
    if (count == 0) return std::nullopt;
    return exact::mean(sum(metric), kKind, count);
  }

  std::span<const std::int64_t> num_objects_;
  std::int64_t limbs_per_sum_;
  std::vector<std::int64_t> values_;
};

}  // namespace

// The largest class goes first, each to the rank with the fewest rows so far. The order is fixed
// for equal sizes, so that all ranks find the same owners without communication.
std::vector<int> owners_of_classes(std::span<const std::int64_t> rows_per_class, int num_ranks) {
  std::vector<std::size_t> classes(rows_per_class.size());
  for (std::size_t c = 0; c < classes.size(); ++c) classes[c] = c;
  std::ranges::stable_sort(classes, std::ranges::greater(),
                           [&](std::size_t c) { return rows_per_class[c]; });
  std::vector<std::int64_t> loads(to_size(num_ranks), 0);
  std::vector<int> owners(rows_per_class.size());
  for (const std::size_t c : classes) {
    const auto least = std::ranges::min_element(loads);
    owners[c] = static_cast<int>(least - loads.begin());
    *least += rows_per_class[c];
  }
  return owners;
}

AveragePrecisions average_precisions(const comm::Communicator& comm, const DetectionRows& rows,
                                     const ClassTotals& totals) {
  const auto owners = owners_of_classes(totals.rows, comm.world_size());
  Rows local;
  // The room is taken before anything is sent, so that lack of memory shows on all ranks at once
  // and `local` is never copied to grow.
  comm::agree_on(comm, [&] { local.reserve(num_owned(totals.rows, owners, comm.rank())); });
  exchange_rows(comm, rows, owners, local);
  Sums sums(totals.objects);
  comm::agree_on(comm, [&] {
    for (std::size_t c = 0; c < owners.size(); ++c) {
      if (owners[c] != comm.rank()) continue;
      const auto label = static_cast<std::int32_t>(c);
      const auto begin = std::ranges::lower_bound(local, label, {}, &DetectionRecord::label);
      const auto end = std::ranges::upper_bound(local, label, {}, &DetectionRecord::label);
      sums.add_class(label, {begin, end});
    }
  });
  sums.add_up(comm);
  return sums.values();
}

}  // namespace tally::distributed_metrics
