#include "maskctl/inspect/recognise/neighbours.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "maskctl/base/error.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

constexpr std::size_t kMostOfSteps = 40;  // of all kMostNeighbours
constexpr std::size_t kMostNeighbours = 48;
constexpr std::size_t kMostDocuments = 12;  // each joined to the next in turn
constexpr Index kMostDenseCells = Index{1} << 26;

/// A step that may replace another one; none means that it is left out.
struct Edit {
  std::string text;
  std::optional<Step> step;
};

/// Replaces step i by `step`; none means that it is left out.
Chain edited(Chain chain, std::size_t i, const std::optional<Step>& step) {
  if (step) {
    chain[i] = *step;
  } else {
    chain.erase(chain.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return chain;
}

NamedArray moved_offsets(const NamedArray& offsets, Index by) {
  std::vector<std::int64_t> numbers{0};
  if (offsets.array.elements() > 0) numbers = as_int64(offsets.array, "offsets");
  NamedArray out{Tensor(DType::kInt64, {std::ssize(numbers)}), offsets.text};
  std::ranges::transform(numbers, out.array.as<std::int64_t>().begin(),
                         [by](std::int64_t n) { return n + by; });
  return out;
}

Align turned(Align align) {
  return align == Align::kBottomRight ? Align::kTopLeft : Align::kBottomRight;
}

/// The ids with document `from` merged into document `to`.
Tensor joined_ids(const Tensor& ids, std::int32_t from, std::int32_t to) {
  Tensor out = astype(ids, DType::kInt32);
  std::ranges::replace(out.as<std::int32_t>(), from, to);
  return out;
}

/// All variations of one step.
class Edits {
 public:
  Edits(Index queries, Index keys) : keys_(keys), square_(queries == keys) {}

  std::vector<Edit> of(const Step& step) {
    out_.clear();
    std::visit([this](const auto& rule) { add(rule); }, step.rule);
    return std::move(out_);
  }

 private:
  template <typename Rule>
  void put(std::string text, Rule rule) {
    out_.push_back({std::move(text), Step{std::move(rule)}});
  }
  void drop(std::string_view what) { out_.push_back({fmt::format("without {}", what), {}}); }

  /// Adds copies with one number moved; numbers below `least` give no step.
  template <typename Rule, typename Number>
  void move(std::string_view what, const Rule& rule, Index least, Number number) {
    for (const Index by : {Index{1}, Index{-1}}) {
      Rule copy = rule;
      Index& value = number(copy);
      const Index before = std::exchange(value, value + by);
      if (value < least) continue;
      put(fmt::format("{} {} instead of {}", what, value, before), std::move(copy));
    }
  }
  template <typename Rule>
  void turn(std::string_view what, const Rule& rule) {
    if (square_) return;
    Rule copy = rule;
    copy.align = turned(rule.align);
    put(fmt::format("{} aligned {}", what,
                    copy.align == Align::kTopLeft ? "top-left" : "bottom-right"),
        std::move(copy));
  }

  void add(const step::Causal& rule) {
    drop("causal");
    turn("causal", rule);
    for (const Index by : {Index{1}, Index{-1}}) {
      put(by > 0 ? "causal moved by a key to the right" : "causal moved by a key to the left",
          step::Causal{rule.align, moved_offsets(rule.offsets, by)});
    }
  }
  void add(const step::Window& rule) {
    if (rule.left) move("window left", rule, 0, [](auto& w) -> Index& { return *w.left; });
    if (rule.right) {
      move("window right", rule, 0, [](auto& w) -> Index& { return *w.right; });
    }
    drop("the window");
    turn("window", rule);
    const auto sides = [&](const char* text, std::optional<Index> left,
                           std::optional<Index> right) {
      put(text, step::Window{left, right, rule.align, rule.offset});
    };
    if (rule.left && rule.right) {
      sides("window open to the left", std::nullopt, rule.right);
      sides("window open to the right", rule.left, std::nullopt);
    }
    if (rule.left) sides("window to both sides", rule.left, rule.left);
    if (rule.right && rule.left != rule.right) {
      sides("window to both sides as to the right", rule.right, rule.right);
    }
    move("window offset", rule, -kUnbounded, [](auto& w) -> Index& { return w.offset; });
  }
  void add(const step::Chunk& rule) {
    drop("chunks");
    move("chunk size", rule, 1, [](auto& c) -> Index& { return c.size; });
    move("chunk offset", rule, -kUnbounded, [](auto& c) -> Index& { return c.offset; });
    if (!square_ || rule.offset != 0) return;
    step::DocumentLengths documents;  // the same number, of equal length
    for (Index left = keys_; left > 0; left -= rule.size) {
      documents.lengths.push_back(std::min(left, rule.size));
    }
    join(documents);
  }
  void add(const step::Document& rule) {
    drop("documents");
    std::vector<std::int32_t> order;  // documents, in order of first appearance in any row
    for (const std::int32_t id : as_int32(rule.q.array, "segment ids")) {
      if (id != rule.pad_id && !std::ranges::count(order, id)) order.push_back(id);
      if (order.size() > kMostDocuments) break;
    }
    for (std::size_t n = 1; n < std::min(order.size(), kMostDocuments); ++n) {
      step::Document copy = rule;
      copy.q.array = joined_ids(rule.q.array, order[n], order[n - 1]);
      if (rule.kv.array.elements() > 0) {
        copy.kv.array = joined_ids(rule.kv.array, order[n], order[n - 1]);
      }
      put(fmt::format("documents {} and {} as one", n - 1, n), std::move(copy));
    }
  }
  void join(const step::DocumentLengths& rule) {
    for (std::size_t n = 1; n < std::min(rule.lengths.size(), kMostDocuments); ++n) {
      step::DocumentLengths copy = rule;
      merge(copy.lengths, n);
      put(fmt::format("documents {} and {} as one", n - 1, n), std::move(copy));
    }
  }
  void add(const step::DocumentLengths& rule) {
    drop("documents");
    join(rule);
    for (const Index by : {Index{1}, Index{-1}}) {
      step::DocumentLengths copy = rule;
      if (copy.lengths.size() < 2) continue;
      copy.lengths.front() += by;
      copy.lengths.back() -= by;
      if (std::min(copy.lengths.front(), copy.lengths.back()) < 1) continue;
      put(fmt::format("documents moved by a token to the {}", by > 0 ? "right" : "left"),
          std::move(copy));
    }
  }
  void add(const step::Pad& rule) {
    drop("padding");
    if (!rule.is_lengths) return;
    step::Pad other = rule;
    other.left = !rule.left;
    put(fmt::format("padding on the {}", other.left ? "left" : "right"), other);
    for (const Index by : {Index{1}, Index{-1}}) {
      step::Pad copy = rule;
      copy.valid = moved_offsets(rule.valid, by);
      const auto lengths = copy.valid.array.as<std::int64_t>();
      if (std::ranges::any_of(lengths, [this](auto n) { return n < 0 || n > keys_; })) continue;
      put(fmt::format("valid lengths {} by one", by > 0 ? "longer" : "shorter"), copy);
    }
  }
  void add(const step::Dilated& rule) {
    drop("dilation");
    move("stride", rule, 1, [](auto& d) -> Index& { return d.stride; });
  }
  void add(const step::Prefix& rule) {
    drop("the prefix");
    move("prefix", rule, 0, [](auto& p) -> Index& { return p.n; });
  }
  void add(const step::Sinks& rule) {
    drop("sinks");
    move("sinks", rule, 0, [](auto& s) -> Index& { return s.n; });
  }
  void add(const step::Global&) { drop("global tokens"); }
  void add(const step::Block&) { drop("the map of blocks"); }
  void add(const step::Tokens&) { drop("token types"); }
  void add(const step::Not&) { drop("inverting"); }
  void add(const step::KvLengths&) { drop("key lengths"); }
  void add(const step::Scoped& rule) {
    const char* const axis = rule.axis == step::Scoped::Axis::kHeads ? "heads" : "batch entries";
    std::string members;
    for (const Range& range : rule.members) {
      members += fmt::format("{}{}", members.empty() ? "" : "+", range.begin);
      if (range.size() > 1) members += fmt::format("-{}", range.end - 1);
    }
    for (std::size_t i = 0; i < rule.chain.size(); ++i) {
      for (Edit& edit : Edits(*this).of(rule.chain[i])) {
        step::Scoped copy = rule;
        copy.chain = edited(copy.chain, i, edit.step);
        put(fmt::format("{} in {} {}", edit.text, axis, members), std::move(copy));
      }
    }
  }
  void add(const step::Within& rule) {
    drop("documents");
    Edits inside(*this);
    inside.square_ = rule.kv_lengths.empty();
    for (std::size_t i = 0; i < rule.chain.size(); ++i) {
      for (Edit& edit : inside.of(rule.chain[i])) {
        step::Within copy = rule;
        copy.chain = edited(copy.chain, i, edit.step);
        put(fmt::format("{} in each document", edit.text), std::move(copy));
      }
    }
    for (std::size_t n = 1; n < std::min(rule.lengths.size(), kMostDocuments); ++n) {
      step::Within copy = rule;
      merge(copy.lengths, n);
      merge(copy.kv_lengths, n);
      put(fmt::format("documents {} and {} as one", n - 1, n), std::move(copy));
    }
  }
  /// Joins document n to the one before.
  static void merge(std::vector<Index>& lengths, std::size_t n) {
    if (n >= lengths.size()) return;
    lengths[n - 1] += lengths[n];
    lengths.erase(lengths.begin() + static_cast<std::ptrdiff_t>(n));
  }
  // Cells that were named one by one, or drawn, have no neighbours that someone means.
  void add(const step::Random&) {}
  void add(const step::Region&) {}
  void add(const step::Combine&) {}
  void add(const step::Slice&) {}
  /// Of any other rule: without it, and each of its numbers moved by one.
  template <typename Rule>
  void add(const Rule& rule) {
    const Step step{rule};
    const StepInfo& info = info_of(step);
    drop(info.name);
    for (const Field& field : info.args) {
      const FieldValue value = field.get(step);
      const Index* number = std::get_if<Index>(&value);
      if (!number || field.type == FieldType::kChoice) continue;
      for (const Index by : {Index{1}, Index{-1}}) {
        if (*number + by < field.min || *number + by > field.max) continue;
        Step copy = step;
        field.set(copy, *number + by);
        out_.push_back(
            {fmt::format("{} {} {} instead of {}", info.name, field.name, *number + by, *number),
             std::move(copy)});
      }
    }
  }

  Index keys_;
  bool square_;
  std::vector<Edit> out_;
};

/// Calls f for every causal and window step, including those inside scopes and documents.
template <typename F>
Chain with_diagonals(Chain chain, const F& f) {
  for (Step& step : chain) {
    if (auto* causal = std::get_if<step::Causal>(&step.rule)) f(*causal);
    if (auto* window = std::get_if<step::Window>(&step.rule)) f(*window);
    if (auto* scoped = std::get_if<step::Scoped>(&step.rule)) {
      scoped->chain = with_diagonals(std::move(scoped->chain), f);
    }
    if (auto* within = std::get_if<step::Within>(&step.rule)) {
      within->chain = with_diagonals(std::move(within->chain), f);
    }
  }
  return chain;
}

struct TurnAlign {
  template <typename Rule>
  void operator()(Rule& rule) const {
    rule.align = turned(rule.align);
  }
};

struct MoveDiagonal {
  Index by;
  void operator()(step::Causal& rule) const { rule.offsets = moved_offsets(rule.offsets, by); }
  void operator()(step::Window& rule) const { rule.offset += by; }
};

/// Each key gets the cells of its left (by = 1) or right (by = -1) neighbour.
Mask shifted(const Mask& mask, Index by) {
  return mask.map([by](const PlanePtr& plane) {
    const Index queries = plane->queries(), keys = plane->keys();
    Tensor from(DType::kBool, {queries, keys}), to(DType::kBool, {queries, keys});
    dense_plane(*plane, from.as<std::uint8_t>());
    for (Index i = 0; i < queries; ++i) {
      const std::uint8_t* const row = from.as<std::uint8_t>().data() + i * keys;
      std::uint8_t* const out = to.as<std::uint8_t>().data() + i * keys;
      std::copy_n(row + (by < 0 ? 1 : 0), keys - 1, out + (by < 0 ? 0 : 1));
    }
    return mask_from_dense(to).plane(0, 0);
  });
}

Mask reversed(const Mask& mask, bool heads) {
  return Mask::make(mask.batch(), mask.heads(), mask.queries(), mask.keys(), [&](Index b, Index h) {
    return heads ? mask.plane(b, mask.heads() - 1 - h) : mask.plane(mask.batch() - 1 - b, h);
  });
}

class Finder {
 public:
  explicit Finder(const Mask& mask) : mask_(mask), full_(full_like(mask)), square_(square(mask)) {
    known_.emplace(mask.count(), mask);
  }

  std::vector<Neighbour> run() {
    of_steps();
    of_the_whole();
    return std::move(out_);
  }

 private:
  static bool square(const Mask& mask) { return mask.queries() == mask.keys(); }

  void put(std::string text, const Mask& mask) {
    if (out_.size() >= kMostNeighbours) return;
    const Index open = mask.count();
    const auto [begin, end] = known_.equal_range(open);
    const bool is_known = std::any_of(
        begin, end, [&](const auto& entry) { return differing_cells(entry.second, mask) == 0; });
    if (is_known) return;
    known_.emplace(open, mask);
    out_.push_back({std::move(text), mask});
  }

  /// Adds the chain together with the cells that no step explains.
  void put_chain(std::string text, const Chain& chain) {
    if (out_.size() >= kMostOfSteps) return;
    const Mask made = maskctl::apply(full_, chain);
    put(std::move(text), residue_ ? zip(Op::kXor, made, *residue_) : made);
  }

  void of_steps() {
    Recognised found;
    try {
      found = recognise(mask_);
    } catch (const Error& error) {
      if (error.code() != Errc::kLimit) throw;
      return;
    }
    if (found.residue.cells > 0)
      residue_ = zip(Op::kXor, mask_, maskctl::apply(full_, found.chain));
    if (!square_) put_chain("aligned the other way", with_diagonals(found.chain, TurnAlign{}));
    of_all_scopes(found.chain);
    for (std::size_t i = 0; i < found.chain.size(); ++i) {
      for (Edit& edit : edits_of(found.chain[i])) {
        put_chain(std::move(edit.text), edited(found.chain, i, edit.step));
      }
    }
    for (const Index by : {Index{1}, Index{-1}}) {
      put_chain(
          by > 0 ? "diagonals moved by a key to the right" : "diagonals moved by a key to the left",
          with_diagonals(found.chain, MoveDiagonal{by}));
    }
  }

  std::vector<Edit> edits_of(const Step& step) const {
    return Edits(mask_.queries(), mask_.keys()).of(step);
  }

  /// Adds changes that every scope of some heads or batch entries allows, made in all of them at
  /// once.
  void of_all_scopes(const Chain& chain) {
    std::map<std::string, Chain> changed;
    std::map<std::string, std::size_t> times;
    std::size_t scopes = 0;
    for (std::size_t i = 0; i < chain.size(); ++i) {
      const auto* scoped = std::get_if<step::Scoped>(&chain[i].rule);
      if (!scoped) continue;
      ++scopes;
      std::set<std::string> seen;
      for (std::size_t j = 0; j < scoped->chain.size(); ++j) {
        for (const Edit& edit : edits_of(scoped->chain[j])) {
          if (!seen.insert(edit.text).second) continue;
          Chain& all = changed.try_emplace(edit.text, chain).first->second;
          std::get<step::Scoped>(all[i].rule).chain = edited(scoped->chain, j, edit.step);
          ++times[edit.text];
        }
      }
    }
    for (const auto& [text, all] : changed) {
      if (scopes > 1 && times[text] > 1) put_chain(text, all);
    }
  }

  void of_the_whole() {
    put("no mask", full_);
    put("inverted", complement(mask_));
    if (square_) put("transposed", transposed(mask_));
    const auto causal = [this](Index shift) {
      return zip(Op::kAnd, mask_,
                 Mask(diagonal_band(mask_.queries(), mask_.keys(), -kUnbounded, shift)));
    };
    put(square_ ? "causal as well" : "causal as well, aligned top-left", causal(0));
    if (!square_) {
      put("causal as well, aligned bottom-right", causal(mask_.keys() - mask_.queries()));
    }
    if (mask_.heads() > 1) put("heads in reverse", reversed(mask_, true));
    if (mask_.batch() > 1) put("batch entries in reverse", reversed(mask_, false));
    if (mask_.cells() > kMostDenseCells || mask_.keys() < 2) return;
    put("moved by a key to the right", shifted(mask_, 1));
    put("moved by a key to the left", shifted(mask_, -1));
  }

  const Mask& mask_;
  const Mask full_;
  const bool square_;
  std::optional<Mask> residue_;
  std::multimap<Index, Mask> known_;  // by number of open cells
  std::vector<Neighbour> out_;
};

}  // namespace

std::vector<Neighbour> neighbours(const Mask& mask) {
  if (mask.cells() == 0) return {};
  return Finder(mask).run();
}

}  // namespace maskctl
