// SPDX-License-Identifier: Apache-2.0
#include <tally/weights/write_safetensors.hpp>

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "checkpoint_fixture.hpp"

namespace {
bool is_over_quota = false;
}

// In place of libc's: some file systems find out only here that there is no space.
extern "C" int fsync(int descriptor) {
  if (!is_over_quota) return static_cast<int>(::syscall(SYS_fsync, descriptor));
  errno = EDQUOT;
  return -1;
}

namespace tally::weights {
namespace {

using testing::HasSubstr;

// Writes all tensors under new names, opens that, and gives them their own names back.
void check_round_trip(const std::filesystem::path& path, const std::filesystem::path& expected) {
  SCOPED_TRACE(path);
  const Folder folder;
  const auto checkpoint = open_checkpoint(path, {});
  std::map<std::string, std::string> names;
  for (const auto& entry : checkpoint.tensors) names.emplace("x." + entry.first, entry.first);
  write_safetensors(checkpoint, names, folder.path() / "all.safetensors");
  auto written = open_checkpoint(folder.path() / "all.safetensors", {});
  EXPECT_EQ(written.tensors.size(), checkpoint.tensors.size());
  for (const auto& [name, stored] : names) {
    const auto found = written.tensors.extract(name);
    ASSERT_FALSE(found.empty()) << name;
    EXPECT_EQ(found.mapped().type, checkpoint.tensors.at(stored).type) << name;
    written.tensors.emplace(stored, found.mapped());
    EXPECT_EQ(assembled(written, stored), assembled(checkpoint, stored)) << name;
  }
  if (!expected.empty()) check_same(written, expected);
}

TEST(WriteSafetensorsTest, OfOneFile) {
  for (const auto* name : {"state_dict.pth", "nested.pth", "legacy.pth", "slices.pth",
                           "parameters.pth", "bfloat16.pth", "weights.safetensors"}) {
    check_round_trip(fixture_path(name), {});
  }
}

TEST(WriteSafetensorsTest, OfSeveralFiles) {
  for (const auto* name : {"dcp-2/flat", "dcp-2/tensor_parallel", "dcp-1/model", "shards",
                           "bin_shards", "deepspeed-2/stage2_bf16", "deepspeed-2/stage3_fp32"}) {
    check_round_trip(checkpoint_path(name),
                     checkpoint_path(std::string(name) + ".expected.safetensors"));
  }
}

TEST(WriteSafetensorsTest, WhatTheDiskRefusesAtTheEndIsNotPublished) {
  const Folder folder;
  const auto checkpoint = open_checkpoint(fixture_path("state_dict.pth"), {});
  is_over_quota = true;
  EXPECT_THAT(error_of(ErrorKind::output,
                       [&] { write_safetensors(checkpoint, {}, folder.path() / "a.safetensors"); }),
              HasSubstr("fsync: Disk quota exceeded"));
  is_over_quota = false;
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(WriteSafetensorsTest, AFileThatIsThereStays) {
  const Folder folder;
  const auto path = folder.write("mine.safetensors", "mine");
  const auto checkpoint = open_checkpoint(fixture_path("state_dict.pth"), {});
  EXPECT_THAT(error_of(ErrorKind::output, [&] { write_safetensors(checkpoint, {}, path); }),
              HasSubstr("mine.safetensors"));
  EXPECT_EQ(std::filesystem::file_size(path), 4U);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

}  // namespace
}  // namespace tally::weights
