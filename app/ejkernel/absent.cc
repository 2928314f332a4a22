// Replaces the other files of this folder in a build without ejkernel. What needs ejkernel is
// refused with a message that names the build option.
#include <fmt/format.h>

#include "app/cli/commands/ejkernel.h"
#include "app/session/ejkernel.h"
#include "maskctl/attention/calls/operation.h"
#include "maskctl/base/error.h"

namespace maskctl::app::ejkernel {

namespace {

[[noreturn]] void refuse(std::string_view asked) {
  throw Error(Errc::kUnsupported,
              fmt::format("{}: this maskctl was built without ejkernel; build it with "
                          "-DMASKCTL_EJKERNEL=ON",
                          asked));
}

}  // namespace

void require(std::string_view asked) { refuse(asked); }

std::string raised_text(const Error&) { return ""; }

void start_trace(bool) {}  // nothing to trace without ejkernel

const ObjectKind* stored_object() {
  static constexpr ObjectKind kRefused = {
      ArrayKind::kMaskInfo, [](const Container&, const std::string&) { return false; },
      [](Container&, const std::string&, const ReadOptions&) -> LoadedMask {
        refuse("mask-info");
      }};
  return &kRefused;
}

std::optional<OtherRules> other_rules(std::string_view, std::string_view) { return std::nullopt; }

void apply(Loader&, const std::string&, const OutputOptions&, Session&) { refuse("apply"); }
Explained explained(Loader&, const std::string&) { refuse("why"); }
InfoReport info(Loader&, const std::string&, const MeshOptions&, Session&) {
  refuse("info --mesh");
}
std::shared_ptr<const Tensor> printed(Loader&, const std::string&, const PrintOptions&) {
  refuse("info --print");
}
LoadedMask drawn(Loader&, const std::string&) { refuse("show"); }
std::string visualized(Loader&, const std::string&, const VisualizeRequest&) { refuse("show"); }
std::string visualized(const Mask&, const Panel&, const VisualizeRequest&) { refuse("show"); }

std::string alias_text(const attention::Field& field) {
  return field.alias.empty() ? "" : fmt::format("; or {}", field.alias);
}

Answer blockmap(const BlockmapOptions&, Session&) { refuse("blockmap"); }

}  // namespace maskctl::app::ejkernel
