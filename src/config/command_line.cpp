#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <boost/program_options.hpp>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

#include "sources.hpp"

namespace tally::config {
namespace {

namespace po = boost::program_options;

constexpr std::string_view kOptionForm = "Options have the form --name VALUE or --name=VALUE.";

po::options_description description_of(const OptionTable& table) {
  po::options_description description;
  for (const Option& option : table) {
    auto* semantic = po::value<std::string>();
    if (option.binding.arity == Arity::flag) semantic->implicit_value("true");
    description.add_options()(std::string(option.name).c_str(), semantic);
  }
  return description;
}

[[noreturn]] void refuse_unknown(const OptionTable& table, std::string_view word) {
  throw Error(ErrorKind::usage, format("unknown option '{}' (command line)", printable(word)),
              suggestion(table, word));
}

[[noreturn]] void refuse_missing_value(const OptionTable& table, const std::string& name) {
  const Option* option = find(table, name);
  if (option == nullptr) refuse_unknown(table, "--" + name);
  throw Error(
      ErrorKind::usage,
      format("option --{} (command line) has no value, expected {}", name, option->argument),
      kOptionForm);
}

[[noreturn]] void refuse_stray_word(const OptionTable& table, const std::string& word) {
  if (word.size() > 1 && word[0] == '-' && word[1] != '-') refuse_unknown(table, word);
  throw Error(
      ErrorKind::usage,
      format("unexpected word '{}' (command line), which belongs to no option", printable(word)),
      kOptionForm);
}

po::parsed_options tokens_of(const OptionTable& table, const std::vector<std::string>& arguments) {
  const auto description = description_of(table);
  using po::command_line_style::style_t;
  constexpr int kStyle =
      style_t::allow_long | style_t::long_allow_adjacent | style_t::long_allow_next;
  try {
    auto tokens = po::command_line_parser(arguments)
                      .options(description)
                      .style(kStyle)
                      .allow_unregistered()
                      .run();
    tokens.description = nullptr;  // it dies with this function
    return tokens;
  } catch (const po::invalid_command_line_syntax& error) {
    const std::string token = error.tokens();
    const auto first = std::min(token.find_first_not_of('-'), token.size());
    refuse_missing_value(table, token.substr(first, token.find('=', first) - first));
  } catch (const po::error& error) {
    throw Error(ErrorKind::usage, format("cannot read the command line ({})", error.what()),
                kOptionForm);
  }
}

std::string value_of(const OptionTable& table, const po::option& token) {
  const Option* option = find(table, token.string_key);
  // The parser leaves a flag that stands alone without a value until it stores it.
  const bool flag = option != nullptr && option->binding.arity == Arity::flag;
  if (flag && token.value.empty()) return "true";
  // It takes any next word as the value, also one that is an option itself.
  const bool took_next_word = token.original_tokens.size() > 1;
  if (token.value.empty() || (took_next_word && token.value[0].starts_with("--"))) {
    refuse_missing_value(table, token.string_key);
  }
  return token.value[0];
}

}  // namespace

std::vector<std::string> take_words(const OptionTable& table, std::vector<std::string>& arguments) {
  std::vector<std::string> words, options;
  bool is_value = false;
  for (std::string& argument : arguments) {
    const bool is_option = !is_value && argument.size() > 1 && argument[0] == '-';
    auto& taken = is_option || is_value ? options : words;
    const Option* option = is_option && argument.starts_with("--")
                               ? find(table, std::string_view(argument).substr(2))
                               : nullptr;
    is_value = option != nullptr && option->binding.arity != Arity::flag;
    taken.push_back(std::move(argument));
  }
  arguments = std::move(options);
  return words;
}

Assignments from_command_line(const OptionTable& table, const std::vector<std::string>& arguments) {
  Assignments result;
  for (const auto& token : tokens_of(table, arguments).options) {
    const bool stray = token.string_key.empty() || token.position_key >= 0;
    if (stray) refuse_stray_word(table, token.original_tokens.front());
    if (token.unregistered) refuse_unknown(table, "--" + token.string_key);
    result.push_back({token.string_key, value_of(table, token), "command line"});
  }
  return result;
}

}  // namespace tally::config
