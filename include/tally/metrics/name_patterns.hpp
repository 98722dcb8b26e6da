// SPDX-License-Identifier: Apache-2.0
// Parses and makes names of metrics, some of which have a number in them: "accuracy_top<k>",
// "f<beta>_macro".
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

// Whether names of this pattern have a number in them.
bool is_form(std::string_view pattern);
// "<k>" of "accuracy_top<k>"; empty if it is no form.
std::string_view number_mark(std::string_view pattern);

// The name with a number, or any text, in place of <…>: "f0.5_macro". What is no form stays as it
// is.
std::string filled(std::string_view pattern, double number);
std::string filled(std::string_view pattern, std::string_view text);

}  // namespace tally::metrics
