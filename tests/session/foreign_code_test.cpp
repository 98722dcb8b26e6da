// SPDX-License-Identifier: Apache-2.0
// Which variables of the environment a user is told of, because they bring in code or settings.
#include <tally/session/foreign_code.hpp>

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

namespace tally::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class ForeignCodeTest : public testing::Test {
 protected:
  ForeignCodeTest() {
    std::filesystem::create_directories(home_);
    set("HOME", home_);
    // What the launcher of the tests and its machine have set.
    for (const auto& entry : foreign_code()) set(entry.first, "");
    for (const auto& entry : foreign_code_of_nccl()) set(entry.first, "");
  }
  ~ForeignCodeTest() override {
    std::filesystem::remove_all(home_);
    for (const auto& [name, value] : before_) {
      if (value) {
        setenv(name.c_str(), value->c_str(), 1);
      } else {
        unsetenv(name.c_str());
      }
    }
  }
  void set(const std::string& name, const std::string& value) {
    const char* now = std::getenv(name.c_str());
    before_.try_emplace(name, now == nullptr ? std::nullopt : std::optional<std::string>(now));
    setenv(name.c_str(), value.c_str(), 1);
  }

  const std::string home_ = testing::TempDir() + "home of foreign code";

 private:
  std::map<std::string, std::optional<std::string>> before_;
};

TEST_F(ForeignCodeTest, IsNamedWithItsFiles) {
  EXPECT_THAT(foreign_code(), IsEmpty());
  set("LD_PRELOAD", "/site/libtrace.so");
  set("HDF5_PLUGIN_PATH", "/site/plugins");  // loads nothing
  set("OMPI_MCA_btl", "tcp");                // chooses among Open MPI's own
  EXPECT_THAT(foreign_code(), ElementsAre(Pair("LD_PRELOAD", "/site/libtrace.so")));
}

TEST_F(ForeignCodeTest, OfNcclIsNamedWhereNcclRuns) {
  EXPECT_EQ(foreign_code_note(true), std::nullopt);
  set("LD_PRELOAD", "/site/libtrace.so");
  set("NCCL_NET_PLUGIN", "/site/libnccl-net.so");
  EXPECT_THAT(foreign_code_note(false).value(), testing::EndsWith(": LD_PRELOAD"));
  EXPECT_THAT(foreign_code_note(true).value(), testing::EndsWith(": LD_PRELOAD, NCCL_NET_PLUGIN"));
}

TEST_F(ForeignCodeTest, TheFileOfSettingsInTheHomeFolderCounts) {
  std::ofstream(home_ + "/.nccl.conf") << "NCCL_NET_PLUGIN=other\n";
  EXPECT_THAT(foreign_code_of_nccl(), ElementsAre(Pair("~/.nccl.conf", home_ + "/.nccl.conf")));
  EXPECT_THAT(foreign_code_note(true).value(), HasSubstr("~/.nccl.conf"));
  set("NCCL_CONF_FILE", "/site/nccl.conf");  // is read in its place
  EXPECT_THAT(foreign_code_of_nccl(), ElementsAre(Pair("NCCL_CONF_FILE", "/site/nccl.conf")));
}

}  // namespace
}  // namespace tally::app
