// SPDX-License-Identifier: Apache-2.0
#include "coco_results.hpp"

#include <cmath>
#include <fstream>
#include <limits>
#include <optional>

#include <nlohmann/json.hpp>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

namespace tally::app {
namespace {

using nlohmann::json;

// Receives the events of nlohmann's reader, so that only one entry of the file is in memory.
// Handlers return true to go on; what is wrong with the file is thrown.
class ResultReader : public nlohmann::json_sax<json> {
 public:
  ResultReader(std::string path, const std::function<void(const CocoResult&)>& take)
      : path_(std::move(path)), take_(take) {}

  bool null() override { return value(std::nullopt); }
  bool boolean(bool /*value*/) override { return value(std::nullopt); }
  bool number_integer(number_integer_t number) override { return integer(number); }
  bool number_unsigned(number_unsigned_t number) override {
    if (std::in_range<std::int64_t>(number)) return integer(static_cast<std::int64_t>(number));
    return value(static_cast<double>(number));
  }
  bool number_float(number_float_t number, const string_t& /*text*/) override {
    return value(number);
  }
  bool string(string_t& /*text*/) override { return value(std::nullopt); }
  bool binary(binary_t& /*bytes*/) override { return value(std::nullopt); }

  bool start_object(std::size_t /*size*/) override {
    if (depth_ == 0) refuse_form();
    if (depth_ == kInList) begin_entry();
    // An object in the place of the box is refused; other objects in an entry are passed over.
    if (depth_ >= kInEntry && key_ == kBox) refuse_box();
    ++depth_;
    return true;
  }
  bool end_object() override {
    if (--depth_ == kInList) end_entry();
    return true;
  }
  bool key(string_t& name) override {
    // Names in nested objects are passed over: key_ stays the field of the entry that holds them.
    if (depth_ == kInEntry) key_ = name;
    return true;
  }
  bool start_array(std::size_t /*size*/) override {
    if (depth_ == kInList) refuse_form();
    if (depth_ > kInEntry && key_ == kBox) refuse_box();
    if (depth_ == kInEntry && key_ == kBox) numbers_in_box_ = 0;
    ++depth_;
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    throw_dataset_error(error.id == kNumberTooLarge
                            ? format("has at byte {} a number that no double can hold", position)
                            : format("is no JSON at byte {}", position));
  }

 private:
  // depth_ counts the brackets that are open: those of the list of results, of an entry in it, of a
  // list or an object in an entry.
  static constexpr int kInList = 1, kInEntry = 2, kInBox = 3;
  static constexpr std::string_view kBox = "bbox";
  static constexpr int kNumberTooLarge = 406;  // nlohmann's out_of_range

  [[noreturn]] void throw_dataset_error(const std::string& problem) const {
    throw Error(ErrorKind::dataset, format("predictions file '{}' {}", printable(path_), problem),
                "Expected COCO's results, [{\"image_id\", \"category_id\", \"bbox\": [x, y, width, "
                "height], \"score\"}, …], or a predictions.h5.");
  }
  [[noreturn]] void refuse_form() const { throw_dataset_error("is no list of results"); }
  [[noreturn]] void refuse_entry(std::string_view problem) const {
    throw_dataset_error(format("has at entry {} {}", num_entries_, problem));
  }

  [[noreturn]] void refuse_box() const { refuse_entry("no bbox of four numbers"); }

  void begin_entry() {
    image_id_.reset();
    category_id_.reset();
    score_.reset();
    numbers_in_box_ = 0;
  }

  void end_entry() {
    // Fields come in any order, so that an entry is checked at its end.
    if (!image_id_) refuse_entry("no image_id");
    if (!category_id_) refuse_entry("no category_id");
    if (numbers_in_box_ != box_.size()) refuse_box();
    if (!score_) refuse_entry("no score");
    take_({*image_id_, *category_id_, box_, *score_});
    ++num_entries_;
  }

  bool integer(std::int64_t number) {
    if (depth_ == kInEntry && key_ == "image_id") image_id_ = number;
    if (depth_ == kInEntry && key_ == "category_id") category_id_ = number;
    return value(static_cast<double>(number));
  }

  // Takes every value that is no list and no object; `number` is empty for what is no number.
  bool value(std::optional<double> number) {
    if (depth_ < kInEntry) refuse_form();
    const bool is_finite = number && std::isfinite(*number);
    if (depth_ == kInEntry && key_ == "score") {
      if (!is_finite) refuse_entry("a score that is no number");
      score_ = number;
    }
    if (key_ != kBox) return true;
    if (depth_ != kInBox || !is_finite || numbers_in_box_ == box_.size()) refuse_box();
    box_[numbers_in_box_++] = *number;
    return true;
  }

  std::string path_;
  const std::function<void(const CocoResult&)>& take_;
  int depth_ = 0;
  std::int64_t num_entries_ = 0;
  // These belong to the entry that is read.
  std::string key_;
  std::optional<std::int64_t> image_id_, category_id_;
  std::optional<double> score_;
  tasks::Box box_{};
  std::size_t numbers_in_box_ = 0;
};

}  // namespace

void read_coco_results(const std::filesystem::path& path,
                       const std::function<void(const CocoResult&)>& take) {
  std::ifstream file(path, std::ios::binary);
  ResultReader reader(path.string(), take);
  json::sax_parse(file, &reader);
}

}  // namespace tally::app
