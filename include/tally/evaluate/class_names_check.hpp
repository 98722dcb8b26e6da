// SPDX-License-Identifier: Apache-2.0
// Compares the names of a model's classes with those of a data set's: labels are numbers, and the
// same number must mean the same class on both sides.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tally::evaluate {

enum class ClassNames {
  unknown,    // one side has none, or only generated ones (LABEL_0), or they differ in number
  same,       // the same name at each place
  respelled,  // the same but for upper case, blanks, hyphens and underscores
  reordered,  // the same names, or most of them, at other places
  different   // some are on one side alone
};

struct ClassNamesCheck {
  ClassNames result = ClassNames::unknown;
  // What a user should know: which classes are meant by other numbers, or are called otherwise. One
  // sentence without an end; empty where there is nothing to say.
  std::string text;
};

// Names that all begin with a synset of WordNet ("n01440764 tench") are compared by it alone,
// others without regard to upper case, blanks, hyphens and underscores.
ClassNamesCheck compare_class_names(const std::vector<std::string>& of_model,
                                    const std::vector<std::string>& of_data);

// For each of `names` its place among the others, compared in the same way; -1 for a name that
// stands at none, or at several.
std::vector<std::int64_t> places_of_names(const std::vector<std::string>& names,
                                          const std::vector<std::string>& among);

// For each class of the data set the number of the class of that name in the model. Throws
// Error(model) where a side has no names, where a name of the data set is none of the model's, and
// where it is the name of several classes.
std::vector<std::int64_t> classes_by_name(const std::vector<std::string>& of_model,
                                          const std::vector<std::string>& of_data);

}  // namespace tally::evaluate
