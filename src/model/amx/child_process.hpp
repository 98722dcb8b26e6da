// Tries in a process of its own what may kill it.
#pragma once

namespace tally::model {

// Whether `attempt` returns true in a child of this process, which it may kill. True as well where
// no child can be started: then nothing is known against it. Where this process has
// other threads, `attempt` calls only what is safe after a fork: no allocation, no locks.
bool succeeds_in_child(bool (*attempt)());

}  // namespace tally::model
