// SPDX-License-Identifier: Apache-2.0
// Finds where a run's time went that no model used, which ranks were slow, and what energy the run
// took. It is arithmetic over a report's timings.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <tally/report/run_report.hpp>

namespace tally::report {

// Shares of rank-seconds, which add up to 1.
struct Waste {
  double rank_seconds = 0;           // from the launch to the end, of all ranks
  double startup = 0;                // until the loop
  double wait_for_data = 0;          // inside the loop
  double wait_for_slowest_rank = 0;  // from a rank's last batch to the last of all
  double publishing = 0;  // gathering predictions and writing files; others wait for rank 0
  double useful = 0;      // the rest: the loop, reducing, counting again
};
// None where no time was measured.
std::optional<Waste> efficiency_losses(const RunReport& report);

// A rank whose loop took more than kSlowFactor times the median of those with as many samples, and
// kSlowSeconds longer: in a short loop such factors are noise.
inline constexpr double kSlowFactor = 1.2;
inline constexpr double kSlowSeconds = 1.0;
struct Straggler {
  int rank = 0;
  std::string host;
  double factor = 1;  // of that median
};
// In the order of the ranks.
std::vector<Straggler> stragglers_of(const std::vector<RankTimings>& ranks);
// "slow ranks: 3 on node7 (1.8 times the median), …", the slowest ones; empty where there is none.
std::string stragglers_note(const std::vector<Straggler>& stragglers);

// Evaluated samples per second since the launch.
std::optional<double> overall_samples_per_s(const RunReport& report);

// Of all ranks' GPUs, during the loop; none where the energy of one of them is not known.
std::optional<double> energy_j(const std::vector<RankTimings>& ranks);
// None where nothing was scored, either.
std::optional<double> energy_j_per_sample(const RunReport& report);

}  // namespace tally::report
