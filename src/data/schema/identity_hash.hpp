// SPDX-License-Identifier: Apache-2.0
// What of a data set is hashed to identify it: what decides what is read and scored.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <tally/data/data_set.hpp>
#include <tally/digest/sha256_and_checksums.hpp>

#include "schema/checksums.hpp"

namespace tally::data {

class IdentityHash {
 public:
  // The length of a value comes before it, so that no two different data sets give the same text.
  void add(std::string_view key, std::string_view value);
  void update(std::span<const std::byte> bytes) { hash_.update(bytes); }

  // The file's name and notes that its writer left as attributes are no part of it.
  void add_root(const DataSetInfo& info);
  // A column's description, and its checksums, which stand for the bytes of the rows.
  void add_column(const ColumnInfo& column, const ChecksumTable& table);

  std::string hex() const { return hash_.hex(); }

 private:
  digest::Sha256 hash_;
};

bool is_input(const DataSetInfo& info, const ColumnInfo& column);
// Whether a column holds names of samples or of what is scored.
bool is_name(const ColumnInfo& column);
// Whether a column says which samples these are, or what is right, and not how they were prepared.
bool is_of_samples(const DataSetInfo& info, const ColumnInfo& column);

}  // namespace tally::data
