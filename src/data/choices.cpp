#include <tally/data/choices.hpp>

#include <tally/base/format.hpp>
#include <tally/data/read_column.hpp>

#include "dataset_error.hpp"
#include "schema/offsets.hpp"

namespace tally::data {

Choices read_choices(DataSet& data_set, std::int64_t first, std::int64_t count) {
  const DataSetInfo& info = data_set.info();
  Choices choices;
  choices.first_choice =
      read_offsets(data_set, info.table("/units/first_choice"), info.inputs.front(), first, count);
  choices.gold = read_column<std::int64_t>(data_set, info.table("/units/gold"), first, count);
  for (std::size_t i = 0; i < choices.gold.size(); ++i) {
    const std::int64_t question = first + static_cast<std::int64_t>(i);
    const std::int64_t num = choices.first_choice[i + 1] - choices.first_choice[i];
    if (num < 1) {
      throw_dataset_error(info.path, format("/units/first_choice[{}]", question + 1),
                          format("= {}, which leaves question {} without a choice (read)",
                                 choices.first_choice[i + 1], question));
    }
    if (choices.gold[i] >= num) {
      throw_dataset_error(
          info.path, format("/units/gold[{}]", question),
          format("= {}, but the question has {} choices (read)", choices.gold[i], num));
    }
  }
  return choices;
}

}  // namespace tally::data
