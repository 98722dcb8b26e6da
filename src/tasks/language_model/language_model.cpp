// SPDX-License-Identifier: Apache-2.0
#include <tally/tasks/documents.hpp>

#include "task_factories.hpp"
#include "token_task.hpp"

namespace tally::tasks {
namespace {

struct DocumentRules : TokenRules {
  explicit DocumentRules(const TaskOptions& given)
      : TokenRules(given, document_columns(), sizeof(metrics::LanguageModelRecord)) {}
};

}  // namespace

std::unique_ptr<Task> make_language_model(const TaskOptions& options) {
  return std::make_unique<TokenTask<DocumentRules, metrics::LanguageModelRecord>>(options);
}

}  // namespace tally::tasks
