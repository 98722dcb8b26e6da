// SPDX-License-Identifier: Apache-2.0
#include <tally/device/placement.hpp>

#include <algorithm>
#include <map>
#include <set>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/host_and_libraries.hpp>
#include <tally/base/printable.hpp>

namespace tally::device {
namespace {

constexpr std::string_view kUseCpu = "Use '--device cpu' for all ranks.";
// With a thousand ranks a message must stay one that can be read.
constexpr std::size_t kNamed = 8;

using Ranks = std::vector<int>;

bool on_gpu(const RankPlace& place) { return place.choice.device.kind == DeviceKind::cuda; }

// "rank 3", "ranks 0, 1, 4", with many "ranks 0, 1, … (64 in all)"
std::string text_of(const Ranks& ranks) {
  const auto shown = std::min(ranks.size(), kNamed);
  return format("rank{} {}{}", ranks.size() == 1 ? "" : "s",
                fmt::join(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                shown < ranks.size() ? format(", … ({} in all)", ranks.size()) : std::string());
}

// Returns the first few texts, and how many more there are.
std::string listed(const std::vector<std::string>& texts) {
  const auto shown = std::min(texts.size(), kNamed);
  std::string list = format(
      "{}", fmt::join(texts.begin(), texts.begin() + static_cast<std::ptrdiff_t>(shown), "; "));
  if (shown < texts.size()) list += format("; and {} more", texts.size() - shown);
  return list;
}

// Returns one text for each node and reason: "ranks 2, 3 on node1: no NVIDIA driver is installed".
std::vector<std::string> without_gpu(std::span<const RankPlace> places) {
  std::map<std::pair<std::string, std::string>, Ranks> groups;
  for (const RankPlace& place : places) {
    if (!on_gpu(place)) groups[{place.node, place.choice.why_no_gpu}].push_back(place.rank);
  }
  std::vector<std::string> texts;
  for (const auto& [key, ranks] : groups) {
    texts.push_back(format("{} on {}: {}", text_of(ranks), key.first, key.second));
  }
  return texts;
}

// The ranks of each GPU that more than one rank has. A GPU is known by its UUID: its index depends
// on what CUDA_VISIBLE_DEVICES shows to a rank.
std::map<std::string, std::vector<const RankPlace*>> shared_gpus(
    std::span<const RankPlace> places) {
  std::map<std::string, std::vector<const RankPlace*>> by_gpu;
  for (const RankPlace& place : places) {
    if (on_gpu(place)) by_gpu[place.choice.device.uuid].push_back(&place);
  }
  std::erase_if(by_gpu, [](const auto& entry) { return entry.second.size() < 2; });
  return by_gpu;
}

// With the request `automatic` either all ranks have a GPU or none has: a mixture is an error.
void require_gpus(DeviceRequest request, std::span<const RankPlace> places) {
  const auto with_gpu = std::ranges::count_if(places, on_gpu);
  const bool mixed = with_gpu > 0 && with_gpu < std::ssize(places);
  if (request == DeviceRequest::cuda && with_gpu < std::ssize(places)) {
    throw Error(ErrorKind::environment, format("no GPU for {}", listed(without_gpu(places))),
                kUseCpu);
  }
  if (mixed) {
    throw Error(ErrorKind::environment,
                format("{} of {} ranks have a GPU, but there is none for {}", with_gpu,
                       places.size(), listed(without_gpu(places))),
                kUseCpu);
  }
}

// The beginning of a message that shows the usual cause, a launcher that gives a node fewer GPUs
// than ranks: it names the first such node, and is empty if there is none.
std::string crowded_node(std::span<const RankPlace> places) {
  std::map<std::string, std::pair<int, std::set<std::string>>> by_node;
  for (const RankPlace& place : places) {
    auto& [num_ranks, uuids] = by_node[place.node];
    ++num_ranks;
    uuids.insert(place.choice.device.uuid);
  }
  for (const auto& [node, found] : by_node) {
    const auto& [num_ranks, uuids] = found;
    if (std::ssize(uuids) == num_ranks) continue;
    return format("{} ranks on {} found {} GPU{}: ", num_ranks, node, uuids.size(),
                  uuids.size() == 1 ? "" : "s");
  }
  return {};
}

void refuse_sharing(std::span<const RankPlace> places) {
  const auto shared = shared_gpus(places);
  if (shared.empty()) return;
  std::vector<std::string> texts;
  for (const auto& [uuid, holders] : shared) {
    Ranks ranks;
    for (const RankPlace* place : holders) ranks.push_back(place->rank);
    texts.push_back(
        format("{} on {} have the same, {}", text_of(ranks), holders.front()->node, uuid));
  }
  throw Error(ErrorKind::environment, crowded_node(places) + listed(texts),
              "Start one rank per GPU, each with its own (srun --gpus-per-task=1), or say with "
              "TALLY_ALLOW_SHARED_GPU=1 that this is meant.");
}

}  // namespace

DeviceChoice choose(DeviceRequest request, int local_rank, const GpuInventory& inventory) {
  DeviceChoice choice{.device = {DeviceKind::cpu, 0, cpu_model()}, .why_no_gpu = {}};
  if (request == DeviceRequest::cpu) return choice;
  choice.why_no_gpu = inventory.why_none;
  if (inventory.gpus.empty()) return choice;
  // Where each rank sees only its own GPU the index is 0. Where ranks outnumber GPUs it starts
  // again at 0, and check_placement() refuses or allows the sharing.
  const Gpu& gpu = inventory.gpus[to_size(local_rank) % inventory.gpus.size()];
  choice.device = {DeviceKind::cuda, gpu.index, gpu.name, gpu.uuid, gpu.compute_capability};
  return choice;
}

std::optional<std::string> expected_gpu_note(const DeviceChoice& choice,
                                             const char* (*get)(const char* variable)) {
  if (choice.why_no_gpu.empty()) return std::nullopt;
  for (const char* variable : {"SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "CUDA_VISIBLE_DEVICES"}) {
    const char* value = get(variable);
    if (value == nullptr || *value == '\0') continue;
    return format("on the CPU although {}={}: {} (--device cuda makes this an error)", variable,
                  printable(value), choice.why_no_gpu);
  }
  return std::nullopt;
}

void check_placement(DeviceRequest request, std::span<const RankPlace> places, GpuSharing sharing) {
  require_gpus(request, places);
  if (sharing == GpuSharing::refused) refuse_sharing(places);
}

bool shares_a_gpu(std::span<const RankPlace> places) { return !shared_gpus(places).empty(); }

std::vector<std::string> placement_lines(std::span<const RankPlace> places) {
  std::vector<std::string> lines;
  for (auto first = places.begin(); first != places.end();) {
    const Device& device = first->choice.device;
    // Ranks on the CPU of one node share a line, of whom there may be hundreds; a rank on a GPU has
    // a line of its own, with its UUID.
    const auto last = std::find_if(first + 1, places.end(), [&](const RankPlace& place) {
      return on_gpu(*first) || on_gpu(place) || place.node != first->node;
    });
    const int last_rank = (last - 1)->rank;
    const auto ranks = first->rank == last_rank ? format("rank {}", first->rank)
                                                : format("ranks {} to {}", first->rank, last_rank);
    const auto gpu = on_gpu(*first) ? format(":{} {}", device.index, device.uuid) : std::string();
    lines.push_back(
        format("{} on {}: {}{} ({})", ranks, first->node, name(device.kind), gpu, device.model));
    first = last;
  }
  return lines;
}

}  // namespace tally::device
