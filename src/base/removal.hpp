// SPDX-License-Identifier: Apache-2.0
// What interrupts remove, for other ends of the process.
#pragma once

namespace tally {

// Removes what remove_on_interrupt() lists; nothing while a HeldInterrupts lives, for what is half
// done is put right by the next run. Where a signal does so already, its end is awaited for a
// while. Async-signal-safe.
void remove_unfinished() noexcept;

}  // namespace tally
