// A random chain and the same chain with one thing changed, and what a good answer may call it.
#pragma once

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "maskctl/base/error.h"
#include "maskctl/inspect/diff.h"
#include "maskctl/mask/bands.h"
#include "maskctl/tensor/convert.h"
#include "random_chain.h"

namespace maskctl::twin {

struct MutatedPair {
  Mask a, b;
  Chain before, after;
  std::string what;                // "parameter", "alignment", "document", "polarity", "heads"
  std::vector<std::string> kinds;  // of a right answer
  std::vector<std::string> words;  // one of them is in a right answer; empty: any
};

/// The answer names what was changed, and explains everything.
inline bool is_right(const MutatedPair& pair, const std::optional<DiffCause>& cause) {
  if (!cause || cause->unexplained != 0) return false;
  if (std::ranges::find(pair.kinds, cause->kind) == pair.kinds.end()) return false;
  return pair.words.empty() || std::ranges::any_of(pair.words, [&](const std::string& word) {
           return cause->text.find(word) != std::string::npos;
         });
}

/// Draws pairs that differ.
class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  MutatedPair draw() {
    const Index way = number(0, 4);
    for (;;) {
      out_ = {};
      queries_ = number(1, 300);
      keys_ = number(0, 1) == 0 ? queries_ : number(1, 300);
      try {
        if (!make(way)) continue;
      } catch (const Error&) {
        continue;  // a number went out of range
      }
      // Of nothing, and of everything, any step can be the reason.
      const auto plain = [](const Mask& mask) {
        return mask.count() == 0 || mask.count() == mask.cells();
      };
      if (plain(out_.a) || plain(out_.b)) continue;
      if (zip(Op::kXor, out_.a, out_.b).count() > 0) return out_;
    }
  }

 private:
  Index number(Index low, Index high) {
    return std::uniform_int_distribution<Index>(low, high)(random_);
  }
  Chain chain() { return ChainMaker(random_, queries_, keys_).chain(number(1, 3)); }
  Mask full() const { return Mask(full_plane(queries_, keys_)); }

  bool make(Index way) {
    out_.before = chain();
    switch (way) {
      case 0:
        return polarity();
      case 1:
        return heads();
      case 2:
        return alignment();
      case 3:
        return document();
      default:
        return parameter();
    }
  }

  bool apply_both() {
    out_.a = maskctl::apply(full(), out_.before);
    out_.b = maskctl::apply(full(), out_.after);
    return true;
  }

  bool polarity() {
    out_.what = "polarity";
    out_.kinds = {"polarity"};
    out_.a = maskctl::apply(full(), out_.before);
    out_.b = complement(out_.a);
    return true;
  }

  bool heads() {
    out_.what = "heads";
    out_.kinds = {"heads"};
    const Index count = number(2, 6);
    std::vector<PlanePtr> planes;
    for (Index h = 0; h < count; ++h) {
      planes.push_back(maskctl::apply(full(), chain()).plane(0, 0));
    }
    const auto mask = [&] {
      return Mask::make(1, count, queries_, keys_,
                        [&](Index, Index h) { return planes[static_cast<std::size_t>(h)]; });
    };
    out_.a = mask();
    std::shuffle(planes.begin(), planes.end(), random_);
    out_.b = mask();
    return true;
  }

  template <typename Rule>
  std::vector<Rule*> rules_of(Chain& chain) {
    std::vector<Rule*> found;
    for (Step& step : chain) {
      if (auto* rule = std::get_if<Rule>(&step.rule)) found.push_back(rule);
    }
    return found;
  }

  /// All causal and window steps from one alignment to the other, as between two libraries.
  bool alignment() {
    out_.what = "alignment";
    out_.kinds = {"alignment"};
    const bool bottom = number(0, 1) == 0;
    out_.after = out_.before;
    align(out_.before, bottom ? Align::kTopLeft : Align::kBottomRight);
    align(out_.after, bottom ? Align::kBottomRight : Align::kTopLeft);
    if (std::abs(keys_ - queries_) == 1) out_.kinds.push_back("parameter");
    return apply_both();
  }

  void align(Chain& chain, Align align) {
    for (auto* rule : rules_of<step::Causal>(chain)) rule->align = align;
    for (auto* rule : rules_of<step::Window>(chain)) rule->align = align;
  }

  static void close_id(NamedArray& ids, std::int32_t id, std::int32_t pad) {
    for (std::int32_t& value : ids.array.as<std::int32_t>()) value = value == id ? pad : value;
  }

  bool document() {
    out_.what = "document";
    out_.kinds = {"document"};
    out_.after = out_.before;
    if (const auto ids = rules_of<step::Document>(out_.after); !ids.empty()) {
      step::Document& rule = *ids.front();
      const auto values = as_int32(rule.q.array, "ids");
      std::set<std::int32_t> known(values.begin(), values.end());
      known.erase(rule.pad_id);
      if (known.size() < 2) return false;
      const auto id = *std::next(known.begin(), number(0, std::ssize(known) - 1));
      close_id(rule.q, id, rule.pad_id);
      if (!rule.shared) close_id(rule.kv, id, rule.pad_id);
      return apply_both();
    }
    const auto lengths = rules_of<step::DocumentLengths>(out_.after);
    if (lengths.empty()) return false;
    return close(*lengths.front());
  }

  /// A document of a list closed: the same list as ids.
  bool close(const step::DocumentLengths& rule) {
    if (rule.lengths.size() < 2) return false;
    step::Document ids;
    ids.shared = true;
    ids.q = {Tensor(DType::kInt32, {keys_}), "ids.npy"};
    const Index closed = number(0, std::ssize(rule.lengths) - 1);
    std::size_t at = 0;
    for (Index i = 0; i < std::ssize(rule.lengths); ++i) {
      for (Index n = rule.lengths[static_cast<std::size_t>(i)]; n > 0; --n) {
        ids.q.array.as<std::int32_t>()[at++] = static_cast<std::int32_t>(i == closed ? -1 : i);
      }
    }
    for (Step& step : out_.after) {
      if (std::get_if<step::DocumentLengths>(&step.rule) == &rule) {
        step = {ids};
        return apply_both();
      }
    }
    return false;
  }

  static void add_to(NamedArray& values, Index by) {
    Index value = values.array.elements() == 0 ? 0 : as_int64(values.array, "values")[0];
    values.array = Tensor(DType::kInt64, {1});
    values.array.as<std::int64_t>()[0] = value + by;
  }

  bool parameter() {
    out_.what = "parameter";
    out_.kinds = {"parameter"};
    out_.after = out_.before;
    Step& step = out_.after[static_cast<std::size_t>(number(0, std::ssize(out_.after) - 1))];
    by_ = number(0, 1) == 0 ? 1 : -1;
    return std::visit([this](auto& rule) { return move(rule); }, step.rule) && apply_both();
  }

  bool move(step::Causal& rule) {
    if (rule.offsets.array.elements() > 1) return false;
    add_to(rule.offsets, by_);
    return named({"causal", "window", "alignment"});
  }
  bool move(step::Window& rule) {
    const Index which = number(0, 2);
    if (which == 0 && rule.left) {
      *rule.left += by_;
    } else if (which == 1 && rule.right) {
      *rule.right += by_;
    } else {
      rule.offset += by_;
    }
    return named({"causal", "window", "alignment"});
  }
  bool move(step::Chunk& rule) {
    (number(0, 1) == 0 ? rule.size : rule.offset) += by_;
    return named({"chunk"});
  }
  bool move(step::Prefix& rule) {
    rule.n += by_;
    return named({"prefix", "sinks"});
  }
  bool move(step::Sinks& rule) {
    rule.n += by_;
    return named({"prefix", "sinks"});
  }
  bool move(step::Dilated& rule) {
    rule.stride += by_;
    return named({"dilated"});
  }
  bool move(step::Global& rule) {
    Range& range = rule.tokens[static_cast<std::size_t>(number(0, std::ssize(rule.tokens) - 1))];
    (number(0, 1) == 0 ? range.begin : range.end) += by_;
    return named({"global"});
  }
  bool move(step::Pad& rule) {
    if (!rule.is_lengths) return false;
    add_to(rule.valid, by_);
    out_.kinds.push_back("padding");
    return named({"pad"});
  }
  bool move(step::Block& rule) {
    (number(0, 1) == 0 ? rule.q_size : rule.k_size) += by_;
    return named({"block"});
  }
  bool move(step::DocumentLengths& rule) {
    rule.lengths[static_cast<std::size_t>(number(0, std::ssize(rule.lengths) - 1))] += by_;
    return named({"document"});
  }
  template <typename Rule>
  bool move(Rule&) {
    return false;  // has no number
  }

  bool named(std::vector<std::string> words) {
    if (std::abs(keys_ - queries_) == 1) out_.kinds.push_back("alignment");
    out_.words = std::move(words);
    return true;
  }

  std::mt19937_64 random_;
  Index queries_ = 0, keys_ = 0, by_ = 1;
  MutatedPair out_;
};

}  // namespace maskctl::twin
