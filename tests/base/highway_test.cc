// The instruction sets that are found on this machine, against those that Linux lists.
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "hwy/targets.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

using Names = std::set<std::string>;

#if HWY_ARCH_X86
/// The features of the first processor, by the names that Linux gives them.
Names listed_features() {
  std::ifstream in("/proc/cpuinfo");
  Names found;
  for (std::string line; found.empty() && std::getline(in, line);) {
    if (!line.starts_with("flags")) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    for (std::string word; words >> word;) found.insert(word);
  }
  return found;
}

struct Target {
  std::int64_t bit;
  Names features;  // beyond those of the targets before it
};
const Target kTargets[] = {{HWY_SSSE3, {"sse", "sse2", "pni", "ssse3"}},
                           {HWY_SSE4, {"sse4_1", "sse4_2", "pclmulqdq", "aes"}},
                           {HWY_AVX2, {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm"}},
                           {HWY_AVX3, {"avx512f", "avx512vl", "avx512dq", "avx512bw"}},
                           {HWY_AVX3_DL,
                            {"avx512vbmi", "avx512_vbmi2", "avx512_vnni", "avx512_bitalg",
                             "avx512_vpopcntdq", "vaes", "vpclmulqdq"}}};

TEST_CASE("highway: the targets found are those whose CPU features Linux lists", "[simd]") {
  const Names listed = listed_features();
  if (listed.empty()) return;  // there is no such list
  bool has_all = true;
  for (const Target& target : kTargets) {
    for (const std::string& name : target.features) has_all = has_all && listed.contains(name);
    CAPTURE(hwy::TargetName(target.bit));
    CHECK(((hwy::SupportedTargets() & target.bit) != 0) == has_all);
  }
}
#endif

TEST_CASE("highway: disabled targets are not supported; if all are disabled, the static one is",
          "[simd]") {
  const std::int64_t before = hwy::SupportedTargets();
  CHECK((before & HWY_STATIC_TARGET) != 0);
  for (int bit = 0; bit < 63; ++bit) {
    const std::int64_t target = std::int64_t{1} << bit;
    hwy::GetChosenTarget().Update(before);
    hwy::DisableTargets(target);
    CAPTURE(bit);
    CHECK_FALSE(hwy::GetChosenTarget().IsInitialized());  // kernels choose again
    CHECK(hwy::SupportedTargets() == (before & ~target));
  }
  hwy::DisableTargets(-1);
  CHECK(hwy::SupportedTargets() == HWY_STATIC_TARGET);
  hwy::DisableTargets(0);
  CHECK(hwy::SupportedTargets() == before);
}

}  // namespace
}  // namespace maskctl::test
