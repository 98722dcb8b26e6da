// The instruction set that ONEDNN_MAX_CPU_ISA allows: our own kernels obey it as oneDNN's do,
// so that an older processor can be imitated.
#pragma once

#include <string>

namespace tally::model {

// The variable's value as it stands now; empty where it is not set.
std::string onednn_cap();

enum class VectorSet { none, avx2, avx512 };

// What the variable allows at most, whatever the processor has; avx512 where it is not set, or says
// nothing that oneDNN knows. oneDNN reads it once, when it is first used.
VectorSet allowed_vectors();

}  // namespace tally::model
