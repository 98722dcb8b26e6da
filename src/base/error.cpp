// SPDX-License-Identifier: Apache-2.0
#include <tally/base/error.hpp>

#include <new>
#include <system_error>

#include <tally/base/format.hpp>

namespace tally {
namespace {

std::string sentence(std::string_view problem, std::string_view next_step) {
  return next_step.empty() ? std::string(problem) : format("{}. {}", problem, next_step);
}

}  // namespace

Error::Error(ErrorKind kind, std::string_view problem, std::string_view next_step)
    : std::runtime_error(sentence(problem, next_step)), kind_(kind) {}

std::string errno_text(int error) { return std::generic_category().message(error); }

Error current_error() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
    // Too little memory is no defect of the program: the user can do something about it.
  } catch (const std::bad_alloc&) {
    return {ErrorKind::environment, "out of memory",
            "Use fewer ranks on a node, or a node with more memory."};
  } catch (const std::exception& error) {
    return {ErrorKind::internal, error.what()};
  } catch (...) {
    return {ErrorKind::internal, "an exception of unknown type"};
  }
}

}  // namespace tally
