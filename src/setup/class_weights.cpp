#include "class_weights.hpp"

#include <algorithm>
#include <cmath>

#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/base/parse_number.hpp>
#include <tally/base/printable.hpp>
#include <tally/comm/agree.hpp>

namespace tally::app {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

Error refused(const std::string& path, const std::string& why) {
  return {ErrorKind::usage, format("class weights '{}' {}", printable(path), why),
          "The file has one number from 0 up per class, in the order of the classes."};
}

double weight_of(std::string_view word, const std::string& path) {
  const auto weight = parse_number<double>(word);
  if (weight && std::isfinite(*weight) && *weight >= 0) return *weight;
  throw refused(path, format("hold '{}'", printable(std::string(word.substr(0, 40)))));
}

std::vector<double> parse(std::string_view text, const std::string& path,
                          std::int64_t num_classes) {
  std::vector<double> weights;
  for (std::size_t at = text.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBlanks, at), text.size());
    weights.push_back(weight_of(text.substr(at, end - at), path));
    at = text.find_first_not_of(kBlanks, end);
  }
  if (std::ssize(weights) != num_classes) {
    throw refused(
        path, format("hold {} numbers, the data set has {} classes", weights.size(), num_classes));
  }
  if (std::ranges::all_of(weights, [](double weight) { return weight == 0; })) {
    throw refused(path, "are all 0");
  }
  return weights;
}

}  // namespace

std::vector<double> read_class_weights(const comm::Communicator& comm, const std::string& path,
                                       std::int64_t num_classes) {
  if (path.empty()) return {};
  std::vector<std::byte> bytes;
  comm::agree_on(comm, [&] {
    if (comm.is_root()) bytes = read_file(path, ErrorKind::usage, "class weights");
  });
  comm.broadcast(bytes);
  std::vector<double> weights;
  comm::agree_on(comm, [&] {
    weights = parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path, num_classes);
  });
  return weights;
}

}  // namespace tally::app
