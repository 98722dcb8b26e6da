// SPDX-License-Identifier: Apache-2.0
// The content of an AOTInductor package (.pt2): checked, described, compared with this machine, not
// yet loaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <tally/device/device.hpp>
#include <tally/model/card.hpp>
#include <tally/model/predictor.hpp>

namespace tally::model {

struct PackageEntry {
  std::string name;
  std::int64_t num_bytes = 0;
};

struct Package {
  std::string name;                 // of the file, for messages
  std::span<const std::byte> code;  // the compiled library, a part of the file's bytes
  std::optional<ModelCard> card;
  // What the compiler says of its target.
  std::string device;              // "cpu" or "cuda"
  std::string platform;            // "linux"
  std::string machine;             // "x86_64"
  std::string instruction_set;     // "AVX512 AVX512_VNNI"
  std::string compute_capability;  // "90"; empty without a GPU
  std::vector<PackageEntry> entries;
};

// `file` outlives the package. Error(model) if it is not one compiled model in entries that may be
// trusted to be what they seem: plain names, uncompressed.
Package open_package(const NamedBytes& file);

// Its card, with the fields without which nothing of a package may be run. Error(model) if it has
// none, or if the library is not the one that the card was written for.
const ModelCard& checked_card(const Package& package);

// What /proc/cpuinfo says that this processor can do: "avx2", "fma", …; read once.
const std::set<std::string>& cpu_features();

// Error(model) if the package is for another kind of device, machine or processor, naming what to
// do. The GPU itself is looked at when the library is loaded.
void check_target(const Package& package, const ModelCard& card, const device::Device& device);

}  // namespace tally::model
