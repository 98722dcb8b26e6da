// SPDX-License-Identifier: Apache-2.0
#include "node_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <random>
#include <string>
#include <string_view>

#include <tally/base/checked_cast.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>

namespace tally::comm {
namespace {

// In front of what belongs to ranks: one line of a processor's cache.
constexpr std::size_t kHeaderBytes = 64;

// Where other processes find the memory. It has no name in a file system that could stay, and takes
// nothing of /dev/shm, which may be small.
struct Place {
  std::array<char, 64> link{};  // in /proc
  std::array<char, 64> name{};  // that the kernel gives for it
};

template <std::size_t kSize>
void put(std::array<char, kSize>& into, std::string_view text) {
  text.copy(into.data(), kSize - 1);
}

UniqueDescriptor make_memory(std::size_t num_bytes, Place& place) {
  std::random_device random;
  const auto name = format("tally-{:08x}{:08x}", random(), random());
  UniqueDescriptor memory(::memfd_create(name.c_str(), MFD_CLOEXEC));
  // Reserved, so that a lack of memory is an error here and no SIGBUS later.
  if (!memory || ::posix_fallocate(memory.get(), 0, checked_cast<off_t>(num_bytes)) != 0) return {};
  put(place.link, format("/proc/{}/fd/{}", ::getpid(), memory.get()));
  put(place.name, format("/memfd:{} (deleted)", name));
  return memory;
}

// Of a rank in another process namespace the number may be another process': the name shows that.
UniqueDescriptor open_memory(const Place& place) {
  std::array<char, PATH_MAX> name{};
  const ssize_t length = ::readlink(place.link.data(), name.data(), name.size());
  const std::string_view expected = place.name.data();
  if (length < 0 || std::string_view(name.data(), to_size(length)) != expected) return {};
  return UniqueDescriptor(::open(place.link.data(), O_RDWR | O_CLOEXEC));
}

std::span<std::byte> map(const UniqueDescriptor& object, std::size_t num_bytes) {
  if (!object) return {};
  void* const memory =
      ::mmap(nullptr, num_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, object.get(), 0);
  if (memory == MAP_FAILED) return {};
  return {static_cast<std::byte*>(memory), num_bytes};
}

}  // namespace

std::span<std::byte> share_node_memory(const Communicator::Impl& impl, MPI_Comm node) {
  const bool is_first = impl.local_rank == 0;
  const std::size_t num_bytes = kHeaderBytes + to_size(impl.local_world_size) * kNodeMemoryPerRank;
  Place place;
  UniqueDescriptor object;
  if (is_first) object = make_memory(num_bytes, place);
  impl.check(MPI_Bcast(&place, sizeof(place), MPI_BYTE, 0, node), "MPI_Bcast");
  if (!is_first) object = open_memory(place);
  const auto memory = map(object, num_bytes);
  int has_memory = memory.empty() ? 0 : 1;
  impl.check(MPI_Allreduce(MPI_IN_PLACE, &has_memory, 1, MPI_INT, MPI_MIN, node), "MPI_Allreduce");
  if (has_memory != 0) return memory;
  if (!memory.empty()) ::munmap(memory.data(), memory.size());
  return {};
}

int* claim_in(std::span<std::byte> node_memory) {
  return node_memory.empty() ? nullptr : reinterpret_cast<int*>(node_memory.data());
}

std::span<std::byte> memory_of_ranks(std::span<std::byte> node_memory) {
  return node_memory.empty() ? node_memory : node_memory.subspan(kHeaderBytes);
}

}  // namespace tally::comm
