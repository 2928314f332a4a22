// Draws masks of all kinds, with and without a fault: chains of known steps, documents, forms that
// no step makes (trees, rings, neighbourhoods), random cells, and products by batch and head.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "maskctl/base/error.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/rows.h"
#include "support/random_chain.h"
#include "support/twin_steps.h"

namespace maskctl::test {

struct DrawnPair {
  Mask a, b;
};

class MaskDraws {
 public:
  explicit MaskDraws(std::uint64_t seed) : random_(seed) {}

  Mask mask() {
    shape();
    return whole([this] { return plane(); });
  }

  /// Draws two masks with the same queries and keys: a mask and an edited copy, or two unrelated
  /// masks.
  DrawnPair pair() {
    for (;;) {
      DrawnPair out;
      try {
        shape();
        out.a = whole([this] { return plane(); });
        out.b = pick(0, 9) == 0 ? whole([this] { return plane(); }) : edited(out.a);
      } catch (const Error&) {
        continue;  // a changed number was out of range
      }
      if (twin::dense_of(out.a) != twin::dense_of(out.b)) return out;
    }
  }

 private:
  using Dense = twin::Dense;
  Index pick(Index low, Index high) {
    return std::uniform_int_distribution<Index>(low, std::max(low, high))(random_);
  }
  bool chance(Index one_in) { return pick(1, one_in) == 1; }

  void shape() {
    const Index most = chance(3) ? 64 : 20;
    queries_ = keys_ = pick(1, most);
    if (chance(4)) keys_ = std::min<Index>(64, queries_ + pick(1, most));
    if (chance(12)) queries_ = std::min<Index>(64, keys_ + pick(1, most));
    if (chance(12)) queries_ = 1;
    batch_ = chance(3) ? pick(2, 4) : 1;
    heads_ = chance(4) ? pick(2, 3) : 1;
    if (chance(30)) {  // so many that lists of them are cut
      batch_ = pick(5, 12);
      queries_ = keys_ = pick(1, 8);
    }
  }
  /// Draws a mask whose planes are all equal, or differ by batch entry, by head or individually.
  template <typename F>
  Mask whole(const F& plane) {
    const Index kind = pick(0, 4);
    std::vector<PlanePtr> planes;
    for (Index i = 0; i < batch_ * heads_; ++i) {
      const bool is_new =
          i == 0 || kind == 3 || (kind == 1 && i % heads_ == 0) || (kind == 2 && i < heads_);
      planes.push_back(is_new      ? plane()
                       : kind == 1 ? planes.back()
                       : kind == 2 ? planes[static_cast<std::size_t>(i % heads_)]
                                   : planes.front());
    }
    return Mask::make(batch_, heads_, queries_, keys_, [&](Index b, Index h) {
      return planes[static_cast<std::size_t>(b * heads_ + h)];
    });
  }

  PlanePtr plane() {
    for (;;) {
      try {
        const Index kind = pick(0, 9);
        if (kind < 4) return made(twin::ChainMaker(random_, queries_, keys_).chain(pick(1, 3)));
        if (kind < 7) return made(documents());
        return twin::plane_of_matrix(kind == 7 ? odd() : kind == 8 ? faulty(odd()) : random());
      } catch (const Error&) {
        continue;  // the steps do not fit the mask
      }
    }
  }
  PlanePtr made(const Chain& chain) {
    last_ = chain;
    return maskctl::apply(Mask(full_plane(queries_, keys_)), chain).plane(0, 0);
  }
  Dense random() {
    const Index share = pick(1, 9);
    return twin::matrix(queries_, keys_, [&](Index, Index) { return pick(0, 9) < share; });
  }
  Chain documents() {
    Chain out;
    if (queries_ == keys_ && pick(0, 2) > 0) {
      step::DocumentLengths rule;
      for (Index left = keys_ - (chance(3) ? pick(0, keys_ - 1) : 0); left > 0;) {
        rule.lengths.push_back(pick(1, std::min<Index>(left, std::max<Index>(2, keys_ / 2))));
        left -= rule.lengths.back();
      }
      out.push_back({rule});
    } else {
      step::Document rule;
      rule.q.array = ids(queries_), rule.kv.array = ids(keys_);
      rule.shared = queries_ == keys_;
      out.push_back({rule});
    }
    const Align align = queries_ == keys_ ? Align::kUnset
                        : chance(2)       ? Align::kTopLeft
                                          : Align::kBottomRight;
    if (chance(2)) out.push_back({step::Causal{align, {}}});
    if (chance(3)) {
      step::Window window;
      window.align = align;
      window.left = pick(0, keys_ / 2);
      if (chance(2)) window.right = pick(0, keys_ / 3);
      out.push_back({window});
    }
    return out;
  }
  Tensor ids(Index tokens) {
    Tensor out(DType::kInt32, {tokens});
    std::int32_t id = static_cast<std::int32_t>(pick(-1, 2));
    for (std::int32_t& one : out.as<std::int32_t>()) {
      if (chance(4)) id = static_cast<std::int32_t>(pick(-1, 4));
      one = id;
    }
    return out;
  }
  /// Forms that no step makes.
  Dense odd() {
    const Index kind = pick(0, 4), size = pick(2, 6), reach = pick(1, 2);
    std::vector<Index> parent;
    for (Index i = 0; i < std::max(queries_, keys_); ++i) parent.push_back(pick(-1, i - 1));
    return twin::matrix(queries_, keys_, [&](Index q, Index k) {
      const auto up = [&](Index i) { return parent[static_cast<std::size_t>(i)]; };
      switch (kind) {
        case 0: {  // a tree: each token sees its ancestors
          Index i = q;
          while (i > k) i = up(i);
          return i == k;
        }
        case 1:  // a ring of slots
          return (q - k + size * 100) % (size + 3) < size;
        case 2:  // a neighbourhood on a grid
          return std::abs(q / size - k / size) <= reach && std::abs(q % size - k % size) <= reach;
        case 3:  // blocks that see their own and all before
          return k / size <= q / size;
        default:  // every other token of the past
          return k <= q && (q - k) % 2 == 0 && (k + q) % size != 1;
      }
    });
  }
  Dense faulty(Dense cells) {
    for (Index n = pick(1, 4); n > 0; --n) {
      const Index q = pick(0, queries_ - 1), k = pick(0, keys_ - 1);
      cells.set(q, k, !cells.get(q, k));
    }
    return cells;
  }

  Mask edited(const Mask& a) {
    switch (pick(0, 11)) {
      case 0:
        return complement(a);
      case 1:
        if (queries_ == keys_) return transposed(a);
        break;
      case 2:
        return moved(a);
      case 3:
        return shuffled(a);
      case 4:
      case 5:
      case 6:
        if (!last_.empty()) return with_plane(a, changed(last_), chance(2));
        break;
      case 7:
        return with_plane(a, made(documents()), chance(2));
      default:
        break;
    }
    Dense cells = twin::dense_of(a);
    const Index b = pick(0, batch_ - 1), h = pick(0, heads_ - 1);
    const bool all = chance(2), open = chance(2);
    const Range q = part(queries_), k = part(keys_);
    const Index kind = pick(0, 3);
    const Index flips = pick(1, 6);
    std::vector<std::pair<Index, Index>> flipped;
    for (Index i = 0; i < flips; ++i) {
      flipped.emplace_back(pick(0, queries_ - 1), pick(0, keys_ - 1));
    }
    return twin::mask_of(
        twin::make(batch_, heads_, queries_, keys_, [&](Index ib, Index ih, Index iq, Index ik) {
          const bool was = cells.get(ib, ih, iq, ik);
          if (!all && (ib != b || ih != h)) return was;
          const bool in_q = iq >= q.begin && iq < q.end, in_k = ik >= k.begin && ik < k.end;
          if (kind == 0 && in_q) return open;
          if (kind == 1 && in_k) return open;
          if (kind == 2 && in_q && in_k) return open;
          if (kind == 3)
            return was != (std::ranges::find(flipped, std::pair(iq, ik)) != flipped.end());
          return was;
        }));
  }
  Range part(Index extent) {
    const Index begin = pick(0, extent - 1);
    return {begin, begin + pick(1, std::max<Index>(1, (extent - begin) / 2))};
  }
  Mask with_plane(const Mask& a, const PlanePtr& plane, bool all) {
    const Index at = pick(0, batch_ * heads_ - 1);
    return Mask::make(batch_, heads_, queries_, keys_, [&](Index b, Index h) {
      return all || b * heads_ + h == at ? plane : a.plane(b, h);
    });
  }
  /// Makes the plane of the steps after one of them is dropped, added, or gets another number.
  PlanePtr changed(Chain chain) {
    const Index at = pick(0, std::ssize(chain) - 1);
    Step& step = chain[static_cast<std::size_t>(at)];
    switch (pick(0, 3)) {
      case 0:
        chain.erase(chain.begin() + at);
        break;
      case 1:
        chain.push_back(twin::ChainMaker(random_, queries_, keys_).chain(1).front());
        break;
      default:
        if (auto* documents = step.get_if<step::DocumentLengths>()) {
          auto& lengths = documents->lengths;
          const auto i = static_cast<std::size_t>(pick(0, std::ssize(lengths) - 1));
          if (chance(2) && i + 1 < lengths.size()) {
            lengths[i] += lengths[i + 1];
            lengths.erase(lengths.begin() + static_cast<std::ptrdiff_t>(i) + 1);
          } else {
            lengths[i] = std::max<Index>(1, lengths[i] + pick(-2, 2));
          }
        } else if (auto* ids = step.get_if<step::Document>()) {
          auto numbers = ids->q.array.as<std::int32_t>();
          for (Index n = pick(1, 3); n > 0; --n) {
            numbers[static_cast<std::size_t>(pick(0, std::ssize(numbers) - 1))] =
                static_cast<std::int32_t>(pick(-1, 3));
          }
        } else if (auto* window = step.get_if<step::Window>()) {
          if (window->left) window->left = std::max<Index>(0, *window->left + pick(-2, 2));
          if (window->right && chance(2)) window->right = pick(0, 5);
        } else if (auto* causal = step.get_if<step::Causal>()) {
          causal->offsets = twin::ints({pick(-2, 2)});
        } else if (auto* chunk = step.get_if<step::Chunk>()) {
          chunk->size = std::max<Index>(1, chunk->size + pick(-2, 2));
        } else if (auto* prefix = step.get_if<step::Prefix>()) {
          prefix->n += pick(1, 2);
        } else if (auto* pad = step.get_if<step::Pad>()) {
          if (pad->is_lengths && pad->valid.array.elements() == 1) {
            pad->valid = twin::ints({pick(0, keys_)});
          }
        }
    }
    return made(chain);
  }
  Mask moved(const Mask& a) {
    const Dense cells = twin::dense_of(a);
    const Index right = chance(2) ? pick(-3, 3) : 0, down = right == 0 ? pick(-3, 3) : 0;
    return twin::mask_of(
        twin::make(batch_, heads_, queries_, keys_, [&](Index b, Index h, Index q, Index k) {
          const Index from_q = q - down, from_k = k - right;
          return from_q >= 0 && from_q < queries_ && from_k >= 0 && from_k < keys_ &&
                 cells.get(b, h, from_q, from_k);
        }));
  }
  /// Permutes the heads or batches, or uses head 0 for all heads.
  Mask shuffled(const Mask& a) {
    std::vector<Index> heads, batches;
    for (Index h = 0; h < heads_; ++h) heads.push_back(h);
    for (Index b = 0; b < batch_; ++b) batches.push_back(b);
    if (chance(2)) std::ranges::shuffle(heads, random_);
    if (chance(2)) std::ranges::shuffle(batches, random_);
    if (chance(4)) heads.assign(heads.size(), 0);
    return Mask::make(batch_, heads_, queries_, keys_, [&](Index b, Index h) {
      return a.plane(batches[static_cast<std::size_t>(b)], heads[static_cast<std::size_t>(h)]);
    });
  }

  std::mt19937_64 random_;
  Index queries_ = 1, keys_ = 1, batch_ = 1, heads_ = 1;
  Chain last_;
};

}  // namespace maskctl::test
