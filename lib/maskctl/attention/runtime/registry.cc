#include "maskctl/attention/runtime/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "maskctl/attention/backends.h"
#include "maskctl/attention/operation.h"
#include "maskctl/base/error.h"

namespace maskctl::attention {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

bool fits(const KernelSpec& spec, Platform platform, DeviceKind device) {
  return spec.platform == platform && (device == DeviceKind::kAny || spec.device == device);
}

std::string misfit_text(const KernelSpec& spec, Platform platform, DeviceKind device) {
  if (spec.platform != platform) {
    return fmt::format("its platform is {}, not {}", name(spec.platform), name(platform));
  }
  return fmt::format("it runs on {}, not {}", name(spec.device), name(device));
}

[[noreturn]] void fail(std::string_view algorithm, Platform platform, DeviceKind device,
                       const std::vector<KernelSpec>& specs) {
  std::set<std::string_view> platforms;
  for (const KernelSpec& spec : specs) {
    if (fits(spec, platform, device)) {
      throw Error(Errc::kDevice, fmt::format("{} on platform {} cannot run: {}; use auto or xla",
                                             algorithm, name(platform), spec.unavailable()));
    }
    platforms.insert(name(spec.platform));
  }
  throw Error(
      Errc::kUnsupported,
      fmt::format("{} has no kernel for platform {} on device {}; it has: {}", algorithm,
                  name(platform), name(device),
                  platforms.empty() ? "none" : fmt::format("{}", fmt::join(platforms, ", "))));
}

}  // namespace

void KernelRegistry::add(KernelSpec spec) {
  if (spec.platform == Platform::kAuto) {
    throw Error(Errc::kInvalidArgument, "platform auto names no kernel; register xla or cuda");
  }
  spec.algorithm = lower(spec.algorithm);
  const auto place = std::ranges::find_if(
      specs_, [&](const KernelSpec& other) { return other.priority < spec.priority; });
  specs_.insert(place, std::move(spec));
}

std::vector<std::string> KernelRegistry::list_algorithms() const {
  std::set<std::string> names;
  for (const KernelSpec& spec : specs_) names.insert(spec.algorithm);
  return {names.begin(), names.end()};
}

std::vector<KernelSpec> KernelRegistry::list_implementations(std::string_view algorithm) const {
  const std::string wanted = lower(algorithm);
  std::vector<KernelSpec> found;
  std::ranges::copy_if(specs_, std::back_inserter(found),
                       [&](const KernelSpec& spec) { return spec.algorithm == wanted; });
  return found;
}

/// The first that fits a concrete platform and can run, else null.
const KernelSpec* KernelRegistry::search(std::string_view algorithm, Platform platform,
                                         DeviceKind device) const {
  for (const KernelSpec& spec : specs_) {
    if (spec.algorithm == algorithm && fits(spec, platform, device) && spec.unavailable().empty()) {
      return &spec;
    }
  }
  return nullptr;
}

const KernelSpec& KernelRegistry::find(std::string_view algorithm, Platform platform,
                                       DeviceKind device) const {
  const bool any = platform == Platform::kAuto;
  const KernelSpec* found = search(algorithm, any ? Platform::kCuda : platform, device);
  if (!found && any) found = search(algorithm, Platform::kXla, device);
  if (!found)
    fail(algorithm, any ? Platform::kXla : platform, device, list_implementations(algorithm));
  return *found;
}

std::vector<KernelChoice> KernelRegistry::explain(std::string_view algorithm, Platform platform,
                                                  DeviceKind device) const {
  const std::string wanted = lower(algorithm);
  if (platform == Platform::kAuto) {
    platform = search(wanted, Platform::kCuda, device) ? Platform::kCuda : Platform::kXla;
  }
  const KernelSpec* chosen = search(wanted, platform, device);
  std::vector<KernelChoice> considered;
  for (const KernelSpec& spec : specs_) {
    if (spec.algorithm != wanted) continue;
    std::string reason = fmt::format("the highest priority of platform {}", name(platform));
    if (&spec != chosen) reason = fmt::format("priority {} is lower", spec.priority);
    if (!fits(spec, platform, device)) reason = misfit_text(spec, platform, device);
    if (const std::string why = spec.unavailable(); !why.empty()) reason = why;
    considered.push_back({spec, &spec == chosen, reason});
  }
  return considered;
}

const KernelRegistry& builtin_kernels() {
  static const KernelRegistry registry = [] {
    KernelRegistry built;
    for (const Operation* operation : operations()) {
      for (const BackendRow& row : backends()) {
        const int priority = row.is_judge ? 0 : row.platform == Platform::kXla ? 10 : 20;
        built.add({row.platform, row.device, std::string(operation->id), priority, row.backend,
                   row.unavailable});
      }
    }
    return built;
  }();
  return registry;
}

}  // namespace maskctl::attention
