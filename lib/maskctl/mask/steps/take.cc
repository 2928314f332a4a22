#include "maskctl/mask/steps/take.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "maskctl/base/work_scope.h"
#include "maskctl/mask/planes/computed_rows.h"
#include "maskctl/mask/steps/edits.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::step {
namespace {

using View = std::span<const std::int32_t>;

/// Row i is row q[i] of `base` with its keys kv. Computed when read: a row costs O(ascents * runs *
/// log K), where an ascent is a range of `kv` that never decreases, such as the tokens of a rank.
class TakenPlane final : public Plane {
 public:
  TakenPlane(PlanePtr base, View q, View kv)
      : Plane(std::ssize(q), std::ssize(kv)),
        base_(std::move(base)),
        q_(q.begin(), q.end()),
        kv_(kv.begin(), kv.end()) {
    for (Iterator first = kv_.cbegin(); first != kv_.cend(); first = ascents_.back()) {
      ascents_.push_back(std::is_sorted_until(first, kv_.cend()));
    }
  }

  void rows(Range rows, const RowSink& sink) const override {
    std::vector<Run> runs;
    const StopPoll poll;
    for (Index i = rows.begin; i < rows.end;) {
      // Rows that follow each other in both planes are asked for together.
      Index end = i + 1;
      while (end < rows.end && q_[as_size(end)] == q_[as_size(end - 1)] + 1) ++end;
      const Index shift = i - q_[as_size(i)];
      base_->rows({i - shift, end - shift}, [&](Range equal, const Keys& keys) {
        poll();
        runs.clear();
        take(keys, runs);
        sink({equal.begin + shift, equal.end + shift}, {runs, {}});
      });
      i = end;
    }
  }
  bool computed() const override { return true; }
  Index bytes() const override {
    return base_->bytes() +
           static_cast<Index>(sizeof(*this) + (q_.size() + kv_.size()) * sizeof(std::int32_t) +
                              ascents_.size() * sizeof(Iterator));
  }

 private:
  using Iterator = std::vector<std::int32_t>::const_iterator;

  void take(const Keys& keys, std::vector<Run>& runs) const {
    if (keys.is_words()) {
      for (std::int32_t i = 0; i < static_cast<std::int32_t>(this->keys()); ++i) {
        const auto key = static_cast<std::uint32_t>(kv_[as_size(i)]);
        if (keys.words[key / 64] >> (key % 64) & 1) append_run({i, i + 1}, runs);
      }
      return;
    }
    Iterator first = kv_.begin();
    for (const Iterator last : ascents_) {
      Iterator at = first;
      for (const Run& run : keys.runs) {
        const Iterator begin = std::lower_bound(at, last, run.begin);
        at = std::lower_bound(begin, last, run.end);
        append_run({static_cast<std::int32_t>(begin - kv_.begin()),
                    static_cast<std::int32_t>(at - kv_.begin())},
                   runs);
        if (at == last) break;
      }
      first = last;
    }
  }

  PlanePtr base_;
  std::vector<std::int32_t> q_, kv_;
  std::vector<Iterator> ascents_;  // the end of each ascent
};

/// The indices of each batch entry: all of them where the step names none.
struct Indices {
  std::vector<std::int32_t> all;
  Index batch = 1, length = 0;

  View of(Index b) const {
    return View(all).subspan(as_size(batch == 1 ? 0 : b * length), as_size(length));
  }
};

Indices indices_of(const NamedArray& given, Index extent, const char* side) {
  Indices out;
  if (given.text.empty() && given.empty()) {
    out.length = extent;
    for (Index i = 0; i < extent; ++i) out.all.push_back(static_cast<std::int32_t>(i));
    return out;
  }
  const Tensor& array = given.array;
  if (array.rank() != 1 && array.rank() != 2) {
    refuse("take", fmt::format("indices of {} are {}: expected [S] or [B,S]", side,
                               shape_text(array.shape())));
  }
  const auto numbers = as_int32(array, "indices");
  out.all.assign(numbers.begin(), numbers.end());
  out.batch = array.rank() == 2 ? array.extent(0) : 1;
  out.length = array.extent(array.rank() - 1);
  const auto outside = std::ranges::find_if(
      out.all, [extent](std::int32_t index) { return index < 0 || index >= extent; });
  if (outside != out.all.end()) {
    refuse("take", fmt::format("index {} is {}: expected one of the {}, 0 to {}. Slots that hold "
                               "nothing take any of them and are closed by pad",
                               outside - out.all.begin(), *outside, side, extent - 1));
  }
  return out;
}

}  // namespace

Meets meets(const Take&) { return Meets::kOwn; }

Mask apply_rule(const Take& rule, const Mask& mask) {
  const Indices q = indices_of(rule.q, mask.queries(), "queries");
  const Indices kv = indices_of(rule.kv, mask.keys(), "keys");
  Index batch = mask.batch();
  for (const Index other : {q.batch, kv.batch}) {
    if (other != 1 && batch != 1 && other != batch) {
      refuse("take", fmt::format("indices of {} batch entries meet {}", other, batch));
    }
    batch = std::max(batch, other);
  }
  return Mask::make(batch, mask.heads(), q.length, kv.length, [&](Index b, Index h) {
    return std::make_shared<TakenPlane>(mask.plane(mask.batch() == 1 ? 0 : b, h), q.of(b),
                                        kv.of(b));
  });
}

PairReason reason(const Take&, const MaskShape&, const Cell& cell) {
  return {true, fmt::format("it was query {} and key {}", cell.query, cell.key)};
}

Cell cell_before(const Take& rule, const MaskShape&, const Cell& cell) {
  const auto index = [&](const NamedArray& given, Index i) {
    return given.empty() ? i : element(given.array, token_index(given.array, cell.batch, i));
  };
  return {cell.batch, cell.head, index(rule.q, cell.query), index(rule.kv, cell.key)};
}

CellFormula formula(const Take&) { return no_formula("it moves cells to other indices"); }

/// Adds no edits (steps that may have been meant instead): other indices are another mask.
void edits(const Take&, StepEdits&) {}

namespace {

template <auto Member>
constexpr Field take_field(std::string_view name, std::string_view help) {
  return fields::of<Member>(
      {.name = name, .type = FieldType::kSource, .help = help, .group = 1, .stem = "indices"});
}

constexpr std::array kTakeFields = {
    take_field<&Take::q>("q", "the query that each row was, [S] or [B,S]"),
    take_field<&Take::kv>("kv", "the key that each column was, [S] or [B,S]")};

constexpr std::array kTakeNames = {
    StepInfo{.name = "take",
             .kind = StepKind::kOwn,
             .meaning = "takes queries and keys by index: ranks, slots, pages, evicted caches",
             .formula = "mask[b, h, q_index[q], kv_index[k]]",
             .example = "take:q=rank.npy,kv=rank.npy",
             .args = kTakeFields,
             .synonyms = "gather permute reorder index zigzag striped",
             .make = blank<Take>}};
constexpr RuleInfo kTakeRow = describe<Take>(kTakeNames, Reopening::kHarmless, Declares::kPadding);

}  // namespace

const RuleInfo& row(const Take*) { return kTakeRow; }

}  // namespace maskctl::step
