// SPDX-License-Identifier: Apache-2.0
#include "changes_json.hpp"

#include <cmath>

#include <nlohmann/json.hpp>

#include <tally/base/checked_cast.hpp>

namespace tally::compare {
namespace {

// The keys that changes of classes and of label sets share, in the order of docs/formats.md.
Json counted(const ChangeCounts& counts, Json first) {
  return {{"right_to_wrong", counts.right_to_wrong},
          {"wrong_to_right", counts.wrong_to_right},
          {"wrong_to_other_wrong", counts.wrong_to_other_wrong},
          {"first", std::move(first)}};
}

// Visits the three forms of changes; the keys of each are listed in docs/formats.md.
class ChangesJson {
 public:
  ChangesJson(const std::vector<std::string>& class_names,
              const std::map<std::int64_t, std::string>& sample_names)
      : names_(class_names), sample_names_(sample_names) {}

  Json operator()(const ClassChanges& changes) const {
    Json first = Json::array();
    for (const ClassChange& change : changes.first) {
      first.push_back({{"index", change.index},
                       {"sample_name", sample_name(change.index)},
                       {"label", change.label},
                       {"label_name", name_of(change.label)},
                       {"a", prediction_json(change.a)},
                       {"b", prediction_json(change.b)}});
    }
    return counted(changes.counts, std::move(first));
  }

  Json operator()(const LabelSetChanges& changes) const {
    Json first = Json::array();
    for (const LabelSetChange& change : changes.first) {
      first.push_back({{"index", change.index},
                       {"sample_name", sample_name(change.index)},
                       {"label", change.labels},
                       {"label_name", names_of(change.labels)},
                       {"labels_scored", change.scored},
                       {"a", prediction_json(change.a)},
                       {"b", prediction_json(change.b)}});
    }
    return counted(changes.counts, std::move(first));
  }

  Json operator()(const ValueChanges& changes) const {
    Json first = Json::array();
    for (const ValueChange& change : changes.first) {
      first.push_back({{"index", change.index},
                       {"sample_name", sample_name(change.index)},
                       {"label", values_json(change.targets)},
                       {"a", prediction_json(change.a)},
                       {"b", prediction_json(change.b)},
                       {"change", number_or_null(change.change())}});
    }
    return {{"closer", changes.closer}, {"farther", changes.farther}, {"first", std::move(first)}};
  }

 private:
  Json name_of(std::int64_t index) const {
    // The class is -1 where there is no prediction, and the names may not be known.
    if (index < 0 || index >= std::ssize(names_)) return {};
    return names_[to_size(index)];
  }

  Json sample_name(std::int64_t index) const {
    const auto found = sample_names_.find(index);
    return found == sample_names_.end() ? Json() : Json(found->second);
  }

  Json names_of(const std::vector<std::int64_t>& labels) const {
    Json names = Json::array();
    for (const std::int64_t label : labels) names.push_back(name_of(label));
    return names;
  }

  static Json values_json(const std::vector<float>& values) {
    Json numbers = Json::array();
    for (const float value : values) numbers.push_back(number_or_null(value));
    return numbers;
  }

  Json prediction_json(const ClassPrediction& prediction) const {
    return {{"prediction", prediction.predicted},
            {"name", name_of(prediction.predicted)},
            {"confidence", number_or_null(prediction.confidence)}};
  }

  Json prediction_json(const LabelSetPrediction& prediction) const {
    // A null says that there is no prediction, an empty list that no label is predicted.
    const auto& labels = prediction.labels;
    return {{"prediction", labels ? Json(*labels) : Json()},
            {"name", labels ? names_of(*labels) : Json()},
            {"labels_right", prediction.right}};
  }

  static Json prediction_json(const ValuePrediction& prediction) {
    return {{"prediction", values_json(prediction.values)},
            {"error", number_or_null(prediction.error)}};
  }

  const std::vector<std::string>& names_;
  const std::map<std::int64_t, std::string>& sample_names_;
};

}  // namespace

Json number_or_null(std::optional<double> value) {
  return value && std::isfinite(*value) ? Json(*value) : Json();
}

Json changes_json(const Changes& changes, const std::vector<std::string>& class_names,
                  const std::map<std::int64_t, std::string>& sample_names) {
  return std::visit(ChangesJson(class_names, sample_names), changes);
}

}  // namespace tally::compare
