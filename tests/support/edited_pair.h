// Makes a random mask and an edited copy: numbers of its steps are changed, and cells, rows,
// columns or rectangles are flipped. Judges whether `diff` explains the difference truly and fully.
#pragma once

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "maskctl/base/error.h"
#include "maskctl/inspect/diff/diff.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/chunk.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/first_keys.h"
#include "maskctl/mask/steps/global.h"
#include "maskctl/mask/steps/pad.h"
#include "maskctl/mask/steps/region.h"
#include "maskctl/mask/steps/window.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::twin {

struct EditedPair {
  Mask a, b;
  // Steps that make the edited plane before and after the edit, without its flipped cells.
  Chain before, after;
  std::vector<std::string> moved;  // names of steps whose changed number shows in the mask
  Index cells = 0;                 // how many cells were flipped one by one
  std::string what;
};

/// Whether an explanation of the difference between two masks is right.
struct Verdict {
  bool is_true = true;   // the explanation leaves exactly those cells unexplained that it says
  bool small = true;     // the explanation leaves no more cells unexplained than were flipped
  bool complete = true;  // the explanation names each step whose number was changed
};

/// True if `residue` counts the cells in which the two masks differ, and each cell that it lists is
/// one of them.
inline bool holds(const Mask& mask, const Mask& given, const Residue& residue) {
  const Mask differ = zip(Op::kXor, mask, given);
  if (differ.count() != residue.cells) return false;
  if (static_cast<Index>(residue.first.size()) !=
      std::min<Index>(residue.cells, Residue::kListed)) {
    return false;
  }
  return std::ranges::all_of(residue.first, [&](const Cell& cell) {
    return differ.plane(cell.batch, cell.head)
               ->count({cell.query, cell.query + 1}, {cell.key, cell.key + 1}) == 1;
  });
}

inline Verdict judged(const EditedPair& pair, const std::optional<DiffCause>& cause) {
  Verdict out;
  if (!cause) return {pair.a.count() == pair.b.count(), true, pair.moved.empty()};
  const Mask edited = maskctl::apply(pair.a, cause->edit);
  out.is_true = holds(pair.b, edited, cause->edit_residue);
  if (cause->by_pipelines) {
    const Mask full = full_like(pair.a);
    out.is_true = out.is_true &&
                  holds(pair.a, maskctl::apply(full, cause->pipeline_a), cause->residue_a) &&
                  holds(pair.b, maskctl::apply(full, cause->pipeline_b), cause->residue_b);
  }
  const Index residue = cause->by_pipelines ? cause->residue_a.cells + cause->residue_b.cells
                                            : cause->edit_residue.cells;
  out.small = residue <= pair.cells;
  for (const std::string& word : pair.moved) {
    out.complete = out.complete && cause->text.find(word) != std::string::npos;
  }
  return out;
}

class Editor {
 public:
  explicit Editor(std::uint64_t seed) : random_(seed) {}

  EditedPair draw() {
    for (;;) {
      out_ = {};
      const bool large = number(0, 39) == 0;
      queries_ = keys_ = large ? Index{1} << 20 : number(16, 512);
      if (!large && number(0, 4) == 0) keys_ = queries_ + number(1, 200);
      try {
        if (make(large)) return out_;
      } catch (const Error&) {
        continue;  // a changed number was out of range
      }
    }
  }

 private:
  Index number(Index low, Index high) {
    return std::uniform_int_distribution<Index>(low, std::max(low, high))(random_);
  }
  bool coin() { return number(0, 1) == 1; }
  Align align() {
    if (queries_ == keys_) return Align::kUnset;
    return coin() ? Align::kTopLeft : Align::kBottomRight;
  }

  static NamedArray one(Index value) {
    NamedArray out{Tensor(DType::kInt64, {1}), ""};
    out.array.as<std::int64_t>().front() = value;
    return out;
  }

  Step documents() {
    step::DocumentLengths rule;
    const Index parts = number(2, 6);
    Index left = keys_;
    for (Index i = 0; i < parts && left > 8; ++i) {
      const Index length = i + 1 == parts ? left : number(4, std::max<Index>(left / 2, 4));
      rule.lengths.push_back(length);
      left -= length;
    }
    if (left > 0 && coin()) rule.lengths.push_back(left);
    return {rule};
  }
  Step window() {
    step::Window rule;
    rule.align = align();
    rule.left = number(2, std::max<Index>(keys_ / 3, 3));
    rule.right = coin() ? 0 : number(0, std::max<Index>(keys_ / 4, 1));
    return {rule};
  }
  Step pad() {
    step::Pad rule;
    rule.is_lengths = true;
    rule.left = coin();
    rule.valid = one(number(keys_ / 2, keys_ - 2));
    return {rule};
  }
  Step causal() { return {step::Causal{align(), {}}}; }

  /// Draws the steps of a mask as training and serving stacks use them.
  Chain base() {
    Chain chain;
    const auto then = [&](Step step) { chain.push_back(std::move(step)); };
    switch (number(0, 11)) {
      case 0:
        then(causal());
        break;
      case 1:
        then(window());
        break;
      case 2:
        then(documents());
        break;
      case 3:
        then(documents());
        then(causal());
        break;
      case 4:
        then({step::Chunk{number(4, keys_ / 2), 0}});
        then(causal());
        break;
      case 5:
        then(causal());
        then({step::Prefix{number(2, keys_ / 2)}});
        break;
      case 6:
        then(window());
        then({step::Sinks{number(1, 6)}});
        then(causal());
        break;
      case 7:
        then(window());
        then({step::Global{{global_token()}}});
        break;
      case 8:
        then(pad());
        then(causal());
        break;
      case 9:
        then(documents());
        then(window());
        break;
      case 10:
        then(pad());
        then(window());
        break;
      default:
        then(documents());
        then(window());
        then(causal());
        break;
    }
    return chain;
  }
  Range global_token() {
    const Index begin = number(0, queries_ - 4);
    return {begin, begin + number(1, 3)};
  }

  /// Changes a number of the step and returns words that name it; nothing where the step has no
  /// such number.
  std::optional<std::string> move(Step& step) {
    const Index by = (coin() ? 1 : -1) * (coin() ? 1 : number(1, std::max<Index>(keys_ / 16, 1)));
    if (auto* rule = step.get_if<step::Window>()) {
      if (coin() && *rule->right + by >= 0) {
        *rule->right += by;
        return "window right";
      }
      *rule->left = std::max<Index>(*rule->left + by, 0);
      return "window left";
    }
    if (auto* rule = step.get_if<step::Causal>()) {
      rule->offsets = one(by);
      return "causal offset";
    }
    if (auto* rule = step.get_if<step::Chunk>()) {
      rule->size = std::max<Index>(rule->size + by, 2);
      return "chunk size";
    }
    if (auto* rule = step.get_if<step::Prefix>()) {
      rule->n = std::max<Index>(rule->n + by, 1);
      return "prefix";
    }
    if (auto* rule = step.get_if<step::Sinks>()) {
      rule->n += rule->n > 1 ? -1 : 1;
      return "sinks";
    }
    if (auto* rule = step.get_if<step::Global>()) {
      rule->tokens.front().end += 1;
      return "global";
    }
    if (auto* rule = step.get_if<step::Pad>()) {
      rule->valid = one(as_int64(rule->valid.array, "lengths").front() + by);
      return "padding";
    }
    if (auto* rule = step.get_if<step::DocumentLengths>()) return edit(*rule);
    return std::nullopt;
  }
  std::optional<std::string> edit(step::DocumentLengths& rule) {
    const std::size_t at = static_cast<std::size_t>(number(0, std::ssize(rule.lengths) - 1));
    const Index way = number(0, 2);
    if (way == 0 && at + 1 < rule.lengths.size()) {
      const Index by = number(1, std::min(rule.lengths[at], rule.lengths[at + 1]) - 1);
      rule.lengths[at] += by;
      rule.lengths[at + 1] -= by;
    } else if (way == 1 && at + 1 < rule.lengths.size()) {
      rule.lengths[at] += rule.lengths[at + 1];
      rule.lengths.erase(rule.lengths.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    } else {
      const Index first = number(1, rule.lengths[at] - 1);
      rule.lengths[at] -= first;
      rule.lengths.insert(rule.lengths.begin() + static_cast<std::ptrdiff_t>(at), first);
    }
    return "document";
  }

  PlanePtr made(const Chain& chain) const {
    return maskctl::apply(Mask(full_plane(queries_, keys_)), chain).plane(0, 0);
  }
  static bool equal(const PlanePtr& a, const PlanePtr& b) {
    return combine(Op::kXor, a, b)->count() == 0;
  }

  bool make(bool large) {
    out_.before = out_.after = base();
    PlanePtr a = made(out_.before), b = a;
    for (Index moves = number(0, 3); moves > 0; --moves) {
      Step& step = out_.after[static_cast<std::size_t>(number(0, std::ssize(out_.after) - 1))];
      const Step was = step;
      const auto word = move(step);
      const PlanePtr moved = made(out_.after);
      if (!word || equal(moved, b)) {
        step = was;
        continue;
      }
      b = moved;
      out_.what += *word + " ";
    }
    name_moves(b);
    if (number(0, 2) == 0) b = region(b);
    if (coin()) b = cells(b, large ? 3 : 8);
    if (equal(a, b) || a->count() == 0) return false;
    spread(a, b);
    return true;
  }

  /// Notes the names of steps that the edit changed, if undoing the change alone changes the mask.
  void name_moves(const PlanePtr& b) {
    for (std::size_t i = 0; i < out_.before.size(); ++i) {
      if (out_.before[i] == out_.after[i]) continue;
      Chain without = out_.after;
      without[i] = out_.before[i];
      if (equal(made(without), b)) continue;
      out_.moved.push_back(word_of(out_.before[i]));
    }
  }
  static std::string word_of(const Step& a) {
    if (a.is<step::Window>()) return "window";
    if (a.is<step::Causal>()) return "causal";
    if (a.is<step::Chunk>()) return "chunk";
    if (a.is<step::Prefix>()) return "prefix";
    if (a.is<step::Sinks>()) return "sinks";
    if (a.is<step::Global>()) return "global";
    if (a.is<step::Pad>()) return "pad";
    return "document";
  }

  Range part(Index extent) {
    const Index begin = number(0, extent - 2);
    return {begin,
            begin + number(1, std::min<Index>(extent - begin, std::max<Index>(extent / 4, 2)))};
  }
  /// Opens or closes a random row, column or rectangle.
  PlanePtr region(const PlanePtr& b) {
    step::Region rule{number(0, 3) == 0, {}, {}};
    const Index way = number(0, 2);
    if (way != 1) rule.q = {way == 0 ? one_of(queries_) : part(queries_)};
    if (way != 0) rule.k = {way == 1 ? one_of(keys_) : part(keys_)};
    const PlanePtr out = maskctl::apply(Mask(b), Step{rule}).plane(0, 0);
    if (out->count() == 0) return b;
    if (!equal(out, b)) out_.what += "region ";
    return out;
  }
  Range one_of(Index extent) {
    const Index at = number(0, extent - 1);
    return {at, at + 1};
  }
  PlanePtr cells(PlanePtr b, Index most) {
    out_.cells = number(1, most);
    for (Index n = 0; n < out_.cells; ++n) {
      const PlanePtr cell = rectangle(queries_, keys_, one_of(queries_), one_of(keys_));
      b = combine(Op::kXor, b, cell);
    }
    out_.what += "cells ";
    return b;
  }

  /// Makes both masks of several batches and heads: all have plane a, and one or all have b after
  /// the edit.
  void spread(const PlanePtr& a, const PlanePtr& b) {
    const Index batch = number(0, 3) == 0 ? number(1, 4) : 1;
    const Index heads = number(0, 3) == 0 ? number(1, 4) : 1;
    const Index at = number(0, batch * heads - 1);
    const bool all = number(0, 2) == 0;
    out_.a = Mask::make(batch, heads, queries_, keys_, [&](Index, Index) { return a; });
    out_.b = Mask::make(batch, heads, queries_, keys_,
                        [&](Index n, Index h) { return all || n * heads + h == at ? b : a; });
    if (all) out_.cells *= batch * heads;
  }

  std::mt19937_64 random_;
  Index queries_ = 0, keys_ = 0;
  EditedPair out_;
};

}  // namespace maskctl::twin
