// SPDX-License-Identifier: Apache-2.0
// A run in a folder with a result, without, or that is not there: what it does there, in a child
// whose file operations fail, or are its end.
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/report/event_log.hpp>
#include <tally/result_folder/output_folder.hpp>

#include "fault_points.h"

namespace tally::app {
namespace fs = std::filesystem;
using Contents = std::map<std::string, std::string>;

inline constexpr const char* kOldReport =
    R"({"tally": {"report_schema": 1}, "digests": {"predictions": "old"},
        "text_files": ["detections.json"], "config": {"trace": "trace.json"}})";
inline constexpr const char* kNewReport =
    R"({"tally": {"report_schema": 1}, "digests": {"predictions": "new"},
        "text_files": ["nbest.json"], "config": {"trace": ""}})";
inline constexpr const char* kEvent = R"({"time": "now", "event": "phase"})";

inline const Contents kOld{{"report.json", kOldReport},
                           {"metrics.h5", "old metrics"},
                           {"predictions.h5", "old predictions"},
                           {"detections.json", "old detections"},
                           {"events.jsonl", kEvent}};
inline const Contents kNew{{"report.json", kNewReport},
                           {"metrics.h5", "new metrics"},
                           {"predictions.h5", "new predictions"},
                           {"nbest.json", "new answers"}};

inline void put(const fs::path& file, const std::string& text) { std::ofstream(file) << text; }

inline Contents contents_of(const fs::path& folder) {
  Contents found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    std::ifstream file(entry.path());
    auto& text = found[entry.path().filename()] = "a folder";
    if (!entry.is_directory()) text = {std::istreambuf_iterator<char>(file), {}};
  }
  return found;
}

// Of a result; the user's own file is always there.
inline Contents result_in(const fs::path& folder) {
  auto found = contents_of(folder);
  std::erase_if(found, [](const auto& entry) {
    const auto& name = entry.first;
    return name == "notes.txt" || name.starts_with(".tally-") ||
           name.find(".partial-") != std::string::npos;
  });
  return found;
}

inline bool is_new(Contents found) {
  const bool has_events = found.erase("events.jsonl") == 1;
  return has_events && found == kNew;
}

enum class Before { nothing, user_folder, result };

class Replacing : public ::testing::TestWithParam<Before> {
 protected:
  Replacing() {
    // In memory, if that works: what is synced so often takes its time on a disk.
    const bool has_memory = ::access("/dev/shm", W_OK) == 0;
    const fs::path folder = has_memory ? fs::path("/dev/shm") : fs::temp_directory_path();
    std::string pattern = (folder / "tally-replace-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
  }
  ~Replacing() override { fs::remove_all(root_); }

  fs::path run() const { return root_ / "out" / "run"; }
  bool keeps_folder() const { return GetParam() != Before::nothing; }

  void set_up() const {
    fs::remove_all(root_ / "out");
    if (!keeps_folder()) return;
    fs::create_directories(run());
    put(run() / "notes.txt", "the user's");
    if (GetParam() != Before::result) return;
    for (const auto& [name, text] : kOld) put(run() / name, text);
  }

  // What evaluate does with its folder.
  void publish_new(FolderUse use) const {
    OutputFolder folder(run(), use);
    folder.create();
    report::EventLog events(folder.events());
    events.phase("evaluate");
    std::vector<fs::path> files;
    for (const auto& [name, text] : kNew) {
      PartialFile file(run() / name);
      file.append(text);
      file.finish();
      files.push_back(run() / name);
    }
    folder.publish(files, [&] { events.finished("complete"); });
  }

  // How a child ends that does it; how many operations it passed is written to a file.
  int in_child(const fault_plan& plan, const std::function<void()>& work) const {
    const pid_t child = ::fork();
    if (child == 0) {
      fault_points_follow(&plan);
      int code = 0;
      try {
        work();
      } catch (const Error& error) {
        code = exit_code(error.kind());
      }
      const int passed = fault_points_passed();
      fault_points_follow(nullptr);
      put(root_ / "passed", std::to_string(passed));
      ::_exit(code);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }
  int run_with(const fault_plan& plan) const {
    return in_child(plan, [this] { publish_new(GetParam() == Before::result); });
  }

  int count_operations() const {
    set_up();
    const std::string folder = run();
    EXPECT_EQ(run_with({folder.c_str(), 0, 0, 0, nullptr}), 0);
    EXPECT_TRUE(is_new(result_in(run())));
    int passed = 0;
    std::ifstream(root_ / "passed") >> passed;
    return passed;
  }

  bool is_old(const Contents& found) const {
    return GetParam() == Before::result ? found == kOld : found.empty();
  }

  void expect_users_file() const { EXPECT_EQ(fs::exists(run() / "notes.txt"), keeps_folder()); }

  // What a reader finds, of one result only; events say what a run did last.
  void expect_readable() const {
    auto found = result_in(run());
    if (!found.contains("report.json")) return;
    auto old = GetParam() == Before::result ? kOld : Contents();
    found.erase("events.jsonl");
    old.erase("events.jsonl");
    EXPECT_TRUE(found == old || found == kNew);
  }

  // One that begins and ends without a result.
  void expect_failing_run() const { EXPECT_NO_THROW(OutputFolder(run(), true).create()); }

  // The next run, with --overwrite, is not troubled by what is left.
  void expect_next_run_works() const {
    publish_new(true);
    auto found = contents_of(run());
    found.erase("notes.txt");
    EXPECT_TRUE(is_new(found)) << "nothing else is left";
  }

  fs::path root_;
};

}  // namespace tally::app
