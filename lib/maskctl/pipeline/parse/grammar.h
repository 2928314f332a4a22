// The grammar of pipelines: from text to a tree of steps, and back to text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "maskctl/base/index.h"
#include "maskctl/pipeline/parse/diagnostic.h"

namespace maskctl {

/// One argument of a step. `key` is empty if there is only a value; `value` has no quotes.
struct Arg {
  std::string key;
  std::string value;
  Range position;         // byte range in the text: key, '=' and value
  Index value_begin = 0;  // byte offset of the value

  /// Compares key and value, not positions.
  friend bool operator==(const Arg& a, const Arg& b) {
    return a.key == b.key && a.value == b.value;
  }
};

/// One step as it is written. `nested` is the pipeline in braces, as in heads:0-3{...} and
/// batch:0{...}.
struct StepText {
  std::string name = {};
  std::vector<Arg> args = {};
  bool has_nested = false;
  std::vector<StepText> nested = {};
  Range position = {};  // byte range of the name

  friend bool operator==(const StepText& a, const StepText& b) {
    return a.name == b.name && a.args == b.args && a.has_nested == b.has_nested &&
           a.nested == b.nested;
  }
};

/// A parsed text. `subject` is how messages about it begin ("pipeline", "gen").
struct Pipeline {
  std::vector<StepText> steps;
  std::string text;
  std::string subject = "pipeline";

  friend bool operator==(const Pipeline& a, const Pipeline& b) { return a.steps == b.steps; }
};

inline constexpr Index kMaxPipelineBytes = Index{1} << 20;
inline constexpr Index kMaxPipelineSteps = 10000;  // nested steps count too
inline constexpr int kMaxPipelineDepth = 16;

/// Parses
///     PIPELINE = STEP { ( "|" | line end ) STEP }
///     STEP     = NAME [ ":" ARG { "," ARG } ] [ "{" PIPELINE "}" ]
///     ARG      = [ NAME "=" ] VALUE       numbers after a list of numbers belong to it
///     VALUE    = bare | quoted { quoted }      quoted: '...' or "...", no escapes; neighbours join
///     NAME     = letter { letter | digit | "-" | "_" }
///
/// A bare value has no blank, ',', '|', '{', '}' or '=', and does not start with a quote or '#'.
/// Blanks and line ends are allowed around "|", "{", "}" and ",", and after ":". A '#' that is not
/// inside a value starts a comment, which ends with the line. Whether steps and arguments exist is
/// checked by bind(). Throws PipelineError, also for an empty text and when a limit above is
/// exceeded.
Pipeline parse(std::string_view text, std::string_view subject = "pipeline");

/// The canonical text: " | " between steps, ',' between arguments, quotes only where needed.
/// parse(print(p)) == p, and print(parse(print(p))) == print(p).
std::string print(const Pipeline& pipeline);
std::string print(const std::vector<StepText>& steps);

}  // namespace maskctl
