// SPDX-License-Identifier: Apache-2.0
// The compiled model of a package, loaded and ready to run.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <tally/device/device.hpp>

#include "aoti/package.hpp"
#include "network.hpp"

namespace tally::model {

class PackageModule final : public Network {
 public:
  // Loads the library from memory: nothing is written to a disk. The package has passed
  // checked_card() and check_target(). Error(model) if it cannot be loaded, or if it is for another
  // GPU than this; Error(environment) if the device or LibTorch's part for it is not there.
  PackageModule(const Package& package, const device::Device& device);
  ~PackageModule() override;

  const std::string& name() const override { return name_; }
  // The inputs have the types, sizes and layout that were compiled in: nobody checks that again.
  Tensors run(Tensors inputs) override;

  // Weights and other constants by their names in the state_dict. Writing to them changes the
  // model.
  std::vector<NamedTensor> constants() const;

 private:
  struct Impl;
  std::string name_;
  std::size_t num_outputs_;  // by the card
  std::unique_ptr<Impl> impl_;
};

}  // namespace tally::model
