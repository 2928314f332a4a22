// Groups of options that several commands share.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "app/cli/parser/option_list.h"
#include "app/session/options.h"
#include "app/session/session.h"

namespace maskctl::app {

/// Headings of these groups in help pages.
inline constexpr std::string_view kReading = "Reading and transforming";
inline constexpr std::string_view kReadingOther = "Reading the second SOURCE, if not as the first";
inline constexpr std::string_view kEjkernel = "ejkernel, a JAX library of attention kernels";
inline constexpr std::string_view kEnvironment = "Environment";

/// Declares the options of every command.
void declare_settings(OptionList& list, Settings& settings);
/// The options of every command (including --help and --version) and the environment variables that
/// all commands read. For listing only: parsed values would be lost.
const OptionList& common_options();
/// True if `common`, an option of every command, is useful for the command with the options `own`:
/// it has no heading, or `own` has options under the same heading.
bool applies(const Option& common, const OptionList& own);
/// Declares --pad-id.
void declare_pad_id(OptionList& list, std::int32_t& pad_id);
/// Declares -t and --pad-id.
void declare_transforms(OptionList& list, SourceOptions& source);
/// Declares -t, --pad-id, and the options that say how a SOURCE is read.
void declare_source(OptionList& list, SourceOptions& source);
/// Parses a kind of array, such as "segments" or "blockmap:QxK", into `source`. Messages begin with
/// `option`.
void read_as(const std::string& text, const std::string& option, SourceOptions& source);
/// Declares --segments, --positions and --cu-seqlens, of which at most one may be given unless
/// `several`, and --padding.
void declare_documents(OptionList& list, DocumentOptions& documents, bool several = false);
/// Declares --tokens.
void declare_tokens(OptionList& list, std::string& files);
/// Declares --semantics, and the environment variable that traces ejkernel's calls.
void declare_semantics(OptionList& list, SourceOptions& source);
/// The options for reading a second SOURCE that differ from those of the first: --as-b,
/// --transform-b and so on, one for each option of declare_source().
class OtherSource {
 public:
  void declare(OptionList& list);
  /// The options for reading the second SOURCE: those of the first, replaced by those given for the
  /// second. Steps of the second replace all steps of the first.
  SourceOptions after(const SourceOptions& first) const;

 private:
  std::vector<std::pair<std::size_t, std::string>>
      given_;  // index of an option of declare_source(), and its value
};
/// Declares --gzip LEVEL.
void declare_gzip(OptionList& list, int& gzip);
/// Declares -o, --dtype, --force, --append, --replace-file and --gzip.
void declare_destination(OptionList& list, OutputOptions& output, const std::string& help);
/// Declares the options of declare_destination(), and --to for the form of a mask.
void declare_output(OptionList& list, OutputOptions& output, bool mask_info = false);

}  // namespace maskctl::app
