// SPDX-License-Identifier: Apache-2.0
#include <tally/base/error.hpp>

#include <algorithm>
#include <cerrno>
#include <new>
#include <system_error>

#include <tally/base/current_work.hpp>
#include <tally/base/format.hpp>

namespace tally {
namespace {

constexpr std::string_view kBetween = ". ";

std::string sentence(std::string_view problem, std::string_view next_step) {
  return next_step.empty() ? std::string(problem) : format("{}{}{}", problem, kBetween, next_step);
}

// What of a run takes much memory that an option bounds.
std::string_view memory_advice() {
  const std::string_view phase = current_phase();
  if (phase == "gather") return "Use a smaller --gather-window, or a node with more memory.";
  if (phase == "reduce") return "Lower --confusion-max-classes, or use fewer ranks on a node.";
  return "Use fewer ranks on a node, or a node with more memory.";
}

// Of an exception of the standard library, as where a thread cannot be started.
Error from_system_error(const std::system_error& error) {
  if (error.code() == std::errc(EAGAIN)) {
    return {ErrorKind::environment,
            format("no thread or process can be started ({})", error.what()),
            "Raise 'ulimit -u' and 'ulimit -v', or what the job may have of processes and memory."};
  }
  if (error.code() == std::errc::not_enough_memory) {
    return {ErrorKind::environment, out_of_memory(), memory_advice()};
  }
  return {ErrorKind::internal, error.what()};
}

}  // namespace

Error::Error(ErrorKind kind, std::string_view problem, std::string_view next_step)
    : std::runtime_error(sentence(problem, next_step)),
      kind_(kind),
      problem_length_(problem.size()) {}

std::string_view Error::problem() const noexcept {
  return std::string_view(what()).substr(0, problem_length_);
}

std::string_view Error::next_step() const noexcept {
  const std::string_view rest = std::string_view(what()).substr(problem_length_);
  return rest.substr(std::min(rest.size(), kBetween.size()));
}

std::string errno_text(int error) { return std::generic_category().message(error); }

std::string out_of_memory() {
  const bool is_known = !current_phase().empty() || !current_object().view().empty();
  return is_known ? format("out of memory ({})", current_work().view()) : "out of memory";
}

Error current_error() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
    // Too little memory is no defect of the program: the user can do something about it.
  } catch (const std::bad_alloc&) {
    return {ErrorKind::environment, out_of_memory(), memory_advice()};
  } catch (const std::system_error& error) {
    return from_system_error(error);
  } catch (const std::exception& error) {
    return {ErrorKind::internal, error.what()};
  } catch (...) {
    return {ErrorKind::internal, "an exception of unknown type"};
  }
}

}  // namespace tally
