// maskctl demo: writes a mask with a leak, and the ids of its documents, to try the commands on.
#include "app/cli/commands/demo.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "app/cli/commands/command.h"
#include "app/cli/drawn.h"
#include "app/session/save.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/region.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl::app {
namespace {

constexpr const char* kMask = "leaked.npy";
constexpr const char* kIds = "leaked_ids.npy";

struct DemoOptions {
  std::string folder = "maskctl-demo";
  OutputOptions output;
};

void declare(OptionList& list, DemoOptions& demo) {
  list.operand("FOLDER", demo.folder, false);
  list.flag("-f,--force", "replace its files", demo.output.force);
}

/// Documents 0, 1 and 2 of 9, 6 and 7 tokens, and two tokens of padding.
Tensor demo_ids() {
  Tensor out(DType::kInt32, {1, 24});
  const auto ids = out.as<std::int32_t>();
  std::int32_t id = 0;
  std::size_t at = 0;
  for (const std::size_t length : {9UL, 6UL, 7UL}) {
    std::ranges::fill(ids.subspan(at, length), id++);
    at += length;
  }
  std::ranges::fill(ids.subspan(at), -1);
  return out;
}

/// Causal inside each document; token 17 of document 2 sees token 3 of document 0.
Mask demo_mask(const Tensor& ids) {
  return apply(mask_from_segments(ids, ids, -1),
               {step::Causal{}, step::Region{.open = true, .q = {{17, 18}}, .k = {{3, 4}}}});
}

constexpr const char* kTry =
    "  maskctl check {0} --segments {1}   is it right?\n"
    "  maskctl recognise {0}                        what is it?\n"
    "  maskctl tui {0} --segments {1}     look around in it\n";

Answer run(const DemoOptions& options, Session& session) {
  const std::filesystem::path folder = options.folder;
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) {
    throw Error(Errc::kIo, fmt::format("demo: cannot make the folder {}: {}",
                                       printable(options.folder), failed.message()));
  }
  const Tensor ids = demo_ids();
  OutputOptions to = options.output;
  to.dest = folder / kMask;
  write_output(demo_mask(ids), to, session, 2);
  to.dest = folder / kIds;
  write_output(ids, to, session);
  return {fmt::format("wrote {} and {} into {}; try, there:\n\n{}", kMask, kIds,
                      printable(options.folder), fmt::format(kTry, kMask, kIds))};
}

}  // namespace

std::string demo_text(const Session& session) {
  const Tensor ids = demo_ids();
  return fmt::format(
      "{}\nThree documents in one row, causal inside each; one pair leaks. To try:\n\n"
      "  maskctl demo                              writes this mask, and says how to ask about it\n"
      "  maskctl show gen:window:keys=4,n=16       draws a mask that steps make\n"
      "  maskctl check mask.npy                    looks for mistakes in yours\n\n"
      "All commands: maskctl --help\n",
      drawn(demo_mask(ids), "a mask of 24 tokens", {ids, ids}, session));
}

extern const Command kDemo = command<DemoOptions, declare, run>({
    .name = "demo",
    .group = kChange,
    .operands = "[FOLDER]",
    .summary = "write a mask with a leak, to try the commands on",
    .examples = "  maskctl demo\n"
                "  maskctl demo /tmp/masks\n",
});

}  // namespace maskctl::app
