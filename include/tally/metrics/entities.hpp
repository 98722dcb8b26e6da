// SPDX-License-Identifier: Apache-2.0
// Finds the entities that tags of the tokens of a sequence name, such as a person by "B-PER I-PER".
// The rules are those of seqeval 1.2.2 without a scheme (get_entities(), after conlleval): tags
// that fit no scheme have entities, too.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tally::metrics {

// What the name of a class says of a token.
struct EntityTag {
  char place = 'O';       // in its entity: B (begin), I (inside), E (end), S (single), O (outside)
  std::int32_t type = 0;  // of the entity, a number in EntityTags::types(); outside 0
};

// The tags of a data set's classes.
class EntityTags {
 public:
  // Error(internal) for names of which lack_of_entities() says something.
  explicit EntityTags(std::span<const std::string> class_names);

  // In order of name; of a tag without a type, such as "B", "_".
  const std::vector<std::string>& types() const { return types_; }
  // -1 is no class, which lies outside.
  EntityTag of(std::int32_t label) const;

 private:
  std::vector<std::string> types_;
  std::vector<EntityTag> tags_;  // of each class
};

// Why names of classes name no entities: there are no names, one is no tag, or all are outside.
// None where they do.
std::optional<std::string> lack_of_entities(std::span<const std::string> class_names);

// An entity that the labels of a sequence name, or the predictions. Those that both name, of the
// same type at the same places, are one.
struct EntityRecord {
  std::int32_t type = 0;
  bool is_labelled = false;
  bool is_predicted = false;
  bool operator==(const EntityRecord&) const = default;
};

// Appends the entities of one sequence. labels, predictions: classes of its tokens in order, as
// many of the one as of the other; -1: none.
void append_entities(const EntityTags& tags, std::span<const std::int32_t> labels,
                     std::span<const std::int32_t> predictions,
                     std::vector<EntityRecord>& entities);

}  // namespace tally::metrics
