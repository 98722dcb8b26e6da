// SPDX-License-Identifier: Apache-2.0
#include <tally/model/files_beside.hpp>

#include <algorithm>
#include <filesystem>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/openvino/network.hpp>
#include <tally/weights/file_kind.hpp>

namespace tally::model {
namespace {

bool stays_in_folder(const std::filesystem::path& name) {
  return name.is_relative() && std::ranges::find(name, "..") == name.end();
}

std::vector<std::string> weights_files(const NamedBytes& model) {
  const auto& engine = openvino::engine();
  try {
    return engine.weights_files(model.bytes);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& problem) {
    throw Error(ErrorKind::model,
                printable(format("model '{}' cannot be read as an ONNX file: {}", model.name,
                                 problem.what())),
                "Copy or download the file again.");
  }
}

}  // namespace

std::vector<std::string> files_beside(const NamedBytes& model) {
  const auto kind = weights::probe(model.bytes);
  if (kind == weights::FileKind::openvino_xml) {
    return {std::filesystem::path(model.name).replace_extension(".bin").filename().string()};
  }
  if (kind != weights::FileKind::onnx) return {};
  auto names = weights_files(model);
  for (const auto& name : names) {
    if (stays_in_folder(name)) continue;
    throw Error(ErrorKind::model,
                printable(format("model '{}' has weights in '{}', which leads out of its folder",
                                 model.name, name)),
                "Save it again with its weights beside it, or in one file.");
  }
  return names;
}

}  // namespace tally::model
