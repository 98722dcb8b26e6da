#include <tally/ordered_metrics/curve_averages.hpp>

#include <algorithm>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/exact/sum.hpp>

namespace tally::ordered_metrics {
namespace {

using metrics::Definitions;

// What an undefined metric means to an average.
enum class Undefined { counts_as_zero, left_out, spoils_the_average };

Undefined meaning(CurveMetric metric, Targets targets, Definitions definitions) {
  if (metric == CurveMetric::auroc) {
    return definitions == Definitions::torchmetrics ? Undefined::counts_as_zero
                                                    : Undefined::spoils_the_average;
  }
  const bool is_precision = metric == CurveMetric::average_precision;
  return is_precision && definitions == Definitions::torchmetrics && targets == Targets::multiclass
             ? Undefined::left_out
             : Undefined::counts_as_zero;
}

// sum(value * weight) / sum(weight) of what is added: each product is rounded, their sum is exact.
class WeightedMean {
 public:
  void add(double value, std::int64_t weight) {
    exact::add(limbs_, value * static_cast<double>(weight));
    total_ += weight;
  }
  std::optional<double> value() {
    if (total_ == 0) return std::nullopt;
    exact::canonicalise(limbs_);
    return exact::mean(limbs_, exact::SumKind::float64, total_);
  }

 private:
  std::vector<std::int64_t> limbs_ =
      std::vector<std::int64_t>(to_size(exact::num_limbs(exact::SumKind::float64)));
  std::int64_t total_ = 0;
};

}  // namespace

std::optional<double> average_over_classes(std::span<const CurveCounts> curves,
                                           std::span<const std::optional<double>> values,
                                           CurveMetric metric, Average average, Targets targets,
                                           Definitions definitions) {
  if (curves.size() != values.size()) {
    throw Error(ErrorKind::internal, "an average needs one metric of each class");
  }
  const auto has_samples = [](const CurveCounts& c) { return c.positives + c.negatives > 0; };
  if (std::ranges::none_of(curves, has_samples)) return std::nullopt;
  const bool is_weighted = average == Average::weighted && curves.size() > 1;
  const Undefined undefined = meaning(metric, targets, definitions);
  WeightedMean mean;
  for (std::size_t c = 0; c < curves.size(); ++c) {
    const std::int64_t weight = is_weighted ? curves[c].positives : 1;
    if (!values[c] && weight > 0 && undefined == Undefined::spoils_the_average) {
      return std::nullopt;
    }
    if (values[c] || undefined == Undefined::counts_as_zero) {
      mean.add(values[c].value_or(0.0), weight);
    }
  }
  return is_weighted ? mean.value().value_or(0.0) : mean.value();
}

}  // namespace tally::ordered_metrics
