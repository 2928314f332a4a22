// Tests which backend a requested platform gets, and the reasons that are given.
#include <algorithm>
#include <functional>

#include "maskctl/attention/problems/backends.h"
#include "maskctl/base/error.h"
#include "maskctl/ejkernel/runtime/registry.h"
#include "support/catch_compat.h"

namespace runtime_registry_cases {

namespace {

using namespace maskctl;
using namespace maskctl::attention;

bool has_gpu() { return unavailable(Backend::kCuda).empty(); }

Errc code_of(Platform platform, DeviceKind device = DeviceKind::kAny) {
  try {
    find_backend("flash_attention", platform, device);
  } catch (const Error& error) {
    return error.code();
  }
  FAIL("nothing was thrown");
  return Errc::kIo;
}

TEST_CASE("registry: platform xla means the CPU, auto means a GPU if there is one", "[attention]") {
  CHECK(find_backend("gla") == (has_gpu() ? Backend::kCuda : Backend::kCpu));
  CHECK(find_backend("gla", Platform::kXla) == Backend::kCpu);
  CHECK(find_backend("gla", Platform::kXla, DeviceKind::kCpu) == Backend::kCpu);
  CHECK(find_backend("gla", Platform::kAuto, DeviceKind::kCpu) == Backend::kCpu);
}

TEST_CASE("registry: a platform that is named is never replaced by another", "[attention]") {
  CHECK(code_of(Platform::kTriton) == Errc::kUnsupported);
  CHECK(code_of(Platform::kPallas) == Errc::kUnsupported);
  CHECK(code_of(Platform::kXla, DeviceKind::kGpu) == Errc::kUnsupported);
  CHECK(code_of(Platform::kAuto, DeviceKind::kTpu) == Errc::kUnsupported);
  CHECK_THROWS_WITH(find_backend("gla", Platform::kTriton),
                    "gla has no kernel for platform triton on device any; it has: cuda, xla");
  if (has_gpu()) return;
  CHECK(code_of(Platform::kCuda) == Errc::kDevice);
  CHECK_THROWS_WITH(
      find_backend("gla", Platform::kCuda),
      "gla on platform cuda cannot run: " + unavailable(Backend::kCuda) + "; use auto or xla");
}

TEST_CASE("registry: the reasons say why each backend was or was not chosen", "[attention]") {
  const std::string missing = unavailable(Backend::kCuda);
  const auto choices = explain_backends(Platform::kXla);
  REQUIRE(choices.size() == 3);
  CHECK(choices[0].platform == Platform::kCuda);
  CHECK(choices[0].can_run == missing.empty());
  CHECK_FALSE(choices[0].chosen);
  CHECK(choices[0].reason == (missing.empty() ? "its platform is cuda, not xla" : missing));
  CHECK(explain_backends()[0].chosen == missing.empty());
  CHECK(choices[1].chosen);
  CHECK(choices[1].backend == Backend::kCpu);
  CHECK(choices[1].reason == "the highest priority of platform xla");
  CHECK_FALSE(choices[2].chosen);
  CHECK(choices[2].reason == "priority 0 is lower");
  for (const BackendChoice& choice : explain_backends(Platform::kPallas)) {
    CHECK_FALSE(choice.chosen);
  }
  CHECK(explain_backends(Platform::kXla, DeviceKind::kGpu)[1].reason == "it runs on cpu, not gpu");
}

TEST_CASE("registry: backends are listed by priority, the highest first", "[attention]") {
  CHECK(std::ranges::is_sorted(backends(), std::greater<>(), [](const BackendRow& row) {
    return platform_row(row.backend).priority;
  }));
}

TEST_CASE("platforms: names of platforms and devices are read back", "[attention]") {
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

}  // namespace runtime_registry_cases
