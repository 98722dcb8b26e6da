// A predictions.h5, opened for reading.
#pragma once

#include <filesystem>

#include <tally/hdf5/reader.hpp>

namespace tally::predictions {

// Throws Error(dataset) for a file that cannot be read, holds no predictions or links elsewhere.
hdf5::Reader open_predictions(const std::filesystem::path& path);

}  // namespace tally::predictions
