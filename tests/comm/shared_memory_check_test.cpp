// SPDX-License-Identifier: Apache-2.0
#include <tally/comm/shared_memory_check.hpp>

#include <gmock/gmock.h>

#include <map>

namespace tally::comm {
namespace {

using Settings = std::map<std::string, std::string>;
using testing::HasSubstr;

const Settings* g_settings = nullptr;

const char* setting_of(const char* variable) {
  const auto found = g_settings->find(variable);
  return found == g_settings->end() ? nullptr : found->second.c_str();
}

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

// Of a node where /dev/shm has 10 MiB, and other folders have plenty.
std::optional<std::string> note_of(Settings settings) {
  settings.emplace("OMPI_COMM_WORLD_LOCAL_SIZE", "3");
  g_settings = &settings;
  return shared_memory_note(setting_of,
                            [](const std::string& folder) -> std::optional<std::int64_t> {
                              if (folder == "/missing") return std::nullopt;
                              return folder == "/dev/shm" ? 10 * kMiB : std::int64_t{1} << 40;
                            });
}

TEST(SharedMemoryNote, NamesFolderAndBothSizes) {
  const auto note = note_of({});
  ASSERT_TRUE(note);
  EXPECT_THAT(*note,
              HasSubstr("'/dev/shm' has 10 MiB free on this node; the 3 ranks here may need 12"));
}

TEST(SharedMemoryNote, EnoughIsNoNote) {
  EXPECT_FALSE(note_of({{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}}));
  EXPECT_FALSE(note_of({{"OMPI_MCA_btl_vader_segment_size", "1048576"}}));
  EXPECT_TRUE(
      note_of({{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}, {"OMPI_MCA_btl_sm_segment_size", "16777216"}}));
}

TEST(SharedMemoryNote, OneProcessNeedsNone) {
  EXPECT_FALSE(note_of(
      {{"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}, {"OMPI_MCA_btl_vader_segment_size", "99999999999"}}));
}

TEST(SharedMemoryNote, OtherFoldersAndWaysAreTheUsersBusiness) {
  EXPECT_FALSE(note_of({{"OMPI_MCA_btl_vader_backing_directory", "/tmp"}}));
  EXPECT_FALSE(note_of({{"OMPI_MCA_btl_vader_backing_directory", "/missing"}}));
  EXPECT_FALSE(note_of({{"OMPI_MCA_btl", "self,tcp"}}));
  EXPECT_FALSE(note_of({{"OMPI_MCA_btl", "^vader"}}));
  EXPECT_TRUE(note_of({{"OMPI_MCA_btl", "self,vader,tcp"}}));
  EXPECT_TRUE(note_of({{"OMPI_MCA_btl", "^openib"}}));
}

TEST(SharedMemoryNote, WithoutOpenMpisLauncherNothingIsLookedAt) {
  const Settings none;
  g_settings = &none;
  EXPECT_FALSE(shared_memory_note(
      setting_of, [](const std::string&) -> std::optional<std::int64_t> { return 0; }));
}

}  // namespace
}  // namespace tally::comm
