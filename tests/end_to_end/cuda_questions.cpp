// SPDX-License-Identifier: Apache-2.0
// Preloaded, it counts how often LibTorch asks whether there is CUDA before the model's module is
// loaded, and writes the number to the file that CUDA_QUESTIONS names. LibTorch remembers the first
// answer: asked before its CUDA half is open, which is right before loading, it never finds a GPU.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

// at::detail::getCUDAHooks(), which returns a reference, and torch::jit::Module::train(bool), which
// follows loading.
#define GET_CUDA_HOOKS "_ZN2at6detail12getCUDAHooksEv"
#define TRAIN "_ZN5torch3jit6Module5trainEb"

namespace {

bool counts = true;

void write_count(int count) {
  static const char* const path = std::getenv("CUDA_QUESTIONS");
  static const int file = path == nullptr ? -1 : open(path, O_WRONLY | O_CREAT, 0644);
  char text[16];
  const int length = std::snprintf(text, sizeof text, "%d\n", count);
  if (file >= 0 && pwrite(file, text, static_cast<std::size_t>(length), 0) != length) std::abort();
}

[[gnu::constructor]] void write_none() { write_count(0); }

}  // namespace

extern "C" {

const void* get_cuda_hooks() asm(GET_CUDA_HOOKS);
const void* get_cuda_hooks() {
  static int count = 0;
  if (counts) write_count(++count);
  return reinterpret_cast<const void* (*)()>(dlsym(RTLD_NEXT, GET_CUDA_HOOKS))();
}

void train(void* module, bool on) asm(TRAIN);
void train(void* module, bool on) {
  counts = std::getenv("CUDA_QUESTIONS_ALL") != nullptr;
  reinterpret_cast<void (*)(void*, bool)>(dlsym(RTLD_NEXT, TRAIN))(module, on);
}
}
