#include <tally/predictions/open_predictions.hpp>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

#include "file_layout.hpp"

namespace tally::predictions {

hdf5::Reader open_predictions(const std::filesystem::path& path) {
  hdf5::Reader reader(path, ErrorKind::dataset, "predictions file");
  reader.refuse_indirections();
  if (reader.has_attribute("/", kFileMark)) return reader;
  throw Error(ErrorKind::dataset,
              format("file '{}' holds no predictions (it has no root attribute '{}')",
                     reader.path().string(), kFileMark),
              "Give a predictions.h5 that 'tally evaluate' wrote.");
}

}  // namespace tally::predictions
