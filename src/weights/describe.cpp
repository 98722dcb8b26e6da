#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/weights/checkpoint.hpp>

namespace tally::weights {

std::string averaged_text(std::string_view place) {
  return format("EMA weights lie in '{0}'; --weights-key {0} takes them", place);
}

std::vector<std::string> describe(const Checkpoint& checkpoint) {
  std::int64_t values = 0;
  for (const auto& entry : checkpoint.tensors) values += count_elements(entry.second.shape);
  auto kind = checkpoint.kind;
  for (const std::string_view article : {"a ", "an "}) {
    if (kind.starts_with(article)) kind.erase(0, article.size());
  }
  std::vector<std::string> lines{
      format("{}: {} values in {} tensors", kind, values, checkpoint.tensors.size())};
  if (!checkpoint.location.empty()) lines.push_back(format("found at: {}", checkpoint.location));
  for (const auto& place : checkpoint.averaged) {
    lines.push_back(averaged_text(place));
  }
  const auto& files = checkpoint.files;
  if (files.size() > 1 || (files.size() == 1 && files.front().path != checkpoint.path)) {
    for (const auto& file : files) {
      lines.push_back(format("file: {} ({} bytes)", file.path, file.num_bytes));
    }
  }
  for (const auto& [tensor_name, tensor] : checkpoint.tensors) {
    lines.push_back(format("  {} {} {}", tensor_name, name(tensor.type), to_string(tensor.shape)));
  }
  for (const auto& skipped : checkpoint.skipped) lines.push_back(format("  skipped {}", skipped));
  for (auto& line : lines) line = printable(line);
  return lines;
}

}  // namespace tally::weights
