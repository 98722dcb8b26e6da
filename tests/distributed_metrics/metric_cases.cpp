// SPDX-License-Identifier: Apache-2.0
// Computes metrics that need an order over all ranks of raw arrays, for comparison with other
// packages; to be run under mpirun. Rank 0 prints one JSON list, an entry a case.
//
//   metric_cases FOLDER
//
// FOLDER/cases.json lists the cases; their arrays are slices of FOLDER/floats (float32) and
// FOLDER/targets (uint8), as numpy's tofile() writes them. "slicing" says how ranks share the rows.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/comm/agree.hpp>
#include <tally/comm/mpi_runtime.hpp>
#include <tally/digest/sha256_and_checksums.hpp>
#include <tally/distributed_metrics/global_curves_and_bootstrap.hpp>
#include <tally/distributed_metrics/global_spearman.hpp>
#include <tally/metrics/poisson_weight.hpp>
#include <tally/ordered_metrics/curve_counts_and_points.hpp>
#include <tally/ordered_metrics/curve_metrics.hpp>
#include <tally/ordered_metrics/digest_encoding.hpp>
#include <tally/ordered_metrics/metrics_from_curve_counts.hpp>

#include "slices.hpp"

namespace {

using namespace tally;
using namespace tally::distributed_metrics;
using namespace tally::ordered_metrics;
using nlohmann::json;

struct Arrays {
  std::vector<float> floats;
  std::vector<std::uint8_t> targets;
};

template <class T>
std::vector<T> read_array(const std::string& path) {
  const auto bytes = read_file(path, ErrorKind::usage, "array");
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

json number(std::optional<double> value) { return value ? json(*value) : json(nullptr); }

// JSON knows no infinity.
json threshold(float value) {
  return std::isfinite(value) ? json(static_cast<double>(value)) : json(value > 0 ? "inf" : "-inf");
}

json operating_point(const std::optional<OperatingPoint>& point) {
  if (!point) return nullptr;
  return {point->value, point->threshold ? threshold(*point->threshold) : json(nullptr)};
}

// The digest, which must be the same on every rank.
template <class Results>
std::string digest_of(const comm::Communicator& comm, const std::vector<Results>& results) {
  digest::Sha256 hash;
  pass_digest_bytes(std::span<const Results>(results),
                    [&](std::span<const std::byte> bytes) { hash.update(bytes); });
  comm::agree_same(comm, ErrorKind::internal, "the digest", hash.hex());
  return hash.hex();
}

json points_of(const CurveCounts& curve) {
  json roc = json::array();
  for (const RocPoint& point : roc_points(curve)) {
    roc.push_back({point.false_positive_rate, point.true_positive_rate, threshold(point.threshold),
                   point.side == ThresholdSide::at_least ? ">=" : ">"});
  }
  json precision_recall = json::array();
  for (const PrecisionRecallPoint& point : precision_recall_points(curve)) {
    precision_recall.push_back({point.precision, point.recall, threshold(point.threshold)});
  }
  return {{"roc", roc}, {"precision_recall", precision_recall}};
}

json metrics_of(const CurveCounts& curve, const json& one) {
  json out{
      {"positives", curve.positives},
      {"negatives", curve.negatives},
      {"auroc", number(auroc(curve))},
      {"partial_auroc", number(partial_auroc(curve, one["max_fpr"]))},
      {"average_precision", number(average_precision(curve))},
      {"precision_at_recall", operating_point(precision_at_recall(curve, one["min_recall"]))},
      {"recall_at_precision", operating_point(recall_at_precision(curve, one["min_precision"]))}};
  if (one["points"]) out["points"] = points_of(curve);
  return out;
}

json by_name(const std::vector<metrics::MetricValue>& values) {
  json out = json::object();
  for (const auto& value : values) out[value.name] = number(value.value);
  return out;
}

json thresholds_of(const std::vector<metrics::MetricValue>& values) {
  json out = json::object();
  for (const auto& value : values) {
    if (!value.threshold) continue;
    const auto& score = value.threshold->score;
    out[value.name] = score ? json(threshold(*score)) : json(nullptr);
  }
  return out;
}

// As a run has them, by the names that it was asked for.
json averages_of(const std::vector<CurveCounts>& curves, const json& one) {
  const auto targets = one["task"] == "multiclass" ? Targets::multiclass : Targets::labels;
  json out;
  for (const auto definitions :
       {metrics::Definitions::torchmetrics, metrics::Definitions::sklearn}) {
    out[std::string(name(definitions))] =
        by_name(curve_metrics(curves, one["metrics"], {targets, definitions}));
  }
  return out;
}

// [class] {"values", "thresholds"}
json class_metrics_of(const std::vector<CurveCounts>& curves, const json& one) {
  std::vector<metrics::ClassMetrics> classes(curves.size());
  add_class_metrics(curves, one["metrics"], classes);
  json out = json::array();
  for (const auto& [index, support, predicted, correct, values] : classes) {
    out.push_back({{"values", by_name(values)}, {"thresholds", thresholds_of(values)}});
  }
  return out;
}

json weights_of(std::uint64_t seed, std::int64_t replicate, std::int64_t num_rows) {
  const metrics::PoissonWeights weights(seed, static_cast<std::uint64_t>(replicate));
  json out = json::array();
  for (std::int64_t i = 0; i < num_rows; ++i) {
    out.push_back(weights.of(static_cast<std::uint64_t>(i)));
  }
  return out;
}

json curve_bootstrap(const comm::Communicator& comm, const ScoreRows& rows, ScoreKeys keys,
                     const json& one) {
  const ReplicateValues wanted{2 * rows.num_classes, [](std::span<const CurveCounts> curves,
                                                        std::span<std::optional<double>> found) {
                                 for (std::size_t c = 0; c < curves.size(); ++c) {
                                   found[2 * c] = auroc(curves[c]);
                                   found[2 * c + 1] = average_precision(curves[c]);
                                 }
                               }};
  const CurveBootstrap options{one["seed"], one["replicates"], keys, one["max_place_bytes"]};
  json out = json::array();
  for (const auto& found : bootstrap_curves(comm, rows, options, wanted)) {
    json values = json::array();
    for (const auto& metric : found) values.push_back(number(metric));
    const auto replicate = static_cast<std::int64_t>(out.size());
    out.push_back(
        {{"figures", values}, {"weights", weights_of(options.seed, replicate, one["rows"])}});
  }
  return out;
}

json curve_case(const comm::Communicator& comm, const Arrays& arrays, const json& one) {
  const Slice slice = slice_of(one["slicing"], one["rows"], comm.rank(), comm.world_size());
  const std::int64_t width = one["classes"];
  ScoreRows rows{slice.count, width, slice.first, {}};
  rows.read = [&](std::int64_t first, std::int64_t count, std::span<float> scores,
                  std::span<std::uint8_t> targets) {
    const std::int64_t from = (slice.first + first) * width;
    std::copy_n(arrays.floats.begin() + one["floats"].get<std::int64_t>() + from, count * width,
                scores.begin());
    std::copy_n(arrays.targets.begin() + one["targets"].get<std::int64_t>() + from, count * width,
                targets.begin());
  };
  const auto keys = one["keys"] == "bfloat16" ? ScoreKeys::bfloat16 : ScoreKeys::float32;
  const auto curves = count_curves(comm, rows, keys);
  json per_class = json::array();
  for (const auto& curve : curves) per_class.push_back(metrics_of(curve, one));
  return {{"digest", digest_of(comm, curves)},
          {"per_class", per_class},
          {"averages", averages_of(curves, one)},
          {"class_figures", class_metrics_of(curves, one)},
          {"bootstrap", curve_bootstrap(comm, rows, keys, one)}};
}

json correlations(const std::vector<SpearmanSums>& sums) {
  json out = json::array();
  for (const auto& output : sums) out.push_back(number(spearman(output)));
  return out;
}

json rank_case(const comm::Communicator& comm, const Arrays& arrays, const json& one) {
  const std::int64_t num_rows = one["rows"];
  const Slice slice = slice_of(one["slicing"], num_rows, comm.rank(), comm.world_size());
  PairRows rows;
  rows.num_rows = slice.count;
  rows.num_outputs = one["outputs"];
  rows.first_index = slice.first;
  rows.read = [&](std::int64_t first, std::int64_t count, std::span<float> predictions,
                  std::span<float> targets) {
    const auto from = arrays.floats.begin() + one["floats"].get<std::int64_t>() +
                      (slice.first + first) * rows.num_outputs;
    std::copy_n(from, count * rows.num_outputs, predictions.begin());
    std::copy_n(from + num_rows * rows.num_outputs, count * rows.num_outputs, targets.begin());
  };
  const auto sums = sum_spearman(comm, rows);
  json bootstrap = json::array();
  for (const auto& replicate : bootstrap_spearman(comm, rows, one["seed"], one["replicates"])) {
    const auto index = static_cast<std::int64_t>(bootstrap.size());
    bootstrap.push_back({{"spearman", correlations(replicate)},
                         {"weights", weights_of(one["seed"], index, num_rows)}});
  }
  return {{"digest", digest_of(comm, sums)},
          {"spearman", correlations(sums)},
          {"bootstrap", bootstrap}};
}

void run(const comm::Communicator& comm, const std::string& folder) {
  Arrays arrays{read_array<float>(folder + "/floats"),
                read_array<std::uint8_t>(folder + "/targets")};
  json results = json::array();
  for (const json& one :
       json::parse(read_file(folder + "/cases.json", ErrorKind::usage, "cases"))) {
    results.push_back(one["kind"] == "curves" ? curve_case(comm, arrays, one)
                                              : rank_case(comm, arrays, one));
  }
  if (comm.is_root()) std::puts(results.dump().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    comm::Runtime runtime(&argc, &argv);
    if (argc != 2) throw Error(ErrorKind::usage, "a folder is needed");
    run(runtime.world(), argv[1]);
    return 0;
  } catch (...) {
    std::fprintf(stderr, "metric_cases: %s\n", current_error().what());
    comm::abort_job(1);
  }
}
