// The two kinds of model files that a master is made of.
#pragma once

#include <memory>

#include <tally/model/master.hpp>

namespace tally::model {

std::unique_ptr<Master> load_script_master(const NamedBytes& model,
                                           const PredictorOptions& options);
std::unique_ptr<Master> load_package_master(const NamedBytes& model,
                                            const PredictorOptions& options);

}  // namespace tally::model
