// SPDX-License-Identifier: Apache-2.0
#include <random>
#include <utility>

#include <nlohmann/json.hpp>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>
#include <tally/base/host_and_libraries.hpp>
#include <tally/base/log.hpp>

#include "join_job.hpp"

namespace tally::watchdog {
namespace {

std::string new_token() {
  std::random_device random;
  return format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

std::string meeting_point_of(const Job& job) {
  return nlohmann::json{{"host", job.host_of_root},
                        {"token", job.token},
                        {"addresses", job.addresses},
                        {"port", job.port}}
      .dump();
}

void take_meeting_point(Job& job, const std::string& text) {
  const auto point = nlohmann::json::parse(text);
  point.at("host").get_to(job.host_of_root);
  point.at("token").get_to(job.token);
  point.at("addresses").get_to(job.addresses);
  point.at("port").get_to(job.port);
}

}  // namespace

std::unique_ptr<WatchThread> join_job(const comm::Communicator& comm) {
  Job job;
  job.rank = comm.rank();
  job.world_size = comm.world_size();
  job.local_rank = comm.local_rank();
  job.memory = comm.node_memory();
  const auto local_ranks = comm.all_gather(comm.local_rank());
  for (int rank = 0; rank < comm.world_size(); ++rank) {
    if (local_ranks[to_size(rank)] != 0) continue;
    if (rank == comm.rank()) job.node = checked_cast<int>(std::ssize(job.first_ranks));
    job.first_ranks.push_back(rank);
  }
  auto thread = std::make_unique<WatchThread>();
  if (comm.is_root()) {
    job.host_of_root = host_name();
    job.token = new_token();
    thread->open_hub(job);
  }
  take_meeting_point(job, comm.broadcast(comm.is_root() ? meeting_point_of(job) : std::string()));
  job.has_memory = comm.max(std::int64_t{job.memory.empty()}) == 0;
  if (!job.has_memory) {
    log::note(
        "a node has no memory that its ranks could share: of a rank that is stopped nobody "
        "will know");
  }
  thread->join(std::move(job));
  return thread;
}

}  // namespace tally::watchdog
