// SPDX-License-Identifier: Apache-2.0
// What opening a file asks of FileProbe.
#pragma once

#include "library.hpp"

namespace tally::hdf5 {

// Fails for a file on which HDF5 crashes, goes round in circles or takes much memory. Nothing is
// tried where no FileProbe lives, and of a file of ErrorKind::output, which this program wrote.
void require_harmless(const Subject& subject);

}  // namespace tally::hdf5
