// SPDX-License-Identifier: Apache-2.0
// What `tally score` reads in place of running a model, and how it lists ids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/config/run_options.hpp>
#include <tally/data/row_source.hpp>
#include <tally/hdf5/reader.hpp>
#include <tally/metrics/output_kind_and_conventions.hpp>
#include <tally/report/run_report.hpp>

namespace tally::app {

// Ids that a report or a note names: the first ones.
inline constexpr std::size_t kIdsListed = 10;

inline std::string listed(const std::vector<std::string>& ids, bool are_all) {
  std::vector<std::string> shown;
  for (const std::string& id : ids) shown.push_back(printable(id));
  return format("{}{}", fmt::join(shown, ", "), are_all ? "" : ", …");
}

// What stands for the model's output.
struct SavedScores {
  std::shared_ptr<data::RowSource> rows;
  metrics::OutputKind outputs = metrics::OutputKind::logits;
  std::vector<std::string> notes;  // what the user should know
};

// Columns of a predictions.h5 that hold what is scored for `task`, if it is what --outputs
// (`outputs`) says; the first one that is there is meant.
std::vector<std::string> columns_for(std::string_view task, const std::string& outputs);

// The column of a predictions.h5 to score for `task`. What it holds is what --outputs (`outputs`)
// says, or without it the file's attributes. Throws Error(dataset) for a file that is no
// predictions.h5 or lacks such a column, naming the --save value that would give it; Error(usage)
// for an unknown word in `outputs`.
SavedScores find_scores(const std::string& path, std::string_view task, const std::string& outputs,
                        const std::string& data_identity);

// Throws Error(dataset): the file has none of the columns `wanted`; the next step is what would
// give the first of them.
[[noreturn]] void refuse_column(const hdf5::Reader& file, const std::vector<std::string>& wanted,
                                std::string_view task);

// A text of its root; empty if it has none of that name.
std::string root_text(const hdf5::Reader& file, std::string_view name);
// What a user should know whose predictions were made of the data set `other`.
std::string other_data_note(const std::string& other);

// Path, size and sha256 of a regular file. Throws Error(dataset).
report::InputFile describe_input(const std::string& path);

}  // namespace tally::app
