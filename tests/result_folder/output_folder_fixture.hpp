// SPDX-License-Identifier: Apache-2.0
// Folders of results, in a folder of their own.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/result_folder/output_folder.hpp>

namespace tally::app {

class OutputFolderTest : public ::testing::Test {
 protected:
  OutputFolderTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tally-output-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
  }
  ~OutputFolderTest() override { std::filesystem::remove_all(root_); }

  static void put(const std::filesystem::path& file) { std::ofstream(file) << "x"; }
  static void put_report(const std::filesystem::path& run, const std::string& trace = {}) {
    std::ofstream(run / "report.json")
        << R"({"tally": {"report_schema": 1}, "digests": {"predictions": null}, "text_files": [],)"
        << R"("config": {"trace": ")" << trace << R"("}})";
  }
  static void put_events(const std::filesystem::path& run) {
    std::ofstream(run / "events.jsonl") << R"({"time": "then", "event": "phase"})";
  }
  static std::string text_of(const std::filesystem::path& file) {
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  // Gives a run's result, here no more than a report, its name.
  static void publish(OutputFolder& folder) {
    put(partial_path(folder.report()));
    folder.publish({folder.report()}, [] {});
  }
  static ErrorKind kind_of_failure(const std::filesystem::path& path, bool overwrite) {
    try {
      OutputFolder(path, overwrite).create();
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::internal;
  }

  std::filesystem::path root_;
};

}  // namespace tally::app
