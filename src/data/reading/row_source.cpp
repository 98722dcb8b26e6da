// SPDX-License-Identifier: Apache-2.0
#include <tally/data/row_source.hpp>

#include <utility>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/hdf5/reader.hpp>

#include "reading/column_reader.hpp"
#include "schema/columns.hpp"

namespace tally::data {
namespace {

class Hdf5Rows final : public RowSource {
 public:
  Hdf5Rows(hdf5::Reader file, hdf5::Dataset dataset)
      : RowSource(column_of(dataset.info())),
        file_(std::move(file)),
        reader_(file_.path(), std::move(dataset), ChecksumTable()) {}

  std::string place() const override {
    return format("{} of '{}'", column().path, file_.path().string());
  }
  void expect(plan::SampleRange rows, int threads) override { reader_.expect(rows, threads); }
  void require_unchanged() const override { file_.require_unchanged(); }
  std::string stamp() const override { return file_.stamp(); }

 private:
  void read_rows(std::int64_t first, std::int64_t count, std::span<std::byte> out) override {
    reader_.read(first, count, out);
  }

  hdf5::Reader file_;
  ColumnReader reader_;
};

}  // namespace

void RowSource::read(std::int64_t first, std::int64_t count, std::span<std::byte> out) {
  const std::int64_t bytes = count * column_.row_bytes();
  if (first < 0 || count < 0 || first > column_.num_rows - count || out.size() < to_size(bytes)) {
    throw Error(ErrorKind::internal, format("rows {} + {} of {} were asked for in {} bytes", first,
                                            count, place(), out.size()));
  }
  read_rows(first, count, out.first(to_size(bytes)));
  bytes_read_ += bytes;
}

std::shared_ptr<RowSource> hdf5_rows(const std::filesystem::path& file,
                                     const std::string& dataset) {
  hdf5::Reader reader(file, ErrorKind::dataset, "predictions file");
  hdf5::Dataset opened = reader.dataset(dataset);
  return std::make_shared<Hdf5Rows>(std::move(reader), std::move(opened));
}

}  // namespace tally::data
