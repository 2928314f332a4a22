// The list of all commands, in the order of the help page: group by group.
#include "app/cli/commands/command.h"

namespace maskctl::app {

// clang-format off
#define MASKCTL_COMMANDS(ROW)                                                                    \
  /* kLook   */ ROW(kInfo) ROW(kShow) ROW(kTui) ROW(kStats) ROW(kSeq)                            \
  /* kAsk    */ ROW(kWhy) ROW(kDiff) ROW(kCost) ROW(kRecognise) ROW(kTranslate) ROW(kBlockmap)   \
                ROW(kParts) ROW(kPhases) ROW(kOps) ROW(kExplain)                                                          \
  /* kChange */ ROW(kDemo) ROW(kGen) ROW(kApply) ROW(kConvert) ROW(kCombine)                                \
  /* kJudge  */ ROW(kAttend) ROW(kVerify) ROW(kVerifyMerge) ROW(kMutants) ROW(kKit) ROW(kProbe) ROW(kAudit) \
                ROW(kBench) ROW(kBackends)                                                        \
  /* kCi     */ ROW(kCheck) ROW(kGolden) ROW(kCompletions)

#define MASKCTL_DECLARED(name) extern const Command name;
#define MASKCTL_ADDRESS(name) &name,
// clang-format on

MASKCTL_COMMANDS(MASKCTL_DECLARED)

std::span<const Command* const> commands() {
  static constexpr const Command* kAll[] = {MASKCTL_COMMANDS(MASKCTL_ADDRESS)};
  return kAll;
}

}  // namespace maskctl::app
