#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>

#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/base/log.hpp>
#include <tally/base/printable.hpp>
#include <tally/data/data_set.hpp>
#include <tally/data/describe.hpp>
#include <tally/hdf5/reader.hpp>
#include <tally/model/model_file.hpp>
#include <tally/model/predictor.hpp>
#include <tally/predictions/describe.hpp>
#include <tally/report/run_report.hpp>

#include "commands.hpp"
#include "interrupt.hpp"
#include "trace_path.hpp"

namespace tally::app {
namespace {

struct InspectOptions {
  std::string file;
  bool verify = false;
  std::optional<std::string> add_checksums;
};

InspectOptions parse(const std::vector<std::string>& arguments) {
  InspectOptions options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--verify") {
      options.verify = true;
    } else if (word == "--add-checksums" && i + 1 < arguments.size()) {
      options.add_checksums = arguments[++i];
    } else if (word.starts_with("-") || !options.file.empty()) {
      throw Error(ErrorKind::usage, format("tally inspect does not take '{}'", word),
                  "See 'tally inspect --help'.");
    } else {
      options.file = word;
    }
  }
  if (options.file.empty()) {
    throw Error(ErrorKind::usage, "tally inspect needs a file", "See 'tally inspect --help'.");
  }
  if (options.add_checksums && options.verify) {
    throw Error(ErrorKind::usage, "--verify and --add-checksums exclude each other",
                "The copy is verified in any case.");
  }
  return options;
}

// HDF5 files may be larger than memory: only their signature is looked at here.
bool is_hdf5(const std::string& path) {
  constexpr std::array<char, 8> kSignature{'\x89', 'H', 'D', 'F', '\r', '\n', '\x1a', '\n'};
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;  // a pipe would block
  std::array<char, 8> head{};
  std::ifstream file(path, std::ios::binary);
  return file.read(head.data(), head.size()) && head == kSignature;
}

using Lines = std::vector<std::string>;

void print(const Lines& lines) {
  for (const auto& line : lines) std::fputs((line + "\n").c_str(), stdout);
}

void inspect_data_set(const InspectOptions& options) {
  data::DataSet data_set(options.file);
  Lines lines = data::describe(data_set);
  if (options.verify) lines.push_back(data::verify(data_set));
  print(lines);
}

Lines describe_result(const std::string& file) {
  const hdf5::Reader reader(file);
  if (reader.has_attribute("/", "tally_predictions")) return predictions::describe(file);
  if (reader.has_attribute("/", "tally_metrics")) return report::describe_metrics_file(file);
  return {};
}

Lines describe_folder(const std::string& folder) {
  const auto report = std::filesystem::path(folder) / "report.json";
  std::error_code ignored;
  if (std::filesystem::exists(report, ignored)) return report::describe_report(report);
  throw Error(ErrorKind::usage, format("'{}' is a folder without a report.json", folder),
              "Name a file, or the folder of a result.");
}

Lines describe_json(const std::string& file) {
  if (!is_trace(file)) return report::describe_report(file);
  return {
      format("'{}' is the trace of a run: open it in https://ui.perfetto.dev", printable(file))};
}

// Of every kind of file but a data set; empty for what may be one.
Lines describe(const std::string& file) {
  if (is_hdf5(file)) return describe_result(file);
  if (std::error_code ignored; std::filesystem::is_directory(file, ignored)) {
    return describe_folder(file);
  }
  if (file.ends_with(".json")) return describe_json(file);
  const auto bytes = read_file(file, ErrorKind::usage, "file");
  return model::describe_file({file, bytes});
}

}  // namespace

void run_inspect(const std::vector<std::string>& arguments) {
  const auto options = parse(arguments);
  if (options.add_checksums) {
    remove_on_interrupt({partial_path(*options.add_checksums)}, {});
    data::add_checksums(options.file, *options.add_checksums);
    log::note(
        format("'{}' is a copy of '{}' with checksums", *options.add_checksums, options.file));
    return;
  }
  const Lines lines = describe(options.file);
  if (lines.empty()) return inspect_data_set(options);
  if (options.verify) {
    throw Error(ErrorKind::usage, format("--verify is for data sets, '{}' is none", options.file));
  }
  print(lines);
}

}  // namespace tally::app
