#include <tally/exchange/curve_metrics.hpp>

#include <array>

#include <tally/base/error.hpp>
#include <tally/exchange/curve_figures.hpp>
#include <tally/metrics/names.hpp>

namespace tally::exchange {
namespace {

using Value = std::optional<double>;
using Curves = std::span<const CurveCounts>;

struct Averaged {
  std::string_view name;
  CurveFigure figure;
  Average average;
};
constexpr std::array kAveraged{
    Averaged{"auroc_macro", CurveFigure::auroc, Average::macro},
    Averaged{"auroc_weighted", CurveFigure::auroc, Average::weighted},
    Averaged{"average_precision_macro", CurveFigure::average_precision, Average::macro},
    Averaged{"average_precision_weighted", CurveFigure::average_precision, Average::weighted},
};

struct OfOneCurve {
  std::string_view form;
  // `number` stands in the name; 1 where there is none.
  Value (*figure)(const CurveCounts& curve, double number);
};
constexpr std::array kOfOneCurve{
    OfOneCurve{"auroc", [](const CurveCounts& curve, double) { return auroc(curve); }},
    OfOneCurve{"auroc_max_fpr_<x>", partial_auroc},
    OfOneCurve{"average_precision",
               [](const CurveCounts& curve, double) { return average_precision(curve); }},
    OfOneCurve{"precision_at_recall_<x>",
               [](const CurveCounts& curve, double recall) -> Value {
                 const auto point = precision_at_recall(curve, recall);
                 return point ? Value(point->value) : Value();
               }},
    OfOneCurve{"recall_at_precision_<x>",
               [](const CurveCounts& curve, double precision) -> Value {
                 const auto point = recall_at_precision(curve, precision);
                 return point ? Value(point->value) : Value();
               }},
};

const Averaged* averaged(std::string_view name) {
  for (const Averaged& known : kAveraged) {
    if (known.name == name) return &known;
  }
  return nullptr;
}

const OfOneCurve* of_one_curve(std::string_view name) {
  for (const OfOneCurve& known : kOfOneCurve) {
    if (metrics::matches(name, known.form)) return &known;
  }
  return nullptr;
}

Value average(Curves curves, const Averaged& wanted, const CurveRules& rules) {
  std::vector<Value> values;
  for (const CurveCounts& curve : curves) {
    values.push_back(wanted.figure == CurveFigure::auroc ? auroc(curve) : average_precision(curve));
  }
  return average_over_classes(curves, values, wanted.figure, wanted.average, rules.targets,
                              rules.definitions);
}

Value value_of(Curves curves, std::string_view name, const CurveRules& rules) {
  if (const Averaged* const wanted = averaged(name)) return average(curves, *wanted, rules);
  const OfOneCurve* const wanted = of_one_curve(name);
  if (wanted == nullptr || curves.size() != 1) {
    throw Error(ErrorKind::internal, "a metric was asked of curves that have none such");
  }
  return wanted->figure(curves[0], metrics::number_in(name, wanted->form).value_or(1.0));
}

}  // namespace

std::vector<std::string> curve_metric_names(const std::vector<std::string>& names) {
  std::vector<std::string> found;
  for (const std::string& name : names) {
    if (averaged(name) != nullptr || of_one_curve(name) != nullptr) found.push_back(name);
  }
  return found;
}

std::vector<metrics::MetricValue> curve_metrics(Curves curves,
                                                const std::vector<std::string>& names,
                                                const CurveRules& rules) {
  std::vector<metrics::MetricValue> values;
  for (const std::string& name : names) values.push_back({name, value_of(curves, name, rules)});
  return values;
}

void add_class_figures(Curves curves, std::vector<metrics::ClassFigures>& classes) {
  for (std::size_t c = 0; c < curves.size() && c < classes.size(); ++c) {
    classes[c].figures.push_back({"auroc", auroc(curves[c])});
    classes[c].figures.push_back({"average_precision", average_precision(curves[c])});
  }
}

}  // namespace tally::exchange
