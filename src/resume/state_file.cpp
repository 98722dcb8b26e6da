// SPDX-License-Identifier: Apache-2.0
#include "state_file.hpp"

#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include <nlohmann/json.hpp>

#include <tally/base/byte_conversions.hpp>
#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/json_depth.hpp>
#include <tally/digest/sha256_and_checksums.hpp>

namespace tally::resume {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kStateFormat = "tally-progress";
constexpr int kStateVersion = 1;
constexpr int kLevels = 3;                 // the object, `done`, and each of its ranges
constexpr std::size_t kDigestDigits = 64;  // of SHA-256

std::string header_of(const Progress& progress) {
  Json done = Json::array();
  for (const auto& range : progress.done) done.push_back({range.first, range.count});
  const Json header = {{"format", kStateFormat},
                       {"version", kStateVersion},
                       {"attempt", progress.part.attempt},
                       {"rank", progress.part.rank},
                       {"world_size", progress.world_size},
                       {"sequence", progress.sequence},
                       {"records_bytes", progress.records_bytes},
                       {"done", std::move(done)},
                       {"identity_bytes", progress.identity.size()},
                       {"observations_bytes", progress.observations.size()},
                       {"state_length", progress.state.size()}};
  return header.dump() + "\n";
}

// A field that is there but unusable. Readers take it as a damaged file.
[[noreturn]] void refuse_field() {
  throw Error(ErrorKind::output, "a field of a progress file is out of range");
}

// Numbers above 2^63 become negative ones, which no field may be.
std::int64_t integer(const Json& value) {
  if (!value.is_number_integer()) refuse_field();  // get() would cut off fractions
  return value.get<std::int64_t>();
}

int small_integer(const Json& value) {
  const std::int64_t number = integer(value);
  if (!std::in_range<int>(number)) refuse_field();
  return static_cast<int>(number);
}

std::vector<plan::BatchRange> ranges(const Json& list) {
  if (!list.is_array()) refuse_field();
  std::vector<plan::BatchRange> all;
  all.reserve(list.size());
  for (const Json& range : list) {
    if (!range.is_array() || range.size() != 2) refuse_field();
    all.push_back({integer(range[0]), integer(range[1])});
  }
  return all;
}

// Hands out the bytes behind the header, as long as the file has some.
class Rest {
 public:
  explicit Rest(std::string_view bytes) : bytes_(bytes) {}

  // `count` items of `width` bytes. Compared by division: the product could overflow.
  std::string_view take(std::int64_t count, std::size_t width = 1) {
    if (count < 0 || std::cmp_greater(count, bytes_.size() / width)) refuse_field();
    const std::string_view taken = bytes_.substr(0, to_size(count) * width);
    bytes_.remove_prefix(taken.size());
    return taken;
  }
  bool is_empty() const { return bytes_.empty(); }

 private:
  std::string_view bytes_;
};

// Throws Error or Json::exception where something is missing or out of range.
Progress parsed_content(std::string_view header, std::string_view content) {
  const Json json = Json::parse(header);
  if (json.at("format") != kStateFormat || json.at("version") != kStateVersion) refuse_field();
  Progress progress;
  progress.part = {small_integer(json.at("attempt")), small_integer(json.at("rank"))};
  progress.world_size = small_integer(json.at("world_size"));
  progress.sequence = integer(json.at("sequence"));
  progress.records_bytes = integer(json.at("records_bytes"));
  progress.done = ranges(json.at("done"));
  Rest rest(content);
  progress.identity = rest.take(integer(json.at("identity_bytes")));
  progress.observations = rest.take(integer(json.at("observations_bytes")));
  const std::string_view values = rest.take(integer(json.at("state_length")), sizeof(std::int64_t));
  if (!rest.is_empty() || !is_consistent(progress)) refuse_field();
  progress.state.resize(values.size() / sizeof(std::int64_t));
  if (!values.empty()) std::memcpy(progress.state.data(), values.data(), values.size());
  return progress;
}

// What cannot be read is as good as missing: the other generation may be there. Only a lack of
// memory says nothing about the file.
std::optional<std::vector<std::byte>> bytes_of_file(const std::filesystem::path& path) {
  if (!is_there(path)) return std::nullopt;
  try {
    return read_file(path, ErrorKind::output, "progress file");
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::output) throw;
    return std::nullopt;
  }
}

}  // namespace

bool is_consistent(const Progress& progress) {
  std::int64_t end = -1;
  for (const auto& range : progress.done) {
    const bool is_behind = range.first > end && range.count >= 1;
    if (!is_behind || range.count > std::numeric_limits<std::int64_t>::max() - range.first) {
      return false;
    }
    end = range.end();
  }
  return progress.part.attempt >= 1 && progress.part.rank >= 0 &&
         progress.part.rank < progress.world_size && progress.sequence >= 1 &&
         progress.records_bytes >= 0;
}

void write_state_file(const std::filesystem::path& path, const Progress& progress) {
  PartialFile file(path);
  digest::Sha256 hash;
  const auto append = [&](std::string_view bytes) {
    hash.update(bytes);
    file.append(bytes);
  };
  append(header_of(progress));
  append(progress.identity);
  append(progress.observations);
  append(as_text(std::as_bytes(std::span(progress.state))));
  file.append(hash.hex());
  file.publish();
}

std::optional<Progress> read_state_file(const std::filesystem::path& path) {
  const auto bytes = bytes_of_file(path);
  if (!bytes || bytes->size() < kDigestDigits) return std::nullopt;
  const std::string_view text = as_text(*bytes);
  const std::string_view content = text.substr(0, text.size() - kDigestDigits);
  if (digest::sha256_hex(content) != text.substr(content.size())) return std::nullopt;
  // A digest is no proof against people: the content is checked as if there were none.
  const std::size_t header_end = content.find('\n');
  if (header_end == std::string_view::npos) return std::nullopt;
  const std::string_view header = content.substr(0, header_end);
  if (is_nested_deeper(header, kLevels)) return std::nullopt;
  try {
    return parsed_content(header, content.substr(header_end + 1));
  } catch (const Json::exception&) {
    return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace tally::resume
