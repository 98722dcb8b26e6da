#include "score_rows.hpp"

namespace tally::metrics {
namespace {

// Hands out aligned parts of a block of memory, or only counts their bytes where there is none.
class Carver {
 public:
  explicit Carver(std::byte* memory) : memory_(memory) {}

  template <class T>
  T* take(std::int64_t count) {
    T* const part = memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + taken_);
    constexpr std::int64_t kAlignment = 16;
    const std::int64_t bytes = count * static_cast<std::int64_t>(sizeof(T));
    taken_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return part;
  }
  std::int64_t taken() const { return taken_; }

 private:
  std::byte* memory_;
  std::int64_t taken_ = 0;
};

FactsBlock carve(Carver& carver, std::int64_t max_rows) {
  return {.bad = carver.take<BadRows>(1),
          .label = carver.take<std::int64_t>(max_rows),
          .prediction = carver.take<std::int64_t>(max_rows),
          .label_rank = carver.take<std::int32_t>(max_rows),
          .loss = carver.take<float>(max_rows),
          .confidence = carver.take<float>(max_rows),
          .label_tied = carver.take<std::uint8_t>(max_rows)};
}

}  // namespace

FactsBlock facts_block(std::byte* memory, std::int64_t max_rows) {
  Carver carver(memory);
  return carve(carver, max_rows);
}

std::int64_t facts_block_bytes(std::int64_t max_rows) {
  Carver carver(nullptr);
  carve(carver, max_rows);
  return carver.taken();
}

}  // namespace tally::metrics
