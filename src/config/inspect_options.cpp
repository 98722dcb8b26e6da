// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <string_view>

#include <tally/base/error.hpp>
#include <tally/base/printable.hpp>
#include <tally/config/inspect_options.hpp>

#include "option_bindings.hpp"
#include "option_sources.hpp"
#include "option_table.hpp"

namespace tally::config {
namespace {

constexpr std::string_view kDataSets = "Of a data set";
constexpr std::string_view kWeights = "Of weights";
constexpr std::string_view kSamples = "Of saved predictions";
constexpr std::string_view kSeeHelp = "See 'tally inspect --help'.";

// A count of at least 1. The field is 0 where the option was not given, and the help shows no such
// default.
Binding count(std::int64_t& field) {
  Binding binding = whole_number(field, std::int64_t{1}, std::numeric_limits<std::int64_t>::max());
  binding.text = [&field] { return field == 0 ? std::string() : format("{}", field); };
  return binding;
}

OptionTable inspect_table(InspectConfig& config) {
  SampleChoice& samples = config.samples;
  return {
      {kDataSets, "verify", "BOOL",
       "read all of it, check its labels and, where it has them, its checksums", "",
       flag(config.verify)},
      {kDataSets, "add-checksums", "FILE", "write a copy with checksum tables", "",
       words(config.add_checksums)},
      {kWeights, "weights-key", "KEY",
       "entry of a training checkpoint that holds the weights, as state_dict_ema",
       "found by itself", words(config.weights_key)},
      {kWeights, "to-safetensors", "FILE", "write them, whatever files they are in, as this one",
       "", words(config.to_safetensors)},
      {kWeights, "weights-prefix", "PREFIX",
       "with --to-safetensors: taken off their names, as 'net.'; tensors without it are left out",
       "none; with --like as --weights does it", words(config.weights_prefix)},
      {kWeights, "like", "FILE",
       "with --to-safetensors: a list of a model's weights, whose names and shapes they must fit",
       "", words(config.like)},
      {kSamples, "worst", "N",
       "the N worst: largest loss first, of questions the lowest f1 or the wrong choices, of "
       "segmentations the least right pixels, of detections the fewest objects found",
       "", count(samples.worst)},
      // The default is that of predictions::RowsWanted.
      {kSamples, "show", "N", "the first N in order of index", "20", count(samples.show)},
      {kSamples, "class", "C", "only those of the true class C, by number or name", "",
       words(samples.label)},
      {kSamples, "predicted", "C", "only those that are predicted as class C", "",
       words(samples.predicted)},
      {kSamples, "group", "NAME=VALUE",
       "only those of this group of the data set; of several groups if given several times", "",
       each_word(samples.groups)},
      {kSamples, "wrong", "BOOL", "only those that are predicted wrongly", "", flag(samples.wrong)},
      {kSamples, "data", "FILE", "the data set, if it lies elsewhere than when it was evaluated",
       "", words(samples.data)},
      {kSamples, "copy-images", "DIR", "copy their images, in this order, to this new folder", "",
       words(samples.copy_images)},
      {kSamples, "images", "FOLDER",
       "with --copy-images: where the images are, by the names of the data set's samples", "",
       words(samples.images)},
  };
}

// The first option for weights that was given, for a message; empty if none was given.
std::string_view first_given(const InspectConfig& config) {
  return !config.weights_key.empty()      ? "weights-key"
         : !config.to_safetensors.empty() ? "to-safetensors"
         : !config.weights_prefix.empty() ? "weights-prefix"
         : !config.like.empty()           ? "like"
                                          : "";
}

void check_together(const InspectConfig& config) {
  // One call inspects one kind of file. An option for another kind, or one that another option
  // makes meaningless, is refused and not ignored.
  const bool copies = !config.add_checksums.empty();
  if (copies && config.verify) {
    throw Error(ErrorKind::usage, "--verify and --add-checksums exclude each other",
                "The copy is verified in any case.");
  }
  if (config.samples.worst > 0 && config.samples.show > 0) {
    throw Error(ErrorKind::usage, "--worst and --show exclude each other",
                "--worst N says how many.");
  }
  if (config.samples.copy_images.empty() != config.samples.images.empty()) {
    throw Error(ErrorKind::usage, config.samples.images.empty()
                                      ? "--copy-images is given without --images"
                                      : "--images is given without --copy-images");
  }
  if (config.shows_samples() && (copies || config.verify)) {
    throw Error(ErrorKind::usage, format("{} is for data sets, not for the rows of predictions",
                                         config.verify ? "--verify" : "--add-checksums"));
  }
  const auto for_weights = first_given(config);
  if (!for_weights.empty() && (config.shows_samples() || copies || config.verify)) {
    throw Error(ErrorKind::usage,
                format("--{} is for weights, not for {}", for_weights,
                       config.shows_samples() ? "the rows of predictions" : "data sets"));
  }
  // These two only say how names are matched when the weights are written.
  if (config.to_safetensors.empty() && !(config.weights_prefix + config.like).empty()) {
    throw Error(ErrorKind::usage, format("--{} is given without --to-safetensors",
                                         config.like.empty() ? "weights-prefix" : "like"));
  }
}

}  // namespace

InspectConfig parse_inspect_options(const std::vector<std::string>& arguments) {
  InspectConfig config;
  const OptionTable table = inspect_table(config);
  std::vector<std::string> options = arguments;
  const std::vector<std::string> words = take_words(table, options);
  // The variables TALLY_… are options of runs (docs/contracts.md), so that none are looked at.
  resolve(table, options, {});
  if (words.size() != 1) {
    throw Error(ErrorKind::usage,
                words.empty()
                    ? std::string("tally inspect needs a file")
                    : format("unexpected word '{}' (command line): tally inspect takes one file",
                             printable(words[1])),
                kSeeHelp);
  }
  config.file = words[0];
  check_together(config);
  return config;
}

std::string inspect_options_help() {
  InspectConfig defaults;
  return options_help(inspect_table(defaults));
}

}  // namespace tally::config
