// The one table of all steps: it drives binding, `maskctl ops`, completions and the documentation.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "maskctl/base/index.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl {

class StepArguments;  // arguments.h

/// Whether a step closes cells, opens cells, or has a rule of its own.
enum class StepKind : std::uint8_t { kAnd, kOr, kOwn };
/// "and", "or", "own".
std::string_view name(StepKind kind);

enum class ArgType : std::uint8_t {
  kInteger,          // 12, -3
  kSide,             // a number, or "none" = unbounded
  kReal,             // 0.25
  kSeed,             // 0 .. 2^64 - 1
  kChoice,           // one of ArgumentInfo::choices
  kLengths,          // 3+5
  kRanges,           // 0-3+7, both ends included
  kSlice,            // 0:128 half open, or 5 = 5:6
  kBlockSize,        // 64x128, or 64 = 64x64
  kSource,           // a SOURCE read as an array
  kIntegerOrSource,  // a number when it is one, else a SOURCE
  kMaskSource,       // a SOURCE read as a mask
};
/// The placeholder in usage lines: "N", "SRC", "3+5", ...
std::string_view placeholder(ArgType type);

/// One argument. Arguments of groups 1, 2, ... are alternatives: exactly one group is used, with
/// all its required arguments; arguments of group 0 go with any. A positional argument is written
/// without a key, and `name` is used only in messages.
struct ArgumentInfo {
  std::string_view name;
  ArgType type = ArgType::kInteger;
  std::string_view help;
  bool required = false;
  std::string_view fallback = {};  // the default as text; empty means absent
  Index min = 0;                   // for kInteger, kSide, kIntegerOrSource
  std::string_view choices = {};   // "a|b|c"
  int group = 0;
  bool positional = false;
};

struct StepInfo {
  std::string_view name = {};
  StepKind kind = StepKind::kAnd;
  std::string_view meaning = {};  // one line
  std::string_view formula = {};  // the cells it keeps or opens
  std::string_view example = {};  // can be bound as it is, except for files
  std::span<const ArgumentInfo> args = {};
  bool nested = false;  // takes {...}
  Step (*bind)(StepArguments& arguments) = nullptr;
  std::string_view synonyms = {};  // what else people call it, apart by blanks: "sliding swa"
};

/// All steps, grouped by kind.
std::span<const StepInfo> step_infos();
/// nullptr for an unknown name.
const StepInfo* find_step(std::string_view name);
/// The step that people call so; nullptr if none is. Pipelines take names only.
const StepInfo* step_called(std::string_view word);
/// One line for each way to write the step, such as "window:keys=N[,align=...][,offset=N]".
std::string usage(const StepInfo& info);
/// The page that `maskctl ops NAME` prints: meaning, usage, arguments, formula, example. Ends with
/// a newline.
std::string describe(const StepInfo& info);

}  // namespace maskctl
