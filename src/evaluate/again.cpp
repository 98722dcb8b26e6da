#include <tally/evaluate/again.hpp>

#include <algorithm>
#include <numeric>

#include <tally/base/checked_cast.hpp>
#include <tally/metrics/poisson_weight.hpp>

namespace tally::evaluate {
namespace {

constexpr std::int64_t kWindowRows = 4096;

std::vector<exact::State> fresh_states(const tasks::Task& task, std::int64_t count) {
  return std::vector<exact::State>(to_size(count), exact::State(task.layout_again()));
}

// The rows of a window at these places, in this order.
predictions::RecordBatch rows_at(const predictions::RecordBatch& window,
                                 std::span<const std::size_t> places) {
  predictions::RecordBatch rows;
  rows.num_rows = std::ssize(places);
  for (const auto& column : window.columns) {
    const std::size_t row_bytes = column.size() / to_size(window.num_rows);
    auto& taken = rows.columns.emplace_back();
    taken.reserve(places.size() * row_bytes);
    for (const std::size_t place : places) {
      const auto begin = column.begin() + static_cast<std::ptrdiff_t>(place * row_bytes);
      taken.insert(taken.end(), begin, begin + static_cast<std::ptrdiff_t>(row_bytes));
    }
  }
  return rows;
}

}  // namespace

void read_window(const KeptSamples& kept, std::int64_t first, std::int64_t count,
                 predictions::RecordBatch& window) {
  const auto& columns = kept.log.columns();
  window.num_rows = count;
  window.columns.resize(columns.size());
  for (std::size_t c = 0; c < columns.size(); ++c) {
    window.columns[c].resize(to_size(count * columns[c].row_bytes()));
    kept.log.read(static_cast<std::int64_t>(c), first, count, window.columns[c]);
  }
}

void for_each_window(const KeptSamples& kept, const VisitWindow& visit) {
  predictions::RecordBatch window;
  for (std::int64_t first = 0; first < kept.log.num_rows(); first += kWindowRows) {
    read_window(kept, first, std::min(kWindowRows, kept.log.num_rows() - first), window);
    visit(first, window);
  }
}

std::vector<exact::State> count_groups(const KeptSamples& kept, std::int64_t num_groups,
                                       std::span<const std::int32_t> codes) {
  auto states = fresh_states(kept.task, num_groups);
  std::vector<std::size_t> order;
  for_each_window(kept, [&](std::int64_t first, const predictions::RecordBatch& window) {
    const auto of_window = codes.subspan(to_size(first), to_size(window.num_rows));
    order.resize(of_window.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t row) { return of_window[row]; });
    // Rows of one subgroup lie together now.
    for (auto begin = order.begin(); begin != order.end();) {
      const std::int32_t code = of_window[*begin];
      const auto end =
          std::find_if(begin, order.end(), [&](std::size_t row) { return of_window[row] != code; });
      kept.task.count_again(rows_at(window, std::span(begin, end)), {}, states.at(to_size(code)));
      begin = end;
    }
  });
  return states;
}

std::vector<exact::State> count_replicates(const KeptSamples& kept, std::int64_t seed,
                                           std::int64_t first, std::int64_t count) {
  auto states = fresh_states(kept.task, count);
  std::vector<std::uint8_t> weights;
  // Windows outside: what is kept may lie on a disk.
  for_each_window(kept, [&](std::int64_t first_row, const predictions::RecordBatch& window) {
    weights.resize(to_size(window.num_rows));
    for (std::int64_t r = 0; r < count; ++r) {
      const metrics::PoissonWeights of_replicate(static_cast<std::uint64_t>(seed),
                                                 static_cast<std::uint64_t>(first + r));
      auto index = static_cast<std::uint64_t>(kept.first_index + first_row);
      for (std::uint8_t& weight : weights) {
        weight = static_cast<std::uint8_t>(of_replicate.of(index++));
      }
      kept.task.count_again(window, weights, states[to_size(r)]);
    }
  });
  return states;
}

}  // namespace tally::evaluate
