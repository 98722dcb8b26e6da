// SPDX-License-Identifier: Apache-2.0
#include <tally/weights/file_kind.hpp>

#include <algorithm>
#include <cctype>

#include <tally/base/byte_conversions.hpp>
#include <tally/base/format.hpp>
#include <tally/weights/byte_source.hpp>
#include <tally/weights/zip_archive.hpp>

#include "safetensors/safetensors.hpp"
#include "torch_save/torch_save.hpp"

namespace tally::weights {
namespace {

constexpr std::string_view kHdf5Signature = "\x89HDF\r\n\x1a\n";

// The signature stands at 0, or at 512, 1024, 2048, … behind a user block.
bool looks_like_hdf5(const ByteSource& bytes) {
  for (std::uint64_t at = 0; at + kHdf5Signature.size() <= bytes.size();
       at = at == 0 ? 512 : 2 * at) {
    if (as_text(bytes.read(at, kHdf5Signature.size())) == kHdf5Signature) return true;
  }
  return false;
}

// The order matters: a TorchScript archive holds a data.pkl as well, and is no state_dict.
FileKind probe_archive(const ByteSource& bytes) {
  try {
    const Archive archive(bytes);
    if (archive.has("archive_format") || archive.has_under("data/aotinductor/")) {
      return FileKind::aoti_package;
    }
    if (archive.has("constants.pkl") || archive.has_under("code/")) return FileKind::torchscript;
    if (archive.has("data.pkl")) return FileKind::state_dict;
  } catch (const FormatError&) {
    return FileKind::other;
  }
  return FileKind::other;
}

// An ONNX file begins with the version of its form, a small number in the first field of the
// message; one of the message's other fields follows (onnx.proto).
bool looks_like_onnx(const ByteSource& bytes) {
  constexpr std::string_view kNextFields = "\x12\x1a\x22\x28\x32\x3a\x42\x72";
  constexpr int kLastVersion = 31;  // 13 in 2026
  if (bytes.size() < 3) return false;
  const auto head = bytes.read(0, 3);
  const auto text = as_text(head);
  return text[0] == '\x08' && text[1] >= 1 && text[1] <= kLastVersion &&
         kNextFields.find(text[2]) != std::string_view::npos;
}

bool looks_like_openvino(const ByteSource& bytes) {
  const auto head = bytes.read(0, std::min<std::uint64_t>(bytes.size(), 256));
  const auto text = as_text(head);
  return text.starts_with("<?xml") && text.find("<net ") != std::string_view::npos;
}

// Bytes from 0x80 on may be of UTF-8; other encodings are not looked into.
bool is_text(std::string_view head) {
  return std::all_of(head.begin(), head.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x80 || std::isprint(byte) != 0 || std::isspace(byte) != 0;
  });
}

}  // namespace

std::string_view description(FileKind kind) {
  switch (kind) {
    case FileKind::torchscript:
      return "a TorchScript model";
    case FileKind::aoti_package:
      return "a .pt2 package";
    case FileKind::state_dict:
      return "a state_dict";
    case FileKind::legacy_checkpoint:
      return "a checkpoint of PyTorch before 1.6";
    case FileKind::safetensors:
      return "a safetensors file";
    case FileKind::hdf5:
      return "an HDF5 file";
    case FileKind::onnx:
      return "an ONNX model";
    case FileKind::openvino_xml:
      return "a model of OpenVINO (.xml)";
    case FileKind::other:
      return "of no known kind";
  }
  return "of no known kind";
}

FileKind probe(const ByteSource& bytes) {
  if (looks_like_zip(bytes)) return probe_archive(bytes);
  if (looks_like_legacy_checkpoint(bytes)) return FileKind::legacy_checkpoint;
  if (looks_like_safetensors(bytes)) return FileKind::safetensors;
  if (looks_like_hdf5(bytes)) return FileKind::hdf5;
  if (looks_like_onnx(bytes)) return FileKind::onnx;
  if (looks_like_openvino(bytes)) return FileKind::openvino_xml;
  return FileKind::other;
}

FileKind probe(std::span<const std::byte> bytes) { return probe(MemorySource(bytes)); }

std::string unknown_content(const ByteSource& bytes) {
  if (bytes.size() == 0) return "is empty";
  if (looks_like_zip(bytes)) {
    return has_zip_end(bytes)
               ? "is a zip archive that PyTorch did not write, or a damaged one"
               : "was cut short: it begins as a PyTorch file, but its end is missing";
  }
  const auto head_bytes = bytes.read(0, std::min<std::uint64_t>(bytes.size(), 512));
  const auto head = as_text(head_bytes);
  if (is_text(head)) {
    return head.starts_with('{') ? "is a JSON text file" : "is a text file";
  }
  std::vector<unsigned> first;
  for (const char c : head.substr(0, 8)) first.push_back(static_cast<unsigned char>(c));
  return format("is no PyTorch file (its first bytes are {:02x})", fmt::join(first, " "));
}

bool is_cut_archive(const ByteSource& bytes) {
  return looks_like_zip(bytes) && !has_zip_end(bytes);
}

bool may_be_cut(const ByteSource& bytes) { return bytes.size() == 0 || looks_like_zip(bytes); }

}  // namespace tally::weights
