#include "aoti/target_cpu.hpp"

#include <sys/utsname.h>

#include <fstream>
#include <sstream>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/host.hpp>

namespace tally::model {
namespace {

std::set<std::string> read_cpu_features() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    // "flags : …" on x86, "Features : …" on ARM
    if (!line.starts_with("flags") && !line.starts_with("Features")) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    return {std::istream_iterator<std::string>(words), {}};
  }
  return {};
}

std::string machine_name() {
  utsname names{};
  return uname(&names) == 0 ? names.machine : "unknown";
}

Error misfit(const Package& package, const std::string& problem, std::string_view next_step) {
  return {ErrorKind::model, format("model '{}' was compiled for {}", package.name, problem),
          next_step};
}

}  // namespace

const std::set<std::string>& cpu_features() {
  static const auto kFeatures = read_cpu_features();
  return kFeatures;
}

void check_target(const Package& package, const ModelCard& card, const device::Device& device) {
  if (package.device != name(device.kind)) {
    throw misfit(package,
                 format("the device '{}', this run uses '{}'", package.device, name(device.kind)),
                 format("Run with --device {}, or export it with --device {}.", package.device,
                        name(device.kind)));
  }
  const auto machine = machine_name();
  if (package.platform != "linux" || package.machine != machine) {
    throw misfit(
        package,
        format("{} {}, this machine is linux {}", package.platform, package.machine, machine),
        "Export it on a machine like this one.");
  }
  std::vector<std::string> missing;
  for (const auto& feature : card.package->cpu_features) {
    if (!cpu_features().contains(feature)) missing.push_back(feature);
  }
  if (missing.empty()) return;
  throw misfit(package,
               format("processors with {}; this one ({}) has no {}", package.instruction_set,
                      cpu_model(), fmt::join(missing, ", ")),
               "Export it on this machine, or with --cpu-isa avx2.");
}

}  // namespace tally::model
