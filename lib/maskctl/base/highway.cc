// What Highway's headers need when they are linked: which instruction sets the machine has, and
// which one is used. It stands in for Highway's library, which measures the clock whenever a
// program starts: half of the time of a short command. Highway's headers and this file see `hwy` as
// the name of a namespace of ours (CMakeLists.txt), so that a program can link another Highway
// beside it.
#include <cpuid.h>

#include <array>
#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "hwy/targets.h"

#ifdef HWY_SSE2
#error "Highway is newer than its version when CMake looked; configure again in an empty folder"
#endif

namespace hwy {
namespace {

/// Where features of a processor stand: registers of leaves of CPUID, and which registers the
/// operating system keeps for each thread (XCR0).
enum Place : std::uint8_t { kLeaf1Ecx, kLeaf1Edx, kLeaf7Ebx, kLeaf7Ecx, kExtendedEcx, kKept, kEnd };
using Features = std::array<std::uint32_t, kEnd>;

constexpr std::uint32_t kKeepsAvx = 0x06, kKeepsAvx512 = 0xe6;

std::uint32_t kept_registers() {
  std::uint32_t low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

Features features() {
  Features out{};
  std::uint32_t a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d)) {
    out[kLeaf1Ecx] = c;
    out[kLeaf1Edx] = d;
    if (c & bit_OSXSAVE) out[kKept] = kept_registers();
  }
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
    out[kLeaf7Ebx] = b;
    out[kLeaf7Ecx] = c;
  }
  if (__get_cpuid(0x80000001, &a, &b, &c, &d)) out[kExtendedEcx] = c;
  return out;
}

/// Features that a target needs beyond those of the target before it. Compilers are given them by
/// HWY_TARGET_STR (hwy/ops/set_macros-inl.h).
struct Need {
  std::int64_t target;
  Place place;
  std::uint32_t features;
};
constexpr Need kNeeds[] = {
    {HWY_SSSE3, kLeaf1Edx, bit_SSE | bit_SSE2},
    {HWY_SSSE3, kLeaf1Ecx, bit_SSE3 | bit_SSSE3},
    {HWY_SSE4, kLeaf1Ecx, bit_SSE4_1 | bit_SSE4_2 | bit_PCLMUL | bit_AES},
    {HWY_AVX2, kLeaf1Ecx, bit_AVX | bit_F16C | bit_FMA},
    {HWY_AVX2, kExtendedEcx, bit_LZCNT},
    {HWY_AVX2, kLeaf7Ebx, bit_AVX2 | bit_BMI | bit_BMI2},
    {HWY_AVX2, kKept, kKeepsAvx},
    {HWY_AVX3, kLeaf7Ebx, bit_AVX512F | bit_AVX512VL | bit_AVX512DQ | bit_AVX512BW},
    {HWY_AVX3, kKept, kKeepsAvx512},
    {HWY_AVX3_DL, kLeaf7Ecx,
     bit_AVX512VBMI | bit_AVX512VBMI2 | bit_AVX512VNNI | bit_AVX512BITALG | bit_AVX512VPOPCNTDQ |
         bit_VAES | bit_VPCLMULQDQ}};

std::int64_t detected() {
  const Features has = features();
  std::int64_t targets = HWY_SSSE3 | HWY_SSE4 | HWY_AVX2 | HWY_AVX3 | HWY_AVX3_DL;
  for (const Need& need : kNeeds) {
    if ((has[need.place] & need.features) == need.features) continue;
    targets &= ~(need.target | (need.target - 1));  // better targets have lower bits
  }
  return targets | HWY_EMU128 | HWY_SCALAR | HWY_ENABLED_BASELINE;
}

// Both are initialised before any code runs: tests disable targets while a program starts.
constinit std::atomic<std::int64_t> enabled = -1;
constinit ChosenTarget chosen;

}  // namespace

std::int64_t SupportedTargets() {
  static const std::int64_t kDetected = detected();
  const std::int64_t targets = kDetected & enabled;
  return targets ? targets : HWY_STATIC_TARGET;
}

void DisableTargets(std::int64_t disabled_targets) {
  enabled = ~disabled_targets;
  chosen.DeInit();  // the next call of a kernel chooses again
}

ChosenTarget& GetChosenTarget() { return chosen; }

/// Is called where an assertion of Highway's fails, which only debug builds check.
void Abort(const char* file, int line, const char* format, ...) {
  char text[800];
  std::va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  throw std::logic_error(std::string(file) + ":" + std::to_string(line) + ": " + text);
}

}  // namespace hwy
