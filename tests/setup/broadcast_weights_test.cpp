// SPDX-License-Identifier: Apache-2.0
// Weights reach every rank whole, are read once in the job, and never lie in memory all at once.
#include "broadcast_weights.hpp"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include <tally/base/checked_cast.hpp>
#include <tally/digest/sha256_and_checksums.hpp>

#include "comm_fixture.hpp"

namespace tally::app {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::int64_t kNumTensors = 80;
constexpr std::int64_t kTensorBytes = 4 * kMiB;

// Keeps a digest of what it is given.
class HashingModel final : public model::LoadedModel {
 public:
  model::StateDictMatch match_state_dict(const weights::Checkpoint& checkpoint) override {
    model::StateDictMatch fit;
    for (const auto& entry : checkpoint.tensors) fit.names.push_back(entry.first);
    return fit;
  }
  void copy_tensor_part(const std::string& name, const weights::StoredPart& part,
                        std::span<const std::byte> bytes) override {
    EXPECT_EQ(bytes.size(), part.num_bytes);
    EXPECT_TRUE(digests_.emplace(name, digest::sha256_hex(bytes)).second) << name;
  }
  void commit() override {}
  std::size_t num_tensors() override { return digests_.size(); }
  std::string tensor_digest(std::size_t tensor) override {
    return std::next(digests_.begin(), static_cast<std::ptrdiff_t>(tensor))->second;
  }
  std::unique_ptr<model::Predictor> make_predictor() override { return nullptr; }
  std::unique_ptr<model::Predictor> into_predictor() override { return nullptr; }

  std::string all() const {
    digest::Sha256 sha;
    for (const auto& [name, hex] : digests_) sha.update(name + hex);
    return sha.hex();
  }

 private:
  std::map<std::string, std::string> digests_;
};

// A safetensors file of kNumTensors tensors of bytes, each filled with its own number.
void write_file(const std::filesystem::path& path) {
  std::string header = "{";
  for (std::int64_t i = 0; i < kNumTensors; ++i) {
    header += (i == 0 ? "\"t" : ",\"t") + std::to_string(100 + i) +
              "\":{\"dtype\":\"U8\",\"shape\":[" + std::to_string(kTensorBytes) +
              "],\"data_offsets\":[" + std::to_string(i * kTensorBytes) + "," +
              std::to_string((i + 1) * kTensorBytes) + "]}";
  }
  header += "}";
  const std::uint64_t length = header.size();
  std::array<char, sizeof length> digits{};
  std::memcpy(digits.data(), &length, sizeof length);
  std::ofstream file(path, std::ios::binary);
  file.write(digits.data(), digits.size()).write(header.data(), std::ssize(header));
  for (std::int64_t i = 0; i < kNumTensors; ++i) {
    const std::string bytes(to_size(kTensorBytes), static_cast<char>(i));
    file.write(bytes.data(), std::ssize(bytes));
  }
}

// A number behind a word in a file of /proc.
std::int64_t number_in(const char* path, const std::string& word) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(word)) return std::stoll(line.substr(word.size()));
  }
  return 0;
}

std::int64_t resident_bytes(const char* word) {
  return number_in("/proc/self/status", word) * 1024;
}

using ShareWeightsTest = comm::CommTest;

TEST_F(ShareWeightsTest, ReadsOnceAndHoldsLittle) {
  const auto& comm = world();
  const auto path = std::filesystem::temp_directory_path() /
                    comm.broadcast("tally-weights-" + std::to_string(::getpid()));
  if (comm.is_root()) write_file(path);
  comm.barrier();
  HashingModel loaded;
  const auto checkpoint = open_on_all(comm, path, {});
  std::ofstream("/proc/self/clear_refs") << "5";  // forgets the largest size so far
  const auto before = resident_bytes("VmRSS:");
  const auto read_before = number_in("/proc/self/io", "rchar:");
  const auto shared = broadcast_weights(comm, checkpoint, loaded);
  std::vector<std::int64_t> read{number_in("/proc/self/io", "rchar:") - read_before};
  const auto held = resident_bytes("VmHWM:") - before;
  comm.sum_in_place(read);

  EXPECT_EQ(shared.file.bytes, static_cast<std::int64_t>(checkpoint.files.front().num_bytes));
  EXPECT_EQ(comm.broadcast(loaded.all()), loaded.all());
  EXPECT_EQ(loaded.num_tensors(), to_size(kNumTensors));
  // What /proc itself was read for is in it, too.
  EXPECT_GE(read.front(), shared.file.bytes);
  EXPECT_LE(read.front(), shared.file.bytes + kMiB);
  // Two pieces of 64 MiB; the transport's own buffers.
  EXPECT_LE(held, 2 * 64 * kMiB + 48 * kMiB);
  comm.barrier();
  if (comm.is_root()) std::filesystem::remove(path);
}

}  // namespace
}  // namespace tally::app
