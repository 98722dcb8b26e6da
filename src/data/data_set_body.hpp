// What an open data set keeps.
#pragma once

#include <map>
#include <optional>
#include <string>

#include <tally/data/data_set.hpp>
#include <tally/hdf5/reader.hpp>

#include "reading/column_reader.hpp"

namespace tally::data {

struct DataSet::Impl {
  hdf5::Reader file;
  DataSetInfo info;
  std::map<std::string, ColumnReader, std::less<>> columns;  // by path
  std::optional<hdf5::Reader> other;                         // file of the only input

  ColumnReader& reader_of(const ColumnInfo& column);
  void read_rows(const ColumnInfo& column, std::int64_t first, std::int64_t count,
                 std::span<std::byte> out, RowCheck check);
  void require_unchanged() const;
};

}  // namespace tally::data
