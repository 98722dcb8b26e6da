// SPDX-License-Identifier: Apache-2.0
#include <tally/inspect/inspect_command.hpp>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <span>

#include <tally/base/checked_cast.hpp>
#include <tally/base/console.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/base/interrupt.hpp>
#include <tally/base/log.hpp>
#include <tally/base/printable.hpp>
#include <tally/config/inspect_options.hpp>
#include <tally/data/add_checksums.hpp>
#include <tally/data/data_set.hpp>
#include <tally/data/describe_data_set.hpp>
#include <tally/hdf5/library.hpp>
#include <tally/hdf5/reader.hpp>
#include <tally/model/describe_model.hpp>
#include <tally/model/files_beside.hpp>
#include <tally/model/predictor.hpp>
#include <tally/predictions/predictions_text.hpp>
#include <tally/report/describe_report.hpp>
#include <tally/report/event_log.hpp>
#include <tally/report/metrics_file.hpp>
#include <tally/result_folder/check_trace_path.hpp>
#include <tally/result_folder/error_file.hpp>
#include <tally/result_folder/output_folder.hpp>
#include <tally/weights/checkpoint.hpp>
#include <tally/weights/checkpoint_files.hpp>
#include <tally/weights/file_kind.hpp>

#include "convert_weights.hpp"
#include "inspect_samples.hpp"

namespace tally::app {
namespace {

// Reads the begin of a file, which may be larger than memory; empty if it is no regular file.
std::string begin_of(const std::string& path) {
  constexpr std::size_t kLooked = 4096;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return {};  // a pipe would block
  std::string begin(kLooked, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(begin.data(), std::ssize(begin));
  begin.resize(to_size(file.gcount()));
  return begin;
}

// Refuses a text with a message of its own. Models and weights begin with bytes that no text has,
// but those of OpenVINO.
void refuse_text(const std::string& file) {
  const std::string begin = begin_of(file);
  const auto is_binary = [](unsigned char c) { return c < ' ' && (c < '\t' || c > '\r'); };
  if (begin.empty() || std::ranges::any_of(begin, is_binary)) return;
  const auto bytes = std::as_bytes(std::span(begin.data(), begin.size()));
  if (weights::probe(bytes) == weights::FileKind::openvino_xml) return;
  if (report::are_events(begin)) {
    throw Error(ErrorKind::usage,
                format("'{}' holds the events of a run, a line of JSON each", printable(file)),
                "The run's metrics are in the report.json beside it.");
  }
  throw Error(ErrorKind::usage, format("'{}' is a text, none that tally knows", printable(file)),
              "Name a data set, a model, weights, or a file or the folder of a result.");
}

using Lines = std::vector<std::string>;

void print(const Lines& lines) {
  for (const auto& line : lines) console::print_line(line);
}

// Cuts each line to the width of the terminal. A file or a pipe gets whole lines.
void print_cut(Lines lines) {
  winsize size{};
  const bool is_terminal = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  for (std::string& line : lines) {
    if (!is_terminal) break;
    const std::string whole = format("{:.{}}", line, int{size.ws_col});
    if (whole != line) line = format("{:.{}}…", line, size.ws_col - 1);
  }
  print(lines);
}

void inspect_data_set(const config::InspectConfig& options) {
  data::DataSet data_set(options.file);
  Lines lines = data::describe(data_set);
  if (options.verify) lines.push_back(data::verify(data_set));
  print(lines);
}

// Empty for an HDF5 file without the mark of a result, which may be a data set.
Lines describe_result(const std::string& file) {
  const hdf5::Reader reader(file);
  if (reader.has_attribute("/", "tally_predictions")) return predictions::describe(file);
  if (reader.has_attribute("/", "tally_metrics")) return report::describe_metrics_file(file);
  return {};
}

std::filesystem::path report_in(const std::string& folder) {
  return std::filesystem::path(folder) / "report.json";
}

Lines describe_folder(const std::string& folder) {
  std::error_code ignored;
  if (std::filesystem::exists(report_in(folder), ignored)) {
    return report::describe_report(report_in(folder));
  }
  if (std::filesystem::exists(std::filesystem::path(folder) / "leaderboard.csv", ignored)) {
    throw Error(ErrorKind::usage, format("'{}' is the folder of a watch", printable(folder)),
                "Its table is leaderboard.csv, and each result has a folder in results/.");
  }
  throw Error(ErrorKind::usage,
              format("'{}' is a folder without a report.json or weights", printable(folder)),
              "Name a file, or the folder of a result or of a checkpoint.");
}

Lines describe_json(const std::string& file) {
  if (is_error_file(file)) return describe_error_file(file);
  if (!is_trace(file)) return report::describe_report(file);
  return {
      format("'{}' is the trace of a run: open it in https://ui.perfetto.dev", printable(file))};
}

// The predictions of a result's folder, or the file itself. Error(usage) for anything else.
std::string predictions_in(const std::string& given) {
  std::error_code ignored;
  const auto file = std::filesystem::path(given) / "predictions.h5";
  if (std::filesystem::exists(file, ignored)) return file;
  const bool exists = std::filesystem::exists(given, ignored);
  if (hdf5::is_hdf5_file(given) && hdf5::Reader(given).has_attribute("/", "tally_predictions"))
    return given;
  throw Error(ErrorKind::usage,
              exists
                  ? format("'{}' holds no predictions, whose rows could be shown", printable(given))
                  : format("'{}' does not exist", printable(given)),
              "Give a predictions.h5, or the folder of a result that has one.");
}

bool holds_weights(const std::string& file) {
  using weights::FileKind;
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    // With a report the folder is a result, whatever else lies in it.
    return !std::filesystem::exists(report_in(file), ignored) &&
           !weights::checkpoint_files(file).empty();
  }
  if (file.ends_with(".json")) return !weights::checkpoint_files(file).empty();  // an index
  // A pipe would block.
  if (!std::filesystem::is_regular_file(file, ignored)) return false;
  const auto kind = weights::probe(weights::FileSource(file));
  return kind == FileKind::state_dict || kind == FileKind::legacy_checkpoint ||
         kind == FileKind::safetensors;
}

Lines describe_model_file(const std::string& file) {
  const auto bytes = read_file(file, ErrorKind::usage, "file");
  const auto names = model::files_beside({file, bytes});
  std::vector<std::vector<std::byte>> contents;
  std::vector<model::NamedBytes> beside;
  for (const auto& name : names) {
    const auto path = std::filesystem::path(file).parent_path() / name;
    contents.push_back(
        read_file(path.string(), ErrorKind::model, "file with weights of the model"));
  }
  for (std::size_t i = 0; i < names.size(); ++i) beside.push_back({names[i], contents[i]});
  return model::describe_model({file, bytes}, beside);
}

// Describes every kind of file but a data set; empty for what may be one. Weights are looked for
// first, because a checkpoint may also be a folder or the .json of an index.
Lines describe(const config::InspectConfig& options) {
  const std::string& file = options.file;
  // The key is a place in a checkpoint, so that the file is opened as one and says itself if it is
  // none.
  if (!options.weights_key.empty() || holds_weights(file)) {
    return weights::describe(weights::open_checkpoint(file, options.weights_key));
  }
  if (hdf5::is_hdf5_file(file)) return describe_result(file);
  if (std::error_code ignored; std::filesystem::is_directory(file, ignored)) {
    return describe_folder(file);
  }
  if (file.ends_with(".json")) return describe_json(file);
  refuse_text(file);
  return describe_model_file(file);
}

}  // namespace

void run_inspect(const std::vector<std::string>& arguments) {
  const auto options = config::parse_inspect_options(arguments);
  // A run that was killed may have moved the earlier result aside.
  mend_interrupted(options.file);
  refuse_incomplete(options.file);
  if (options.shows_samples()) {
    return print_cut(inspect_samples(predictions_in(options.file), options.samples));
  }
  if (const std::string& copy = options.add_checksums; !copy.empty()) {
    remove_on_interrupt({partial_path(copy)}, {});
    data::add_checksums(options.file, copy);
    log::note(
        format("'{}' is a copy of '{}' with checksums", printable(copy), printable(options.file)));
    return;
  }
  if (!options.to_safetensors.empty()) return write_as_safetensors(options);
  const bool is_data_set = options.weights_key.empty() && data::is_shard_index(options.file);
  const Lines lines = is_data_set ? Lines() : describe(options);
  if (lines.empty()) return inspect_data_set(options);
  // An option that is ignored would look like a check that passed.
  if (options.verify) {
    throw Error(ErrorKind::usage,
                format("--verify is for data sets, '{}' is none", printable(options.file)));
  }
  print(lines);
}

}  // namespace tally::app
