// maskctl diff: compares two masks and says why they differ.
#include "maskctl/inspect/diff/diff.h"

#include <fmt/format.h>

#include "app/cli/commands/cause_report.h"
#include "app/cli/commands/command.h"
#include "app/cli/commands/diff_captured.h"
#include "app/cli/commands/diff_configs.h"
#include "app/cli/parser/groups.h"
#include "app/cli/parser/values.h"
#include "app/cli/terminal.h"
#include "app/reports/cause_text.h"
#include "app/reports/figures.h"
#include "app/reports/remedies.h"
#include "app/reports/report.h"
#include "app/session/captured.h"
#include "app/session/documents.h"
#include "app/session/loader.h"
#include "maskctl/base/error.h"
#include "maskctl/base/grouped.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"
#include "maskctl/inspect/recognise/summary.h"
#include "maskctl/inspect/recognise/without_step.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/pipeline/picture.h"

namespace maskctl::app {
namespace {

struct DiffOptions {
  SourceOptions source;
  std::string a, b;
  OtherSource other;  // how to read B
  BlockSize block{128, 128};
  DocumentOptions documents;
  bool all = false;  // pipelines in full, however long
  bool show = false;
  Style style = Style::kAuto;
  std::string output;  // file for a picture
  std::string dest;    // file for the arrays that the pipelines of A and B take as input
  bool force = false;
  bool json = false;
};

void declare(OptionList& list, DiffOptions& diff) {
  list.operand("A", diff.a);
  list.operand("B", diff.b);
  declare_source(list, diff.source);
  diff.other.declare(list);
  declare_documents(list, diff.documents);
  list.value("--block", "QxK", "blocks that are counted, 128 = 128x128 (128)",
             [&diff](const std::string& text) { diff.block = parse_block(text, "--block"); });
  list.flag("--all", "print pipelines of many batches in full", diff.all);
  list.flag("--show", "draw both masks over each other, at the first difference", diff.show);
  static constexpr std::string_view kStyles[] = {"shade", "ascii"};
  list.choice("--style", kStyles, "characters of --show",
              [&diff](std::size_t i) { diff.style = i == 0 ? Style::kShade : Style::kAscii; });
  list.text("-o,--output", "FILE.png", "a picture of both: .png, .svg or .html", diff.output);
  list.text("--write", "FILE", "write the arrays that the pipelines of the cause read", diff.dest);
  list.flag("-f,--force", "replace an existing file", diff.force);
  list.json("maskctl.diff/1, diff-configs/1, diff-runs/1", diff.json);
}

/// The two masks, their titles, and the documents between which no cell should be open.
struct Both {
  Mask a, b;
  std::string name_a, name_b;
  std::optional<Documents> documents;
  KnownChains chains;
  std::optional<ClosingChange> closing;
};

/// Applies the steps to B. If steps that were given for A do not fit B, the Error says how to leave
/// them out.
Mask mask_of_b(const LoadedMask& b, const Chain& steps, const DiffOptions& options,
               const SourceOptions& how_b) {
  try {
    return maskctl::apply(b.mask, steps);
  } catch (const Error& error) {
    const bool own = how_b.transforms != options.source.transforms;
    if (own || error.code() == Errc::kCancelled) throw error.within(options.b);
    throw Error(error.code(),
                fmt::format("{}: {}; -t is for both SOURCEs: --transform-b none leaves B as it is",
                            options.b, error.what()));
  }
}

Both read_both(const DiffOptions& options, Session& session) {
  const SourceOptions how_b = options.other.after(options.source);
  Loader of_a(options.source, session), of_b(how_b, session);
  Both out;
  const LoadedMask a = of_a.read(options.a), b = of_b.read(options.b);
  const Chain steps_a = of_a.chain(), steps_b = of_b.chain();
  out.a = maskctl::apply(a.mask, steps_a);
  out.b = mask_of_b(b, steps_b, options, how_b);
  const bool alike = out.a.queries() == out.b.queries() && out.a.keys() == out.b.keys();
  if (alike) out.closing = closing_change(out.a, a.bias_seen, out.b, b.bias_seen);
  out.chains = {of_a.whole_chain(options.a, steps_a), of_b.whole_chain(options.b, steps_b), {}, {}};
  if (!out.chains.a && !out.chains.b && has_two_sides(a.kind) && has_two_sides(b.kind)) {
    out.chains = {steps_a, steps_b, documents_made_of(a.mask), documents_made_of(b.mask)};
  }
  out.name_a = with_pipeline(options.a, options.source);
  out.name_b = with_pipeline(options.b, how_b);
  out.documents =
      documents_for(read_documents(options.documents, of_a), a, out.a, options.source.pad_id);
  if (!out.documents) out.documents = own_documents(b, out.b, how_b.pad_id);
  if (options.documents.given()) out.chains.declared = out.documents;
  return out;
}

/// Returns the leaks (open cells between different documents) of both masks. Nothing if no
/// documents are known, or if they come from a SOURCE and neither mask leaks.
std::optional<LeaksOfBoth> leaks_of(const Both& masks, const DiffOptions& options) {
  if (!masks.documents) return std::nullopt;
  LeaksOfBoth out{leaks(masks.a, *masks.documents), leaks(masks.b, *masks.documents)};
  const bool leak = out.a.cross > 0 || out.b.cross > 0;
  return leak || options.documents.given() ? std::optional(std::move(out)) : std::nullopt;
}

std::array<Index, 4> common_shape(const Both& masks) {
  return {std::max(masks.a.batch(), masks.b.batch()), std::max(masks.a.heads(), masks.b.heads()),
          masks.a.queries(), masks.a.keys()};
}

Index blocks_of(const DiffReport& report) {
  const auto& [batch, heads, queries, keys] = report.shape;
  return batch * heads * ceil_div(queries, report.diff.block.q) *
         ceil_div(keys, report.diff.block.k);
}

std::string first_text(const DiffReport& report) {
  const MaskDiff& diff = report.diff;
  std::string out =
      fmt::format("{}: open in {} only", cell_text(*diff.first), diff.first_in_a ? "A" : "B");
  return report.documents ? out + ", " + to_text(*report.documents) : out;
}

/// A line for each batch and head that differs, but only the first kMostPlaneLines of them.
std::string planes_text(const MaskDiff& diff) {
  std::string out = fmt::format("\n{:<12}{:>14}{:>14}\n", "batch head", "only in A", "only in B");
  const std::size_t lines = std::min(diff.planes.size(), as_size(kMostPlaneLines));
  for (std::size_t i = 0; i < lines; ++i) {
    const PlaneDiff& plane = diff.planes[i];
    out +=
        fmt::format("  {:<10}{:>14}{:>14}\n", fmt::format("{:>3} {:>4}", plane.batch, plane.head),
                    grouped(plane.only_a), grouped(plane.only_b));
  }
  if (lines < diff.planes.size()) {
    out += fmt::format("  ... {} more; --json lists all\n", diff.planes.size() - lines);
  }
  return out;
}

std::string closing_line(const DiffReport& report) {
  return report.closing ? fmt::format("closed  {}\n", closing_words(*report.closing)) : "";
}

std::string diff_text(const DiffReport& report, bool all) {
  const MaskDiff& diff = report.diff;
  const auto& [batch, heads, queries, keys] = report.shape;
  const std::string leaks =
      report.leaks ? fmt::format("leaks   A: {}\n        B: {}\n", leaks_text(report.leaks->a),
                                 leaks_text(report.leaks->b))
                   : "";
  if (diff.equal()) {
    return fmt::format("equal: {} open in both\n", counted(diff.both, "cell")) + leaks +
           closing_line(report);
  }
  std::string out = fmt::format("A       {}\nB       {}\n", printable(report.a, kUncut),
                                printable(report.b, kUncut));
  if (!report.broadcast.empty()) out += fmt::format("shapes  {}\n", report.broadcast);
  out += fmt::format("cells   {} only in A, {} only in B, {} in both\n", grouped(diff.only_a),
                     grouped(diff.only_b), grouped(diff.both));
  out += fmt::format("first   {}\n", first_text(report));
  out += fmt::format("rows    {} of {} differ\n", grouped(diff.rows),
                     grouped(batch * heads * queries));
  out += fmt::format("blocks  {} of {} differ, {}x{} each\n", grouped(diff.blocks),
                     grouped(blocks_of(report)), diff.block.q, diff.block.k);
  out += leaks + closing_line(report);
  if (report.cause) out += cause_text(*report.cause, all);
  for (const std::string& form : report.forms_a) out += fmt::format("A has   {}\n", form);
  for (const std::string& form : report.forms_b) out += fmt::format("B has   {}\n", form);
  if (!report.no_cause.empty()) out += fmt::format("cause   none found: {}\n", report.no_cause);
  if (batch * heads > 1) out += planes_text(diff);
  return out;
}

/// A figure of both masks on top of each other: of the first batch and head that differ, or of
/// batch 0, head 0 if none does.
Figure figure_of(const Both& masks, const DiffReport& report) {
  const Cell at = report.diff.first.value_or(Cell{});
  const auto [batch, heads, queries, keys] = report.shape;
  Panel panel{.plane = masks.a.plane(at.batch, at.head), .other = masks.b.plane(at.batch, at.head)};
  if (batch > 1) panel.name = fmt::format("batch {}", at.batch);
  if (heads > 1) panel.name += fmt::format("{}head {}", batch > 1 ? ", " : "", at.head);
  if (report.diff.planes.size() > 1) {
    panel.name += fmt::format(" ({} more differ)", report.diff.planes.size() - 1);
  }
  return {.name = report.a, .other_name = report.b, .panels = {panel}};
}

/// Adds the cause of the differences to the report, or the reason why it could not be computed.
void explain(const Both& masks, const DiffOptions& options, Session& session, DiffReport& report) {
  std::vector<DiffCause> found;
  try {
    auto cause = diff_cause(masks.a, masks.b, report.diff, masks.chains);
    if (cause) found.push_back(std::move(*cause));
  } catch (const Error& error) {
    if (error.code() == Errc::kCancelled) throw;
    report.no_cause = message_of(error);
  } catch (const std::bad_alloc&) {
    report.no_cause = "not enough memory to look for it";
  }
  for (CauseReport& one : cause_reports(std::move(found), options.dest, options.force, session)) {
    report.cause = std::move(one);
  }
}

/// Describes masks that no step makes, such as trees, unless the cause explains all cells by steps.
void say_forms(const Both& masks, DiffReport& report) {
  if (report.diff.equal()) return;
  const DiffCause cause = report.cause ? report.cause->cause : DiffCause{};
  if (report.cause && !cause.by_pipelines && cause.edit_residue.cells == 0) return;
  const auto is_made = [&cause](const Residue& left) {
    return cause.by_pipelines && left.cells == 0;
  };
  if (!is_made(cause.residue_a)) report.forms_a = forms_without_step(masks.a);
  if (!is_made(cause.residue_b)) report.forms_b = forms_without_step(masks.b);
}

/// Throws Error(kInvalidArgument) for options that are about the cells of two masks; `layers` says
/// what is compared instead, `one` how one mask is named.
void check_of_layers(const DiffOptions& options, bool has_causes, const char* layers,
                     const char* one) {
  const bool of_cells = !options.source.transforms.empty() || options.show ||
                        !options.output.empty() || options.documents.given() ||
                        (!has_causes && (options.all || !options.dest.empty()));
  if (!of_cells) return;
  throw Error(Errc::kInvalidArgument,
              fmt::format("diff: two {} are compared by their layers, with {} alone; {}", layers,
                          has_causes ? "--json, --all and --write" : "--json", one));
}

/// The answer about two SOURCEs that say the masks of several layers; nothing for masks.
std::optional<Answer> of_layers(const DiffOptions& options, Session& session) {
  if (is_config(options.a) && is_config(options.b)) {
    check_of_layers(options, false, "configs",
                    "gen --hf-config FILE --layer N makes the mask of a layer");
    return diff_configs(options.a, options.b, options.json);
  }
  const bool a = is_captured(options.a, session), b = is_captured(options.b, session);
  if (a && b) {
    check_of_layers(options, true, "captured runs", "FILE:LAYER is the mask of a layer");
    return diff_captured_runs({options.a, read_captured(options.a, session)},
                              {options.b, read_captured(options.b, session)},
                              {options.json, options.all, options.dest, options.force}, session);
  }
  if (!a && !b) return std::nullopt;
  const std::string& run = a ? options.a : options.b;
  throw Error(
      Errc::kInvalidArgument,
      fmt::format("{}: the masks of the layers of a captured run, and {} is none; name a "
                  "layer, as {}:{}",
                  run, a ? options.b : options.a, run, read_captured(run, session).front().name));
}

Answer run(const DiffOptions& options, Session& session) {
  if (auto answer = of_layers(options, session)) return *std::move(answer);
  // Throws for an unknown suffix before anything is read.
  if (!options.output.empty()) picture_format(options.output);
  const Both masks = read_both(options, session);
  DiffReport report{masks.name_a, masks.name_b, common_shape(masks), {}, {}, {},
                    {},           {},           masks.closing};
  report.diff = maskctl::diff(masks.a, masks.b, options.block);
  report.broadcast = broadcast_words(masks.a, masks.b);
  explain(masks, options, session, report);
  say_forms(masks, report);
  report.leaks = leaks_of(masks, options);
  if (masks.documents && report.diff.first) {
    report.documents = documents_at(*masks.documents, *report.diff.first);
  }
  const bool drawable = masks.a.cells() > 0 && masks.b.cells() > 0;
  if (!options.output.empty() && drawable) {
    Figure figure = figure_of(masks, report);
    if (report.cause) figure.other_name += fmt::format(" ({})", report.cause->cause.text);
    write_picture(options.output, figure, {}, {.force = options.force});
  }
  const auto text = [&] {
    if (!options.show || !drawable) return diff_text(report, options.all);
    const auto drawing = stdout_drawing(options.style, session.settings().color);
    return diff_text(report, options.all) + "\n" + draw_text(figure_of(masks, report), drawing);
  };
  return answer_in(
      options.json, text, [=] { return diff_json(report); }, report.diff.equal() ? 0 : 1);
}

}  // namespace

extern const Command kDiff = command<DiffOptions, declare, run>({
    .name = "diff",
    .group = kAsk,
    .operands = "A B",
    .summary = "compare two masks: how many cells differ, where, and why",
    .examples = "  maskctl diff have.npy want.npy\n"
                "  maskctl diff seg.npy mask.npy --as segments --as-b dense -t causal --show\n"
                "  maskctl diff have.npy want.npy -o both.png\n"
                "  maskctl diff A/config.json B/config.json\n"
                "  maskctl diff trainer.npz sampler.npz\n",
    .negative = "the masks differ, or those of a layer",
});

}  // namespace maskctl::app
