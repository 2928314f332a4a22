// Makes batches of documents that have their own numbers of queries and keys (decoding, prefill
// after a cache, full prefill), and the same with one bug: a document border moved, another window,
// no causal rule, the other alignment, or single cells flipped.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "maskctl/inspect/diff/diff.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/mask/steps/window.h"
#include "maskctl/mask/steps/within.h"
#include "odd_masks.h"

namespace maskctl::twin {

struct RaggedPair {
  Mask sound, wrong;
  Chain chain;  // steps of the faulty plane before it got its fault
  // How many steps describe the sound mask: the documents of each batch entry, and steps inside.
  Index steps = 0;
  Index cells = 0;        // how many cells differ
  bool by_cells = false;  // the bug is flipped cells
  // A cause must contain one of these words.
  std::vector<std::string> words;
  std::string text;
};

class RaggedMaker {
 public:
  /// Makes at most `most` documents with at most `longest` queries each.
  explicit RaggedMaker(std::uint64_t seed, Index most = 40, Index longest = 40)
      : random_(seed), most_(most), longest_(longest) {}

  RaggedPair draw() {
    for (;;) {
      RaggedPair out = make();
      if (out.cells > 0) return out;
    }
  }

 private:
  Index number(Index low, Index high) {
    return std::uniform_int_distribution<Index>(low, std::max(low, high))(random_);
  }
  bool coin() { return number(0, 1) == 1; }

  step::Within documents(Index count, Index longest) {
    step::Within rule;
    for (Index i = 0; i < count; ++i) {
      const Index kind = number(0, 2), own = kind == 0 ? 1 : number(2, longest);
      rule.lengths.push_back(own);
      rule.kv_lengths.push_back(kind == 2 ? own : own + number(1, 2 * longest));
    }
    return rule;
  }
  /// Draws the steps inside each document: all open, a window or causal, aligned at the last
  /// tokens.
  Chain inside(Index longest) {
    const Align align = Align::kBottomRight;
    step::Window window;
    window.align = align;
    window.left = number(1, longest);
    window.right = 0;
    switch (number(0, 5)) {
      case 0:
        return {};
      case 1:
        return {{window}};
      case 2:
        window.right = number(0, 1) == 0 ? *window.left : number(1, 6);
        return {{window}};
      default:
        return {{step::Causal{align, {}}}};
    }
  }
  static Index sum(const std::vector<Index>& lengths) {
    Index out = 0;
    for (const Index length : lengths) out += length;
    return out;
  }

  /// Puts one bug into the documents; false where these documents cannot have the drawn bug.
  bool spoil(step::Within& rule, RaggedPair& out) {
    switch (number(0, 6)) {
      case 0:
        out.words = {"document", "chunk size"};
        return move_border(rule);
      case 1: {
        out.words = {"window left"};
        auto* window = rule.chain.empty() ? nullptr : rule.chain[0].get_if<step::Window>();
        if (window) *window->left += coin() ? 1 : number(2, 9);
        return window != nullptr;
      }
      case 2:
        out.words = {"causal"};
        return drop<step::Causal>(rule);
      case 3:
        out.words = {"alignment"};
        if (rule.chain.empty()) return false;
        // If only one document has more keys than queries, fewer keys are an explanation as good as
        // another alignment.
        if (ragged(rule) == 1) out.words.push_back("keys instead of");
        if (auto* causal = rule.chain[0].get_if<step::Causal>()) {
          causal->align = Align::kTopLeft;
        } else {
          rule.chain[0].as<step::Window>().align = Align::kTopLeft;
        }
        return true;
      case 4:
        out.words = {"document", "chunk size"};
        return merge(rule);
      default:
        out.by_cells = true;
        return true;
    }
  }
  template <typename Rule>
  static bool drop(step::Within& rule) {
    if (rule.chain.empty() || !rule.chain[0].is<Rule>()) return false;
    rule.chain.clear();
    return true;
  }
  static Index ragged(const step::Within& rule) {
    Index out = 0;
    for (std::size_t i = 0; i < rule.lengths.size(); ++i) {
      out += rule.lengths[i] != rule.kv_lengths[i];
    }
    return out;
  }
  bool move_border(step::Within& rule) {
    const auto at = static_cast<std::size_t>(number(0, std::ssize(rule.lengths) - 2));
    const Index way = number(0, 2), by = coin() ? 1 : -1;
    for (auto* lengths : {&rule.lengths, &rule.kv_lengths}) {
      if (way == (lengths == &rule.lengths ? 1 : 0)) continue;
      (*lengths)[at] += by;
      (*lengths)[at + 1] -= by;
      if (std::min((*lengths)[at], (*lengths)[at + 1]) < 1) return false;
    }
    return true;
  }
  bool merge(step::Within& rule) {
    const auto at = number(0, std::ssize(rule.lengths) - 2);
    for (auto* lengths : {&rule.lengths, &rule.kv_lengths}) {
      (*lengths)[static_cast<std::size_t>(at)] += (*lengths)[static_cast<std::size_t>(at) + 1];
      lengths->erase(lengths->begin() + at + 1);
    }
    return true;
  }

  PlanePtr flipped(PlanePtr plane) {
    for (Index n = number(1, 2); n > 0; --n) {
      const Index q = number(0, plane->queries() - 1), k = number(0, plane->keys() - 1);
      plane = combine(Op::kXor, plane,
                      rectangle(plane->queries(), plane->keys(), {q, q + 1}, {k, k + 1}));
    }
    return plane;
  }

  RaggedPair make() {
    RaggedPair out;
    const Index batch = number(0, 3) == 0 ? number(2, 3) : 1, heads = number(0, 3) == 0 ? 2 : 1;
    const Index longest = coin() ? number(3, std::min<Index>(longest_, 12)) : number(8, longest_);
    const Chain chain = inside(longest);
    std::vector<step::Within> rules;
    Index queries = 0, keys = 0;
    for (Index b = 0; b < batch; ++b) {
      rules.push_back(documents(number(2, coin() ? std::min<Index>(most_, 6) : most_), longest));
      rules.back().chain = chain;
      queries = std::max(queries, sum(rules.back().lengths));
      keys = std::max(keys, sum(rules.back().kv_lengths));
      out.steps += 1 + std::ssize(chain);
    }
    const auto plane_of = [&](const step::Within& rule) {
      return maskctl::apply(Mask(full_plane(queries, keys)), Chain{{rule}}).plane(0, 0);
    };
    const Index at = number(0, batch - 1), head = heads == 1 || coin() ? -1 : 0;
    step::Within wrong = rules[static_cast<std::size_t>(at)];
    out.chain = {{wrong}};
    if (!spoil(wrong, out)) return out;
    std::vector<PlanePtr> planes;
    for (const step::Within& rule : rules) planes.push_back(plane_of(rule));
    const PlanePtr sound = planes[static_cast<std::size_t>(at)];
    const PlanePtr bad = out.by_cells ? flipped(sound) : plane_of(wrong);
    const auto mask = [&](const PlanePtr& one) {
      return Mask::make(batch, heads, queries, keys, [&](Index b, Index h) {
        return b == at && (head < 0 || h == head) ? one : planes[static_cast<std::size_t>(b)];
      });
    };
    out.cells = combine(Op::kXor, sound, bad)->count() * (head < 0 ? heads : 1);
    out.sound = mask(sound);
    out.wrong = mask(bad);
    out.text = to_text(out.chain) + " -> " + (out.by_cells ? "cells" : to_text(Chain{{wrong}})) +
               " in batch " + std::to_string(at) + " of " + std::to_string(batch) + ", " +
               std::to_string(heads) + " heads, " + std::to_string(queries) + "x" +
               std::to_string(keys);
    return out;
  }

  std::mt19937_64 random_;
  Index most_, longest_;
};

/// True if the answer is exact, reads no arrays and needs no more steps than the documents.
inline bool names_ragged(const RaggedPair& made, const Recognised& found) {
  const Mask again = maskctl::apply(full_like(made.sound), found.chain);
  return found.residue.cells == 0 && zip(Op::kXor, again, made.sound).count() == 0 &&
         !reads_arrays(found.chain) && leaf_steps(found.chain) <= made.steps;
}

/// True if a cause is correct, leaves no residue but flipped cells, and names the bug. A bug that
/// changes few cells may be explained by naming the cells.
inline bool names_bug(const RaggedPair& made, const Mask& a, const Mask& b,
                      const DiffCause& cause) {
  if (zip(Op::kXor, b, maskctl::apply(a, cause.edit)).count() != cause.edit_residue.cells) {
    return false;
  }
  if (!cause.by_pipelines) {
    return (made.by_cells || made.cells <= 4) &&
           leaf_steps(cause.edit) + cause.edit_residue.cells <= made.cells;
  }
  const Mask full = full_like(made.sound);
  if (zip(Op::kXor, a, maskctl::apply(full, cause.pipeline_a)).count() != cause.residue_a.cells ||
      zip(Op::kXor, b, maskctl::apply(full, cause.pipeline_b)).count() != cause.residue_b.cells) {
    return false;
  }
  const Index left = cause.residue_a.cells + cause.residue_b.cells;
  if (reads_arrays(cause.pipeline_a) || reads_arrays(cause.pipeline_b)) return false;
  if (made.by_cells) {
    return changed_steps(cause.pipeline_a, cause.pipeline_b) + left <= made.cells;
  }
  return left == 0 && std::ranges::any_of(made.words, [&](const std::string& word) {
           return cause.text.find(word) != std::string::npos;
         });
}

}  // namespace maskctl::twin
