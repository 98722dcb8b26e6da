// SPDX-License-Identifier: Apache-2.0
// Says which evaluation a run is: what it has in common with any other run of the same inputs and
// settings, on any machine. Progress is taken over, and a complete result recognised, by it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tally/base/error.hpp>
#include <tally/model/cpu_execution_settings.hpp>

namespace tally::app {

struct EvaluationSession;

struct RunFacts {
  // Digests of files, and settings, as (name, text): "model", "data set", "--precision". Settings
  // that change neither counts, records nor metrics have no part.
  std::vector<std::pair<std::string, std::string>> inputs;
  // What may differ between attempts.
  std::string digest_class;
  std::int64_t batch_size = 0;                     // in force
  std::optional<model::CpuExecutionSettings> way;  // as the ranks agreed on it
  bool overwrites = false;                         // an earlier result
  bool is_comparable = true;                       // what was evaluated, with other runs
  std::string revision;                            // of the program

  bool operator==(const RunFacts&) const = default;
};

// Of an open session, whose batch size is settled. digest_class: see publish/run_provenance.hpp.
RunFacts facts_of(const EvaluationSession& session, std::string digest_class);

// The digest of `inputs`: digests.inputs of the report.
std::string inputs_digest(const RunFacts& facts);

// Why the progress of `then`, in `folder`, is none of `now`, naming the first input or setting that
// differs: Error(model), Error(dataset) or Error(usage). None where they are the same, but for
// --on-nan.
std::optional<Error> difference(const RunFacts& then, const RunFacts& now, std::string_view folder);

// JSON. facts_from() returns none for a text that is none of these.
std::string to_text(const RunFacts& facts);
std::optional<RunFacts> facts_from(std::string_view text);

}  // namespace tally::app
