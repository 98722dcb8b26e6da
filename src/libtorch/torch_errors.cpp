// SPDX-License-Identifier: Apache-2.0
#include <tally/libtorch/torch_errors.hpp>

#include <algorithm>
#include <new>
#include <vector>

#include <c10/util/Exception.h>

#include <tally/base/current_work.hpp>
#include <tally/base/format.hpp>

namespace tally::libtorch {
namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr std::string_view kInterpreter = "The following operation failed in the TorchScript";
constexpr std::size_t kMaxLength = 400;

// These are the lines that are not blank, without the blanks around them.
std::vector<std::string_view> lines(std::string_view text) {
  std::vector<std::string_view> found;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto first = line.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) continue;
    line = line.substr(first, line.find_last_not_of(kBlanks) - first + 1);
    found.push_back(line);
  }
  return found;
}

// "RuntimeError: …", "builtins.ValueError: …": how a Python traceback ends.
bool names_an_exception(std::string_view line) {
  const auto word = line.substr(0, line.find(':'));
  return word.size() < line.size() && word.find(' ') == std::string_view::npos &&
         (word.ends_with("Error") || word.ends_with("Exception"));
}

// "tried to allocate 4096 bytes" and "Tried to allocate 2.00 GiB", as the allocators of CPUs and
// GPUs say it, without the verb; empty where neither does.
std::string_view size_in(std::string_view text) {
  constexpr std::string_view kVerb = "ried to allocate ";
  const auto verb = text.find(kVerb);
  if (verb == std::string_view::npos) return {};
  text.remove_prefix(verb + kVerb.size());
  const auto number = text.find(' ');
  const auto unit = text.find_first_of(" .,)\n", std::min(number, text.size() - 1) + 1);
  return text.substr(0, unit);
}

Error memory_error(std::string_view what, std::string_view text) {
  // While a model is loaded there are no batches yet.
  const bool loads = current_phase() == "load_model" || current_phase() == "load_weights";
  const auto size = size_in(text);
  return {ErrorKind::environment,
          format("{} ({}{}{})", what, tally::out_of_memory(), size.empty() ? "" : ": ", size),
          loads ? "Use fewer ranks on this node, or a node with more memory."
                : "Use a smaller --batch-size or fewer ranks on this node."};
}

Error from_text(std::string_view what, std::string_view text, std::string_view next_step,
                std::string_view if_of_types) {
  // LibTorch has one type for most of its exceptions, so only the words of a message tell them
  // apart.
  const auto says = [text](std::string_view words) {
    return text.find(words) != std::string_view::npos;
  };
  if (says("can't allocate memory") || says("CUDA out of memory")) return memory_error(what, text);
  const auto problem = format("{} ({})", what, first_meaningful_line(text));
  if (says("CUDA error") || says("NVIDIA driver")) {
    return {ErrorKind::environment, problem, "See 'nvidia-smi', or use '--device cpu'."};
  }
  if (says("index out of range in self")) {
    return {
        ErrorKind::model, problem,
        "Rows may be longer than the model takes (--max-length of the tool that prepared them), "
        "or hold numbers that its tables lack."};
  }
  const bool is_of_types =
      says("dtype") || says("scalar type") || says("type (") || says("same type");
  return {ErrorKind::model, problem, is_of_types && !if_of_types.empty() ? if_of_types : next_step};
}

}  // namespace

std::string first_meaningful_line(std::string_view text) {
  const auto all = lines(text);
  if (all.empty()) return "no reason was given";
  auto chosen = all.front();
  // TorchScript begins with its own call stack. What caused it stands at the end, as in a traceback
  // of Python.
  if (chosen.starts_with(kInterpreter)) {
    const auto cause = std::find_if(all.rbegin(), all.rend(), names_an_exception);
    if (cause != all.rend()) chosen = *cause;
  }
  while (!chosen.empty() && (chosen.back() == '.' || chosen.back() == ':')) chosen.remove_suffix(1);
  if (chosen.size() <= kMaxLength) return std::string(chosen);
  return format("{} …", chosen.substr(0, kMaxLength));
}

Error torch_error(std::string_view what, std::string_view next_step, std::string_view if_of_types) {
  // The order of the handlers matters: a c10::Error is a std::exception, too, and its what() holds
  // a backtrace of many lines.
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return memory_error(what, {});
  } catch (const c10::Error& error) {
    return from_text(what, error.what_without_backtrace(), next_step, if_of_types);
  } catch (const std::exception& error) {
    return from_text(what, error.what(), next_step, if_of_types);
  }
}

}  // namespace tally::libtorch
