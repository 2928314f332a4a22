#include "maskctl/inspect/recognise/neighbours.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "maskctl/base/error.h"
#include "maskctl/base/text.h"
#include "maskctl/inspect/diff/change.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/chunk.h"
#include "maskctl/mask/steps/combine.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/random.h"
#include "maskctl/mask/steps/region.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/mask/steps/scoped.h"
#include "maskctl/mask/steps/slice.h"
#include "maskctl/mask/steps/window.h"
#include "maskctl/mask/steps/within.h"
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

/// All numbers of the array, moved.
NamedArray moved(const NamedArray& array, Index by) {
  NamedArray out{astype(array.array, DType::kInt64), array.text};
  for (std::int64_t& number : out.array.as<std::int64_t>()) number += by;
  return out;
}

/// The ids with document `from` merged into document `to`.
Tensor joined_ids(const Tensor& ids, std::int32_t from, std::int32_t to) {
  Tensor out = astype(ids, DType::kInt32);
  std::ranges::replace(out.as<std::int32_t>(), from, to);
  return out;
}

/// Cells that were named one by one, or drawn, have no neighbours that someone means.
bool names_cells(const Step& step) {
  return step.is<step::Region>() || step.is<step::Combine>() || step.is<step::Random>() ||
         step.is<step::Slice>();
}

/// All variations of one step: without it, each of its numbers moved by one, its choices, adjacent
/// documents joined, and those of the steps that it holds.
class Edits {
 public:
  Edits(Index queries, Index keys) : keys_(keys), square_(queries == keys) {}

  std::vector<Edit> of(Step step) {
    out_.clear();
    if (names_cells(step)) return {};
    if (auto* window = step.get_if<step::Window>()) sides(*window);
    out_.push_back({fmt::format("without {}", words_of(step)), {}});
    const StepInfo& info = info_of(step);
    for (const Field& field : info.args) edit(step, info.name, field);
    if (const auto* chunk = step.get_if<step::Chunk>()) join(*chunk);
    if (const auto* documents = step.get_if<step::Document>()) join(*documents);
    if (const auto* within = step.get_if<step::Within>()) join(*within);
    if (info.chain) inside(step, info);
    return std::move(out_);
  }

 private:
  void put(std::string text, Step step) { out_.push_back({std::move(text), std::move(step)}); }
  void put(const Step& step, const Field& field, FieldValue value, std::string text) {
    Step copy = step;
    field.set(copy, std::move(value));
    put(std::move(text), std::move(copy));
  }

  void edit(const Step& step, std::string_view name, const Field& field) {
    const FieldValue value = field.get(step);
    switch (field.type) {
      case FieldType::kInteger:
      case FieldType::kSide:
      case FieldType::kIntegerOrSource:
      case FieldType::kSideOrSource:
        return number(step, name, field, value);
      case FieldType::kLengths:
        if (const auto* lengths = std::get_if<std::vector<Index>>(&value)) {
          return borders(step, field, *lengths);
        }
        return number(step, name, field, value);
      case FieldType::kChoice:
        return choice(step, name, field, value);
      case FieldType::kReal:
      case FieldType::kSeed:
      case FieldType::kRanges:
      case FieldType::kSlice:
      case FieldType::kBlockSize:
      case FieldType::kSource:
      case FieldType::kMaskSource:
      case FieldType::kPadId:
        return;  // no value is next to another
    }
  }

  /// One more and one less; a number that is absent is 0 where that is the default.
  void number(const Step& step, std::string_view name, const Field& field,
              const FieldValue& value) {
    const bool is_absent = std::holds_alternative<std::monostate>(value);
    if (is_absent && field.fallback != "0") return;
    for (const Index by : {Index{1}, Index{-1}}) {
      if (const auto* array = std::get_if<NamedArray>(&value)) {
        NamedArray numbers = moved(*array, by);
        const auto fits = [&](std::int64_t n) { return n >= field.min && n <= keys_; };
        if (!std::ranges::all_of(numbers.array.as<std::int64_t>(), fits)) continue;
        put(step, field, std::move(numbers),
            fmt::format("{} {} {} by one", name, field.name, by > 0 ? "larger" : "smaller"));
        continue;
      }
      const Index before = is_absent ? 0 : std::get<Index>(value);
      if (before + by < field.min || before + by > field.max) continue;
      put(step, field, before + by,
          fmt::format("{} {} {} instead of {}", name, field.name, before + by, before));
    }
  }

  void choice(const Step& step, std::string_view name, const Field& field,
              const FieldValue& value) {
    const std::vector<std::string_view> choices = split(field.choices, '|');
    const bool is_align = field.name == "align";
    if (is_align && square_) return;
    const Index* given = std::get_if<Index>(&value);
    for (Index other = 0; other < std::ssize(choices); ++other) {
      if (given ? other == *given : other == 0) continue;
      const std::string_view text = choices[static_cast<std::size_t>(other)];
      put(step, field, other,
          is_align ? fmt::format("{} aligned {}", name, text)
                   : fmt::format("{} {} {}", name, field.name, text));
    }
  }

  /// Adjacent documents joined, and all borders moved by a token.
  void borders(const Step& step, const Field& field, const std::vector<Index>& lengths) {
    if (step.is<step::Within>()) return;  // the two lists of `within` must change together
    for (std::size_t n = 1; n < std::min(lengths.size(), kMostDocuments); ++n) {
      put(step, field, merged(lengths, n), joined(n));
    }
    for (const Index by : {Index{1}, Index{-1}}) {
      std::vector<Index> shifted = lengths;
      if (shifted.size() < 2) continue;
      shifted.front() += by;
      shifted.back() -= by;
      if (std::min(shifted.front(), shifted.back()) < 1) continue;
      put(step, field, std::move(shifted),
          fmt::format("documents moved by a token to the {}", by > 0 ? "right" : "left"));
    }
  }
  static std::string joined(std::size_t n) {
    return fmt::format("documents {} and {} as one", n - 1, n);
  }
  /// Document n joined to the one before.
  static std::vector<Index> merged(std::vector<Index> lengths, std::size_t n) {
    if (n < lengths.size()) {
      lengths[n - 1] += lengths[n];
      lengths.erase(lengths.begin() + static_cast<std::ptrdiff_t>(n));
    }
    return lengths;
  }

  /// The window as two sides, and windows that lack or repeat one of them.
  void sides(step::Window& rule) {
    if (rule.is_per_batch()) return;
    rule.spelling = step::Window::Spelling::kSides;
    const auto with = [&](const char* text, std::optional<Index> left, std::optional<Index> right) {
      step::Window copy = rule;
      copy.left = left;
      copy.right = right;
      put(text, std::move(copy));
    };
    if (rule.left && rule.right) {
      with("window open to the left", std::nullopt, rule.right);
      with("window open to the right", rule.left, std::nullopt);
    }
    if (rule.left && rule.right != rule.left) with("window to both sides", rule.left, rule.left);
    if (rule.right && rule.left != rule.right) {
      with("window to both sides as to the right", rule.right, rule.right);
    }
  }

  void join(const step::Chunk& rule) {
    if (!square_ || rule.offset != 0 || rule.is_per_batch()) return;
    std::vector<Index> lengths;  // the chunks as documents
    for (Index left = keys_; left > 0; left -= rule.size) {
      lengths.push_back(std::min(left, rule.size));
    }
    for (std::size_t n = 1; n < std::min(lengths.size(), kMostDocuments); ++n) {
      put(joined(n), step::DocumentLengths{merged(lengths, n)});
    }
  }
  void join(const step::Document& rule) {
    std::vector<std::int32_t> order;  // documents, in order of first appearance in any row
    for (const std::int32_t id : as_int32(rule.q.array, "segment ids")) {
      if (id != rule.pad_id && !std::ranges::count(order, id)) order.push_back(id);
      if (order.size() > kMostDocuments) break;
    }
    for (std::size_t n = 1; n < std::min(order.size(), kMostDocuments); ++n) {
      step::Document copy = rule;
      copy.q.array = joined_ids(rule.q.array, order[n], order[n - 1]);
      if (!rule.kv.empty()) copy.kv.array = joined_ids(rule.kv.array, order[n], order[n - 1]);
      put(joined(n), std::move(copy));
    }
  }
  void join(const step::Within& rule) {
    for (std::size_t n = 1; n < std::min(rule.lengths.size(), kMostDocuments); ++n) {
      step::Within copy = rule;
      copy.lengths = merged(rule.lengths, n);
      copy.kv_lengths = merged(rule.kv_lengths, n);
      put(joined(n), std::move(copy));
    }
  }

  /// The edits of the steps in {...}.
  void inside(const Step& step, const StepInfo& info) {
    const auto* within = step.get_if<step::Within>();
    Edits edits(*this);
    edits.square_ = within ? within->kv_lengths.empty() : square_;
    const std::string where = inside_words(step);
    Step copy = step;
    const Chain& chain = *chain_of(step);
    for (std::size_t i = 0; i < chain.size(); ++i) {
      for (Edit& edit : edits.of(chain[i])) {
        *info.chain(copy) = edited(chain, i, edit.step);
        put(fmt::format("{} in {}", edit.text, where), copy);
      }
    }
  }

  Index keys_;
  bool square_;
  std::vector<Edit> out_;
};

/// With another value of this argument in every step that keeps diagonals, including those inside
/// other steps.
template <typename F>
Chain with_diagonals(Chain chain, std::string_view argument, const F& other) {
  for (Step& step : chain) {
    const Field* field = keeps_diagonals(step) ? find_field(step, argument) : nullptr;
    if (field) field->set(step, other(field->get(step)));
    if (const auto find_chain = info_of(step).chain) {
      Chain& inner = *find_chain(step);
      inner = with_diagonals(std::move(inner), argument, other);
    }
  }
  return chain;
}

/// The other alignment; an absent one is top-left.
FieldValue other_alignment(const FieldValue& align) {
  const Index* given = std::get_if<Index>(&align);
  return Index{given && *given == 1 ? 0 : 1};
}

/// The number or numbers, moved; an absent one is 0.
FieldValue moved(const FieldValue& value, Index by) {
  if (const auto* array = std::get_if<NamedArray>(&value)) return moved(*array, by);
  const Index* number = std::get_if<Index>(&value);
  return (number ? *number : 0) + by;
}

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

  std::vector<Neighbour> run(const Chain* known) {
    of_steps(known);
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

  /// Adds the chain together with the cells that no step explains. Values that do not fit each
  /// other or the mask make no neighbour.
  void put_chain(std::string text, const Chain& chain) {
    if (out_.size() >= kMostOfSteps) return;
    std::optional<Mask> made;
    try {
      made = maskctl::apply(full_, chain);
    } catch (const Error& error) {
      if (error.code() != Errc::kInvalidArgument && error.code() != Errc::kShape) throw;
      return;
    }
    if (!same_shape(*made, mask_)) return;
    put(std::move(text), residue_ ? zip(Op::kXor, *made, *residue_) : *made);
  }

  /// The steps that make the mask; nothing for a mask too large to recognise.
  std::optional<Chain> steps_of(const Chain* known) {
    if (known) {
      const Mask made = maskctl::apply(full_, *known);
      if (same_shape(made, mask_) && differing_cells(made, mask_) == 0) return *known;
    }
    try {
      Recognised found = recognise(mask_);
      if (found.residue.cells > 0) {
        residue_ = zip(Op::kXor, mask_, maskctl::apply(full_, found.chain));
      }
      return std::move(found.chain);
    } catch (const Error& error) {
      if (error.code() != Errc::kLimit) throw;
      return std::nullopt;
    }
  }

  void of_steps(const Chain* known) {
    const std::optional<Chain> steps = steps_of(known);
    if (!steps) return;
    const Chain& chain = *steps;
    if (!square_)
      put_chain("aligned the other way", with_diagonals(chain, "align", other_alignment));
    of_all_scopes(chain);
    for (std::size_t i = 0; i < chain.size(); ++i) {
      for (Edit& edit : edits_of(chain[i])) {
        put_chain(std::move(edit.text), edited(chain, i, edit.step));
      }
    }
    for (const Index by : {Index{1}, Index{-1}}) {
      put_chain(
          by > 0 ? "diagonals moved by a key to the right" : "diagonals moved by a key to the left",
          with_diagonals(chain, "offset", [by](const FieldValue& v) { return moved(v, by); }));
    }
  }

  std::vector<Edit> edits_of(const Step& step) const {
    return Edits(mask_.queries(), mask_.keys()).of(step);
  }

  /// Adds each change that is possible in all scopes of the chain (heads{...}, batch{...}), made in
  /// all of them at once.
  void of_all_scopes(const Chain& chain) {
    std::map<std::string, Chain> changed;
    std::map<std::string, std::size_t> times;
    std::size_t scopes = 0;
    for (std::size_t i = 0; i < chain.size(); ++i) {
      const auto* scoped = chain[i].get_if<step::Scoped>();
      if (!scoped) continue;
      ++scopes;
      std::set<std::string> seen;
      for (std::size_t j = 0; j < scoped->chain.size(); ++j) {
        for (const Edit& edit : edits_of(scoped->chain[j])) {
          if (!seen.insert(edit.text).second) continue;
          Chain& all = changed.try_emplace(edit.text, chain).first->second;
          all[i].as<step::Scoped>().chain = edited(scoped->chain, j, edit.step);
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

std::vector<Neighbour> neighbours(const Mask& mask, const Chain* known) {
  if (mask.cells() == 0) return {};
  return Finder(mask).run(known);
}

}  // namespace maskctl
