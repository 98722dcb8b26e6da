// SPDX-License-Identifier: Apache-2.0
#include <tally/tasks/documents.hpp>

#include "task_factories.hpp"
#include "token_task.hpp"

namespace tally::tasks {
namespace {

struct LanguageModelConfig : TokenConfig {
  explicit LanguageModelConfig(const TaskOptions& given)
      : TokenConfig(given, document_columns(), sizeof(metrics::LanguageModelRecord)) {}
};

}  // namespace

std::unique_ptr<Task> make_language_model(const TaskOptions& options) {
  return std::make_unique<TokenTask<LanguageModelConfig, metrics::LanguageModelRecord>>(options);
}

}  // namespace tally::tasks
