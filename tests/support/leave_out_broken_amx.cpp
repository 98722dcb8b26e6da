// SPDX-License-Identifier: Apache-2.0
// Of the tests that compute with LibTorch: they do without AMX where the program does, and as
// early, before main() starts threads or MPI.
#include <tally/model/amx_probe.hpp>

namespace {

[[maybe_unused]] const bool kIsLeftOut = tally::model::leave_out_broken_amx();

}  // namespace
