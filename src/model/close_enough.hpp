// Whether two ways of running a network give the same scores but for rounding.
#pragma once

#include <ATen/core/ivalue.h>

namespace tally::model {

// std::runtime_error with one line where floating-point numbers in `scores` are further from those
// in `plain` than rounding explains, or finite where those are not. Looks into tuples, lists and
// dicts.
void check_close_enough(const c10::IValue& scores, const c10::IValue& plain);

}  // namespace tally::model
