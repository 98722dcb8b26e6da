// Answers that somebody saved, scored as those of a model are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/evaluate/loop.hpp>
#include <tally/report/run_report.hpp>

#include "local_result.hpp"
#include "session.hpp"

namespace tally::app {

// What the questions of a rank and the saved texts have in common.
struct IdsFound {
  std::vector<std::int64_t> is_asked;  // [texts], 1 where a question of this rank has the id
  std::int64_t num_missing = 0;        // questions without a text
  std::vector<std::string> first_missing;
};

// In place of the loop, over this rank's questions. No communication.
LocalResult score_texts(EvaluationSession& session, evaluate::Observer& observer, IdsFound& ids);

// Collective. Over all ranks, complete on rank 0; adds a note for each kind there is.
report::IdMatch match_ids(const comm::Communicator& comm, EvaluationSession& session,
                          IdsFound& local);

}  // namespace tally::app
