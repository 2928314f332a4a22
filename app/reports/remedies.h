// Words for the remedies that errors of the library suggest, in terms of the command's options.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "maskctl/base/error.h"
#include "maskctl/inspect/check/finding.h"

namespace maskctl::app {

/// "slice the mask, write it to a file or raise --max-bytes"; empty if there are no remedies.
std::string in_words(std::span<const Remedy> remedies);

/// The message of an error as one line that is safe to show, followed by "; " and its remedies if
/// it has any.
std::string message_of(const Error& error);

/// Like message_of(), but in the keys of a golden manifest: "give as = \"segments\"".
std::string manifest_message_of(const Error& error);

inline constexpr std::string_view kOutOfMemory =
    "out of memory; work on a part of the mask (-t slice:...) or on smaller arrays";

/// How to fix what the rule found: "leave the entry out, or read it with --keep-value 0".
std::string fix_of(const LintRule& rule);

}  // namespace maskctl::app
