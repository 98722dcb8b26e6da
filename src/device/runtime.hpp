// SPDX-License-Identifier: Apache-2.0
// What this room asks of the CUDA runtime, in plain types. Twins: runtime_cuda.cpp and, in a build
// without CUDA, runtime_no_cuda.cpp, where only the functions that cannot throw do nothing: no
// Device of kind cuda can be made there, so nobody calls the others.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace tally::device::cuda {

std::byte* allocate_pinned(std::size_t num_bytes, int device);
std::byte* allocate(std::size_t num_bytes, int device);
void free_pinned(std::byte* memory) noexcept;
void free(std::byte* memory) noexcept;

// Errors name the GPU by this from now on.
void* make_stream(int device, std::string_view uuid);
void destroy_stream(void* stream) noexcept;
void copy_to_device(std::byte* to, std::span<const std::byte> from, void* stream);
void copy_to_host(std::byte* to, std::span<const std::byte> from, void* stream);
void fill_zero(std::span<std::byte> bytes, void* stream);
void wait_for(void* stream, void* event);
bool is_done(void* stream);
void synchronize(void* stream);

void* make_event(int device);
void* make_timed_event(int device);
void destroy_event(void* event) noexcept;
void record(void* event, void* stream);
bool has_happened(void* event);
void wait(void* event);
// Of two timed events that have happened.
double milliseconds_between(void* first, void* second);

void check_launch(std::string_view kernel);

}  // namespace tally::device::cuda
