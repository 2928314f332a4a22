// Groups of options that several commands share.
#pragma once

#include <string>

#include "app/cli/parser/option_list.h"
#include "app/session/options.h"
#include "app/session/session.h"

namespace maskctl::app {

/// The headings of help under which these stand.
inline constexpr std::string_view kReading = "Reading and transforming";
inline constexpr std::string_view kCommon = "Every command";

/// The options of every command.
void declare_settings(OptionList& list, Settings& settings);
/// -t and --pad-id.
void declare_transforms(OptionList& list, SourceOptions& source);
/// These, and how a SOURCE is read.
void declare_source(OptionList& list, SourceOptions& source);
void declare_semantics(OptionList& list, SourceOptions& source);
/// --gzip LEVEL.
void declare_gzip(OptionList& list, int& gzip);
/// -o, --dtype, --force, --append, --gzip.
void declare_destination(OptionList& list, OutputOptions& output, const std::string& help);
/// These, and --to for the forms of a mask.
void declare_output(OptionList& list, OutputOptions& output, bool mask_info = false);

}  // namespace maskctl::app
