// SPDX-License-Identifier: Apache-2.0
// This says which instruction set ONEDNN_MAX_CPU_ISA allows: our own kernels obey it as oneDNN's
// do, so that an older processor can be imitated.
#pragma once

#include <string>

namespace tally::libtorch {

// The variable's value as it stands now; empty where it is not set.
std::string onednn_cap();

enum class VectorSet { none, avx2, avx512 };

// What a value of the variable allows at most, whatever the processor has, in any case of letters;
// avx512 where it is empty, or says nothing that oneDNN knows.
VectorSet vectors_under(std::string cap);

// What the variable allows. oneDNN reads it once, when it is first used, and so does this.
VectorSet allowed_vectors();

}  // namespace tally::libtorch
