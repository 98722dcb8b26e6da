#include <tally/tasks/task.hpp>

#include <array>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

#include "multiclass.hpp"

namespace tally::tasks {
namespace {

struct Entry {
  std::string_view name;
  std::unique_ptr<Task> (*make)(const TaskOptions&);
};
// In order of name.
constexpr std::array kTasks{
    Entry{"multiclass", make_multiclass},
};

}  // namespace

std::unique_ptr<Task> make_task(const TaskOptions& options) {
  for (const Entry& entry : kTasks) {
    if (entry.name == options.task) return entry.make(options);
  }
  throw Error(ErrorKind::usage, format("task '{}' is not known", options.task),
              format("Known: {}.", fmt::join(known_tasks(), ", ")));
}

std::vector<std::string_view> known_tasks() {
  std::vector<std::string_view> names;
  for (const Entry& entry : kTasks) names.push_back(entry.name);
  return names;
}

}  // namespace tally::tasks
