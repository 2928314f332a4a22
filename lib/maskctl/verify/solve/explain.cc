#include "maskctl/verify/solve/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <set>
#include <string_view>
#include <utility>

#include "maskctl/base/grouped.h"
#include "maskctl/base/text.h"
#include "maskctl/inspect/recognise/neighbours.h"
#include "maskctl/mask/cell.h"
#include "maskctl/mask/planes/words.h"
#include "maskctl/verify/solve/blocks.h"
#include "maskctl/verify/solve/slots.h"

namespace maskctl::attention {
namespace {

/// How many rows of a mask have every cell open.
Index full_rows(const Mask& mask) {
  Index out = 0;
  std::vector<Run> scratch;
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index h = 0; h < mask.heads(); ++h) {
      mask.plane(b, h)->rows({0, mask.queries()}, [&](Range rows, const Keys& keys) {
        const std::span<const Run> runs = as_runs(keys, scratch);
        const bool full = runs.size() == 1 && runs[0].end - runs[0].begin == mask.keys();
        out += full ? rows.size() : 0;
      });
    }
  }
  return out;
}

/// The rule (steps or an edit) that explains why the masks differ. Cells that the results leave
/// undecided first get their likeliest state. If the rule contradicts only such cells, they get the
/// state that the rule gives them.
std::optional<DiffCause> cause_of(SolvedVerdict& verdict) {
  const Mask& declared = verdict.declared;
  const SolvedMask& solved = verdict.solved;
  auto cause = diff_cause(declared, solved.likeliest);
  if (!cause) return cause;
  const Residue& left = cause->by_pipelines ? cause->residue_b : cause->edit_residue;
  if (left.cells == 0) return cause;
  const Mask all = full_like(solved.mask);
  Mask ruled = cause->by_pipelines ? maskctl::apply(all, cause->pipeline_b)
                                   : maskctl::apply(zip(Op::kAnd, declared, all), cause->edit);
  const Mask undecided = zip(Op::kOr, verdict.undecided, solved.taken);
  if (zip(Op::kSub, zip(Op::kXor, ruled, solved.mask), undecided).count() > 0) return cause;
  auto by_rule = diff_cause(declared, ruled);
  if (!by_rule) return cause;
  verdict.ruled = std::move(ruled);
  return by_rule;
}

void explain(SolvedVerdict& out) {
  try {
    out.cause = cause_of(out);
  } catch (const Error& error) {
    if (error.code() == Errc::kCancelled) throw;
    out.no_cause = error;
  } catch (const std::bad_alloc&) {
    out.no_cause = Error(Errc::kLimit, "not enough memory to look for it");
  }
}

/// The numbers of the units of `size` keys in which the query of `at` has an open cell.
std::set<Index> units_of(const Mask& mask, const Cell& at, Index size) {
  std::vector<Run> scratch;
  std::set<Index> out;
  mask.plane(at.batch, at.head)->rows({at.query, at.query + 1}, [&](Range, const Keys& keys) {
    for (const Run& run : as_runs(keys, scratch)) {
      for (Index n = run.begin / size; n * size < run.end; ++n) out.insert(n);
    }
  });
  return out;
}

UnitsRead units_read(const SolvedVerdict& verdict) {
  const Cell at = *verdict.diff.first;
  const std::set<Index> wanted = units_of(verdict.declared, at, verdict.unit.size);
  const std::set<Index> read = units_of(verdict.solved.mask, at, verdict.unit.size);
  UnitsRead out{at.query, {}, {}};
  std::ranges::set_difference(read, wanted, std::back_inserter(out.beside));
  std::ranges::set_difference(wanted, read, std::back_inserter(out.left_out));
  return out;
}

SolvedVerdict verdict_on(Mask declared, SolvedMask solved, KeyUnit unit = {}) {
  SolvedVerdict out;
  out.declared = std::move(declared);
  out.solved = std::move(solved);
  out.unit = unit;
  const SolvedMask& found = out.solved;
  out.diff = diff(out.declared, found.mask);
  out.undecided = zip(Op::kOr, zip(Op::kOr, found.light, found.alike), found.unsolved);
  out.rows = out.undecided.batch() * out.undecided.heads() * out.undecided.queries();
  out.untold_rows = full_rows(out.undecided);
  if (out.diff.equal()) return out;
  explain(out);
  if (unit.size > 0) out.units = units_read(out);
  return out;
}

bool tells_little(const SolvedVerdict& verdict) {
  return verdict.untold_rows > 0 && 2 * verdict.untold_rows >= verdict.rows;
}

}  // namespace

Verdict SolvedVerdict::verdict() const {
  if (!diff.equal()) return Verdict::kAnother;
  const bool ambiguous = solved.alike.count() + solved.unsolved_rows > 0;
  return ambiguous || tells_little(*this) ? Verdict::kUnclear : Verdict::kObeys;
}

std::string to_text(const SolvedVerdict& verdict) {
  switch (verdict.verdict()) {
    case Verdict::kObeys:
      return "applied the declared mask, as far as rounding tells";
    case Verdict::kAnother:
    case Verdict::kOtherCall:
    case Verdict::kPartly:
    case Verdict::kNone:
      return "applied another mask than the declared one";
    case Verdict::kUnclear:
      break;
  }
  if (!tells_little(verdict)) return "undecided: not all rows could be told";
  return fmt::format("undecided: no cell of {} of {} could be told", grouped(verdict.untold_rows),
                     counted(verdict.rows, "row"));
}

SolvedVerdict solve_results(JudgedCall call, const NamedResults& given,
                            const SolveOptions& options) {
  require_solver();
  VerifyRequest& request = call.request;
  if (auto slots = over_slots(request, given)) {
    SolvedMask solved = solve_mask(slots->request, slots->given, {}, {.tile = slots->page_size});
    return verdict_on(*slots->request.declared, std::move(solved), {"pages", slots->page_size});
  }
  if (auto blocks = over_blocks(request)) {
    SolvedMask solved = solve_mask(blocks->request, given, {}, {.tile = blocks->block_size});
    return verdict_on(*blocks->request.declared, std::move(solved), {"blocks", blocks->block_size});
  }
  request.declared = applied_mask(request);
  std::vector<Neighbour> others;
  if (request.declared) {
    others = neighbours(*request.declared, call.steps ? &*call.steps : nullptr);
  }
  SolvedMask solved = solve_mask(request, given, others, options);
  Mask declared = request.declared ? *request.declared : full_like(solved.mask);
  return verdict_on(std::move(declared), std::move(solved));
}

namespace {

/// The text that says how a solved mask differs from the declared one, for a mask that explains all
/// rows.
std::string cause_text(const SolvedVerdict& solved) {
  constexpr std::string_view kStart = "B = A with ";
  if (solved.cause && solved.cause->text.starts_with(kStart)) {
    return "the declared one with " + solved.cause->text.substr(kStart.size());
  }
  if (solved.cause) return solved.cause->text;
  return fmt::format("{} closed and {} opened, the first at {}",
                     counted(solved.diff.only_a, "cell"), counted(solved.diff.only_b, "cell"),
                     cell_text(*solved.diff.first));
}

}  // namespace

std::string_view name(NextQuestion next) {
  static constexpr std::string_view kNames[] = {"none", "lighter-cells", "cells", "probe"};
  return kNames[static_cast<std::size_t>(next)];
}

namespace {

/// Whether the mask can be solved from these results.
bool can_solve(const JudgedCall& call, const NamedResults& given) {
  return has_solver() && call.request.operation->takes_mask() && given.contains("out");
}

/// Rows of NaN and rows of a call with other arguments give no equations for the mask.
NextQuestion next_question(const Judgement& judgement) {
  if (!judgement.nan_rows.empty()) return NextQuestion::kNone;
  switch (judgement.verdict) {
    case Verdict::kObeys:
      return judgement.least_cell < 1 ? NextQuestion::kLighterCells : NextQuestion::kCells;
    case Verdict::kUnclear:
    case Verdict::kPartly:
      return NextQuestion::kCells;
    case Verdict::kAnother:
      return judgement.in_part ? NextQuestion::kCells : NextQuestion::kNone;
    case Verdict::kOtherCall:
    case Verdict::kNone:
      break;
  }
  return NextQuestion::kNone;
}

}  // namespace

FullVerdict judge_fully(const JudgedCall& call, const NamedResults& given) {
  FullVerdict out{.report = judge_results(call, given)};
  Judgement& judgement = out.report.judgement;
  if (!can_solve(call, given)) return out;
  out.next = next_question(judgement);
  if (judgement.verdict != Verdict::kNone || !judgement.nan_rows.empty()) return out;
  const bool other_call = std::ranges::any_of(judgement.parts, [](const auto& part) {
    return part.array == "out" && part.judgement.verdict == Verdict::kOtherCall;
  });
  if (other_call) return out;  // which no mask explains
  constexpr double kMostWork = 2e10;
  NamedResults used{*given.find("out")};
  // An lse that shows a mistake of its own gives no equations for the mask.
  const bool lse_alone = std::ranges::any_of(judgement.parts, [](const auto& part) {
    return part.array == "lse" && part.judgement.verdict != Verdict::kNone &&
           part.judgement.verdict != Verdict::kAnother;
  });
  if (const auto lse = given.find("lse"); lse != given.end() && !lse_alone) used.insert(*lse);
  const bool few = !judgement.off_nearest.empty();
  const Mask* const nearest = judgement.nearest ? &*judgement.nearest : nullptr;
  try {
    out.solved = solve_results(call, used,
                               {.supposed = nearest,
                                .off = few ? &judgement.off_nearest : nullptr,
                                .most_work = kMostWork});
  } catch (const Error& error) {
    if (error.code() != Errc::kInvalidArgument) throw;
    out.not_solved = error.what();
    out.next = NextQuestion::kProbe;
    return out;
  }
  const bool explains =
      out.solved->verdict() == Verdict::kAnother && out.solved->solved.unsolved_rows == 0;
  if (!explains) {
    out.next = NextQuestion::kProbe;
    return out;
  }
  // Results that were not solved, such as gradients, keep verdicts of their own.
  judgement.verdict = Verdict::kAnother;
  judgement.text = cause_text(*out.solved);
  judgement.obeyed = out.solved->ruled ? *out.solved->ruled : out.solved->solved.mask;
  for (auto& [array, part] : judgement.parts) {
    if (!used.contains(array)) continue;
    part.verdict = Verdict::kAnother;
    part.text = judgement.text;
  }
  if (used.size() == given.size()) judgement.parts.clear();
  return out;
}

FullVerdict solve_fully(const JudgedCall& call, const NamedResults& given) {
  FullVerdict out;
  Judgement& judgement = out.report.judgement;
  try {
    out.solved = solve_results(call, given);
  } catch (const Error& error) {
    if (error.code() != Errc::kInvalidArgument) throw;
    out.not_solved = error.what();
    out.report = judge_results(call, given);
    if (judgement.verdict == Verdict::kNone || judgement.verdict == Verdict::kUnclear) throw;
    return out;
  }
  if (out.solved->verdict() == Verdict::kUnclear && out.solved->solved.unsolved_rows > 0) {
    // Rows that no set of keys explains may obey the declared mask in a call with other arguments,
    // such as one without a bias.
    GivenReport judged = judge_results(call, given);
    if (judged.judgement.verdict == Verdict::kOtherCall) {
      out.not_solved = to_text(*out.solved);
      out.solved.reset();
      out.report = std::move(judged);
      return out;
    }
  }
  out.only_solved = true;
  judgement.verdict = out.solved->verdict();
  judgement.text = to_text(*out.solved);
  judgement.obeyed = out.solved->solved.mask;
  return out;
}

}  // namespace maskctl::attention
