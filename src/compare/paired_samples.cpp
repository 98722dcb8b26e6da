// SPDX-License-Identifier: Apache-2.0
#include "paired_samples.hpp"

#include <array>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/base/task_traits.hpp>

#include "multiclass_pair.hpp"
#include "multilabel_pair.hpp"
#include "regression_pair.hpp"

namespace tally::compare {
namespace {

// How the results of a task are read. Tasks without a row cannot be compared; the message lists the
// others.
struct Reader {
  TaskKind task;
  ReadPair (*read)(const SavedRun& a, const SavedRun& b, const std::vector<std::string>& names);
};
constexpr std::array kReaders{
    Reader{TaskKind::binary, read_label_pair},
    Reader{TaskKind::multiclass, read_class_pair},
    Reader{TaskKind::multilabel, read_label_pair},
    Reader{TaskKind::regression, read_value_pair},
};

}  // namespace

ReadPair read_pair(const SavedRun& a, const SavedRun& b, const std::vector<std::string>& names) {
  const std::string task = a.attribute("task");
  std::vector<std::string_view> known;
  for (const Reader& reader : kReaders) {
    if (is_task(task, reader.task)) return reader.read(a, b, names);
    known.push_back(task_name(reader.task));
  }
  throw Error(ErrorKind::usage,
              format("results of the task {} cannot be compared, expected one of {}",
                     printable(task), fmt::join(known, ", ")));
}

}  // namespace tally::compare
