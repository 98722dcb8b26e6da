// SPDX-License-Identifier: Apache-2.0
#include <tally/report/efficiency.hpp>

#include <algorithm>
#include <map>
#include <set>

#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

namespace tally::report {
namespace {

constexpr std::size_t kMostNamed = 3;

// The seconds of all phases before `name`, each the mean over the ranks.
double seconds_before(const std::vector<PhaseTime>& phases, std::string_view name) {
  double sum = 0;
  for (const PhaseTime& phase : phases) {
    if (phase.name == name) return sum;
    sum += phase.mean_s;
  }
  return sum;
}

// A phase that the run did not have took no time.
double seconds_of(const std::vector<PhaseTime>& phases, std::string_view name) {
  const auto found = std::ranges::find(phases, name, &PhaseTime::name);
  return found == phases.end() ? 0.0 : found->mean_s;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

std::optional<Waste> efficiency_losses(const RunReport& report) {
  if (report.timing.ranks.empty()) return std::nullopt;
  const auto num_ranks = static_cast<double>(report.timing.ranks.size());
  double wait_s = 0;
  for (const RankTimings& rank : report.timing.ranks) wait_s += rank.loop.wait_s / num_ranks;
  // The phases of a report end before it is written, and publish_s is the time after them. Together
  // they last from the launch to the end. Phases are means over ranks, so that a share of the sum
  // is one of rank-seconds.
  double total_s = report.timing.publish_s;
  for (const PhaseTime& phase : report.timing.phases) total_s += phase.mean_s;
  if (!(total_s > 0)) return std::nullopt;
  Waste waste;
  waste.rank_seconds = total_s * num_ranks;
  waste.startup = seconds_before(report.timing.phases, "evaluate") / total_s;
  waste.wait_for_data = wait_s / total_s;
  waste.wait_for_slowest_rank = seconds_of(report.timing.phases, "wait_for_ranks") / total_s;
  waste.publishing =
      (seconds_of(report.timing.phases, "gather") + report.timing.publish_s) / total_s;
  // The rest counts as useful, so that the shares add up to 1.
  waste.useful =
      1 - waste.startup - waste.wait_for_data - waste.wait_for_slowest_rank - waste.publishing;
  return waste;
}

std::vector<Straggler> stragglers_of(const std::vector<RankTimings>& ranks) {
  // More samples take longer on any rank, so that a rank is compared with those that had as many,
  // itself among them.
  std::map<std::int64_t, std::vector<double>> by_samples;
  for (const RankTimings& rank : ranks) by_samples[rank.samples].push_back(rank.loop.total_s);
  std::vector<Straggler> slow;
  for (const RankTimings& rank : ranks) {
    const double usual_s = median(by_samples[rank.samples]);
    const bool is_slow = rank.loop.total_s > kSlowFactor * usual_s &&
                         rank.loop.total_s - usual_s >= kSlowSeconds && usual_s > 0;
    if (is_slow) slow.push_back({rank.rank, rank.host, rank.loop.total_s / usual_s});
  }
  return slow;
}

std::string stragglers_note(const std::vector<Straggler>& stragglers) {
  if (stragglers.empty()) return {};
  // The sort is stable: equal ranks stay in the order of ranks.
  auto slowest = stragglers;
  std::ranges::stable_sort(slowest, std::ranges::greater(), &Straggler::factor);
  std::string text = "slow ranks: ";
  for (std::size_t i = 0; i < std::min(kMostNamed, slowest.size()); ++i) {
    text += format("{}{} on {} ({:.1f} times the median)", i > 0 ? ", " : "", slowest[i].rank,
                   printable(slowest[i].host), slowest[i].factor);
  }
  if (slowest.size() > kMostNamed) text += format(", and {} more", slowest.size() - kMostNamed);
  return text;
}

std::optional<double> overall_samples_per_s(const RunReport& report) {
  if (!(report.timing.wall_s > 0)) return std::nullopt;
  // A run that was resumed has evaluated fewer samples than it reports.
  std::int64_t samples = 0;
  for (const RankTimings& rank : report.timing.ranks) samples += rank.samples;
  return static_cast<double>(samples) / report.timing.wall_s;
}

std::optional<double> energy_j(const std::vector<RankTimings>& ranks) {
  // Where ranks share a GPU, the first of them has its energy. The sum stands for all GPUs or for
  // none: one that does not count, or a rank on a CPU, leaves it undefined.
  std::set<std::string> gpus, known;
  double sum = 0;
  for (const RankTimings& rank : ranks) {
    if (rank.gpu.empty()) return std::nullopt;
    gpus.insert(rank.gpu);
    if (!rank.energy_j) continue;
    known.insert(rank.gpu);
    sum += *rank.energy_j;
  }
  return gpus.empty() || known != gpus ? std::nullopt : std::optional(sum);
}

std::optional<double> energy_j_per_sample(const RunReport& report) {
  const auto energy = energy_j(report.timing.ranks);
  if (!energy || report.metrics.results.samples().count <= 0) return std::nullopt;
  return *energy / static_cast<double>(report.metrics.results.samples().count);
}

}  // namespace tally::report
