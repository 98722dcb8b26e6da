// SPDX-License-Identifier: Apache-2.0
#include "aoti/package.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include <tally/base/byte_conversions.hpp>
#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/host_and_libraries.hpp>
#include <tally/base/json_depth.hpp>
#include <tally/digest/sha256_and_checksums.hpp>
#include <tally/weights/byte_source.hpp>
#include <tally/weights/file_kind.hpp>
#include <tally/weights/zip_archive.hpp>

#include "model_error.hpp"

namespace tally::model {
namespace {

using nlohmann::json;
using weights::Archive;
using weights::FormatError;

constexpr std::string_view kModels = "data/aotinductor/";
constexpr std::string_view kExportAgain =
    "Export the model again with data_tools/export_model.py --format pt2.";

// "data/aotinductor/model/x.so" is of the model "model".
std::string_view model_of(std::string_view entry) {
  entry.remove_prefix(kModels.size());
  return entry.substr(0, entry.find('/'));
}

// No entry is written to disk. One that leads out of the archive shows that no exporter has made
// it.
void check_name(const std::string& entry) {
  const bool climbs = ("/" + entry + "/").find("/../") != std::string::npos;
  if (climbs || entry.starts_with('/') || entry.find('\\') != std::string::npos) {
    throw FormatError(format("its entry '{}' leads out of it", entry));
  }
}

// Beside the library lie its sources and its metadata. Anything else (kernels, weights, operations
// that only an interpreter runs) the library would look for by paths that there are not.
void check_kind(const std::string& entry) {
  if (entry.ends_with(".so") || entry.ends_with(".cpp") || entry.ends_with("_metadata.json")) {
    return;
  }
  throw FormatError(format("its library needs the entry '{}' beside it", entry));
}

// This is the library that is to run. There must be one alone, because nothing says which of
// several it would be.
std::string library_entry(const Archive& archive) {
  std::set<std::string_view> models;
  std::vector<std::string> libraries;
  for (const auto& entry : archive.entries()) {
    check_name(entry);
    if (!entry.starts_with(kModels)) continue;
    models.insert(model_of(entry));
    check_kind(entry);
    if (entry.ends_with(".so")) libraries.push_back(entry);
  }
  if (models.size() > 1) throw FormatError(format("it holds {} models", models.size()));
  if (libraries.empty()) throw FormatError("it holds no compiled code");
  if (libraries.size() > 1) throw FormatError(format("it holds {} libraries", libraries.size()));
  return libraries.front();
}

json metadata_of(const Archive& archive, const std::string& library) {
  const auto stem = library.substr(0, library.size() - std::string_view(".so").size());
  const auto text = archive.content(stem + "_metadata.json");
  auto found = is_nested_deeper(as_text(text), 1)
                   ? json()
                   : json::parse(as_text(text), nullptr, /*allow_exceptions=*/false);
  // They are read as texts later, and other types would be an exception of the JSON library's,
  // which does not name the file.
  const auto is_text = [](const json& value) { return value.is_string(); };
  if (!found.is_object() || !std::all_of(found.begin(), found.end(), is_text)) {
    throw FormatError("its metadata is no JSON object of texts");
  }
  return found;
}

Package read(const NamedBytes& file) {
  const weights::MemorySource bytes(file.bytes);
  const Archive archive(bytes);
  Package package;
  package.name = file.name;
  const auto library = library_entry(archive);
  for (const auto& entry : archive.entries()) {
    package.entries.push_back({entry, checked_cast<std::int64_t>(archive.place(entry).num_bytes)});
  }
  const auto place = archive.place(library);
  package.code = file.bytes.subspan(place.offset, place.num_bytes);
  const auto metadata = metadata_of(archive, library);
  const auto value = [&](const char* key) { return metadata.value(key, std::string()); };
  package.device = value("AOTI_DEVICE_KEY");
  package.platform = value("AOTI_PLATFORM");
  package.machine = value("AOTI_MACHINE");
  package.instruction_set = value("AOTI_CPU_ISA");
  package.compute_capability = value("AOTI_COMPUTE_CAPABILITY");
  if (metadata.contains("tally")) {
    package.card = parse_card(value("tally"), format("model '{}'", file.name));
  }
  return package;
}

// Compiled code takes what it is given for the type that it was compiled for.
void require_floating_type(const Package& package, const ModelCard& card) {
  // Packages are compiled in one floating type, weights and inputs alike.
  const DType compiled = card.package->precision == "bf16"   ? DType::bf16
                         : card.package->precision == "fp16" ? DType::f16
                                                             : DType::f32;
  for (const auto& input : card.inputs) {
    const bool is_floating = input.dtype == DType::f16 || input.dtype == DType::bf16 ||
                             input.dtype == DType::f32 || input.dtype == DType::f64;
    if (!is_floating || input.dtype == compiled) continue;
    throw Error(ErrorKind::model,
                format("'{}' says of its input '{}' that it is {}, but it was compiled in {}",
                       package.name, input.name, name(input.dtype), card.package->precision),
                kExportAgain);
  }
}

}  // namespace

Package open_package(const NamedBytes& file) {
  const auto kind = weights::probe(file.bytes);
  if (kind != weights::FileKind::aoti_package) throw model_refusal(file, kind);
  refuse_damage(file);
  try {
    return read(file);
  } catch (const FormatError& error) {
    throw Error(ErrorKind::model,
                format("'{}' is no .pt2 package that can be run ({})", file.name, error.what()),
                kExportAgain);
  }
}

const ModelCard& checked_card(const Package& package) {
  if (!package.card || !package.card->package) {
    throw Error(ErrorKind::model,
                format("'{}' is a .pt2 package without a card of tally's: what it takes cannot be "
                       "checked, and a compiled model does not check it either",
                       package.name),
                kExportAgain);
  }
  // The card says what the code takes, and compiled code checks nothing: both must be of one
  // export.
  if (digest::sha256_hex(package.code) != package.card->package->code_sha256) {
    throw Error(ErrorKind::model,
                format("'{}' is damaged: its compiled library is not the one that its card was "
                       "written for (sha256)",
                       package.name),
                "Copy or download the file again, or export it again.");
  }
  require_floating_type(package, *package.card);
  return *package.card;
}

namespace {

// The names are those that the exporter has read from the same file of its own machine.
std::set<std::string> read_cpu_features() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    // "flags : …" on x86, "Features : …" on ARM
    if (!line.starts_with("flags") && !line.starts_with("Features")) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    return {std::istream_iterator<std::string>(words), {}};
  }
  return {};
}

std::string machine_name() {
  utsname names{};
  return uname(&names) == 0 ? names.machine : "unknown";
}

Error misfit(const Package& package, const std::string& problem, std::string_view next_step) {
  return {ErrorKind::model, format("model '{}' was compiled for {}", package.name, problem),
          next_step};
}

}  // namespace

const std::set<std::string>& cpu_features() {
  static const auto kFeatures = read_cpu_features();
  return kFeatures;
}

void check_target(const Package& package, const ModelCard& card, const device::Device& device) {
  if (package.device != name(device.kind)) {
    throw misfit(package,
                 format("the device '{}', this run uses '{}'", package.device, name(device.kind)),
                 format("Run with --device {}, or export it with --device {}.", package.device,
                        name(device.kind)));
  }
  const auto machine = machine_name();
  if (package.platform != "linux" || package.machine != machine) {
    throw misfit(
        package,
        format("{} {}, this machine is linux {}", package.platform, package.machine, machine),
        "Export it on a machine like this one.");
  }
  // An instruction that the processor lacks ends the process by a signal, without an error.
  std::vector<std::string> missing;
  for (const auto& feature : card.package->cpu_features) {
    if (!cpu_features().contains(feature)) missing.push_back(feature);
  }
  if (missing.empty()) return;
  throw misfit(package,
               format("processors with {}; this one ({}) has no {}", package.instruction_set,
                      cpu_model(), fmt::join(missing, ", ")),
               "Export it on this machine, or with --cpu-isa avx2.");
}

}  // namespace tally::model
