// The processor's word on AMX, and its instructions themselves.
#pragma once

namespace tally::model {

// Whether the processor says that it has AMX's tiles and their products of bf16 or int8, whatever
// the kernel or a hypervisor makes of it.
bool announces_amx();

// Asks the kernel for the tiles and multiplies with what is announced. False where the kernel
// refuses; a fault (SIGILL) where AMX is announced but cannot run. Changes what the whole process
// may do: for a child.
bool multiply_tiles();

}  // namespace tally::model
