// What the labels of a data set are, counted.
#pragma once

#include <string>
#include <vector>

#include <tally/data/data_set.hpp>

namespace tally::data {

// Class counts (at most 20 classes one by one), ignored samples, labels out of range (the first 10
// with their index). Reads /targets/label.
std::vector<std::string> label_report(DataSet& data_set);

}  // namespace tally::data
