// SPDX-License-Identifier: Apache-2.0
// Reading detections that were saved, in place of a model's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tally/aggregate/matched_detections.hpp>
#include <tally/data/data_set.hpp>
#include <tally/report/run_report.hpp>

namespace tally::app {

struct SavedDetections {
  std::vector<SavedDetection> all;  // by image; of one image in the order of the file
  // foreign: images and classes that the data set does not have; missing: images of which a
  // predictions.h5 has no row.
  report::IdMatch ids;
  bool lists_all_foreign = true;   // in ids.first_foreign
  std::vector<std::string> notes;  // what the user should know
};

// Of COCO's results, a JSON list of {"image_id", "category_id", "bbox", "score"}, or of a
// predictions.h5; data_identity says of which data set it may be. Of the images, num_scored are
// scored. Throws Error(dataset).
SavedDetections read_detections(const std::string& path, data::DataSet& data_set,
                                std::int64_t num_scored, const std::string& data_identity);

}  // namespace tally::app
