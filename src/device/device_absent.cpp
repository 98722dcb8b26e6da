#include <tally/base/error.hpp>
#include <tally/base/host.hpp>
#include <tally/device/device.hpp>

namespace tally::device {

Device choose_device(DeviceRequest request, int /*local_rank*/) {
  if (request == DeviceRequest::cuda) {
    throw Error(ErrorKind::environment, "no GPU: this tally was built without CUDA",
                "Use '--device cpu'.");
  }
  return {DeviceKind::cpu, 0, cpu_model()};
}

}  // namespace tally::device
