// What the command calls the remedies that the library knows without words for them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "maskctl/base/error.h"
#include "maskctl/inspect/check/lint.h"

namespace maskctl::app {

/// "slice the mask, write it to a file or raise --max-bytes"; empty for none.
std::string in_words(std::span<const Remedy> remedies);

/// The line to print for an error: its message, and after a semicolon its remedies.
std::string message_of(const Error& error);

/// message_of() in the words of a manifest: "give as = \"segments\"".
std::string manifest_message_of(const Error& error);

inline constexpr std::string_view kOutOfMemory =
    "out of memory; work on a part of the mask (-t slice:...) or on smaller arrays";

/// "leave the entry out, or read it with --keep-value 0".
std::string fix_of(const LintRule& rule);

}  // namespace maskctl::app
