#include <cstdlib>

#include "leave.hpp"

namespace tally::app {

void leave(int code) { std::exit(code); }

}  // namespace tally::app
