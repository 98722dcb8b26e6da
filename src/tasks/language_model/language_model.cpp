#include "language_model/language_model.hpp"

#include <tally/base/error.hpp>
#include <tally/tasks/choices.hpp>
#include <tally/tasks/documents.hpp>

#include "language_model/token_scoring.hpp"

namespace tally::tasks {
namespace {

struct DocumentRules : TokenRules {
  explicit DocumentRules(const TaskOptions& given)
      : TokenRules(given, document_columns(), sizeof(metrics::LanguageModelRecord)) {}
};

struct ChoiceRules : TokenRules {
  explicit ChoiceRules(const TaskOptions& given)
      : TokenRules(given, choice_columns(), sizeof(metrics::MultipleChoiceRecord)) {
    if (!choice) throw Error(ErrorKind::dataset, "the data set has no target 'choice'");
  }
};

}  // namespace

std::unique_ptr<Task> make_language_model(const TaskOptions& options) {
  return std::make_unique<TokenTask<DocumentRules, metrics::LanguageModelRecord>>(options);
}

std::unique_ptr<Task> make_multiple_choice(const TaskOptions& options) {
  return std::make_unique<TokenTask<ChoiceRules, metrics::MultipleChoiceRecord>>(options);
}

}  // namespace tally::tasks
