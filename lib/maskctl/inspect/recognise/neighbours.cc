#include "maskctl/inspect/recognise/neighbours.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "maskctl/base/error.h"
#include "maskctl/base/ranges.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/leaves.h"
#include "maskctl/mask/steps/edits.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl {
namespace {

constexpr std::size_t kMostOfSteps = 40;  // how many of the kMostNeighbours vary steps
constexpr std::size_t kMostNeighbours = 48;
constexpr Index kMostDenseCells = Index{1} << 26;

/// The chain with another value of this argument in every step that keeps diagonals, including
/// steps inside other steps.
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

/// The other alignment; an absent one counts as top-left.
FieldValue other_alignment(const FieldValue& align) {
  const Index* given = std::get_if<Index>(&align);
  return Index{given && *given == 1 ? 0 : 1};
}

/// The number or numbers plus `by`; an absent number counts as 0.
FieldValue moved(const FieldValue& value, Index by) {
  if (const auto* array = std::get_if<NamedArray>(&value)) return moved_by(*array, by);
  const Index* number = std::get_if<Index>(&value);
  return (number ? *number : 0) + by;
}

/// The mask with all cells moved by `by` keys, to the left if `by` is negative.
Mask shifted(const Mask& mask, Index by) {
  return mask.map([by](const PlanePtr& plane) {
    const Index queries = plane->queries(), keys = plane->keys();
    Tensor from(DType::kBool, {queries, keys}), to(DType::kBool, {queries, keys});
    dense_plane(*plane, from.as<std::uint8_t>());
    for (Index i = 0; i < queries; ++i) {
      const std::uint8_t* const row = from.as<std::uint8_t>().data() + i * keys;
      std::uint8_t* const out = to.as<std::uint8_t>().data() + i * keys;
      const Index moved = std::min(std::abs(by), keys);
      std::copy_n(row + (by < 0 ? moved : 0), keys - moved, out + (by < 0 ? 0 : moved));
    }
    return mask_from_dense(to).plane(0, 0);
  });
}

/// The rows of a plane that have an open cell.
std::vector<Range> used_rows(const PlanePtr& plane) {
  std::vector<Range> out;
  plane->row_sizes({0, plane->queries()}, [&out](Range rows, const Plane::RowSize& size) {
    if (size.keys > 0) append_range(out, rows);
  });
  return out;
}
std::vector<Range> used_keys(const PlanePtr& plane) {
  return used_rows(transposed(Mask(plane)).plane(0, 0));
}

Mask without_keys(const Mask& mask, Range keys) {
  const std::vector<Range> ranges{keys};
  return zip(Op::kSub, mask, Mask(key_ranges(mask.queries(), mask.keys(), ranges)));
}

std::string not_read(Range keys) { return range_words(keys, "key") + " not read"; }

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

  std::vector<Neighbour> rare(const Chain* known, const std::vector<Neighbour>& tried) {
    for (const Neighbour& other : tried) known_.emplace(other.mask.count(), other.mask);
    kind_ = StepEdits::Kind::kRare;
    if (const std::optional<Chain> chain = steps_of(known)) {
      of_each_step(*chain);
      of_all_scopes(*chain);
      for (std::size_t i = 0; i < chain->size(); ++i) of_single_queries(*chain, i);
    }
    without_own_keys();
    without_last_tiles();
    far_shifts();
    of_one_plane(mask_.batch(), "batch entry", "",
                 [this](Index n, Index, Index h) { return mask_.plane(n, h); });
    of_one_plane(mask_.batch(), "batch entry", ", with padding of its own",
                 [this](Index n, Index b, Index h) { return in_used(n, b, h); });
    of_one_plane(mask_.heads(), "head", "",
                 [this](Index n, Index b, Index) { return mask_.plane(b, n); });
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

  /// Adds the mask that the chain gives, together with the cells that no step explains. Adds
  /// nothing if values of the chain do not fit each other or the mask.
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

  /// The steps that make the mask: `known` if they give it, else those that recognise() finds.
  /// Nothing for a mask too large for that.
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
    of_each_step(chain);
    for (const Index by : {Index{1}, Index{-1}}) {
      put_chain(
          by > 0 ? "diagonals moved by a key to the right" : "diagonals moved by a key to the left",
          with_diagonals(chain, "offset", [by](const FieldValue& v) { return moved(v, by); }));
    }
  }

  std::vector<StepEdit> edits_of(const Step& step) const {
    return StepEdits(mask_.queries(), mask_.keys(), kind_).of(step);
  }

  void of_each_step(const Chain& chain) {
    for (std::size_t i = 0; i < chain.size(); ++i) {
      for (StepEdit& edit : edits_of(chain[i])) {
        Chain changed = edited(chain, i, edit);
        put_chain(std::move(edit.text), changed);
      }
    }
  }

  /// Adds the mask without the chain inside documents, but only in documents of one query.
  void of_single_queries(const Chain& chain, std::size_t i) {
    const auto documents = documents_in(chain[i]);
    const auto inner = info_of(chain[i]).chain;
    if (!documents || !inner || documents->q_lengths.empty()) return;
    std::vector<Range> single;
    Index first = 0;
    for (const Index length : documents->q_lengths) {
      if (length == 1) single.push_back({first, first + 1});
      first += length;
    }
    if (single.empty()) return;
    Chain open = chain;
    inner(open[i])->clear();
    const Mask there(query_ranges(mask_.queries(), mask_.keys(), single));
    const Mask without = maskctl::apply(full_, open);
    if (!same_shape(without, mask_)) return;
    std::string lost;
    for (const Step& step : *chain_of(chain[i])) {
      lost += fmt::format("{}{}", lost.empty() ? "" : " and ", words_of(step));
    }
    put(fmt::format("without {} in documents of one query", lost),
        zip(Op::kOr, zip(Op::kAnd, without, there), zip(Op::kSub, mask_, there)));
  }

  /// Adds the mask, and what put_chain() has added so far, without the key at each query's place.
  void without_own_keys() {
    const std::vector<Neighbour> before = out_;
    for (const Index shift : {Index{0}, mask_.keys() - mask_.queries()}) {
      const Mask own(diagonal_band(mask_.queries(), mask_.keys(), shift, shift));
      put("without the key of the query itself", zip(Op::kSub, mask_, own));
      for (const Neighbour& other : before) {
        put(other.text + ", and without the key of the query itself",
            zip(Op::kSub, other.mask, own));
      }
    }
  }

  /// Adds the mask without the keys beyond the last full tile of those that are read.
  void without_last_tiles() {
    for (const Index tile : {64, 128, 32, 16}) {
      std::set<std::pair<Index, Index>> closed;
      const Mask without = mask_.map([&closed, tile](const PlanePtr& plane) {
        const std::vector<Range> used = used_keys(plane);
        const Index end = used.empty() ? 0 : used.back().end, full = end / tile * tile;
        if (full == 0 || full == end) return plane;
        closed.insert({full, end});
        return without_keys(Mask(plane), {full, end}).plane(0, 0);
      });
      if (closed.empty()) continue;
      put(closed.size() == 1
              ? not_read({closed.begin()->first, closed.begin()->second})
              : fmt::format("the keys beyond the last full tile of {} not read", tile),
          without);
    }
  }

  /// Adds the mask with all cells moved by `by` keys. Where that only closes keys at a side, as it
  /// does to a full mask, these are named.
  void put_moved(Index by) {
    const Index n = std::min(std::abs(by), mask_.keys());
    const Range side = by < 0 ? Range{mask_.keys() - n, mask_.keys()} : Range{0, n};
    const Mask moved = shifted(mask_, by);
    const std::string keys = n == 1 ? "a key" : fmt::format("{} keys", n);
    put(differing_cells(moved, without_keys(mask_, side)) == 0
            ? not_read(side)
            : fmt::format("moved by {} to the {}", keys, by < 0 ? "left" : "right"),
        moved);
  }

  /// Adds the mask moved by powers of 2 of keys.
  void far_shifts() {
    constexpr Index kFarthest = 128;
    if (mask_.cells() > kMostDenseCells) return;
    for (Index by = 2; by <= std::min(kFarthest, mask_.keys() - 1); by *= 2) {
      put_moved(by);
      put_moved(-by);
    }
  }

  /// For the first few of `count` batch entries or heads: adds a mask in which all of them have the
  /// mask of number n. make(n, batch, head) gives its planes.
  template <typename Make>
  void of_one_plane(Index count, const char* what, const char* but, const Make& make) {
    constexpr Index kMost = 8;
    for (Index n = 0; n < std::min(count, kMost) && count > 1; ++n) {
      put(fmt::format("the mask of {} {} in every {}{}", what, n, what, but),
          Mask::make(mask_.batch(), mask_.heads(), mask_.queries(), mask_.keys(),
                     [&](Index b, Index h) { return make(n, b, h); }));
    }
  }

  /// The cells of batch entry n where batch entry b has an open cell in the row and in the column.
  PlanePtr in_used(Index n, Index b, Index h) const {
    const PlanePtr own = mask_.plane(b, h);
    const Mask rows(query_ranges(mask_.queries(), mask_.keys(), used_rows(own)));
    const Mask columns(key_ranges(mask_.queries(), mask_.keys(), used_keys(own)));
    return zip(Op::kAnd, zip(Op::kAnd, Mask(mask_.plane(n, h)), rows), columns).plane(0, 0);
  }

  /// Adds the changes that are possible in more than one scope of the chain (heads{...},
  /// batch{...}), each made in all these scopes at once.
  void of_all_scopes(const Chain& chain) {
    std::map<std::string, Chain> changed;
    std::map<std::string, std::size_t> times;
    std::size_t scopes = 0;
    for (std::size_t i = 0; i < chain.size(); ++i) {
      if (!chain[i].row().scope) continue;
      const Chain& inner = *chain_of(chain[i]);
      ++scopes;
      std::set<std::string> seen;
      for (std::size_t j = 0; j < inner.size(); ++j) {
        for (const StepEdit& edit : edits_of(inner[j])) {
          if (!seen.insert(edit.text).second) continue;
          Chain& all = changed.try_emplace(edit.text, chain).first->second;
          *info_of(all[i]).chain(all[i]) = edited(inner, j, edit);
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
    put_moved(1);
    put_moved(-1);
  }

  const Mask& mask_;
  const Mask full_;
  const bool square_;
  StepEdits::Kind kind_ = StepEdits::Kind::kCommon;
  std::optional<Mask> residue_;
  std::multimap<Index, Mask> known_;  // `mask_` and its neighbours so far, by number of open cells
  std::vector<Neighbour> out_;
};

}  // namespace

std::vector<Neighbour> neighbours(const Mask& mask, const Chain* known) {
  if (mask.cells() == 0) return {};
  return Finder(mask).run(known);
}

std::vector<Neighbour> rare_neighbours(const Mask& mask, const Chain* known,
                                       const std::vector<Neighbour>& tried) {
  if (mask.cells() == 0) return {};
  return Finder(mask).rare(known, tried);
}

}  // namespace maskctl
