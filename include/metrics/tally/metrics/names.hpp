// Names of metrics, some of which have a number in them: "accuracy_top<k>", "f<beta>_macro".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tally::metrics {

bool contains(const std::vector<std::string>& names, std::string_view name);

// The number that stands for the <…> of `pattern` in `name`; none if the name is not of that form.
// A whole number from 1 for <k>, else a finite number above 0.
std::optional<double> number_in(std::string_view name, std::string_view pattern);

// Whether `name` is the pattern or of its form.
bool matches(std::string_view name, std::string_view pattern);

// The numbers of all names of that form, in order of size, each once.
std::vector<double> numbers_asked(const std::vector<std::string>& names, std::string_view pattern);

// `name` with its number as number_in() wants it: "f0.5_macro" for "f0.50_macro"; none if it is not
// of that form.
std::optional<std::string> well_spelled(std::string_view name, std::string_view pattern);

// The name with a number in place of <…>: "f0.5_macro".
std::string filled(std::string_view pattern, double number);

}  // namespace tally::metrics
