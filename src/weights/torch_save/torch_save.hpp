// SPDX-License-Identifier: Apache-2.0
// Files of torch.save: since PyTorch 1.6 a zip with a pickle and one entry per storage, before five
// pickles, then the storages one after the other.
#pragma once

#include <string_view>

#include <tally/weights/byte_source.hpp>

#include "pickle/pickle_value.hpp"
#include "torch_save/state_dict.hpp"

namespace tally::weights {

// The tensors of the state_dict at `key` (read_state_dict). Throws FormatError.
StoredWeights read_zip_checkpoint(const ByteSource& bytes, std::string_view key);

// Such a file opened, for readers that look for something else in it. `bytes` outlive it.
class ZipCheckpoint {
 public:
  // Throws FormatError.
  explicit ZipCheckpoint(const ByteSource& bytes);
  ~ZipCheckpoint();

  const PickleValue& root() const { return *root_; }
  // Of a storage of this file; without the check that it is large enough, which stored() makes.
  StoragePlace storage_place(const StorageRecord& storage) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  const PickleValue* root_;
};

bool looks_like_legacy_checkpoint(const ByteSource& bytes);

// As read_zip_checkpoint(). Throws FormatError.
StoredWeights read_legacy_checkpoint(const ByteSource& bytes, std::string_view key);

}  // namespace tally::weights
