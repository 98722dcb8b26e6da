// SPDX-License-Identifier: Apache-2.0
#include <tally/base/error.hpp>

#include "runtime.hpp"

namespace tally::device::cuda {
namespace {

[[noreturn]] void throw_no_cuda() {
  throw Error(ErrorKind::internal, "this tally was built without CUDA");
}

}  // namespace

std::byte* allocate_pinned(std::size_t, int) { throw_no_cuda(); }
std::byte* allocate(std::size_t, int) { throw_no_cuda(); }
void free_pinned(std::byte*) noexcept {}
void free(std::byte*) noexcept {}

void* make_stream(int, std::string_view) { throw_no_cuda(); }
void destroy_stream(void*) noexcept {}
void copy_to_device(std::byte*, std::span<const std::byte>, void*) { throw_no_cuda(); }
void copy_to_host(std::byte*, std::span<const std::byte>, void*) { throw_no_cuda(); }
void fill_zero(std::span<std::byte>, void*) { throw_no_cuda(); }
void wait_for(void*, void*) { throw_no_cuda(); }
bool is_done(void*) { throw_no_cuda(); }
void synchronize(void*) { throw_no_cuda(); }

void* make_event(int) { throw_no_cuda(); }
void* make_timed_event(int) { throw_no_cuda(); }
void destroy_event(void*) noexcept {}
void record(void*, void*) { throw_no_cuda(); }
bool has_happened(void*) { throw_no_cuda(); }
void wait(void*) { throw_no_cuda(); }
double milliseconds_between(void*, void*) { throw_no_cuda(); }

void check_launch(std::string_view) { throw_no_cuda(); }

}  // namespace tally::device::cuda
