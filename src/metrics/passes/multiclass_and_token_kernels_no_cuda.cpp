// SPDX-License-Identifier: Apache-2.0
#include <tally/base/error.hpp>

#include "passes/multiclass_and_token_kernels.hpp"

namespace tally::metrics {

void launch_score_rows(const RowsToScore&, void*) {
  throw Error(ErrorKind::internal, "this tally was built without CUDA");
}

void launch_score_tokens(const TokensToScore&, void*) {
  throw Error(ErrorKind::internal, "this tally was built without CUDA");
}

void launch_carry(std::int64_t*, const SumPlace*, std::int64_t, void*) {
  throw Error(ErrorKind::internal, "this tally was built without CUDA");
}

}  // namespace tally::metrics
