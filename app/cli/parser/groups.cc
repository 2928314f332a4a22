// Declares the options that several commands share, and those of every command.
#include "app/cli/parser/groups.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/parser/values.h"
#include "app/session/ejkernel.h"
#include "maskctl/base/error.h"
#include "maskctl/base/text.h"
#include "maskctl/pipeline/parse/values.h"

namespace maskctl::app {
namespace {

constexpr std::string_view kTransform = "--transform";

constexpr struct {
  DocumentForm form;
  std::string_view option, help;
} kDocumentForms[] = {
    {DocumentForm::kSegments, "--segments",
     "the documents: segment ids [S] or [B,S], of queries and keys as q=SOURCE,kv=SOURCE"},
    {DocumentForm::kPositions, "--positions",
     "the documents: position ids, which start anew with each"},
    {DocumentForm::kCuSeqlens, "--cu-seqlens", "the documents: cumulative lengths, 0 first"}};

void declare_environment(OptionList& list) {
  list.under(kEnvironment, [&] {
    list.variable("MASKCTL_MAX_BYTES", "as --max-bytes");
    list.variable("MASKCTL_THREADS", "as --threads");
    list.variable("MASKCTL_COLOR", "as --color; NO_COLOR and CLICOLOR_FORCE hold where it is auto");
    list.variable("CI", "no progress, and golden files are not updated");
    list.variable("GITHUB_ACTIONS", "golden check prints annotations");
  });
}

}  // namespace

void declare_settings(OptionList& list, Settings& settings) {
  list.value("-j,--threads", "N", "threads to use; 0, the default: one for each core",
             [&settings](const std::string& text) {
               settings.threads =
                   static_cast<int>(parse_integer(text, "--threads", 0, kMostThreads));
             });
  list.value("--max-bytes", "SIZE", "refuse to allocate more than this for one array (4GiB)",
             [&settings](const std::string& text) {
               settings.max_bytes = parse_size(text, "--max-bytes");
             });
  list.choice("--color", kWhens, "colours in drawings; auto: on a terminal",
              [&settings](std::size_t i) { settings.color = static_cast<When>(i); });
  static constexpr std::string_view kProgress[] = {"auto", "never"};
  list.choice("--progress", kProgress, "a line on stderr during long work",
              [&settings](std::size_t i) { settings.progress = i == 0; });
  list.flag("--strict", "turn notes into errors", settings.strict);
  list.flag("-q,--quiet", "no notes and no progress on stderr", settings.quiet);
  list.flag("-v,--verbose", "say on stderr what is read and how long it took", settings.verbose);
  list.under(kEjkernel, [&] {
    list.flag("--trace", "print on stderr which functions of MaskInfo are called", settings.trace);
  });
}

const OptionList& common_options() {
  static const OptionList kList = [] {
    static Settings settings;
    static bool asked = false;
    OptionList list;
    declare_settings(list, settings);
    list.flag("-h,--help", "examples and options", asked);
    list.flag("--help-all", "these, and the options of every command", asked);
    list.flag("-V,--version", "the version and what it was built with", asked);
    declare_environment(list);
    return list;
  }();
  return kList;
}

bool applies(const Option& common, const OptionList& own) {
  return common.group.empty() ||
         std::ranges::count(own.options(), common.group, &Option::group) > 0;
}

void declare_pad_id(OptionList& list, std::int32_t& pad_id) {
  list.integer("--pad-id", -kMaxArgument - 1, "the id of tokens in no document (-1)",
               [&pad_id](Index n) { pad_id = static_cast<std::int32_t>(n); });
}

void declare_transforms(OptionList& list, SourceOptions& source) {
  list.under(kReading, [&] {
    list.repeated("-t,--transform", "PIPELINE",
                  "steps to apply, in the order given; may be repeated; @FILE reads a file",
                  source.transforms);
    declare_pad_id(list, source.pad_id);
  });
}

void declare_source(OptionList& list, SourceOptions& source) {
  list.under(kReading, [&] {
    declare_transforms(list, source);
    list.value("--as", "KIND",
               fmt::format(
                   "how to read the array: {}; blockmap:QxK gives its blocks too, as do "
                   "flex:, fa4: and bsr:QxK where the arrays do not; index-lists:QxK lists blocks, "
                   "and ragged-offsets:QxK gives the elements of a query and of a key",
                   joined(kind_names(), ", ")),
               [&source](const std::string& text) { read_as(text, "--as", source); });
    static constexpr std::string_view kKeep[] = {"0", "1"};
    list.choice("--keep-value", kKeep, "the value that may attend (1)",
                [&source](std::size_t i) { source.keep_value_is_zero = i == 0; });
    list.value("--closed-below", "X",
               "numbers of a bias at or below X close cells, all others open them (-1e4)",
               [&source](const std::string& text) {
                 source.closed_below = parse_negative(text, "--closed-below");
               });
    list.value("--shape", "B+H+Q+K", "extents that the array does not carry",
               [&source](const std::string& text) { source.shape = parse_shape(text, "--shape"); });
  });
}

void declare_documents(OptionList& list, DocumentOptions& documents, bool several) {
  for (const auto& row : kDocumentForms) {
    list.value(std::string(row.option), "SOURCE", std::string(row.help),
               [&documents, row, several](const std::string& text) {
                 if (documents.form && several) {
                   documents.also.emplace_back(row.form, text);
                   return;
                 }
                 if (documents.form) {
                   throw Error(Errc::kInvalidArgument,
                               fmt::format("{}: the documents are given already; one of "
                                           "--segments, --positions and --cu-seqlens is enough",
                                           row.option));
                 }
                 documents.form = row.form;
                 documents.source = text;
               });
  }
  list.text("--padding", "SOURCE",
            "flags of the tokens, as attention_mask: 0 is padding, which is in no document; of "
            "queries and keys as q=FLAGS,kv=FLAGS",
            documents.padding);
}

void declare_tokens(OptionList& list, std::string& files) {
  list.text("--tokens", "FILE",
            "the tokens as text, a line each, along the axes; of queries and keys as "
            "q=FILE,kv=FILE",
            files);
}

void declare_semantics(OptionList& list, SourceOptions& source) {
  list.under(kEjkernel, [&] {
    static constexpr std::string_view kSemantics[] = {"own", "ejkernel"};
    list.choice("--semantics", kSemantics,
                "rules to apply: ours (default), or those of ejkernel's mask type MaskInfo, "
                "oddities included",
                [&source](std::size_t i) {
                  source.ejkernel = i == 1;
                  if (source.ejkernel) ejkernel::require("--semantics ejkernel");
                });
    list.variable("EJKERNEL_MASK_DEBUG", "1: as --trace");
  });
}

void read_as(const std::string& text, const std::string& option, SourceOptions& source) {
  // Nothing to set: untyped elements of two bytes are read as bf16 anyway.
  if (text == "bf16" || text == "bfloat16") return;
  static constexpr std::string_view kOfBlocks[] = {"blockmap", "flex",        "fa4",
                                                   "bsr",      "index-lists", "ragged-offsets"};
  const std::string kind = text.substr(0, text.find(':'));
  if (kind.size() < text.size() && std::ranges::count(kOfBlocks, kind) > 0) {
    source.as = parse_kind(kind, option);
    source.block = parse_block(text.substr(kind.size() + 1), option + " " + kind);
  } else {
    source.as = parse_kind(text, option);
    if (source.as == ArrayKind::kMaskInfo) ejkernel::require(option + " mask-info");
  }
}

void OtherSource::declare(OptionList& list) {
  OptionList first;
  SourceOptions unused;
  declare_source(first, unused);
  list.under(kReadingOther, [&] {
    for (std::size_t i = 0; i < first.options().size(); ++i) {
      const Option& option = first.options()[i];
      const bool steps = option.long_name() == kTransform;
      list.value(option.long_name() + "-b", option.placeholder,
                 steps ? "steps of the second SOURCE, in place of --transform; none: no step"
                       : "as " + option.long_name(),
                 [this, i](const std::string& text) { given_.emplace_back(i, text); });
    }
  });
}

SourceOptions OtherSource::after(const SourceOptions& first) const {
  SourceOptions out = first;
  OptionList list;
  declare_source(list, out);
  for (const auto& [i, text] : given_) {
    const Option& option = list.options()[i];
    if (option.long_name() == kTransform) {
      out.transforms.clear();
      if (text == "none") continue;
    }
    try {
      option.take(text);
    } catch (const Error& error) {
      const std::string name = option.long_name(), why = error.what();
      if (!why.starts_with(name + " ")) throw;
      throw Error(error.code(), name + "-b" + why.substr(name.size()),
                  {error.remedies().begin(), error.remedies().end()});
    }
  }
  return out;
}

void declare_gzip(OptionList& list, int& gzip) {
  list.value("--gzip", "LEVEL", "compress the arrays of an .npz or .h5, 1 (fast) to 9 (small)",
             [&gzip](const std::string& text) {
               gzip = static_cast<int>(parse_integer(text, "--gzip", 1, 9));
             });
}

void declare_destination(OptionList& list, OutputOptions& output, const std::string& help) {
  list.text("-o,--output", "DEST", help, output.dest);
  list.value("--dtype", "TYPE", "type of the elements, as numpy names it",
             [&output](const std::string& text) { output.dtype = parse_dtype(text, "--dtype"); });
  list.flag("-f,--force",
            "replace the array that DEST names and no other; without a name, the file",
            output.force);
  list.flag("--append", "keep the other arrays, as with a name, where DEST has none",
            output.append);
  list.flag("--replace-file", "replace the whole file, and say on stderr which arrays go",
            output.replace_file);
  declare_gzip(list, output.gzip);
}

void declare_output(OptionList& list, OutputOptions& output, bool mask_info) {
  declare_destination(
      list, output,
      "FILE.npy, FILE.npz:KEY, FILE.h5:/NAME, FILE.safetensors:NAME, or - for standard "
      "output");
  using Form = OutputOptions::Form;
  static constexpr std::string_view kMaskForms[] = {"dense", "runs", "mask"};
  static constexpr std::string_view kForms[] = {"dense", "runs", "mask-info", "bias"};
  list.choice("--to",
              mask_info ? std::span<const std::string_view>(kForms)
                        : std::span<const std::string_view>(kMaskForms),
              mask_info ? "write a dense array (default), an .npz of runs, small at any size, an "
                          ".npz of all that a MaskInfo stores, or its bias"
                        : "write a dense array (default), an .npz of runs, small at any size, or "
                          "the file of a mask, its steps",
              [&output, mask_info](std::size_t i) {
                output.form = !mask_info && i == 2 ? Form::kMask : static_cast<Form>(i);
                if (mask_info && i > 1) ejkernel::require("--to " + std::string(kForms[i]));
              });
}

}  // namespace maskctl::app
