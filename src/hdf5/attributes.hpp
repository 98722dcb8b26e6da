// SPDX-License-Identifier: Apache-2.0
// Attributes read with conversion to int64, double and std::string, and what else an open object
// says of itself besides its elements.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tally/hdf5/reader.hpp>

#include "library.hpp"

namespace tally::hdf5 {

// One attribute of one object, opened; messages name both.
class AttributeView {
 public:
  // `object` must be open already; `path` is its name for messages.
  AttributeView(hid_t object, const Subject& subject, std::string_view path, std::string_view name);

  std::int64_t as_int64() const;
  std::vector<std::int64_t> as_int64s() const;
  std::vector<double> as_doubles() const;
  std::string as_string() const;
  // Of one integer, also of one that int64 cannot hold.
  std::string integer_text() const;
  AttributeContent content() const;
  H5T_class_t type_class() const { return H5Tget_class(type_.get()); }
  std::string type_text() const;
  std::int64_t num_values() const { return num_values_; }

 private:
  [[noreturn]] void wrong(std::string_view expected) const;
  void read(hid_t memory_type, void* values) const;
  std::vector<std::string> read_texts() const;
  std::vector<std::string> read_variable_texts() const;
  std::vector<std::string> read_fixed_texts() const;

  const Subject& subject_;
  std::string object_;
  std::string name_;
  Attribute attribute_;
  Type type_;
  Space space_;
  std::int64_t num_values_ = 0;
};

// A string of fixed length as stored: without its padding.
std::string without_padding(std::string_view stored, H5T_str_t padding);

// The value in a line, or what kind of value it is.
std::string attribute_text(const AttributeView& attribute);

std::vector<std::string> attribute_names(hid_t object, const Subject& subject,
                                         std::string_view path);

ObjectKind kind_of(hid_t object);

// `object` is open; `path` is its name for messages. A dataset's storage is not looked at.
ObjectContent content_of(hid_t object, const Subject& subject, std::string_view path);

}  // namespace tally::hdf5
