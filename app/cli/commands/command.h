// The commands of the program. Each is one file in this folder and one name in the list below.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "app/cli/parser/option_list.h"
#include "app/session/session.h"

namespace maskctl::app {

/// What a command has to say on standard output, and the exit status: 0; 1 for a negative answer;
/// 2 if a part of what was asked for could not be read.
struct Answer {
  std::string text;
  int status = 0;
};

/// A command with the values of its options. Throws what the library throws.
using Run = std::function<Answer(Session& session)>;

/// What commands are for: the headings under which help lists them.
inline constexpr std::string_view kLook = "Look", kAsk = "Ask", kChange = "Change",
                                  kJudge = "Judge kernels", kCi = "CI and shell";

struct Command {
  std::string_view name;
  std::string_view alias = {};  // a second name
  std::string_view group;       // one of the headings above
  std::string_view operands;    // "SOURCE..."
  std::string_view summary;
  std::string_view examples;       // lines, each with a newline
  std::string_view negative = {};  // what exit status 1 means; empty if it never ends so
  /// Declares operands and options. The result may be called once they have their values.
  Run (*declare)(OptionList& list) = nullptr;
};

/// A command from `void declare(OptionList&, Options&)` and `Answer run(const Options&, Session&)`.
template <typename Options, void (*kDeclare)(OptionList&, Options&),
          Answer (*kRun)(const Options&, Session&)>
consteval Command command(Command row) {
  if (row.group.empty()) throw "a command needs a group";  // ends the compilation
  row.declare = [](OptionList& list) -> Run {
    auto options = std::make_shared<Options>();
    kDeclare(list, *options);
    return [options](Session& session) { return kRun(*options, session); };
  };
  return row;
}

extern const Command kInfo, kShow, kTui, kApply, kConvert, kCombine, kGen, kStats, kCost, kDiff,
    kGolden, kWhy, kCheck, kTranslate, kAudit, kSeq, kBlockmap, kRecognise, kOps, kAttend, kVerify,
    kProbe, kBench, kBackends, kCompletions;

/// In the order in which help lists them, group after group.
inline constexpr const Command* kCommands[] = {
    &kInfo,   &kShow,   &kTui,        &kStats,     &kSeq,                           // look
    &kWhy,    &kDiff,   &kCost,       &kRecognise, &kTranslate, &kBlockmap, &kOps,  // ask
    &kGen,    &kApply,  &kConvert,    &kCombine,                                    // change
    &kAttend, &kVerify, &kProbe,      &kAudit,     &kBench,     &kBackends,         // judge
    &kCheck,  &kGolden, &kCompletions};                                             // CI

/// The command of that name or alias; null if there is none.
const Command* find_command(std::string_view name);

/// The options of a command, to be read: their values have nowhere to go.
OptionList options_of(const Command& command);

}  // namespace maskctl::app
