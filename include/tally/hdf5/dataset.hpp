// SPDX-License-Identifier: Apache-2.0
// Describes one dataset of an HDF5 file and reads its elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <tally/base/tensor_view.hpp>
#include <tally/hdf5/element.hpp>

namespace tally::hdf5 {

enum class Storage { contiguous, chunked, compact };

struct DatasetInfo {
  std::string path;
  Element element = Element::u8;
  Shape shape;  // as stored; empty for a scalar
  Storage storage = Storage::contiguous;
  std::int64_t offset = -1;          // of contiguous bytes in the file, else -1
  Shape chunk_shape;                 // empty unless chunked
  std::vector<std::string> filters;  // "deflate", "shuffle", "fletcher32", in order
  std::int64_t shuffled_bytes = 0;   // of an element as "shuffle" takes it; 0 without that filter
  bool edges_filtered = true;        // whether chunks cut by the dataset's edge are filtered, too

  std::int64_t num_rows() const { return shape.empty() ? 1 : shape.front(); }
  // Without the first dimension.
  Shape row_shape() const;
  // 0 for text.
  std::int64_t row_bytes() const;
  // Of a chunked dataset: its chunks along each dimension.
  Shape chunk_grid() const;
};

// One dataset, kept open, which Reader::dataset() has checked. May outlive its Reader. Throws and
// locks as a Reader does.
class Dataset {
 public:
  Dataset(Dataset&&) noexcept;
  Dataset& operator=(Dataset&&) noexcept;
  ~Dataset();

  const DatasetInfo& info() const;

  // Rows [first, first + count), as stored and without conversion, into the first
  // count * row_bytes() bytes of `out`. Texts are refused.
  void read_rows(std::int64_t first, std::int64_t count, std::span<std::byte> out) const;

  // Of a chunked dataset, chunks numbered row-major over the grid of chunks. The bytes of a chunk
  // as the file holds them, behind the filters, into `bytes`; bit i of what is returned says that
  // filter i was left out. `bytes` is at most twice as long as what is behind the filters, and 1
  // KiB.
  std::uint32_t read_raw_chunk(std::int64_t chunk, std::vector<std::byte>& bytes) const;
  // How long they are.
  std::int64_t raw_chunk_bytes(std::int64_t chunk) const;

  // All elements; T must be what the dataset holds. Error(environment) where the memory that is
  // left cannot hold them: a small file of compressed zeros may declare any number.
  template <class T>
  std::vector<T> read_all() const {
    require_element(element_for<T>());
    require_memory();
    std::vector<T> values(static_cast<std::size_t>(num_elements(info().shape)));
    read_rows(0, info().num_rows(), std::as_writable_bytes(std::span(values)));
    return values;
  }
  // All strings of a text dataset, of fixed or variable length, row-major.
  std::vector<std::string> read_strings() const;
  // Throws if the dataset holds anything else.
  void require_element(Element expected) const;

 private:
  friend class Reader;
  struct Impl;
  explicit Dataset(std::unique_ptr<Impl> impl);
  void require_memory() const;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tally::hdf5
