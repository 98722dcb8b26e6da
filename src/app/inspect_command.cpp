#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>

#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/base/log.hpp>
#include <tally/data/data_set.hpp>
#include <tally/data/describe.hpp>
#include <tally/hdf5/reader.hpp>
#include <tally/model/model_file.hpp>
#include <tally/model/predictor.hpp>
#include <tally/predictions/describe.hpp>
#include <tally/report/run_report.hpp>

#include "commands.hpp"
#include "interrupt.hpp"

namespace tally::app {
namespace {

struct InspectOptions {
  std::string file;
  data::Verify verify = data::Verify::structure;
  std::optional<std::string> add_checksums;
};

InspectOptions parse(const std::vector<std::string>& arguments) {
  InspectOptions options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--verify") {
      options.verify = data::Verify::everything;
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
  if (options.add_checksums && options.verify == data::Verify::everything) {
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

void check_nothing_to_verify(const InspectOptions& options) {
  if (options.verify == data::Verify::structure) return;
  throw Error(ErrorKind::usage, format("--verify is for data sets, '{}' is none", options.file));
}

std::vector<std::string> describe_hdf5(const InspectOptions& options) {
  const hdf5::Reader reader(options.file);
  const bool is_result =
      reader.has_attribute("/", "tally_predictions") || reader.has_attribute("/", "tally_metrics");
  if (is_result) check_nothing_to_verify(options);
  if (reader.has_attribute("/", "tally_predictions")) return predictions::describe(options.file);
  if (reader.has_attribute("/", "tally_metrics")) {
    return report::describe_metrics_file(options.file);
  }
  data::DataSet data_set(options.file);
  return data::describe(data_set, options.verify);
}

std::vector<std::string> describe(const InspectOptions& options) {
  if (is_hdf5(options.file)) return describe_hdf5(options);
  check_nothing_to_verify(options);
  if (options.file.ends_with(".json")) return report::describe_report(options.file);
  const auto bytes = read_file(options.file, ErrorKind::usage, "file");
  return model::describe_file({options.file, bytes});
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
  for (const auto& line : describe(options)) std::fputs((line + "\n").c_str(), stdout);
}

}  // namespace tally::app
