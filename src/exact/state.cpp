// SPDX-License-Identifier: Apache-2.0
#include <tally/exact/state.hpp>

#include <algorithm>
#include <array>
#include <bit>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

namespace tally::exact {
namespace {

static_assert(std::endian::native == std::endian::little, "State::bytes() would have to swap");

std::string_view name(SpanKind kind) {
  constexpr std::array<std::string_view, 3> kNames{"counters", "float32_sum", "float64_sum"};
  return kNames.at(static_cast<std::size_t>(kind));
}

template <class Values>
auto cut(Values& values, const StateSpan& span) {
  if (span.offset < 0 || span.length < 0 ||
      span.offset + span.length > checked_cast<std::int64_t>(values.size())) {
    throw Error(ErrorKind::internal,
                format("span '{}' lies outside a state of {} values", span.name, values.size()));
  }
  return std::span(values).subspan(to_size(span.offset), to_size(span.length));
}

}  // namespace

StateSpan StateLayout::add(std::string_view name, SpanKind kind, std::int64_t length) {
  const bool is_new = names_.emplace(name).second;
  if (!is_new || length < 1) {
    throw Error(ErrorKind::internal,
                !is_new ? format("two spans of the state are called '{}'", name)
                        : format("span '{}' of the state has {} values", name, length));
  }
  spans_.push_back({std::string(name), kind, length_, length});
  length_ += length;
  return spans_.back();
}

StateSpan StateLayout::add_counters(std::string_view name, std::int64_t length) {
  return add(name, SpanKind::counters, length);
}

StateSpan StateLayout::add_sum(std::string_view name, SumKind kind) {
  return add(name, kind == SumKind::float32 ? SpanKind::float32_sum : SpanKind::float64_sum,
             num_limbs(kind));
}

const StateSpan& StateLayout::find(std::string_view name) const {
  for (const StateSpan& span : spans_) {
    if (span.name == name) return span;
  }
  throw Error(ErrorKind::internal, format("the state has no span '{}'", name));
}

std::string StateLayout::description() const {
  std::string text;
  for (const StateSpan& span : spans_) {
    text += format("{} {} {} {}\n", span.name, exact::name(span.kind), span.offset, span.length);
  }
  return text;
}

State::State(std::shared_ptr<const StateLayout> layout) : layout_(std::move(layout)) {
  if (layout_ == nullptr) throw Error(ErrorKind::internal, "a state without a layout");
  values_.resize(to_size(layout_->length()));
}

std::span<std::int64_t> State::of(const StateSpan& span) { return cut(values_, span); }

std::span<const std::int64_t> State::of(const StateSpan& span) const { return cut(values_, span); }

void State::canonicalise() {
  for (const StateSpan& span : layout_->spans()) {
    if (span.kind != SpanKind::counters) exact::canonicalise(of(span));
  }
}

void State::merge(State other) {
  // Two sets of metrics with the same options have layouts of their own; equal descriptions mean
  // equal offsets.
  if (layout_ != other.layout_ && layout_->description() != other.layout_->description()) {
    throw Error(ErrorKind::internal, "states of different layouts cannot be merged");
  }
  // In canonical form a limb has 32 bits, so that adding two of them cannot overflow.
  canonicalise();
  other.canonicalise();
  for (std::size_t i = 0; i < values_.size(); ++i) values_[i] += other.values_[i];
  canonicalise();
}

std::span<const std::byte> State::bytes() const {
  for (const StateSpan& span : layout_->spans()) {
    if (span.kind != SpanKind::counters && !is_canonical(of(span))) {
      throw Error(ErrorKind::internal, format("sum '{}' is read before its carries", span.name));
    }
  }
  return std::as_bytes(std::span(values_));
}

}  // namespace tally::exact
