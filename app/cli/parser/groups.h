// Groups of options that several commands share.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "app/cli/parser/option_list.h"
#include "app/session/options.h"
#include "app/session/session.h"

namespace maskctl::app {

/// The headings of help under which these stand.
inline constexpr std::string_view kReading = "Reading and transforming";
inline constexpr std::string_view kReadingOther = "Reading the second SOURCE, if not as the first";
inline constexpr std::string_view kEjkernel = "ejkernel, a JAX library of attention kernels";
inline constexpr std::string_view kEnvironment = "Environment";

/// The options of every command.
void declare_settings(OptionList& list, Settings& settings);
/// The options of every command, --help and its like, and the variables that all commands read. For
/// lists of options: values that are parsed into them are lost.
const OptionList& common_options();
/// True if a shared option concerns the command with these own options. An option under a heading
/// concerns commands that have options under that heading.
bool applies(const Option& common, const OptionList& own);
/// Declares --pad-id.
void declare_pad_id(OptionList& list, std::int32_t& pad_id);
/// Declares -t and --pad-id.
void declare_transforms(OptionList& list, SourceOptions& source);
/// Declares -t, --pad-id, and the options that say how a SOURCE is read.
void declare_source(OptionList& list, SourceOptions& source);
/// Sets how an array is read: "segments", "blockmap:QxK". `option` starts every message.
void read_as(const std::string& text, const std::string& option, SourceOptions& source);
/// Declares --segments, --positions and --cu-seqlens, of which one may be given.
void declare_documents(OptionList& list, DocumentOptions& documents);
/// Declares --tokens.
void declare_tokens(OptionList& list, std::string& files);
/// Declares --semantics, and the variable that traces what it calls.
void declare_semantics(OptionList& list, SourceOptions& source);
/// How a second SOURCE is read where that differs from the first: --as-b, --transform-b and so on,
/// one for each option of declare_source().
class OtherSource {
 public:
  void declare(OptionList& list);
  /// The options of the first, with what was given for the second in their place. Steps for the
  /// second replace those of the first.
  SourceOptions after(const SourceOptions& first) const;

 private:
  std::vector<std::pair<std::size_t, std::string>>
      given_;  // index of an option of declare_source(), its text
};
/// Declares --gzip LEVEL.
void declare_gzip(OptionList& list, int& gzip);
/// Declares -o, --dtype, --force, --append and --gzip.
void declare_destination(OptionList& list, OutputOptions& output, const std::string& help);
/// Declares the options of a destination, and --to for the form of a mask.
void declare_output(OptionList& list, OutputOptions& output, bool mask_info = false);

}  // namespace maskctl::app
