// SPDX-License-Identifier: Apache-2.0
#include "chance.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

namespace simulated_gpu {
namespace {

std::mt19937_64 engine;
char prefix[64] = "simulated GPU: ";

void say(const char* text) { static_cast<void>(!write(STDERR_FILENO, text, std::strlen(text))); }

}  // namespace

void seed(std::uint64_t number) {
  engine.seed(number);
  std::snprintf(prefix, sizeof prefix,
                "simulated GPU, TALLY_GPU_SEED=%llu: ", static_cast<unsigned long long>(number));
}

std::uint64_t draw(std::uint64_t below) { return engine() % below; }

void misuse(const std::string& what) { misuse_in_handler(what.c_str(), ""); }

void misuse_in_handler(const char* what, const char* operation) {
  for (const char* part : {static_cast<const char*>(prefix), what, operation, "\n"}) say(part);
  std::abort();
}

}  // namespace simulated_gpu
