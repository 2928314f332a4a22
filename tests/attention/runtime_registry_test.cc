// Which kernel a request gets, and the reasons.
#include "maskctl/attention/runtime/registry.h"
#include "maskctl/base/error.h"
#include "support/catch_compat.h"

namespace {

using namespace maskctl;
using namespace maskctl::attention;

bool has_gpu() { return unavailable(Backend::kCuda).empty(); }

Errc code_of(const KernelRegistry& registry, std::string_view algorithm, Platform platform,
             DeviceKind device = DeviceKind::kAny) {
  try {
    registry.find(algorithm, platform, device);
  } catch (const Error& error) {
    return error.code();
  }
  FAIL("nothing was thrown");
  return Errc::kIo;
}

TEST_CASE("registry: xla is the fast CPU kernel of every operation, auto a GPU's if there is one",
          "[attention]") {
  const KernelRegistry& kernels = builtin_kernels();
  CHECK(kernels.list_algorithms().size() == 17);
  for (const std::string& algorithm : kernels.list_algorithms()) {
    CAPTURE(algorithm);
    CHECK(kernels.find(algorithm).implementation == (has_gpu() ? Backend::kCuda : Backend::kCpu));
    CHECK(kernels.find(algorithm, Platform::kXla).implementation == Backend::kCpu);
    CHECK(kernels.find(algorithm, Platform::kXla, DeviceKind::kCpu).platform == Platform::kXla);
  }
}

TEST_CASE("registry: a platform that is named is never left for another", "[attention]") {
  const KernelRegistry& kernels = builtin_kernels();
  CHECK(code_of(kernels, "flash_attention", Platform::kTriton) == Errc::kUnsupported);
  CHECK(code_of(kernels, "flash_attention", Platform::kPallas) == Errc::kUnsupported);
  CHECK(code_of(kernels, "flash_attention", Platform::kXla, DeviceKind::kGpu) ==
        Errc::kUnsupported);
  CHECK(code_of(kernels, "flash_attention", Platform::kAuto, DeviceKind::kTpu) ==
        Errc::kUnsupported);
  CHECK(code_of(kernels, "unknown", Platform::kAuto) == Errc::kUnsupported);
  CHECK_THROWS_WITH(kernels.find("gla", Platform::kTriton),
                    "gla has no kernel for platform triton on device any; it has: cuda, xla");
  if (has_gpu()) return;
  CHECK(code_of(kernels, "gla", Platform::kCuda) == Errc::kDevice);
  CHECK_THROWS_WITH(
      kernels.find("gla", Platform::kCuda),
      "gla on platform cuda cannot run: " + unavailable(Backend::kCuda) + "; use auto or xla");
}

TEST_CASE("registry: reasons name why each kernel was or was not taken", "[attention]") {
  const std::string missing = unavailable(Backend::kCuda);
  const auto choices = builtin_kernels().explain("flash_attention", Platform::kXla);
  REQUIRE(choices.size() == 3);
  CHECK(choices[0].spec.platform == Platform::kCuda);
  CHECK_FALSE(choices[0].chosen);
  CHECK(choices[0].reason == (missing.empty() ? "its platform is cuda, not xla" : missing));
  CHECK(builtin_kernels().explain("flash_attention")[0].chosen == missing.empty());
  CHECK(choices[1].chosen);
  CHECK(choices[1].spec.implementation == Backend::kCpu);
  CHECK(choices[1].reason == "the highest priority of platform xla");
  CHECK_FALSE(choices[2].chosen);
  CHECK(choices[2].reason == "priority 0 is lower");
  for (const KernelChoice& choice : builtin_kernels().explain("gla", Platform::kPallas)) {
    CHECK_FALSE(choice.chosen);
  }
  CHECK(builtin_kernels().explain("gla", Platform::kXla, DeviceKind::kGpu)[1].reason ==
        "it runs on cpu, not gpu");
}

TEST_CASE("registry: a cuda kernel that can run is what auto takes", "[attention]") {
  KernelRegistry kernels;
  kernels.add({Platform::kXla, DeviceKind::kCpu, "Op", 50, Backend::kCpu});
  kernels.add({Platform::kCuda, DeviceKind::kGpu, "op", 1, Backend::kReference});
  CHECK(kernels.find("op").platform == Platform::kCuda);
  CHECK(kernels.find("op", Platform::kAuto, DeviceKind::kCpu).platform == Platform::kXla);
  CHECK(kernels.explain("OP")[1].chosen);
  CHECK_THROWS_AS(kernels.add({Platform::kAuto, DeviceKind::kAny, "op"}), Error);
}

TEST_CASE("registry: of equal priorities the one added first wins", "[attention]") {
  KernelRegistry kernels;
  kernels.add({Platform::kXla, DeviceKind::kCpu, "op", 1, Backend::kCpu});
  kernels.add({Platform::kXla, DeviceKind::kCpu, "op", 1, Backend::kReference});
  kernels.add({Platform::kXla, DeviceKind::kCpu, "op", 0, Backend::kReference});
  CHECK(kernels.find("op").implementation == Backend::kCpu);
  CHECK(kernels.list_implementations("op").size() == 3);
}

TEST_CASE("platforms: names read back", "[attention]") {
  for (const char* text : {"auto", "xla", "cuda", "triton", "pallas"}) {
    CHECK(name(*platform_from_name(text)) == text);
  }
  for (const char* text : {"any", "cpu", "gpu", "tpu"}) {
    CHECK(name(*device_kind_from_name(text)) == text);
  }
  CHECK_FALSE(platform_from_name("XLA"));
  CHECK(backend_of(Platform::kXla) == Backend::kCpu);
  CHECK(backend_of(Platform::kCuda) == Backend::kCuda);
  CHECK((backend_of(Platform::kAuto) == Backend::kCuda) == unavailable(Backend::kCuda).empty());
  for (const Platform absent : {Platform::kTriton, Platform::kPallas}) {
    CHECK_THROWS_AS(backend_of(absent), Error);
  }
  CHECK_FALSE(device_kind_from_name(""));
}

}  // namespace
