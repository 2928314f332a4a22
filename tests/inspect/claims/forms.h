// Draws masks as programs hold them, also those that no step makes: trees, rings, neighbourhoods,
// permutations, selected keys. Batch entries and heads have rules of their own, and some masks have
// a fault.
#pragma once

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "maskctl/mask/arrays/dense.h"

namespace maskctl::test {

class FormMaker {
 public:
  explicit FormMaker(unsigned seed) : random_(seed) {}

  /// Draws a mask of at most 3 batch entries, 4 heads and 64 tokens; one mask in 16 has 129 to 300
  /// tokens.
  Mask draw() {
    tokens_ = pick(0, 15) == 0 ? pick(129, 300) : pick(1, pick(0, 1) ? 64 : 16);
    batch_ = pick(1, 3);
    heads_ = pick(1, pick(0, 1) ? 4 : 1);
    const Tensor cells = maybe_wrong(planes());
    return mask_from_dense(cells);
  }
  /// The rules of the planes and the fault, for messages.
  const std::string& text() const { return text_; }

 private:
  using Rule = std::function<bool(Index q, Index k)>;

  Index pick(Index low, Index high) {
    return std::uniform_int_distribution<Index>(low, std::max(low, high))(random_);
  }
  std::vector<Index> numbers(Index low, Index high) {
    std::vector<Index> out(static_cast<std::size_t>(tokens_));
    for (Index& one : out) one = pick(low, high);
    return out;
  }
  static Index at(const std::vector<Index>& all, Index i) {
    return all[static_cast<std::size_t>(i)];
  }
  /// Draws numbers that increase by 1 at random tokens, such as those of documents, groups or
  /// frames.
  std::vector<Index> stretches(Index mean) {
    std::vector<Index> out = numbers(0, 0);
    for (std::size_t i = 1; i < out.size(); ++i) out[i] = out[i - 1] + (pick(1, mean) == 1);
    return out;
  }

  Rule sequence() {
    const Index n = tokens_, width = pick(1, n), size = pick(1, n);
    switch (pick(0, 6)) {
      case 0:
        return [](Index q, Index k) { return k <= q; };
      case 1:
        return [=](Index q, Index k) { return k <= q && q - k < width; };
      case 2:
        return [=](Index q, Index k) { return k <= q && q / size == k / size; };
      case 3:
        return [=](Index q, Index k) { return std::abs(q - k) < width; };
      case 4:
        return [=](Index q, Index k) { return k < size || k <= q; };
      case 5:
        return [=](Index q, Index k) { return k <= q + size / 8; };
      default:
        return [](Index, Index) { return true; };
    }
  }

  Rule odd_form() {
    const Index n = tokens_, width = pick(1, n);
    switch (pick(0, 8)) {
      case 0: {
        text_ += "tree ";
        std::vector<Index> parents(static_cast<std::size_t>(n));
        for (Index i = 1; i < n; ++i) parents[static_cast<std::size_t>(i)] = pick(0, i - 1);
        return [=](Index q, Index k) {
          while (q > k) q = at(parents, q);
          return q == k;
        };
      }
      case 1:
        text_ += "ring ";
        return [=](Index q, Index k) { return (q - k + n) % n < width; };
      case 2: {
        text_ += "neighbourhood ";
        const Index columns = pick(1, n), reach = pick(1, 3), rows = (n + columns - 1) / columns;
        return [=](Index q, Index k) {
          const auto near = [reach](Index a, Index b, Index size) {
            const Index centre = std::clamp(a, reach, std::max(reach, size - 1 - reach));
            return std::abs(centre - b) <= reach;
          };
          return near(q / columns, k / columns, rows) && near(q % columns, k % columns, columns);
        };
      }
      case 3: {
        text_ += "random ";
        const std::vector<Index> all = [&] {
          std::vector<Index> out(static_cast<std::size_t>(n * n));
          const Index of = pick(2, 6);
          for (Index& one : out) one = pick(1, of) == 1;
          return out;
        }();
        return [=](Index q, Index k) { return at(all, q * n + k) != 0; };
      }
      case 4: {
        text_ += "permutation ";
        std::vector<Index> order(static_cast<std::size_t>(n));
        std::iota(order.begin(), order.end(), Index{0});
        std::shuffle(order.begin(), order.end(), random_);
        return [=](Index q, Index k) { return at(order, k) <= at(order, q); };
      }
      case 5: {
        text_ += "images ";
        const std::vector<Index> group = stretches(4), is_text = numbers(0, 1);
        return [=](Index q, Index k) {
          return k <= q || (at(group, q) == at(group, k) && at(is_text, at(group, q)) == 0);
        };
      }
      case 6: {
        text_ += "blocks ";
        const Index size = pick(1, 5);
        const std::vector<Index> chosen = numbers(0, 2);
        return [=](Index q, Index k) {
          return k <= q && (at(chosen, (q / size * 7 + k / size) % n) == 0 || q / size == k / size);
        };
      }
      case 7: {
        text_ += "types ";
        const std::vector<Index> type = numbers(0, 2);
        return [=](Index q, Index k) { return at(type, q) == at(type, k); };
      }
      default: {
        text_ += "mixed ";
        const std::vector<Index> id = stretches(8), causal = numbers(0, 1);
        return [=](Index q, Index k) {
          return at(id, q) == at(id, k) && (k <= q || at(causal, at(id, q)) == 0);
        };
      }
    }
  }

  Rule documents_and(Rule inner) {
    text_ += "documents ";
    const std::vector<Index> id = stretches(pick(2, 16));
    return [=](Index q, Index k) { return at(id, q) == at(id, k) && inner(q, k); };
  }
  Rule padded(Rule inner) {
    text_ += "padding ";
    const Index n = tokens_, real = pick(1, n);
    const bool left = pick(0, 1) == 0, queries = pick(0, 1) == 0, opened = pick(0, 2) == 0;
    return [=](Index q, Index k) {
      const auto is_real = [=](Index i) { return left ? i >= n - real : i < real; };
      if (opened && !is_real(q)) return true;
      return is_real(k) && (is_real(q) || !queries) && inner(q, k);
    };
  }

  Rule rule() {
    Rule out = pick(0, 2) == 0 ? odd_form() : sequence();
    if (pick(0, 2) == 0) out = documents_and(out);
    if (pick(0, 2) == 0) out = padded(out);
    if (pick(0, 9) == 0) {
      text_ += "transposed ";
      return [=](Index q, Index k) { return out(k, q); };
    }
    if (pick(0, 9) == 0) {
      text_ += "inverted ";
      return [=](Index q, Index k) { return !out(q, k); };
    }
    return out;
  }

  /// Draws one rule for all planes, one for each batch entry or head, or the intersection of both.
  Tensor planes() {
    const Index kind = pick(0, 4), n = tokens_;
    const Index queries = pick(0, 4) == 0 ? pick(1, n) : n;
    const Index keys = queries == n && pick(0, 7) == 0 ? pick(1, n) : n;
    const std::vector<Index> whose{pick(0, 2), pick(0, 2), pick(0, 2), pick(0, 2)};
    std::vector<Rule> of_batch, of_head;
    for (int i = 0; i < 3; ++i) of_batch.push_back(rule());
    for (int i = 0; i < 3; ++i) of_head.push_back(rule());
    Tensor out(DType::kBool, {batch_, heads_, queries, keys});
    const auto cells = out.as<std::uint8_t>();
    std::size_t i = 0;
    for (Index b = 0; b < batch_; ++b)
      for (Index h = 0; h < heads_; ++h)
        for (Index q = n - queries; q < n; ++q)
          for (Index k = 0; k < keys; ++k) {
            const auto by_batch = static_cast<std::size_t>(kind > 1 ? b : 0);
            const auto by_head = static_cast<std::size_t>(at(whose, h));
            const bool open = of_batch[by_batch](q, k);
            cells[i++] = kind < 3 ? open : (kind == 4 || open) && of_head[by_head](q, k);
          }
    return out;
  }

  Tensor maybe_wrong(Tensor cells) {
    const Index queries = cells.extent(2), keys = cells.extent(3);
    const Index kind = pick(0, 7), b = pick(0, batch_ - 1), h = pick(0, heads_ - 1);
    if (kind > 4) return cells;
    const Index q0 = pick(0, queries - 1), k0 = pick(0, keys - 1);
    const Index q1 = kind == 2   ? queries
                     : kind == 3 ? pick(q0 + 1, std::min(q0 + 4, queries))
                                 : q0 + 1;
    const Index k1 = kind == 1 ? keys : kind == 3 ? pick(k0 + 1, std::min(k0 + 4, keys)) : k0 + 1;
    const bool all = pick(0, 2) == 0;
    const std::uint8_t value = static_cast<std::uint8_t>(pick(0, 1));
    text_ += "fault" + std::to_string(kind);
    for (Index q = kind == 2 ? 0 : q0; q < q1; ++q)
      for (Index k = kind == 1 ? 0 : k0; k < k1; ++k)
        for (Index i = 0; i < batch_ * heads_; ++i) {
          if (!all && i != b * heads_ + h) continue;
          cells.as<std::uint8_t>()[static_cast<std::size_t>((i * queries + q) * keys + k)] = value;
        }
    return cells;
  }

  std::mt19937_64 random_;
  Index tokens_ = 1, batch_ = 1, heads_ = 1;
  std::string text_;
};

}  // namespace maskctl::test
