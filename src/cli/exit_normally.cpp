#include <cstdlib>

#include "exit_process.hpp"

namespace tally::app {

void leave(int code) { std::exit(code); }

}  // namespace tally::app
