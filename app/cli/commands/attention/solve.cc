#include "app/cli/commands/attention/solve.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <set>
#include <span>
#include <vector>

#include "app/cli/commands/attention/call.h"
#include "app/cli/terminal.h"
#include "app/reports/remedies.h"
#include "app/reports/solved_report.h"
#include "app/session/chain_arrays.h"
#include "app/session/save.h"
#include "maskctl/base/error.h"
#include "maskctl/base/text.h"
#include "maskctl/inspect/diff/diff.h"
#include "maskctl/mask/planes/words.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/pipeline/picture.h"

namespace maskctl::app {
namespace {

using attention::SolvedMask;

constexpr std::size_t kListed = 64;

/// The first kListed open cells of a mask, ordered by batch, head, query and key.
std::vector<Cell> first_cells(const Mask& mask) {
  std::vector<Cell> out;
  const auto add = [&](Index b, Index h, Index q, Range keys) {
    for (Index k = keys.begin; k < keys.end && out.size() < kListed; ++k)
      out.push_back({b, h, q, k});
  };
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index h = 0; h < mask.heads(); ++h) {
      mask.plane(b, h)->rows({0, mask.queries()}, [&](Range rows, const Keys& keys) {
        std::vector<maskctl::Run> scratch;
        const std::span<const maskctl::Run> runs = as_runs(keys, scratch);
        if (runs.empty()) return;
        for (Index q = rows.begin; q < rows.end && out.size() < kListed; ++q) {
          for (const maskctl::Run& run : runs) add(b, h, q, {run.begin, run.end});
        }
      });
    }
  }
  return out;
}

/// How many rows of a mask have every cell open.
Index full_rows(const Mask& mask) {
  Index out = 0;
  std::vector<maskctl::Run> scratch;
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index h = 0; h < mask.heads(); ++h) {
      mask.plane(b, h)->rows({0, mask.queries()}, [&](Range rows, const Keys& keys) {
        const std::span<const maskctl::Run> runs = as_runs(keys, scratch);
        const bool full = runs.size() == 1 && runs[0].end - runs[0].begin == mask.keys();
        out += full ? rows.size() : 0;
      });
    }
  }
  return out;
}

/// Returns the rule (steps or an edit) that explains why the solved mask differs from the declared
/// one; nothing if no decided cell differs. Cells that the output leaves undecided first get their
/// likeliest state. If the rule contradicts only such cells, they get the state that the rule gives
/// them.
std::optional<DiffCause> cause_of(const Mask& declared, const SolvedReport& report,
                                  const Mask& undecided) {
  if (report.diff.equal()) return {};
  const SolvedMask& solved = report.solved;
  auto cause = diff_cause(declared, solved.likeliest);
  if (!cause) return cause;
  const Residue& left = cause->by_pipelines ? cause->residue_b : cause->edit_residue;
  if (left.cells == 0) return cause;
  const Mask all = full_like(solved.mask);
  const Mask ruled = cause->by_pipelines
                         ? maskctl::apply(all, cause->pipeline_b)
                         : maskctl::apply(zip(Op::kAnd, declared, all), cause->edit);
  const Mask other = zip(Op::kSub, zip(Op::kXor, ruled, solved.mask), undecided);
  if (other.count() > 0) return cause;
  auto by_rule = diff_cause(declared, ruled);
  return by_rule ? by_rule : cause;
}

/// Adds the cause of the differences between the declared mask (A) and the solved one (B), in the
/// words of `diff`.
void explain(const Mask& declared, const Mask& undecided, SolvedReport& report) {
  try {
    auto cause = cause_of(declared, report, undecided);
    if (!cause) return;
    ChainArrays arrays("verify", "");
    arrays.name(cause->pipeline_a), arrays.name(cause->pipeline_b);
    CauseReport& out = report.cause.emplace(CauseReport{std::move(*cause), false, {}, {}, {}, {}});
    out.by_pipelines = out.cause.by_pipelines && arrays.empty();
    out.pipeline_a = to_text(out.cause.pipeline_a);
    out.pipeline_b = to_text(out.cause.pipeline_b);
    out.edit = to_text(out.cause.edit);
  } catch (const Error& error) {
    if (error.code() == Errc::kCancelled) throw;
    report.no_cause = message_of(error);
  } catch (const std::bad_alloc&) {
    report.no_cause = "not enough memory to look for it";
  }
}

/// A drawing of both masks on top of each other, for the first batch and head in which they differ;
/// empty if the masks are equal.
std::string drawing(const Mask& declared, const SolvedReport& report, const Session& session) {
  if (report.diff.equal()) return "";
  const Cell at = *report.diff.first;
  const Panel panel{.plane = declared.plane(at.batch, at.head),
                    .other = report.solved.mask.plane(at.batch, at.head)};
  const Figure figure{.name = "declared", .other_name = "applied", .panels = {panel}};
  return "\n" + draw_text(figure, stdout_drawing(Style::kAuto, session.settings().color));
}

/// Splits the keys into blocks (or pages) of `size` keys, and returns the indices of those in which
/// the query of `at` has an open cell.
std::set<Index> units_of(const Mask& mask, const Cell& at, Index size) {
  std::vector<maskctl::Run> scratch;
  std::set<Index> out;
  mask.plane(at.batch, at.head)->rows({at.query, at.query + 1}, [&](Range, const Keys& keys) {
    for (const maskctl::Run& run : as_runs(keys, scratch)) {
      for (Index n = run.begin / size; n * size < run.end; ++n) out.insert(n);
    }
  });
  return out;
}

/// Returns a line about the first query that differs: which pages or blocks of keys the kernel read
/// beside those of the declared mask, and which of these it left out.
std::string units_text(const Mask& declared, const SolvedReport& report, KeyUnit unit) {
  if (unit.size == 0 || report.diff.equal()) return "";
  const Cell at = *report.diff.first;
  const std::set<Index> wanted = units_of(declared, at, unit.size);
  const std::set<Index> read = units_of(report.solved.mask, at, unit.size);
  std::vector<Index> more, less;
  std::ranges::set_difference(read, wanted, std::back_inserter(more));
  std::ranges::set_difference(wanted, read, std::back_inserter(less));
  const auto list = [](const std::vector<Index>& some) {
    return some.empty() ? "none" : joined(some, ", ");
  };
  return fmt::format("{:<18}query {} read beside its own: {}; left out: {}\n", unit.plural,
                     at.query, list(more), list(less));
}

}  // namespace

Answer solved_answer(const VerifyOptions& options, const Mask& declared, SolvedMask solved,
                     const Session& session, KeyUnit unit) {
  SolvedReport report;
  report.operation = operation_named(options.operation).name;
  report.solved = std::move(solved);
  report.diff = maskctl::diff(declared, report.solved.mask);
  const SolvedMask& found = report.solved;
  const Mask undecided = zip(Op::kOr, zip(Op::kOr, found.light, found.alike), found.unsolved);
  explain(declared, undecided, report);
  report.undecided = first_cells(undecided);
  report.rows = undecided.batch() * undecided.heads() * undecided.queries();
  report.untold = full_rows(undecided);
  const auto text = [&] {
    return solved_text(report) + units_text(declared, report, unit) +
           drawing(declared, report, session);
  };
  Answer answer = answer_in(
      options.json, text, [=] { return solved_json(report); }, solved_status(report));
  if (!options.output.dest.empty()) write_output(found.mask, options.output, session);
  return answer;
}

}  // namespace maskctl::app
