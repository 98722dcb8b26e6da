// SPDX-License-Identifier: Apache-2.0
// Writes messages for people to stderr. Failures do not come here: they are thrown as Error.
#pragma once

#include <string_view>

namespace tally::log {

// Who speaks: uniform paths are silenced on all ranks but rank 0.
enum class Verbosity { speaks, quiet };
void set_verbosity(Verbosity verbosity);

// "tally: note: …", as printable() makes the text safe; only from a rank that speaks.
void note(std::string_view text);
// "tally: warning: …", likewise; only from a rank that speaks.
void warning(std::string_view text);

}  // namespace tally::log
