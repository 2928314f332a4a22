// maskctl recognise: finds a pipeline that makes a given mask.
#include "maskctl/inspect/recognise/recognise.h"

#include <fmt/format.h>

#include "app/cli/commands/several.h"
#include "app/cli/parser/groups.h"
#include "app/reports/figures.h"
#include "app/reports/recognise_report.h"
#include "app/session/chain_arrays.h"
#include "app/session/documents.h"
#include "app/session/loader.h"
#include "maskctl/base/error.h"
#include "maskctl/base/grouped.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"
#include "maskctl/inspect/recognise/row_length.h"
#include "maskctl/inspect/recognise/summary.h"
#include "maskctl/inspect/recognise/without_step.h"
#include "maskctl/mask/steps/chain_text.h"

namespace maskctl::app {
namespace {

struct RecogniseCommand {
  SourceOptions source;
  std::vector<std::string> sources;
  Index max_steps = 4;
  DocumentOptions documents;
  std::string dest;  // file for the arrays that the pipeline reads
  bool all = false;  // the whole pipeline, however long
  bool force = false;
  int gzip = 0;
  bool json = false;
};

void declare(OptionList& list, RecogniseCommand& recognise) {
  list.operands("SOURCE", recognise.sources);
  declare_source(list, recognise.source);
  declare_documents(list, recognise.documents);
  list.integer("--max-steps", 1, "longest pipeline to look for (4)",
               [&recognise](Index n) { recognise.max_steps = n; });
  list.flag("--all", "print pipelines of many batches in full", recognise.all);
  list.text("--write", "FILE", "where the arrays of the pipeline go: FILE.npz, or FILE.npy for one",
            recognise.dest);
  list.flag("-f,--force", "replace an existing file", recognise.force);
  declare_gzip(list, recognise.gzip);
  list.json("maskctl.recognise/1", recognise.json);
}

constexpr std::size_t kPlaneLines = 16;

std::string where_text(const RecogniseReport& report) {
  const Recognised& found = report.found;
  std::string out = fmt::format("{:<12}{} of {}", "unexplained", grouped(found.residue.cells),
                                counted(report.mask.cells(), "cell"));
  if (found.residue.first.empty()) return out + "\n";
  out += fmt::format(": {} open, {} closed in the mask, in {}; first at {}\n",
                     grouped(report.differs.only_a), grouped(report.differs.only_b),
                     counted(report.differs.rows, "row"), cell_text(found.residue.first.front()));
  if (report.mask.batch() * report.mask.heads() == 1) return out;
  std::size_t lines = 0;
  for (const PlaneDiff& plane : report.differs.planes) {
    if (++lines > kPlaneLines) {
      return out + fmt::format("{:<12}... {} more; --json lists all\n", "",
                               report.differs.planes.size() - kPlaneLines);
    }
    out += fmt::format("{:<12}batch {}, head {}: {}\n", "", plane.batch, plane.head,
                       grouped(plane.only_a + plane.only_b));
  }
  return out;
}

std::string pipelines_found(const RecogniseReport& report, bool all) {
  const std::string text = all ? report.pipeline : summary_text(report.found.chain);
  const char* more = text == report.pipeline ? "" : "; --all prints the pipeline";
  if (report.found.irregular) {
    if (says_nothing(report.found.chain)) {
      return fmt::format("no rule; counted from every cell {}", text.empty() ? "open" : "closed");
    }
    return "no rule; nearest: " + (text.empty() ? "every cell open" : text + more);
  }
  return text.empty() ? "none: every cell is open" : text + more;
}

std::string report_text(const RecogniseReport& report, bool all) {
  std::string out = fmt::format("{:<12}{}\n", "shape", shape_text(report.mask));
  out +=
      fmt::format("{:<12}{}: {} of {} open\n", "density", percent(report.open, report.mask.cells()),
                  grouped(report.open), counted(report.mask.cells(), "cell"));
  out += fmt::format("{:<12}{}\n", "pipeline", printable(pipelines_found(report, all), kUncut));
  for (const std::string& form : report.forms) {
    out += fmt::format("{:<12}{}\n", "form", form);
  }
  if (report.leaks) out += fmt::format("{:<12}{}\n", "leaks", leaks_text(*report.leaks));
  return out + where_text(report);
}

/// Says what the cells are if they were read with queries and keys exchanged.
void note_row_length(const std::string& source, const Mask& mask, Session& session) {
  const auto chain = chain_with_exchanged_extents(mask);
  if (!chain) return;
  session.note(fmt::format(
      "{}: the same cells in rows of {} keys are {}: were {} queries and {} keys exchanged?",
      printable(source), mask.queries(), to_text(*chain), mask.queries(), mask.keys()));
}

Answer recognised(const std::string& source, const RecogniseCommand& options, Loader& loader,
                  Session& session) {
  RecogniseReport report;
  report.source = source;
  report.mask = loader.transformed(loader.read(source).mask);
  const auto documents = read_documents(options.documents, loader);
  const auto positions = positions_in(documents);
  if (documents && !(positions && is_one_sequence(*positions))) {
    report.leaks = leaks(report.mask, documents_of(*documents, report.mask));
  }
  const RecogniseOptions how{.max_steps = options.max_steps};
  report.open = report.mask.count();
  report.found = without_guesses(positions ? maskctl::recognise(report.mask, *positions, how)
                                           : maskctl::recognise(report.mask, how),
                                 report.mask);
  if (report.found.irregular) note_row_length(source, report.mask, session);
  if (report.found.residue.cells > 0) report.forms = forms_without_step(report.mask);
  if (report.found.residue.cells > 0) {
    report.differs = diff(report.mask, maskctl::apply(full_like(report.mask), report.found.chain));
  }
  ChainArrays arrays("recognised", options.dest);
  arrays.name(report.found.chain);
  report.arrays = arrays.sources();
  report.written = arrays.write({.force = options.force, .gzip = options.gzip});
  report.pipeline = to_text(report.found.chain);
  if (!arrays.empty() && !report.written) {
    session.note("the arrays of the pipeline are not written; --write recognised.npz does it");
  }
  if (arrays.empty() && !options.dest.empty()) {
    session.note(fmt::format("{} is not written: the pipeline reads no arrays", options.dest));
  }
  return answer_in(
      options.json, [&] { return report_text(report, options.all); },
      [=] { return recognise_json(report); }, report.found.residue.cells == 0 ? 0 : 1);
}

Answer run(const RecogniseCommand& options, Session& session) {
  if (options.sources.size() > 1 && !options.dest.empty()) {
    throw Error(Errc::kInvalidArgument, "recognise: --write takes the arrays of one SOURCE");
  }
  if (!options.dest.empty()) parse_dest_name(options.dest);  // throws for an unknown suffix
  Loader loader(options.source, session);
  return answer_each(
      options.sources, options.source, options.json, session,
      [&](const std::string& source) { return recognised(source, options, loader, session); });
}

}  // namespace

extern const Command kRecognise = command<RecogniseCommand, declare, run>({
    .name = "recognise",
    .alias = "recognize",
    .group = kAsk,
    .operands = "SOURCE...",
    .summary = "the short pipeline that a mask would have come from",
    .examples = "  maskctl recognise mask.npy\n"
                "  maskctl recognise mask.npy --write ids.npz --json\n"
                "  maskctl recognise bias.npy --as bias --max-steps 2\n",
    .negative = "cells remain unexplained",
});

}  // namespace maskctl::app
