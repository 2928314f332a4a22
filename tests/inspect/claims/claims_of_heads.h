// What makes findings true about what the heads of a batch entry have in common, and about decode
// steps that are batch entries.
#pragma once

#include "inspect/claims/claim.h"
#include "maskctl/mask/arrays/dense.h"

namespace maskctl::test {

template <>
struct Claim<FindingId::kHeadsBorders> {
  static Example example() {
    return {.has = "gen:causal:n=16,h=2 -t 'heads:0{pad:lens=12}|heads:1{pad:lens=13}'",
            .lacks = "gen:causal:n=16,h=2 -t pad:lens=12"};
  }
  static bool holds(const Claimed& claim) {
    const PlainCells& cells = claim.cells;
    const Index other = claim.number_after("and not in head ");
    const auto word = claim.finding.message.find(" in head ");
    const auto says = [&](const char* key) {
      return claim.finding.message.substr(0, word).ends_with(key);
    };
    const Index distance = says("tokens before their own") ? -claim.number_after(" the key ")
                           : says("before their own")      ? -1
                           : says("after their own")       ? 1
                                                           : 0;
    Index count = 0, first = -1;
    for (Index q = 0; q < cells.queries(); ++q) {
      const Index k = q + distance;
      if (k < 0 || k >= cells.keys() || !cells.open(claim.b(), claim.h(), q, k) ||
          cells.open(claim.b(), other, q, k))
        continue;
      if (count++ == 0) first = q;
    }
    return count == claim.count() && count > 0 && first == claim.q() &&
           claim.k() == first + distance && first == claim.number_after("the first is query ");
  }
};

template <>
struct Claim<FindingId::kHeadWindow> {
  static Example example() {
    return {.has =
                "gen:causal:n=16,b=2,h=2 -t "
                "'batch:0{heads:1{window:keys=4}}|batch:1{heads:1{window:keys=5}}'",
            .lacks = "gen:causal:n=16,b=2,h=2 -t 'heads:1{window:keys=4}'"};
  }
  static CheckedMask question() {
    const std::string steps =
        "batch:0{heads:1{window:keys=4}}|batch:1{heads:1{window:keys=5}}|causal";
    return {.start = maskctl::apply(full_mask(2, 2, 16, 16), load_chain(std::array{steps}, {}))};
  }
  static bool holds(const Claimed& claim) {
    const PlainCells& cells = claim.cells;
    const Index far = claim.number_after(" sees the key "),
                wide = claim.number_after(" in batch entry ");
    const bool later = claim.finding.message.find(" after ") != std::string::npos;
    const Index sign = later ? 1 : -1;
    bool sees = false, other_sees = false;
    for (Index q = 0; q < cells.queries(); ++q) {
      const Index k = q + sign * far;
      sees = sees || (k >= 0 && k < cells.keys() && cells.open(wide, claim.h(), q, k));
    }
    if (claim.finding.message.ends_with("which another head sees")) {
      for (Index h = 0; h < cells.heads(); ++h) {
        other_sees = other_sees || cells.open(claim.b(), h, claim.q(), claim.k());
      }
    } else {
      const Index beside = claim.q() + sign;
      other_sees = cells.open(claim.b(), claim.h(), claim.q(), beside) &&
                   cells.open(claim.b(), claim.h(), beside, claim.k());
    }
    return sees && other_sees && !cells.open(claim.b(), claim.h(), claim.q(), claim.k()) &&
           sign * (claim.k() - claim.q()) <= far &&
           claim.count() == far + 1 - sign * (claim.k() - claim.q());
  }
};

template <>
struct Claim<FindingId::kHeadsEntries> {
  static Example example() {
    return {
        .has =
            "gen:causal:n=16,b=2,h=2 -t "
            "'batch:0{heads:0{dilated:stride=2}}|batch:1{doc:lens=4+12}'",
        .lacks = "gen:causal:n=16,b=2,h=2 -t 'heads:0{dilated:stride=2}|batch:1{doc:lens=4+12}'"};
  }
  static CheckedMask question() {
    const std::string steps = "causal|batch:0{heads:0{dilated:stride=2}}|batch:1{doc:lens=4+12}";
    return {.start = maskctl::apply(full_mask(2, 2, 16, 16), load_chain(std::array{steps}, {}))};
  }
  static bool holds(const Claimed& claim) {
    const PlainCells& cells = claim.cells;
    const Index shows = claim.number_after(" in batch entry "),
                other = claim.number_after("where head ");
    const bool later = claim.finding.message.find("later key") != std::string::npos;
    Index count = 0;
    for (Index q = 0; q < cells.queries(); ++q) {
      for (Index k = later ? q + 1 : 0; k < cells.keys(); ++k) {
        const bool odd = cells.open(shows, claim.h(), q, k) &&
                         !cells.open(claim.b(), claim.h(), q, k) &&
                         cells.open(claim.b(), other, q, k);
        if (odd && count++ == 0 && (q != claim.q() || k != claim.k())) return false;
      }
    }
    return count > 0 && count == claim.count();
  }
};

template <>
struct Claim<FindingId::kHeadRegion> {
  static Example example() {
    return {.has = "gen:causal:n=90,h=2 -t 'window:keys=30|heads:1{open:q=60-68,k=0-13}'",
            .lacks = "gen:causal:n=90,h=2 -t 'window:keys=30|heads:1{sinks:n=14}|causal'"};
  }
  static CheckedMask question() {
    const std::string steps = "window:keys=30|heads:1{open:q=60-68,k=0-13}|causal";
    return {.start = maskctl::apply(full_mask(1, 2, 90, 90), load_chain(std::array{steps}, {}))};
  }
  static bool holds(const Claimed& claim) {
    const PlainCells& cells = claim.cells;
    const Index other = claim.number_after(" sees what head ");
    Index count = 0, q0 = cells.queries(), q1 = -1, k0 = cells.keys(), k1 = -1;
    bool whole = true;
    for (Index q = 0; q < cells.queries(); ++q) {
      for (Index k = 0; k < cells.keys(); ++k) {
        const bool here = cells.open(claim.b(), claim.h(), q, k),
                   there = cells.open(claim.b(), other, q, k);
        whole = whole && (here || !there);
        if (!here || there) continue;
        if (count++ == 0 && (q != claim.q() || k != claim.k())) return false;
        q0 = std::min(q0, q), q1 = std::max(q1, q), k0 = std::min(k0, k), k1 = std::max(k1, k);
      }
    }
    for (Index q = q0; q <= q1; ++q) {
      for (Index k = k0; k <= k1; ++k) whole = whole && cells.open(claim.b(), claim.h(), q, k);
    }
    const auto range = [](Index first, Index last) {
      return first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
    };
    return whole && count > 0 && count == claim.count() &&
           claim.finding.message.ends_with(
               fmt::format(" more, which fill queries {}, keys {}", range(q0, q1), range(k0, k1)));
  }
};

template <>
struct Claim<FindingId::kRingSlots> {
  /// Steps 3 to 10 of a cache of six slots, whose window is compared with the slots.
  static Tensor steps(bool with_slots) {
    Tensor out(DType::kBool, {8, 1, 1, 6});
    for (Index i = 0; i < 48; ++i) {
      const Index step = 3 + i / 6, slot = i % 6;
      out.as<std::uint8_t>()[static_cast<std::size_t>(i)] =
          slot <= step && (!with_slots || slot > step - 6);
    }
    return out;
  }
  static Example example() {
    return {.has = "a.npy", .lacks = "b.npy", .arrays = {{"a", steps(true)}, {"b", steps(false)}}};
  }
  static CheckedMask question() { return {.start = mask_from_dense(steps(true))}; }
  static bool holds(const Claimed& claim) {
    const PlainCells& cells = claim.cells;
    // Whether entry b sees the keys from `first` on, up to but not with `end`.
    const auto sees = [&](Index b, Index first, Index end) {
      for (Index k = 0; k < cells.keys(); ++k)
        if (cells.open(b, claim.h(), 0, k) != (k >= first && k < end)) return false;
      return true;
    };
    const Index first = claim.b(), lost = claim.k(), keys = cells.keys();
    bool grows = first > 2 && sees(first - 1, lost, keys);
    for (Index back = 2; back <= 3 && grows; ++back) {
      bool any = false;
      for (Index begin = std::max<Index>(0, lost - 2); begin <= lost; ++begin)
        any = any || sees(first - back, begin, keys - back + 1);
      grows = any;
    }
    bool loses = claim.count() >= 2 && first == claim.number_after("batch entries ") &&
                 lost == claim.number_after("from key ") &&
                 first - 1 == claim.number_after("after batch entry ");
    for (Index i = 0; i < claim.count(); ++i) loses = loses && sees(first + i, lost + 1 + i, keys);
    return cells.queries() == 1 && grows && loses;
  }
};

}  // namespace maskctl::test
