#include "naming_model.hpp"

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

namespace tally::app {

void naming_model(const std::string& model, const std::function<void()>& step) {
  try {
    step();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::model) throw;
    throw Error(ErrorKind::model, format("model '{}': {}", model, error.what()));
  }
}

}  // namespace tally::app
