// SPDX-License-Identifier: Apache-2.0
#include "npy_header.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

namespace tally::app {
namespace {

constexpr std::string_view kSignature = "\x93NUMPY";
constexpr std::size_t kMostDimensions = 64;  // as numpy 2 has it
constexpr std::string_view kSaveAgain = "Copy it, or save it with numpy.save() again.";

// Numpy's names of the types that models return. A single byte has no order.
constexpr std::array<std::pair<std::string_view, DType>, 9> kDTypes{{{"|u1", DType::u8},
                                                                     {"<u1", DType::u8},
                                                                     {"|i1", DType::i8},
                                                                     {"<i1", DType::i8},
                                                                     {"<i2", DType::i16},
                                                                     {"<i4", DType::i32},
                                                                     {"<i8", DType::i64},
                                                                     {"<f4", DType::f32},
                                                                     {"<f8", DType::f64}}};

NpyRefusal no_header() { return {"has a damaged .npy header", std::string(kSaveAgain)}; }

// The entries of the header's dictionary, which is written as Python writes one.
struct Entries {
  std::optional<std::string> descr;  // empty: a list, that of the fields of records
  std::optional<bool> fortran_order;
  std::optional<Shape> shape;
};

// Takes tokens of a Python literal off the front of a text. What is not there is not taken.
class Literal {
 public:
  explicit Literal(std::string_view text) : rest_(text) {}

  bool take(std::string_view token) {
    skip_blanks();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  bool is_at(char token) {
    skip_blanks();
    return rest_.starts_with(token);
  }
  bool is_at_end() {
    skip_blanks();
    return rest_.empty();
  }
  // Without escapes, of which a header has none.
  std::optional<std::string> text() {
    for (const char quote : {'\'', '"'}) {
      if (!take({&quote, 1})) continue;
      const std::size_t end = rest_.find(quote);
      if (end == std::string_view::npos) return std::nullopt;
      std::string found(rest_.substr(0, end));
      rest_.remove_prefix(end + 1);
      return found.find('\\') == std::string::npos ? std::optional(found) : std::nullopt;
    }
    return std::nullopt;
  }
  std::optional<std::int64_t> size() {
    skip_blanks();
    std::int64_t value = 0;
    const auto [end, failure] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (failure != std::errc{} || value < 0) return std::nullopt;
    rest_.remove_prefix(to_size(end - rest_.data()));
    return value;
  }
  // "(3,)", "(3, 5)", "()"; in Python "(3)" is no tuple.
  std::optional<Shape> shape() {
    if (!take("(")) return std::nullopt;
    Shape sizes;
    while (!take(")")) {
      const auto found = size();
      if (!found || sizes.size() == kMostDimensions) return std::nullopt;
      sizes.push_back(*found);
      if (take(",")) continue;
      return sizes.size() > 1 && take(")") ? std::optional(sizes) : std::nullopt;
    }
    return sizes;
  }

 private:
  void skip_blanks() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
  }

  std::string_view rest_;
};

// One entry behind its key. False for another key, one that was there before, or another value.
bool take_entry(Literal& literal, std::string_view key, Entries& entries) {
  if (key == "descr" && !entries.descr) {
    if (literal.is_at('[')) {
      entries.descr.emplace();
      return false;  // nothing behind it is read: fields of records are refused
    }
    entries.descr = literal.text();
    return entries.descr && !entries.descr->empty();
  }
  if (key == "fortran_order" && !entries.fortran_order) {
    if (literal.take("True")) entries.fortran_order = true;
    if (!entries.fortran_order && literal.take("False")) entries.fortran_order = false;
    return entries.fortran_order.has_value();
  }
  if (key == "shape" && !entries.shape) {
    entries.shape = literal.shape();
    return entries.shape.has_value();
  }
  return false;
}

// The entries as far as the text is as it should be, and whether all of it is.
std::pair<Entries, bool> read_entries(std::string_view text) {
  Literal literal(text);
  Entries entries;
  if (!literal.take("{")) return {entries, false};
  while (!literal.take("}")) {
    const auto key = literal.text();
    if (!key || !literal.take(":") || !take_entry(literal, *key, entries)) return {entries, false};
    if (!literal.take(",") && !literal.is_at('}')) return {entries, false};
  }
  const bool are_all = entries.descr && entries.fortran_order && entries.shape;
  return {entries, are_all && literal.is_at_end()};
}

std::int64_t little_endian(std::string_view bytes) {
  std::int64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = value * 256 + static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

NpyRefusal refusal_of_type(const std::string& descr) {
  if (descr.empty()) return {"holds records, expected numbers", "Save one of their fields."};
  const std::string next_step =
      descr.starts_with('>') ? format("Save values.astype('<{}').", printable(descr.substr(1)))
                             : "Save values.astype(numpy.float32), of classes astype(numpy.int64).";
  return {format("holds '{}', expected float32, uint8 or int8 to int64, little-endian",
                 printable(descr)),
          next_step};
}

// None where the product is too large for an integer.
std::optional<std::int64_t> bytes_of(const Shape& shape, std::int64_t element_bytes) {
  std::int64_t bytes = element_bytes;
  for (const std::int64_t size : shape) {
    if (__builtin_mul_overflow(bytes, size, &bytes)) return std::nullopt;
  }
  return bytes;
}

std::variant<NpyHeader, NpyRefusal> checked(const Entries& entries, std::int64_t data_offset,
                                            std::int64_t file_bytes) {
  const auto* const known =
      std::ranges::find(kDTypes, *entries.descr, &std::pair<std::string_view, DType>::first);
  if (known == kDTypes.end()) return refusal_of_type(*entries.descr);
  const Shape& shape = *entries.shape;
  if (*entries.fortran_order) {
    return NpyRefusal{"is in Fortran's order (fortran_order), expected rows behind one another",
                      "Save numpy.ascontiguousarray(values)."};
  }
  if (shape.empty())
    return NpyRefusal{"holds a single number, expected a row for each sample",
                      "Save an array of the predictions of all samples."};
  const auto bytes = bytes_of(shape, size_bytes(known->second));
  if (!bytes || *bytes != file_bytes - data_offset) {
    return NpyRefusal{
        format("is of shape {} and {}, which are {} bytes, but holds {} behind its header",
               to_string(shape), name(known->second),
               bytes ? format("{}", *bytes) : "more than 2^63", file_bytes - data_offset),
        std::string(kSaveAgain)};
  }
  return NpyHeader{known->second, shape, data_offset};
}

}  // namespace

bool has_npy_signature(std::string_view bytes) { return bytes.starts_with(kSignature); }

std::variant<NpyHeader, NpyRefusal> parse_npy_header(std::string_view begin,
                                                     std::int64_t file_bytes) {
  if (!has_npy_signature(begin)) {
    return NpyRefusal{"is no .npy file (its signature is not there)",
                      "See what it is with 'tally inspect'."};
  }
  if (begin.size() < kSignature.size() + 2) return no_header();
  const std::string_view version = begin.substr(kSignature.size(), 2);
  const auto major = static_cast<unsigned char>(version[0]);
  if (major < 1 || major > 3 || version[1] != 0) {
    return NpyRefusal{format("has version {}.{} of .npy, expected 1.0, 2.0 or 3.0", major,
                             static_cast<unsigned char>(version[1])),
                      std::string(kSaveAgain)};
  }
  const std::size_t length_bytes = major == 1 ? 2 : 4, text_at = 8 + length_bytes;
  if (begin.size() < text_at) return no_header();
  const std::int64_t length = little_endian(begin.substr(8, length_bytes));
  const std::int64_t data_offset = static_cast<std::int64_t>(text_at) + length;
  if (data_offset > std::ssize(begin)) return no_header();
  const auto [entries, is_whole] = read_entries(begin.substr(text_at, to_size(length)));
  const bool is_of_records = entries.descr && entries.descr->empty();
  if (is_of_records) return refusal_of_type("");
  if (!is_whole) return no_header();
  return checked(entries, data_offset, file_bytes);
}

}  // namespace tally::app
