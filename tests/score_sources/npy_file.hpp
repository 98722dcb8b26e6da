// SPDX-License-Identifier: Apache-2.0
// A .npy file of any array, as numpy.save() writes it.
#pragma once

#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include <tally/base/format.hpp>
#include <tally/base/tensor_view.hpp>

namespace tally::app {

template <class T>
void write_npy(const std::filesystem::path& path, const std::string& descr, const Shape& shape,
               const std::vector<T>& values) {
  std::string sizes;
  for (const auto size : shape) sizes += format("{}, ", size);
  std::string entries =
      format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, sizes);
  entries.resize((10 + entries.size()) / 64 * 64 + 64 - 11, ' ');
  entries += '\n';
  std::ofstream file(path, std::ios::binary);
  file << "\x93NUMPY\1" << '\0' << static_cast<char>(entries.size() & 0xFF)
       << static_cast<char>(entries.size() >> 8) << entries;
  const auto bytes = std::as_bytes(std::span(values));
  file.write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
}

}  // namespace tally::app
