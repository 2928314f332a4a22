// Laws that hold for every step, tested with random arguments and shapes.
#include <random>
#include <set>

#include "maskctl/base/error.h"
#include "maskctl/inspect/diff/diff.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/bits.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/mask/steps/edits.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/pipeline/steps/bind.h"
#include "support/catch_compat.h"
#include "support/random_step.h"
#include "support/rounds.h"

namespace maskctl {
namespace {

constexpr int kDraws = 1000;

struct Drawn {
  Step step;
  Mask before, after;
  BindContext context;
};

Mask random_mask(std::mt19937_64& random, const MaskShape& shape) {
  Tensor dense(DType::kBool, {shape.batch, shape.heads, shape.queries, shape.keys});
  for (std::uint8_t& cell : dense.as<std::uint8_t>()) cell = random() % 2;
  return mask_from_dense(dense);
}

/// A random step of this kind, applied to a random mask; nothing if the step refuses the mask.
std::optional<Drawn> drawn(std::mt19937_64& random, const StepInfo& info) {
  const auto extent = [&](std::uint64_t most) { return static_cast<Index>(1 + random() % most); };
  MaskShape shape{extent(3), extent(2), extent(7), extent(7)};
  if (random() % 2 == 0) shape.keys = shape.queries;
  twin::StepMaker maker(random, shape);
  Drawn out{maker.step(info), random_mask(random, shape), {}, {}};
  out.context.read_array = [arrays = maker.arrays](const std::string& name) {
    return arrays.at(name);
  };
  out.context.read_mask = [masks = maker.masks](const std::string& name) { return masks.at(name); };
  try {
    out.after = apply(out.before, out.step);
  } catch (const Error&) {
    return std::nullopt;
  }
  return out;
}

/// Calls `law` for kDraws random steps of each kind that fit their mask.
template <typename Law>
void for_rules(std::span<const StepInfo> infos, const Law& law) {
  std::mt19937_64 random(20261124);
  REQUIRE_FALSE(infos.empty());
  for (const StepInfo& info : infos) {
    CAPTURE(info.name);
    int held = 0;
    const int draws = test::rounds(kDraws);
    for (int i = 0; i < 40 * draws && held < draws; ++i) {
      const auto one = drawn(random, info);
      if (!one) continue;
      CAPTURE(to_text({one->step}), shape_text(one->before));
      law(info, *one);
      ++held;
    }
    CHECK(held == draws);
  }
}

template <typename Law>
void for_all_rules(const Law& law) {
  for_rules(step_infos(), law);
  for_rules(call_step_infos(), law);
}

bool open_at(const Mask& mask, const Cell& cell) {
  return mask.plane(cell.batch, cell.head)
             ->count({cell.query, cell.query + 1}, {cell.key, cell.key + 1}) > 0;
}

template <typename F>
void for_all_cells(const Mask& mask, const F& f) {
  for (Cell cell; cell.batch < mask.batch(); ++cell.batch) {
    for (cell.head = 0; cell.head < mask.heads(); ++cell.head) {
      for (cell.query = 0; cell.query < mask.queries(); ++cell.query) {
        for (cell.key = 0; cell.key < mask.keys(); ++cell.key) f(cell);
      }
    }
  }
}

TEST_CASE("the text of a step is read back as the same step", "[laws]") {
  for_rules(step_infos(), [](const StepInfo& info, const Drawn& one) {
    const std::string text = to_text({one.step});
    const Chain chain = bind(parse(text), one.context);
    REQUIRE(chain.size() == 1);
    CHECK(info_of(chain.front()).name == info.name);
    CHECK(to_text(chain) == text);
    CHECK(chain.front() == one.step);
  });
}

TEST_CASE("the reason that a step gives for one cell is what it does to the mask", "[laws]") {
  for_all_rules([](const StepInfo& info, const Drawn& one) {
    if (info.chain) return;
    const MaskShape shape = shape_of(one.before);
    Index wrong = 0;
    for_all_cells(one.after, [&](const Cell& cell) {
      const Cell from = cell_before_step(one.step, shape, cell);
      const Verdict verdict =
          verdict_of(one.step, shape, asked_cell(one.step, shape, cell), open_at(one.before, from));
      wrong += verdict.after != open_at(one.after, cell);
      CHECK_FALSE(verdict.reason.empty());
    });
    CHECK(wrong == 0);
  });
}

TEST_CASE("the formula of a step gives its cells, or a reason why there is none", "[laws]") {
  for_all_rules([](const StepInfo&, const Drawn& one) {
    const RuleInfo& rule = one.step.row();
    const CellFormula formula = rule.formula(one.step);
    if (!formula.cells) {
      CHECK_FALSE(formula.missing.empty());
      return;
    }
    const MaskShape shape = shape_of(one.before);
    Index wrong = 0;
    for_all_cells(one.after, [&](const Cell& cell) {
      const bool holds = evaluate(*formula.cells, shape, cell) != 0;
      wrong += holds != rule.reason(one.step, shape, cell).holds;
    });
    CHECK(wrong == 0);
  });
}

TEST_CASE("the diagonal band that a step names has exactly its cells", "[laws]") {
  Index diagonals = 0;
  for_all_rules([&](const StepInfo&, const Drawn& one) {
    const MaskShape shape = shape_of(one.before);
    const RuleInfo& rule = one.step.row();
    const auto diagonal = rule.diagonal ? rule.diagonal(one.step, shape) : std::nullopt;
    if (!diagonal) return;
    const Mask band(diagonal_band(shape.queries, shape.keys, diagonal->low, diagonal->high));
    CHECK(differing_cells(rule.cells(one.step, shape), band) == 0);
    ++diagonals;
  });
  CHECK(diagonals > 0);
}

TEST_CASE("a step that only closes opens nothing, and one that only opens closes nothing",
          "[laws]") {
  for_all_rules([](const StepInfo& info, const Drawn& one) {
    if (one.step.row().cell_before || !one.after.cells()) return;
    const Mask opened = zip(Op::kSub, one.after, one.before);
    const Mask closed = zip(Op::kSub, one.before, one.after);
    const Meets how = one.step.row().meets(one.step);
    if (only_closes(one.step)) CHECK(opened.count() == 0);
    if (how == Meets::kOpens) CHECK(closed.count() == 0);
    if (info.kind == StepKind::kAnd) CHECK(only_closes(one.step));
    if (info.kind == StepKind::kOr) CHECK(how == Meets::kOpens);
  });
}

TEST_CASE("the values that a step calls idle change nothing", "[laws]") {
  Index idle_steps = 0;
  for_all_rules([&](const StepInfo& info, const Drawn& one) {
    const RuleInfo& rule = one.step.row();
    const auto idle = rule.idle ? rule.idle(one.step, shape_of(one.before)) : std::nullopt;
    if (!idle) return;
    CHECK(&info_of(*idle) == &info);
    CHECK(differing_cells(apply(one.before, *idle), one.before) == 0);
    ++idle_steps;
  });
  CHECK(idle_steps > 0);
}

/// The number of the document that the token belongs to, or -1.
Index document_of(std::span<const Index> lengths, Index token) {
  for (std::size_t n = 0; n < lengths.size(); token -= lengths[n++]) {
    if (token < lengths[n]) return static_cast<Index>(n);
  }
  return -1;
}
Index document_of(const Tensor& ids, Index pad_id, Index batch, Index token) {
  const Index id = element(ids, token_index(ids, batch, token));
  return id == pad_id ? -1 : id;
}

TEST_CASE("a step that defines documents opens no cell between two of them", "[laws]") {
  Index between = 0;
  for_all_rules([&](const StepInfo& info, const Drawn& one) {
    const auto documents = documents_in(one.step);
    if (!documents) return;
    Index wrong = 0;
    for_all_cells(one.after, [&](const Cell& cell) {
      const bool ids = documents->q_ids;
      const Index q =
          ids ? document_of(*documents->q_ids, documents->pad_id, cell.batch, cell.query)
              : document_of(documents->q_lengths, cell.query);
      const Index k = ids ? document_of(*documents->k_ids, documents->pad_id, cell.batch, cell.key)
                          : document_of(documents->k_lengths, cell.key);
      const bool inside = q == k && q != -1;
      wrong += !inside && open_at(one.after, cell);
      wrong += inside && !info.chain && open_at(one.before, cell) != open_at(one.after, cell);
      between += !inside;
    });
    CHECK(wrong == 0);
  });
  CHECK(between > 0);
}

TEST_CASE("every edit of a step gives another step", "[laws]") {
  std::set<std::string_view> varied;
  for_all_rules([&](const StepInfo& info, const Drawn& one) {
    StepEdits edits(one.before.queries(), one.before.keys());
    for (const StepEdit& edit : edits.of(one.step)) {
      CHECK_FALSE(edit.text.empty());
      CHECK_FALSE(edit.step == one.step);
      varied.insert(info.name);
    }
  });
  for (const char* name : {"window", "doc", "within", "heads", "tokens", "global", "positions"}) {
    CHECK(varied.contains(name));
  }
  for (const char* name : {"open", "close", "and", "random", "slice"}) {
    CHECK_FALSE(varied.contains(name));
  }
}

TEST_CASE("each argument that is given costs bits, one that is left out costs none", "[laws]") {
  constexpr Index kNumber = 9;
  const auto bits = [](std::string_view text) {
    const Chain chain = bind(parse(text), {});
    const Step& step = chain.front();
    const ArgumentBits of(step, kNumber);
    return step.row().bits ? step.row().bits(step, of) : of.arguments();
  };
  CHECK(bits("causal") == 0);
  CHECK(bits("causal:align=bottom-right") == 0);  // alignment costs no bits
  CHECK(bits("causal:offset=3") == kNumber + 1);
  CHECK(bits("causal:offset=3+4") == 2 * (kNumber + 1));
  CHECK(bits("prefix:n=5") == kNumber);
  CHECK(bits("pad:lens=5") == kNumber + 1);
  CHECK(bits("pad:lens=5,side=left,of=both") == kNumber + 3);
  CHECK(bits("global:tokens=3+5-9") == 3 * kNumber);
  CHECK(bits("window:keys=1") == 2);
  CHECK(bits("window:left=3,right=0") == kNumber + 2);
  CHECK(bits("open:q=3-5,k=3-5") == bits("open:q=3-5"));
  CHECK(bits("doc:lens=3+5") < bits("within:lens=3+5{causal}"));
}

/// True if `words` name the argument that has changed, or use the word that the step has for it.
bool names(const std::string& words, const StepInfo& info, const Field& field) {
  static const std::map<std::string_view, std::string_view> kOwnWords{
      {"doc", "document"}, {"pad", "pad"}, {"block", "block"}, {"tokens", "token types"}};
  const auto own = kOwnWords.find(info.name);
  return words.find(field.name) != std::string::npos ||
         (own != kOwnWords.end() && words.find(own->second) != std::string::npos);
}

TEST_CASE("diff of two known steps names the argument that differs", "[laws]") {
  std::mt19937_64 random(20261125);
  for_all_rules([&](const StepInfo& info, const Drawn& one) {
    const MaskShape shape = shape_of(one.before);
    twin::StepMaker maker(random, shape);
    for (const Field& field : info.args) {
      const auto other = maker.changed(one.step, field);
      if (!other || &info_of(*other) != &info) continue;
      const Mask full = full_mask(shape.batch, shape.heads, shape.queries, shape.keys);
      std::optional<Mask> a, b;
      try {
        a = apply(full, one.step);
        b = apply(full, *other);
      } catch (const Error&) {
        continue;
      }
      if (!same_shape(*a, *b) || differing_cells(*a, *b) == 0) continue;
      const auto cause =
          diff_cause(*a, *b, diff(*a, *b), KnownChains{Chain{one.step}, Chain{*other}});
      REQUIRE(cause);
      CAPTURE(to_text({*other}), cause->text);
      CHECK(names(cause->text, info, field));
    }
  });
}

}  // namespace
}  // namespace maskctl
