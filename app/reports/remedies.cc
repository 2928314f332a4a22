#include "app/reports/remedies.h"

#include <fmt/format.h>

#include "maskctl/base/printable.h"

namespace maskctl::app {
namespace {

struct Words {
  std::string_view verb;
  // The words after the verb, which name options of the command line. The remedy's argument
  // replaces "{}".
  std::string_view rest;
  // Replaces `rest` in messages about a golden manifest, whose keys take the place of options.
  std::string_view key = {};
};

Words words(Remedy::Kind kind) {
  switch (kind) {
    case Remedy::kNone:
      return {"", ""};
    case Remedy::kRaiseMemoryLimit:
      return {"raise ", "--max-bytes"};
    case Remedy::kSliceMask:
      return {"slice ", "the mask"};
    case Remedy::kReadFromFile:
      return {"pass ", "a file"};
    case Remedy::kWriteToFile:
      return {"write ", "it to a file"};
    case Remedy::kNameOutput:
      return {"use ", "-o FILE or pipe it"};
    case Remedy::kOverwrite:
      return {"use ", "--force to overwrite"};
    case Remedy::kReplaceFile:
      return {"use ", "--replace-file to replace the whole file"};
    case Remedy::kReadAs:
      return {"give ", "--as {}", "as = \"{}\""};
    case Remedy::kReadZeroAsOpen:
      return {"read it with ", "--keep-value 0", "keep_value = 0"};
    case Remedy::kReadZeroAsClosed:
      return {"drop ", "--keep-value", "keep_value"};
    case Remedy::kSetClosedBelow:
      return {"", "--closed-below X says which numbers close",
              "closed_below = X says which numbers close"};
    case Remedy::kSetPadIdToZero:
      return {"give ", "--pad-id 0", "pad_id = 0"};
    case Remedy::kGiveShape:
      return {"give ", "--shape B+H+Q+K", "shape = [B, H, Q, K]"};
    case Remedy::kGiveBlockSize:
      return {"give ", "--block QxK", "as = \"blockmap:QxK\""};
    case Remedy::kGiveDocuments:
      return {"give ", "--segments, --positions or --cu-seqlens"};
    case Remedy::kWriteAs:
      return {"write the mask with ", "--to {}"};
    case Remedy::kAssumeCausal:
      return {"", "--assume causal goes on"};
    case Remedy::kUseSemantics:
      return {"", "it goes with --semantics {}"};
    case Remedy::kChooseArray:
      return {"", "choose one"};
    case Remedy::kBuildWith:
      return {"build it with ", "-D{}=ON"};
  }
  return {"", ""};
}

std::string joined(std::span<const Remedy> remedies, bool in_manifest) {
  std::string out;
  std::string_view last_verb;
  for (std::size_t i = 0; i < remedies.size(); ++i) {
    const auto [verb, rest, key] = words(remedies[i].kind);
    if (i > 0) out += i + 1 == remedies.size() ? " or " : ", ";
    if (verb != last_verb) out += verb;
    const std::string_view noun = in_manifest && !key.empty() ? key : rest;
    out += fmt::format(fmt::runtime(noun), remedies[i].argument);
    last_verb = verb;
  }
  return out;
}

std::string with_remedies(const Error& error, bool in_manifest) {
  const std::string remedies = joined(error.remedies(), in_manifest);
  const std::string message = printable(error.what(), kUncut);
  return remedies.empty() ? message : fmt::format("{}; {}", message, remedies);
}

}  // namespace

std::string in_words(std::span<const Remedy> remedies) { return joined(remedies, false); }

std::string message_of(const Error& error) { return with_remedies(error, false); }

std::string manifest_message_of(const Error& error) { return with_remedies(error, true); }

std::string fix_of(const LintRule& rule) {
  const std::string remedy = in_words({&rule.remedy, 1});
  return remedy.empty() ? std::string(rule.fix) : fmt::format("{}, or {}", rule.fix, remedy);
}

}  // namespace maskctl::app
