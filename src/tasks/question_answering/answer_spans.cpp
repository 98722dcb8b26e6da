// SPDX-License-Identifier: Apache-2.0
#include <tally/tasks/answer_spans.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include <tally/base/checked_cast.hpp>

namespace tally::tasks {
namespace {

// This value stands for the logits of a question with an unusable one, so that its record has the
// same bits whichever window and whichever NaN caused it.
constexpr float kNoLogit = std::numeric_limits<float>::quiet_NaN();

// A model says "never" by -Inf, which is therefore no defect. NaN fails the comparison.
bool is_usable(float logit) { return logit < std::numeric_limits<float>::infinity(); }

// Only logits that are read count: those of the context, and of the first token, which stand for no
// answer. Those of the question and of padding may be anything.
bool all_usable(const AnswerWindow& window) {
  const auto in_context = [&](std::span<const float> logits) {
    return logits.subspan(to_size(window.context_begin),
                          to_size(window.context_end - window.context_begin));
  };
  return is_usable(window.start.front()) && is_usable(window.end.front()) &&
         std::ranges::all_of(in_context(window.start), is_usable) &&
         std::ranges::all_of(in_context(window.end), is_usable);
}

// This class keeps the best few of many spans, in a heap whose top is the worst of them: a span
// that is no better costs one comparison.
class Best {
 public:
  explicit Best(std::int64_t most) : most_(to_size(most)) {}

  void offer(const AnswerSpan& span) {
    if (spans_.size() == most_) {
      if (!is_better(span, spans_.front())) return;
      std::ranges::pop_heap(spans_, is_better);
      spans_.pop_back();
    }
    spans_.push_back(span);
    std::ranges::push_heap(spans_, is_better);
  }

  std::vector<AnswerSpan> sorted() && {
    std::ranges::sort(spans_, is_better);
    return std::move(spans_);
  }

 private:
  std::size_t most_;
  std::vector<AnswerSpan> spans_;
};

// A record begins with this head, behind which its spans stand. Records live in the retained column
// of one run; they are no file format.
struct Head {
  std::int64_t index = 0;
  std::int64_t unit = 0;
  float no_answer_start = 0, no_answer_end = 0;
  std::int32_t finite = 0;
  std::int32_t num_spans = 0;
};
// Records are copied as bytes; the sizes show that there is no padding between members.
static_assert(std::has_unique_object_representations_v<std::int64_t> && sizeof(Head) == 32 &&
              sizeof(AnswerSpan) == 16);

// A record has room for the most spans that it may hold, so that all rows of the column are of one
// size.
std::size_t record_bytes(const AnswerLimits& limits) {
  return sizeof(Head) + to_size(limits.num_best) * sizeof(AnswerSpan);
}

}  // namespace

bool is_better(const AnswerSpan& a, const AnswerSpan& b) {
  // The order is total over different spans, so that what is kept does not depend on which span is
  // found first.
  if (a.score() != b.score()) return a.score() > b.score();
  if (a.first_token != b.first_token) return a.first_token < b.first_token;
  return a.last_token < b.last_token;
}

AnswerCandidates candidates_of(const AnswerWindow& window, const AnswerLimits& limits) {
  if (!all_usable(window)) return {window.unit, kNoLogit, kNoLogit, false, {}};
  AnswerCandidates found{window.unit, window.start.front(), window.end.front(), true, {}};
  Best best(limits.num_best);
  for (std::int64_t first = window.context_begin; first < window.context_end; ++first) {
    // All pairs are tried. Scripts that combine the 20 highest starts and ends may miss the best.
    const std::int64_t behind = std::min(window.context_end, first + limits.max_tokens);
    for (std::int64_t last = first; last < behind; ++last) {
      // Tokens are numbered by paragraph, so that windows that overlap give the same span.
      const AnswerSpan span{
          static_cast<std::int32_t>(window.token_begin + first - window.context_begin),
          static_cast<std::int32_t>(window.token_begin + last - window.context_begin),
          window.start[to_size(first)], window.end[to_size(last)]};
      // The model excludes a span of which either logit is -Inf.
      if (span.score() > -std::numeric_limits<double>::infinity()) best.offer(span);
    }
  }
  found.best = std::move(best).sorted();
  return found;
}

void merge(const AnswerCandidates& other, const AnswerLimits& limits,
           AnswerCandidates& candidates) {
  // One unusable window makes the question unusable, in whatever order windows are merged.
  if (!candidates.finite || !other.finite) {
    candidates = {candidates.unit, kNoLogit, kNoLogit, false, {}};
    return;
  }
  // Each window gives a score for no answer. The least counts, because a window without the answer
  // says nothing about the others.
  if (other.no_answer_score() < candidates.no_answer_score()) {
    candidates.no_answer_start = other.no_answer_start;
    candidates.no_answer_end = other.no_answer_end;
  }
  std::vector<AnswerSpan> all;
  std::ranges::merge(candidates.best, other.best, std::back_inserter(all), is_better);
  candidates.best.clear();
  for (const AnswerSpan& span : all) {
    // The better score of a span that both windows have comes first, and the other is dropped. Both
    // lists have num_best spans at most, so that a linear search does.
    const bool is_there = std::ranges::any_of(candidates.best, [&](const AnswerSpan& one) {
      return one.first_token == span.first_token && one.last_token == span.last_token;
    });
    if (!is_there) candidates.best.push_back(span);
    if (std::ssize(candidates.best) == limits.num_best) return;
  }
}

predictions::ColumnSpec candidates_column(const AnswerLimits& limits) {
  return {"candidates", DType::u8, {static_cast<std::int64_t>(record_bytes(limits))}};
}

void append_record(std::int64_t index, const AnswerCandidates& candidates,
                   const AnswerLimits& limits, std::vector<std::byte>& column) {
  const Head head{index,
                  candidates.unit,
                  candidates.no_answer_start,
                  candidates.no_answer_end,
                  candidates.finite ? 1 : 0,
                  static_cast<std::int32_t>(candidates.best.size())};
  const std::size_t at = column.size();
  // Places without a span become zeros: equal records are equal bytes.
  column.resize(at + record_bytes(limits));
  std::memcpy(column.data() + at, &head, sizeof head);
  if (candidates.best.empty()) return;
  std::memcpy(column.data() + at + sizeof head, candidates.best.data(),
              candidates.best.size() * sizeof(AnswerSpan));
}

std::vector<AnswerRecord> records_in(std::span<const std::byte> column,
                                     const AnswerLimits& limits) {
  std::vector<AnswerRecord> records;
  for (; !column.empty(); column = column.subspan(record_bytes(limits))) {
    Head head;
    std::memcpy(&head, column.data(), sizeof head);
    AnswerCandidates candidates{
        head.unit, head.no_answer_start, head.no_answer_end, head.finite != 0, {}};
    candidates.best.resize(to_size(head.num_spans));
    if (head.num_spans > 0) {
      std::memcpy(candidates.best.data(), column.data() + sizeof head,
                  candidates.best.size() * sizeof(AnswerSpan));
    }
    records.push_back({head.index, std::move(candidates)});
  }
  return records;
}

}  // namespace tally::tasks
