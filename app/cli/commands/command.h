// The commands of the program. Each has a file in this folder and a name in the list of all.cc.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "app/cli/parser/option_list.h"
#include "app/reports/json_value.h"
#include "app/session/session.h"

namespace maskctl::app {

/// The standard output of a command and its exit status: 0; 1 for a negative answer; 2 if a part of
/// the input could not be read.
struct Answer {
  std::string text;
  int status = 0;
  /// Makes what --json prints, of the same run; empty for a command without it.
  std::function<Json()> json = {};
};

/// An answer in text or as JSON. `make_json` is kept, so that it must own what it reads.
template <typename Text, typename MakeJson>
Answer answer_in(bool json, const Text& text, const MakeJson& make_json, int status = 0) {
  return {json ? text_of(make_json()) : text(), status, make_json};
}

/// Runs a command with the options that were parsed. Throws what the library throws.
using Run = std::function<Answer(Session& session)>;

/// The headings under which help groups the commands.
inline constexpr std::string_view kLook = "Look", kAsk = "Ask", kChange = "Change",
                                  kJudge = "Judge kernels", kCi = "CI and shell";

struct Command {
  std::string_view name;
  std::string_view alias = {};  // another name for the command
  std::string_view group;       // one of the headings above
  std::string_view operands;    // the operands as help shows them: "SOURCE..."
  std::string_view summary;
  std::string_view examples;       // example command lines, each with a newline
  std::string_view negative = {};  // what exit status 1 means; empty if there is no such status
  /// Declares operands and options. The returned function runs the command; call it after parsing.
  Run (*declare)(OptionList& list) = nullptr;
};

/// Makes a Command from `void declare(OptionList&, Options&)` and `Answer run(const Options&,
/// Session&)`.
template <typename Options, void (*kDeclare)(OptionList&, Options&),
          Answer (*kRun)(const Options&, Session&)>
consteval Command command(Command row) {
  // consteval: throwing is a compile-time error
  if (row.group.empty()) throw "a command needs a group";
  row.declare = [](OptionList& list) -> Run {
    auto options = std::make_shared<Options>();
    kDeclare(list, *options);
    return [options](Session& session) { return kRun(*options, session); };
  };
  return row;
}

/// All commands, in the order of the help page: group by group (all.cc).
std::span<const Command* const> commands();

/// The command with this name or alias; null if there is none.
const Command* find_command(std::string_view name);

/// The declarations of a command's options, for reading only: parsed values would be lost.
OptionList options_of(const Command& command);

}  // namespace maskctl::app
