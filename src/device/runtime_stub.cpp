#include <tally/base/error.hpp>

#include "runtime.hpp"

namespace tally::device::cuda {
namespace {

[[noreturn]] void refuse() {
  throw Error(ErrorKind::internal, "this tally was built without CUDA");
}

}  // namespace

std::byte* allocate_pinned(std::size_t, int) { refuse(); }
std::byte* allocate(std::size_t, int) { refuse(); }
void free_pinned(std::byte*) noexcept {}
void free(std::byte*) noexcept {}

void* make_stream(int) { refuse(); }
void destroy_stream(void*) noexcept {}
void copy_to_device(std::byte*, std::span<const std::byte>, void*) { refuse(); }
void copy_to_host(std::byte*, std::span<const std::byte>, void*) { refuse(); }
void fill_zero(std::span<std::byte>, void*) { refuse(); }
void wait_for(void*, void*) { refuse(); }
bool is_done(void*) { refuse(); }
void synchronize(void*) { refuse(); }

void* make_event(int) { refuse(); }
void* make_timed_event(int) { refuse(); }
void destroy_event(void*) noexcept {}
void record(void*, void*) { refuse(); }
bool has_happened(void*) { refuse(); }
void wait(void*) { refuse(); }
double milliseconds_between(void*, void*) { refuse(); }

void check_launch(std::string_view) { refuse(); }

}  // namespace tally::device::cuda
