// Findings in steps: what each does to the mask made by the steps before it.
#include <fmt/format.h>

#include "maskctl/base/text.h"
#include "maskctl/inspect/check/lint.h"
#include "maskctl/inspect/count/row_safety.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/mask/steps/window.h"

namespace maskctl {

LintRule lint_row(RuleKey<FindingId::kStepNoOp>) {
  return {.id = "step-no-op",
          .severity = Severity::kWarning,
          .summary = "a step changes nothing",
          .claim = "the mask is the same before and after the step",
          .why = "what it was meant to close or open already is, or its arguments miss the mask",
          .fix = "remove it, or correct its arguments; maskctl ops NAME says what it does",
          .example = "maskctl check gen:causal:n=6 -t causal"};
}

LintRule lint_row(RuleKey<FindingId::kStepReopens>) {
  return {.id = "step-reopens",
          .severity = Severity::kWarning,
          .summary = "a step reopens what documents or padding closed",
          .claim =
              "that many cells were closed by the step of documents or padding, and are opened by "
              "the later one",
          .why =
              "a union after documents joins them again: tokens of one type in two documents see "
              "each other",
          .fix = "open first, close documents and padding last",
          .example = "maskctl check gen:full:n=6 -t 'doc:lens=2+4 | prefix:n=3'",
          .beside = {LintRule::Beside::kNamesReopening}};
}

LintRule lint_row(RuleKey<FindingId::kStepReopensOrder>) {
  return {
      .id = "step-reopens-order",
      .severity = Severity::kNote,
      .summary = "a step reopens what a causal, window or other step closed",
      .claim = "that many cells were closed by the earlier step, and are opened by the later one",
      .why =
          "meant where a step names what must stay open, as prefixes, sinks and global tokens do; "
          "not meant when the order was a mistake",
      .fix = "move the step in front of the one that closes, if the cells should stay closed",
      .example = "maskctl check gen:causal:n=8 -t 'window:keys=2 | sinks:n=2'"};
}

LintRule lint_row(RuleKey<FindingId::kWindowZero>) {
  return {.id = "window-zero",
          .severity = Severity::kWarning,
          .summary = "a window of 0 keys on both sides",
          .claim = "the step leaves each query its own key at most",
          .why =
              "each query sees itself only; the Triton kernels of ejkernel take (0, 0) as no "
              "window at all, XLA applies it",
          .fix = "write window:keys=1 if meant, or leave the window out",
          .example = "maskctl check gen:causal:n=12 -t window:both=0"};
}

namespace {

/// Each step is compared with at most this many earlier steps that closed cells, to find cells that
/// it reopens.
constexpr std::size_t kMostPairs = 64;

bool closes_documents(const Step& step) { return step.row().reopening == Reopening::kLeak; }

/// True for steps whose purpose is to close open cells and to open closed ones.
bool turns_over(const Step& step) { return step.row().meets(step) == Meets::kFlips; }

/// True for steps that move cells to other indices.
bool moves_cells(const Step& step) {
  const RuleInfo& rule = step.row();
  return rule.cell_before && rule.meets(step) == Meets::kOwn;
}

bool is_zero_window(const Step& step) {
  const auto* window = step.get_if<step::Window>();
  return window && window->left == Index{0} && window->right == Index{0} &&
         window->spelling != step::Window::Spelling::kKeys;
}

bool broadcasts(const Mask& a, const Mask& b) {
  const auto fits = [](Index x, Index y) { return x == y || x == 1 || y == 1; };
  return a.queries() == b.queries() && a.keys() == b.keys() && fits(a.batch(), b.batch()) &&
         fits(a.heads(), b.heads());
}

Location step_at(std::size_t number) {
  Location where;
  where.step = static_cast<Index>(number) + 1;
  return where;
}

class ChainLint {
 public:
  ChainLint(const Chain& chain, std::span<const std::string> texts)
      : chain_(chain), texts_(texts) {}

  ChainFindings run(Mask mask) {
    for (std::size_t i = 0; i < chain_.size(); ++i) {
      if (is_zero_window(chain_[i])) {
        out_.push_back({&lint_rule(FindingId::kWindowZero), fmt::format("{}: (0, 0)", texts_[i]),
                        step_at(i), 1});
      }
      Mask next = apply(mask, chain_[i]);
      compare(i, mask, next);
      mask = std::move(next);
    }
    return {std::move(out_), std::move(reopened_), std::move(mask), opened_};
  }

 private:
  /// A step that closed cells, and the masks before and after it. Which cells it closed is computed
  /// only when a later step opens some.
  struct Closed {
    std::size_t step;
    Mask before, after;
  };

  void compare(std::size_t i, const Mask& before, const Mask& after) {
    if (moves_cells(chain_[i]) || !broadcasts(before, after)) {
      closed_.clear();  // from here on cells have other indices
      reopened_.clear();
      opened_ = true;
      return;
    }
    const Index times =
        after.batch() * after.heads() / std::max<Index>(before.batch() * before.heads(), 1);
    const Index cells_before = before.count() * times, cells_after = after.count();
    const Mask opened = only_closes(chain_[i]) ? Mask() : zip(Op::kSub, after, before);
    const Index cells_opened = opened.count();
    const bool closes = cells_after - cells_opened < cells_before;
    if (!closes && cells_opened == 0) {
      out_.push_back({&lint_rule(FindingId::kStepNoOp),
                      fmt::format("{}: no cell changes", texts_[i]), step_at(i), 0});
      return;
    }
    opened_ = opened_ || cells_opened > 0;
    if (cells_opened > 0 && !turns_over(chain_[i])) find_reopened(i, opened);
    if (closes && !turns_over(chain_[i]) && closed_.size() < kMostPairs) {
      closed_.push_back({i, before, after});
    }
  }

  void find_reopened(std::size_t i, const Mask& opened) {
    for (const Closed& earlier : closed_) {
      Mask reopened = zip(Op::kAnd, opened, zip(Op::kSub, earlier.before, earlier.after));
      const Index cells = reopened.count();
      if (cells == 0) continue;
      Location where = step_at(i);
      const auto at = first_cell(reopened);
      where.batch = at->batch;
      where.head = at->head;
      where.query = at->query;
      where.key = at->key;
      const bool documents = closes_documents(chain_[earlier.step]);
      out_.push_back(
          {&lint_rule(documents ? FindingId::kStepReopens : FindingId::kStepReopensOrder),
           fmt::format("{} reopens {} that {} (step {}) closed", texts_[i], counted(cells, "cell"),
                       texts_[earlier.step], earlier.step + 1),
           where, cells});
      reopened_.push_back({out_.size() - 1, std::move(reopened)});
    }
  }

  const Chain& chain_;
  std::span<const std::string> texts_;
  std::vector<Closed> closed_;
  std::vector<Reopened> reopened_;
  bool opened_ = false;
  Findings out_;
};

}  // namespace

ChainFindings lint_chain(Mask mask, const Chain& chain, std::span<const std::string> texts) {
  return ChainLint(chain, texts).run(std::move(mask));
}

}  // namespace maskctl
