// SPDX-License-Identifier: Apache-2.0
#include "amx/amx_probe.hpp"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace tally::model {
namespace {

// The Linux kernel's documentation, arch/x86/xstate: a process asks once for the 8 KiB of tiles.
constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
constexpr long kTileData = 18;               // XFEATURE_XTILEDATA

struct Announced {
  bool tiles = false;
  bool bf16 = false;
  bool int8 = false;
};

// Leaf 7 of CPUID, register EDX. The compiler's own __builtin_cpu_supports also asks whether the
// system has enabled the tiles, which libraries do not all do.
Announced announced() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return {};
  const auto has = [edx](int bit) { return (edx >> bit & 1U) != 0; };
  return {.tiles = has(24), .bf16 = has(22), .int8 = has(25)};
}

// What LDTILECFG reads.
struct alignas(64) TileShapes {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::array<std::uint8_t, 14> reserved{};
  std::array<std::uint16_t, 16> row_bytes{};
  std::array<std::uint8_t, 16> rows{};
};
static_assert(sizeof(TileShapes) == 64);

}  // namespace

bool announces_amx() {
  const auto has = announced();
  return has.tiles && (has.bf16 || has.int8);
}

// Not by the compiler's intrinsics: g++ 12 takes LDTILECFG's operand for 8 bytes, so that it may
// leave out the stores to the rest.
bool multiply_tiles() {
  if (syscall(SYS_arch_prctl, kRequestPermission, kTileData) != 0) return false;
  TileShapes shapes;
  for (std::size_t tile = 0; tile < 3; ++tile) {
    shapes.row_bytes[tile] = 64;
    shapes.rows[tile] = 16;
  }
  asm volatile("ldtilecfg %0" : : "m"(shapes));
  asm volatile("tilezero %tmm0; tilezero %tmm1; tilezero %tmm2");
  if (announced().bf16) asm volatile("tdpbf16ps %tmm2, %tmm1, %tmm0");
  if (announced().int8) asm volatile("tdpbssd %tmm2, %tmm1, %tmm0");
  asm volatile("tilerelease");
  return true;
}

}  // namespace tally::model
