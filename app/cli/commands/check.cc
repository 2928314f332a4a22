// maskctl check: tests whether a mask meets expectations, or looks for mistakes in it.
#include "maskctl/inspect/check/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>

#include "app/cli/commands/check_expressible.h"
#include "app/cli/commands/check_fixed.h"
#include "app/cli/commands/doors.h"
#include "app/cli/commands/several.h"
#include "app/cli/parser/groups.h"
#include "app/cli/parser/values.h"
#include "app/cli/streams.h"
#include "app/reports/check_report.h"
#include "app/session/checked.h"
#include "app/session/documents.h"
#include "app/session/loader.h"
#include "app/session/named_sources.h"
#include "app/session/sources.h"
#include "maskctl/base/error.h"
#include "maskctl/io/array_source.h"
#include "maskctl/pipeline/expectations.h"
#include "maskctl/pipeline/load.h"
#include "maskctl/pipeline/parse/grammar.h"
#include "maskctl/pipeline/steps/generate.h"

namespace maskctl::app {
namespace {

struct CheckOptions {
  enum class Format { kText, kJson, kJunit, kSarif };

  SourceOptions source;
  std::vector<std::string> sources;
  std::vector<std::string> expectations;
  DocumentOptions documents;
  std::string bias;
  Format format = Format::kText;
  bool json = false;
  bool exit_zero = false;
  std::string write_fixed;
  bool force = false;
  std::string expressible;  // libraries
  ModelConfigOptions config;
};

void declare(OptionList& list, CheckOptions& check) {
  list.operands("SOURCE", check.sources, false);
  declare_source(list, check.source);
  list.repeated("-e,--expect", "EXPECTATION",
                "what must hold, may be repeated: causal, window:keys=N or any step that closes "
                "cells; no-empty-rows, no-leak:SRC, symmetric, block-aligned:N, row-safe:block=N, "
                "density:MIN..MAX, subset-of:SRC, equals:PIPELINE; without it, check looks for "
                "mistakes",
                check.expectations);
  declare_documents(list, check.documents, true);
  list.text("--bias", "SOURCE", "an additive bias that is used together with the mask", check.bias);
  static constexpr std::string_view kFormats[] = {"text", "json", "junit", "sarif"};
  const auto choose = [&check](std::size_t i) {
    check.format = static_cast<CheckOptions::Format>(i);
    if (check.format == CheckOptions::Format::kJson) check.json = true;
  };
  list.choice("--format", kFormats, "how to report (text); json: maskctl.check/1", choose);
  list.flag("--json", "the same as --format json", check.json);
  list.text("--write-fixed", "FILE",
            "apply the fixes that can be applied, and write the mask; exit 0 if nothing is left",
            check.write_fixed);
  list.flag("-f,--force", "replace FILE if it exists", check.force);
  list.text("--expressible", "LIBRARY+...",
            "whether calls of these libraries, as fa+te, can express each SOURCE's mask",
            check.expressible);
  declare_config(list, check.config, "with --expressible: each layer of this config.json");
  list.flag("--exit-zero", "exit 0 whatever is found", check.exit_zero);
}

/// Prints a note if the mask has one batch entry, but the documents have several: the mask is then
/// compared with each of these.
void note_batches(const std::optional<DocumentSource>& documents, const Mask& mask,
                  const Session& session) {
  const bool several = documents && documents->form != DocumentForm::kCuSeqlens &&
                       documents->q.rank() == 2 && documents->q.extent(0) > 1;
  if (!several || mask.batch() > 1) return;
  session.note(fmt::format("the mask has one batch entry and the ids {}: it is held against each",
                           documents->q.extent(0)));
}

std::vector<ExpectationResult> check_all(const Mask& mask, const CheckOptions& options,
                                         Loader& loader, const Session& session) {
  ExpectationContext context;
  context.bind = loader.context();
  context.documents = read_documents(options.documents, loader);
  note_batches(context.documents, mask, session);
  std::vector<std::string> texts = options.expectations;
  const bool asked = std::ranges::find(texts, "no-leak") != texts.end();
  if (context.documents && !asked) texts.emplace_back("no-leak");
  std::vector<Expectation> expectations;  // parse all before evaluating any
  expectations.reserve(texts.size());
  for (const std::string& text : texts) {
    expectations.push_back(parse_expectation(text, context));
  }
  std::vector<ExpectationResult> out;
  out.reserve(expectations.size());
  for (const Expectation& expectation : expectations) {
    out.push_back(maskctl::check(mask, expectation));
  }
  return out;
}

/// The text of each step of all -t options.
std::vector<std::string> step_texts(const SourceOptions& source) {
  std::vector<std::string> out;
  for (const std::string& argument : source.transforms) {
    if (is_blank(argument)) continue;
    for (const StepText& step : parse(pipeline_text(argument)).steps) {
      out.push_back(print(std::vector{step}));
    }
  }
  return out;
}

/// Returns a function that finds the bytes of a cell in the file that a SOURCE argument names. The
/// function is empty unless the array in the file has the axes of the mask: that is so for a dense
/// mask or bias to which no steps were applied.
std::function<std::optional<Range>(const Location&)> bytes_in(const std::string& source,
                                                              const LoadedMask& loaded,
                                                              const SourceOptions& how) {
  const bool same_axes = loaded.kind == ArrayKind::kDense || loaded.kind == ArrayKind::kBias;
  if (!same_axes || !how.transforms.empty() || !names_one_source(source)) return {};
  if (parse_source_name(source).path == "-") return {};
  return [source](const Location& where) -> std::optional<Range> {
    if (!where.query || !where.key) return std::nullopt;
    const ArraySource array(source);
    const std::vector<Index> mask_index = {where.batch.value_or(0), where.head.value_or(0),
                                           *where.query, *where.key};
    const std::vector<Index>& shape = array.shape();
    std::vector<Index> index(mask_index.end() - std::min<Index>(2, std::ssize(shape)),
                             mask_index.end());
    if (shape.size() >= 3) {
      index.insert(index.begin(), mask_index.begin(), mask_index.begin() + std::ssize(shape) - 2);
    }
    for (std::size_t i = 0; i < index.size(); ++i) {
      if (shape[i] == 1) index[i] = 0;  // broadcast an axis of extent 1
      if (index[i] >= shape[i]) return std::nullopt;
    }
    return array.bytes_of(index);
  };
}

/// Reads what the options name, and asks the library what is wrong with it.
class Asked {
 public:
  Asked(std::string name, const CheckOptions& options, Session& session)
      : name_(std::move(name)),
        options_(options),
        session_(session),
        source_(options.source),
        loader_(source_, session) {}

  CheckReport report() {
    CheckReport out;
    out.source = name_;
    out.steps = step_texts(source_);
    out.linted = true;
    std::optional<DocumentSource> documents = read_documents(options_.documents, loader_);
    std::vector<DocumentSource> also = read_also(options_.documents, loader_);
    if (!options_.sources.empty()) {
      auto [loaded, checked] = read_checked(name_, loader_);
      out.bytes = bytes_in(name_, loaded, source_);
      mask_ = std::move(checked);
      loaded_ = std::move(loaded);
    }
    mask_.documents = std::move(documents);
    mask_.also = std::move(also);
    if (mask_.start) {
      mask_.chain = loader_.chain();
      mask_.whole = loader_.whole_chain(name_, mask_.chain);
      if (!options_.bias.empty()) mask_.bias = read_bias();
    }
    out.found = check(mask_);
    if (const auto& mask = out.found.mask) {
      note_batches(mask_.documents, *mask, session_);
      out.shape = {mask->batch(), mask->heads(), mask->queries(), mask->keys()};
    }
    if (!options_.write_fixed.empty()) {
      out.fixed = write_fixed(fix(mask_, out.found), loaded_, options_.source, options_.write_fixed,
                              options_.force, session_);
    }
    return out;
  }

 private:
  Mask read_bias() {
    // loader_ reads with the options in source_. They may change now, because the SOURCE was read.
    source_.as = ArrayKind::kBias;
    source_.keep_value_is_zero = false;
    source_.shape.reset();
    return loader_.read(options_.bias).mask;
  }

  std::string name_;
  const CheckOptions& options_;
  Session& session_;
  SourceOptions source_;
  Loader loader_;
  CheckedMask mask_;
  LoadedMask loaded_;
};

CheckReport expectations_of(const std::string& source, const CheckOptions& options,
                            Session& session) {
  if (!options.bias.empty()) {
    throw Error(Errc::kInvalidArgument, "check: --bias cannot be combined with --expect");
  }
  if (!options.documents.also.empty()) {
    throw Error(Errc::kInvalidArgument,
                "check: --expect takes one of --segments, --positions and --cu-seqlens; without "
                "it, check compares several");
  }
  Loader loader(options.source, session);
  const LoadedMask loaded = loader.read(source);
  const Mask mask = loader.transformed(loaded.mask);
  CheckReport report;
  report.source = source;
  report.steps = step_texts(options.source);
  report.bytes = bytes_in(source, loaded, options.source);
  report.shape = {mask.batch(), mask.heads(), mask.queries(), mask.keys()};
  report.expected = check_all(mask, options, loader, session);
  return report;
}

int exit_status(std::span<const CheckReport> reports, const CheckOptions& options) {
  return options.exit_zero || std::ranges::all_of(reports, &CheckReport::ok_now) ? 0 : 1;
}

bool is_document(const CheckOptions& options) {
  using Format = CheckOptions::Format;
  return options.format == Format::kJunit || options.format == Format::kSarif;
}

/// One JUnit or SARIF document.
Answer document_of(std::span<const CheckReport> reports, const CheckOptions& options) {
  const bool junit = options.format == CheckOptions::Format::kJunit;
  return {junit ? check_junit(reports) : check_sarif(reports), exit_status(reports, options)};
}

/// Refuses options without a SOURCE, unless they name arrays to compare with each other, and
/// nothing about a mask.
void check_options(const CheckOptions& options) {
  const DocumentOptions& given = options.documents;
  const std::size_t arrays =
      given.also.size() + (given.form ? 1U : 0U) + (given.padding.empty() ? 0U : 1U);
  SourceOptions of_arrays;
  of_arrays.pad_id = options.source.pad_id;
  const bool of_mask =
      options.source != of_arrays || !options.expectations.empty() || !options.bias.empty();
  if (!options.sources.empty() || (arrays > 1 && !of_mask)) return;
  throw Error(Errc::kInvalidArgument,
              "check: no SOURCE; name a file, - for standard input, or gen:STEP; or two of "
              "--segments, --positions, --cu-seqlens and --padding, to compare them");
}

/// Refuses --write-fixed where there is not one mask to write, or where it would not be all that
/// the same check of what is written looks at.
void check_write_fixed(const CheckOptions& options, const Session& session) {
  if (options.write_fixed.empty()) {
    if (!options.force) return;
    throw Error(Errc::kInvalidArgument, "check: --force goes with --write-fixed");
  }
  const auto refuse = [](const char* why) {
    throw Error(Errc::kInvalidArgument, fmt::format("check: --write-fixed {}", why));
  };
  if (options.sources.size() != 1 || names_several(options.sources.front(), session)) {
    refuse("takes one SOURCE, a file and no folder or pattern");
  }
  if (!options.expectations.empty()) {
    refuse(
        "cannot be combined with --expect: an expectation says what is wrong, not how to mend it");
  }
  if (!options.source.transforms.empty()) {
    refuse(
        "cannot be combined with -t; write the mask after its steps first: maskctl apply SOURCE -t "
        "... -o "
        "FILE");
  }
  if (is_document(options)) refuse("goes with the formats text and json");
  if (options.write_fixed == "-") refuse("names a file: standard output has the report");
}

/// The SOURCEs to report on. Without any, the report has the name of the first array of documents.
std::vector<std::string> sources_of(const CheckOptions& options) {
  if (!options.sources.empty()) return options.sources;
  return {options.documents.form ? options.documents.source : options.documents.padding};
}

/// Tests what the options expect of one SOURCE; without expectations, looks for mistakes in it.
CheckReport check_source(const std::string& source, const CheckOptions& options, Session& session) {
  return options.expectations.empty() ? Asked(source, options, session).report()
                                      : expectations_of(source, options, session);
}

/// The answer about one SOURCE, in the format of the options.
Answer answer_of(const CheckReport& report, const CheckOptions& options) {
  if (is_document(options)) return document_of({&report, 1}, options);
  return answer_in(
      options.json, [&] { return check_text(report); }, [=] { return check_json(report); },
      exit_status({&report, 1}, options));
}

/// Refuses what --expressible does not look at.
void check_expressible(const CheckOptions& options) {
  const bool other = !options.expectations.empty() || !options.bias.empty() ||
                     options.documents.form || !options.documents.padding.empty() ||
                     !options.write_fixed.empty() || options.force || options.json ||
                     is_document(options);
  if (other) {
    throw Error(Errc::kInvalidArgument,
                "check: --expressible goes with SOURCEs, -t, --hf-config and --exit-zero alone; "
                "maskctl translate --to has JSON");
  }
}

Answer run(const CheckOptions& options, Session& session) {
  check_config(options.config);
  if (!options.expressible.empty()) {
    check_expressible(options);
    Answer out =
        expressible(options.expressible, options.config, options.sources, options.source, session);
    if (options.exit_zero) out.status = 0;
    return out;
  }
  if (!options.config.file.empty()) {
    throw Error(Errc::kInvalidArgument, "check: --hf-config goes with --expressible");
  }
  check_options(options);
  check_write_fixed(options, session);
  // Not answer_each(): a container of several masks is refused, as by other commands that write.
  if (!options.write_fixed.empty()) {
    return answer_of(check_source(options.sources.front(), options, session), options);
  }
  if (!is_document(options)) {
    return answer_each(sources_of(options), options.source, options.json, session,
                       [&](const std::string& source) {
                         return answer_of(check_source(source, options, session), options);
                       });
  }
  std::vector<CheckReport> reports;
  const auto visit = [&](const std::string& source) {
    reports.push_back(check_source(source, options, session));
  };
  const auto report_error = [&](const std::string& source, std::string_view message) {
    print_error(message);
    CheckReport& report = reports.emplace_back();
    report.source = source;
    report.unread = message;
  };
  const Visits visits =
      visit_sources(sources_of(options), options.source, session, visit, report_error);
  Answer out = document_of(reports, options);
  if (visits.failed > 0) out.status = 2;
  return out;
}

}  // namespace

Run declare_check_of_one(OptionList& list) {
  auto options = std::make_shared<CheckOptions>();
  declare(list, *options);
  return [options](Session& session) {
    check_write_fixed(*options, session);
    return answer_of(check_source(options->sources.front(), *options, session), *options);
  };
}

extern const Command kCheck = command<CheckOptions, declare, run>({
    .name = "check",
    .alias = "lint",
    .group = kCi,
    .operands = "SOURCE...",
    .summary = "test what a mask should be, or look for mistakes in it",
    .examples = "  maskctl check mask.npy\n"
                "  maskctl check mask.npy --expect causal --expect no-empty-rows\n"
                "  maskctl check mask.npy --segments seg.npy --format sarif\n"
                "  maskctl lint cu.npy --as cu_seqlens --shape 1+1+4096+4096\n"
                "  maskctl check leaked.npy --segments seg.npy --write-fixed fixed.npy\n",
    .negative = "an expectation does not hold, or a finding is an error or a warning",
});

}  // namespace maskctl::app
