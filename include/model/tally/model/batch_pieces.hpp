// How threads of the CPU share a batch.
#pragma once

#include <cstdint>

namespace tally::model {

// The largest number of equal pieces, among the divisors of `threads`, that have enough samples
// each; 1 if there is none. The rest of the threads share the operations of a piece.
int num_pieces(std::int64_t batch_size, int threads);

}  // namespace tally::model
