// What the targets of a data set are, counted.
#pragma once

#include <string>
#include <vector>

#include <tally/data/data_set.hpp>

namespace tally::data {

// Samples of each class, positives of each label, or least, mean and greatest value of each output
// (at most 20 one by one); ignored ones; values that are not allowed (the first 10 with their
// place). Reads /targets/label.
std::vector<std::string> label_report(DataSet& data_set);

}  // namespace tally::data
