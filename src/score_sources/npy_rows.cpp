// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <utility>

#include <tally/base/checked_cast.hpp>

#include "array_file.hpp"
#include "array_rows.hpp"
#include "npy_header.hpp"

namespace tally::app {
namespace {

static_assert(std::endian::native == std::endian::little, "rows are read as they are stored");

class NpyRows final : public data::RowSource {
 public:
  NpyRows(ArrayFile file, std::int64_t data_offset, data::ColumnInfo column)
      : RowSource(std::move(column)), file_(std::move(file)), data_offset_(data_offset) {}

  std::string place() const override { return file_.place(); }
  void require_unchanged() const override { file_.require_unchanged(); }
  std::string stamp() const override { return file_.stamp(); }

 private:
  void read_rows(std::int64_t first, std::int64_t /*count*/, std::span<std::byte> out) override {
    file_.read(data_offset_ + first * column().row_bytes(), out);
  }

  ArrayFile file_;
  std::int64_t data_offset_;
};

}  // namespace

std::shared_ptr<data::RowSource> npy_rows(const std::filesystem::path& path,
                                          const std::string& name) {
  ArrayFile file(path);
  const auto begin = file.read_text(0, std::min(file.bytes(), kLongestNpyHeader));
  const auto parsed = parse_npy_header(begin, file.bytes());
  if (const auto* refusal = std::get_if<NpyRefusal>(&parsed)) {
    file.fail(" " + refusal->problem, refusal->next_step);
  }
  const auto& header = std::get<NpyHeader>(parsed);
  data::ColumnInfo column;
  column.path = "/" + name;
  column.name = name;
  column.dtype = header.dtype;
  column.row_shape.assign(header.shape.begin() + 1, header.shape.end());
  column.num_rows = header.shape.front();
  return std::make_shared<NpyRows>(std::move(file), header.data_offset, std::move(column));
}

}  // namespace tally::app
