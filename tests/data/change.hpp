// SPDX-License-Identifier: Apache-2.0
// One change to a good file, and the sentence it must be refused with.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "raw_hdf5.hpp"

namespace tally::data {

struct Change {
  const char* name;
  std::vector<std::string> message;  // parts of the sentence
  std::function<void(hid_t)> apply;
};

inline std::ostream& operator<<(std::ostream& out, const Change& change) {
  return out << change.name;
}

inline void set_int(hid_t file, const char* object, const char* name, std::int64_t value) {
  raw::attribute(file, object, name, H5T_STD_I64LE, {}, &value);
}

inline void set_doubles(hid_t file, const char* name, const std::vector<double>& values) {
  raw::attribute(file, "/inputs/image", name, H5T_IEEE_F64LE, {values.size()}, values.data());
}

// In the place of a column, all values 0.
inline void replace(hid_t file, const char* path, hid_t type, const raw::Dims& dims) {
  raw::remove(file, path);
  const std::vector<std::uint64_t> zeros(4096);
  raw::dataset(file, path, type, dims, zeros.data());
}

inline const auto change_name = [](const auto& tested) { return tested.param.name; };

// Its one test is in refusals_test.cpp, its changes in all of refusals_*.cpp.
class Refusals : public testing::TestWithParam<Change> {};

}  // namespace tally::data
