// SPDX-License-Identifier: Apache-2.0
#include "saved_texts.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include <nlohmann/json.hpp>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/base/task_traits.hpp>
#include <tally/comm/agree.hpp>
#include <tally/hdf5/reader.hpp>
#include <tally/predictions/saved_rows.hpp>
#include <tally/weights/file_kind.hpp>

#include "saved_scores.hpp"

namespace tally::app {
namespace {

using nlohmann::json;

constexpr const char* kTexts = "predictions file";

// Receives the events of nlohmann's reader, so that a file of predictions is in memory as texts
// alone. Handlers return true to go on; what is wrong with the file is thrown.
class TextReader : public nlohmann::json_sax<json> {
 public:
  explicit TextReader(const std::string& path) : path_(path) {}
  SavedTexts take() { return std::move(texts_); }

  bool null() override { refuse_value(); }
  bool boolean(bool /*value*/) override { refuse_value(); }
  bool number_integer(number_integer_t /*number*/) override { refuse_value(); }
  bool number_unsigned(number_unsigned_t /*number*/) override { refuse_value(); }
  bool number_float(number_float_t /*number*/, const string_t& /*text*/) override {
    refuse_value();
  }
  bool binary(binary_t& /*bytes*/) override { refuse_value(); }
  bool start_array(std::size_t /*size*/) override { refuse_value(); }
  bool end_array() override { return true; }
  bool start_object(std::size_t /*size*/) override {
    if (is_open_) refuse_value();
    is_open_ = true;
    return true;
  }
  bool end_object() override { return true; }
  bool key(string_t& id) override {
    id_ = std::move(id);
    return true;
  }
  bool string(string_t& text) override {
    if (!is_open_) refuse_form();
    texts_.emplace_back(std::move(id_), std::move(text));
    return true;
  }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    refuse_form();
  }

 private:
  [[noreturn]] void refuse(std::string_view problem) const {
    throw Error(ErrorKind::dataset, format("{} '{}' {}", kTexts, path_, problem),
                "Expected SQuAD's predictions.json, {\"question id\": \"answer\", …}, or a "
                "predictions.h5.");
  }
  [[noreturn]] void refuse_form() const { refuse("is no JSON object"); }
  // In place of a text; before the object it is the whole file.
  [[noreturn]] void refuse_value() const {
    if (!is_open_) refuse_form();
    refuse(format("has no text for '{}'", printable(id_)));
  }

  const std::string& path_;
  bool is_open_ = false;  // the object
  std::string id_;
  SavedTexts texts_;
};

SavedTexts texts_of_json(const std::string& path, const std::vector<std::byte>& bytes) {
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  TextReader reader(path);
  json::sax_parse(text, text + bytes.size(), &reader);
  return reader.take();
}

// Ascending by id, of which the last text counts, as for Python's reader of JSON.
SavedTexts sorted_by_id(SavedTexts texts) {
  std::ranges::reverse(texts);
  std::ranges::stable_sort(texts, {}, &SavedTexts::value_type::first);
  // clang 14 cannot read std::ranges::unique() of GCC 12.
  const auto have_one_id = [](const auto& a, const auto& b) { return a.first == b.first; };
  texts.erase(std::unique(texts.begin(), texts.end(), have_one_id), texts.end());
  return texts;
}

// Returns the rows of a ragged column of bytes. Throws Error(dataset) where offsets lead outside.
std::vector<std::string> texts_in(const hdf5::Reader& file, const std::string& name) {
  const auto offsets = file.dataset(format("/{}/offsets", name)).read_all<std::int64_t>();
  const auto values = file.dataset(format("/{}/values", name)).read_all<std::uint8_t>();
  std::vector<std::string> texts;
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    if (offsets[i] < 0 || offsets[i] > offsets[i + 1] ||
        std::cmp_greater(offsets[i + 1], values.size())) {
      throw Error(ErrorKind::dataset,
                  format("{} '{}', /{}/offsets[{}] = {} is no place of {} values", kTexts,
                         file.path().string(), name, i, offsets[i], values.size()));
    }
    texts.emplace_back(values.begin() + offsets[i], values.begin() + offsets[i + 1]);
  }
  return texts;
}

SavedTexts texts_of_hdf5(const std::string& path) {
  const hdf5::Reader file = predictions::open_predictions(path);
  for (const char* name : {"/id/offsets", "/id/values", "/prediction/offsets"}) {
    if (!file.exists(name))
      refuse_column(file, {"id", "prediction"}, task_name(TaskKind::question_answering));
  }
  auto ids = texts_in(file, "id");
  auto answers = texts_in(file, "prediction");
  file.require_unchanged();
  if (ids.size() != answers.size()) {
    throw Error(ErrorKind::dataset, format("{} '{}' has {} ids and {} predictions", kTexts, path,
                                           ids.size(), answers.size()));
  }
  SavedTexts texts;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    texts.emplace_back(std::move(ids[i]), std::move(answers[i]));
  }
  return texts;
}

}  // namespace

SavedTexts read_texts(const std::string& path) {
  const auto bytes = read_file(path, ErrorKind::dataset, kTexts);
  // The bytes decide which of the two formats it is, not the name.
  const bool is_hdf5 = weights::probe(bytes) == weights::FileKind::hdf5;
  return sorted_by_id(is_hdf5 ? texts_of_hdf5(path) : texts_of_json(path, bytes));
}

std::optional<std::size_t> place_of(const SavedTexts& texts, std::string_view id) {
  const auto found = std::ranges::lower_bound(
      texts, id, {}, [](const auto& entry) { return std::string_view(entry.first); });
  if (found == texts.end() || found->first != id) return std::nullopt;
  return to_size(found - texts.begin());
}

namespace {

void pack(std::string_view text, std::vector<std::byte>& packed) {
  const std::uint64_t length = text.size();
  const auto number = std::as_bytes(std::span(&length, 1));
  const auto bytes = std::as_bytes(std::span(text));
  packed.insert(packed.end(), number.begin(), number.end());
  packed.insert(packed.end(), bytes.begin(), bytes.end());
}

// Takes what pack() put there off the begin of `packed`.
std::string unpack(std::span<const std::byte>& packed) {
  std::uint64_t length = 0;
  std::memcpy(&length, packed.data(), sizeof length);
  const auto* text = reinterpret_cast<const char*>(packed.data()) + sizeof length;
  packed = packed.subspan(sizeof length + length);
  return {text, length};
}

}  // namespace

SavedTexts share_texts(const comm::Communicator& comm, const std::string& path) {
  SavedTexts texts;
  std::vector<std::byte> packed;
  comm::agree_on(comm, [&] {
    if (!comm.is_root()) return;
    texts = read_texts(path);
    if (comm.world_size() == 1) return;
    for (const auto& [id, text] : texts) {
      pack(id, packed);
      pack(text, packed);
    }
  });
  comm.broadcast(packed);
  if (comm.is_root()) return texts;
  for (std::span<const std::byte> rest(packed); !rest.empty();) {
    std::string id = unpack(rest);
    texts.emplace_back(std::move(id), unpack(rest));
  }
  return texts;
}

}  // namespace tally::app
