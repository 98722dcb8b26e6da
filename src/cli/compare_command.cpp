#include <cstdio>

#include <tally/base/files.hpp>
#include <tally/compare/comparison.hpp>
#include <tally/config/compare_options.hpp>
#include <tally/result_folder/output_folder.hpp>

#include "commands.hpp"

namespace tally::app {

void run_compare(const std::vector<std::string>& arguments) {
  const config::CompareConfig config = config::parse_compare_options(arguments);
  for (const auto& result : {config.a, config.b}) mend_interrupted(result);
  const compare::Comparison comparison =
      compare::compare_runs(config.a, config.b,
                            {.metrics = config.metrics,
                             .replicates = config.bootstrap_replicas,
                             .seed = config.seed,
                             .most_changes = config.changed});
  if (config.json == "-") {
    std::fputs(compare::to_json(comparison).c_str(), stdout);
    return;
  }
  if (!config.json.empty()) write_file_atomically(config.json, compare::to_json(comparison));
  for (const std::string& line : compare::to_lines(comparison)) {
    std::fputs((line + "\n").c_str(), stdout);
  }
}

}  // namespace tally::app
