// Says when findings about the mask alone are true.
#pragma once

#include <cstdint>
#include <vector>

#include "inspect/claims/claim.h"
#include "inspect/claims/predicates.h"
#include "maskctl/mask/planes/bands.h"

namespace maskctl::test {

/// Two batch entries of six tokens, of which the second sees nothing.
inline Tensor causal_and_empty() {
  Tensor out(DType::kBool, {2, 1, 6, 6});
  const Tensor first = causal(6);
  std::ranges::copy(first.as<std::uint8_t>(), out.as<std::uint8_t>().begin());
  return out;
}

template <>
struct Claim<FindingId::kMaskEmpty> {
  static Example example() {
    return {.has = "gen:empty:n=6", .lacks = "gen:empty:n=6 -t open:q=0,k=0", .nowhere = true};
  }
  static bool holds(const Claimed& claim) { return claim.result.mask->count() == 0; }
};

template <>
struct Claim<FindingId::kMaskFull> {
  static Example example() {
    return {.has = "gen:full:n=6", .lacks = "gen:full:n=6 -t close:q=0,k=5", .nowhere = true};
  }
  static bool holds(const Claimed& claim) {
    const Finding& finding = claim.finding;
    const PlainCells& cells = claim.cells;
    return cells.planes([&](Index b, Index h) {
      return cells.open_cells(b, h) == cells.queries() * cells.keys();
    }) * cells.queries() *
               cells.keys() ==
           finding.count;
  }
};

template <>
struct Claim<FindingId::kPolarity> {
  static Example example() { return {.has = "gen:causal:n=16 -t not", .lacks = "gen:causal:n=16"}; }
  static bool holds(const Claimed& claim) {
    const Finding& finding = claim.finding;
    const PlainCells& cells = claim.cells;
    if (finding.message.starts_with("the mask is the inverse")) return is_inverse(claim);
    return finding.count <= cells.planes([&](Index b, Index h) {
      return hides_selves(cells, b, h);
    }) && hides_selves(cells, claim.b(), claim.h());
  }
};

template <>
struct Claim<FindingId::kAntiCausal> {
  static Example example() {
    return {.has = "gen:full:n=16 -t window:left=0", .lacks = "gen:full:n=16 -t window:right=0"};
  }
  static bool holds(const Claimed& claim) {
    const Finding& finding = claim.finding;
    const PlainCells& cells = claim.cells;
    const bool none = finding.message.find("no earlier ones") != std::string::npos;
    return finding.count <= cells.planes([&](Index b, Index h) {
      return is_transposed(cells, b, h, none);
    }) && is_transposed(cells, claim.b(), claim.h(), none);
  }
};

template <>
struct Claim<FindingId::kNearly> {
  static Example example() {
    return {.has = "a.npy --as dense",
            .lacks = "gen:causal:n=32",
            .arrays = {
                {"a", bools(32, [](Index q, Index k) { return k <= q && (q != 20 || k != 5); })}}};
  }
  static bool holds(const Claimed& claim) {
    const Finding& finding = claim.finding;
    const PlainCells& cells = claim.cells;
    const twin::Dense steps = claim.made_by(steps_of(claim));
    const auto [all, real] = claim.differing(steps);
    const bool opened = cells.open(claim.b(), claim.h(), claim.q(), claim.k());
    return (finding.count == all || finding.count == real) && are_differing_pieces(claim, steps) &&
           opened != steps.get(claim.b(), claim.h(), claim.q(), claim.k()) &&
           is_off_as_said(claim, opened);
  }
};

template <>
struct Claim<FindingId::kExtentsExchanged> {
  static Tensor read_as(bool exchanged) {
    Tensor out(DType::kBool, {10, 20});
    for (Index i = 0; i < 200; ++i) {
      const Index row = i / (exchanged ? 10 : 20), column = i % (exchanged ? 10 : 20);
      out.as<std::uint8_t>()[static_cast<std::size_t>(i)] = column <= row + (exchanged ? 0 : 10);
    }
    return out;
  }
  static Example example() {
    return {.has = "a.npy --as dense",
            .lacks = "b.npy --as dense",
            .arrays = {{"a", read_as(true)}, {"b", read_as(false)}},
            .nowhere = true};
  }
  static CheckedMask question() { return {.start = mask_from_dense(read_as(true))}; }
  static bool holds(const Claimed& claim) { return is_in_other_rows(claim); }
};

template <>
struct Claim<FindingId::kRowsOpened> {
  static Example example() {
    return {
        .has = "a.npy --as dense",
        .lacks = "b.npy --as dense",
        .arrays = {{"a", bools(6, [](Index q, Index k) { return k <= q || q == 2; })},
                   {"b", bools(6, [](Index q, Index k) { return (2 <= k && k <= q) || q < 2; })}}};
  }
  static bool holds(const Claimed& claim) {
    const Finding& finding = claim.finding;
    const PlainCells& cells = claim.cells;
    return cells.is_full(claim.b(), claim.h(), claim.q()) &&
           finding.count <=
               cells.rows([&](Index b, Index h, Index q) { return cells.is_full(b, h, q); });
  }
};

template <>
struct Claim<FindingId::kPaddingRowsOpened> {
  static Example example() {
    return {
        .has = "a.npy --as dense",
        .lacks = "b.npy --as dense",
        .arrays = {{"a", bools(6, [](Index q, Index k) { return (2 <= k && k <= q) || q < 2; })},
                   {"b", bools(6, [](Index q, Index k) { return k <= q || q == 2; })}}};
  }
  static bool holds(const Claimed& claim) {
    const Finding& finding = claim.finding;
    const PlainCells& cells = claim.cells;
    return cells.is_opened_padding(claim.b(), claim.h(), claim.q()) &&
           finding.count <= cells.rows([&](Index b, Index h, Index q) {
             return cells.is_opened_padding(b, h, q);
           });
  }
};

template <>
struct Claim<FindingId::kTopLeft> {
  static Example example() {
    return {.has = "gen:full:q=2,k=6 -t causal:align=top-left",
            .lacks = "gen:full:q=2,k=6 -t causal:align=bottom-right"};
  }
  static bool holds(const Claimed& claim) {
    const PlainCells& cells = claim.cells;
    return cells.queries() < cells.keys() &&
           cells.open_cells(claim.b(), claim.h(), [](Index q, Index k) { return k > q; }) == 0;
  }
};

template <>
struct Claim<FindingId::kDecodeFirstKey> {
  static Example example() {
    return {.has = "gen:full:q=1,k=6 -t causal:align=top-left",
            .lacks = "gen:full:q=1,k=6 -t causal:align=bottom-right"};
  }
  static bool holds(const Claimed& claim) {
    const PlainCells& cells = claim.cells;
    return cells.queries() == 1 && cells.planes([&](Index b, Index h) {
      return cells.open(b, h, 0, 0) && cells.seen(b, h, 0) == 1;
    }) == cells.batch() * cells.heads();
  }
};

/// True if, in each plane with open cells, every query sees the key before its own and no later
/// key. Queries are aligned with the last keys.
inline bool ends_before_own(const PlainCells& cells) {
  return cells.planes([&](Index b, Index h) {
    if (cells.open_cells(b, h) == 0) return true;
    const auto later = [&](Index q, Index k) { return k >= q + cells.shift(); };
    const auto before = [&](Index q, Index k) { return k == q + cells.shift() - 1; };
    return cells.open_cells(b, h, later) == 0 && cells.open_cells(b, h, before) == cells.queries();
  }) == cells.batch() * cells.heads();
}

template <>
struct Claim<FindingId::kDecodeOwnKey> {
  static Example example() {
    return {
        .has = "gen:full:q=1,k=6 -t causal:align=bottom-right,offset=-1 --padding a.npy",
        .lacks =
            "gen:full:q=1,k=6 -t causal:align=bottom-right,offset=-1 --padding q=q.npy,kv=b.npy",
        .arrays = {{"a", i32({1, 6}, {1, 1, 1, 1, 1, 1})},
                   {"b", i32({1, 6}, {1, 1, 1, 1, 1, 0})},
                   {"q", i32({1, 1}, {0})}}};
  }
  static CheckedMask question() {
    CheckedMask out{.start = Mask(diagonal_band(1, 6, -kUnbounded, 4))};
    out.documents = DocumentSource{.real = i32({1, 6}, {1, 1, 1, 1, 1, 1})};
    return out;
  }
  static bool holds(const Claimed& claim) {
    const std::optional<Documents> documents = claim.documents();
    return documents && Claimed::id(*documents, documents->q, claim.b(), 0) &&
           ends_before_own(claim.cells);
  }
};

template <>
struct Claim<FindingId::kOwnKeyClosed> {
  static Example example() {
    return {.has = "gen:full:q=2,k=6 -t causal:align=bottom-right,offset=-1",
            .lacks = "gen:full:q=2,k=6 -t causal:align=bottom-right"};
  }
  static bool holds(const Claimed& claim) { return ends_before_own(claim.cells); }
};

template <>
struct Claim<FindingId::kAxesExchanged> {
  static Example example() {
    return {.has = "a.npy --as dense",
            .lacks = "b.npy --as dense",
            .arrays = {{"a", causal(6, {1, 6, 1, 6})}, {"b", causal(6, {1, 1, 6, 6})}}};
  }
  static bool holds(const Claimed& claim) {
    const PlainCells& cells = claim.cells;
    bool other = false;
    for (Index k = 0; k < cells.keys(); ++k)
      other = other || cells.open(claim.b(), claim.h(), 0, k) != cells.open(claim.b(), 0, 0, k);
    return other && cells.queries() == 1 && cells.heads() == cells.keys();
  }
};

template <>
struct Claim<FindingId::kPlaneFull> {
  static Example example() {
    return {.has = "gen:causal:n=16,b=4 -t 'batch:2{open:q=0-15}'",
            .lacks = "gen:causal:n=16,b=4 -t 'batch:2{open:q=0-3,k=0-3}'"};
  }
  static bool holds(const Claimed& claim) {
    const Finding& finding = claim.finding;
    const PlainCells& cells = claim.cells;
    const auto is_full = [&](Index b, Index h) {
      return cells.open_cells(b, h) == cells.queries() * cells.keys();
    };
    Index later = 0;  // in the other planes
    cells.planes([&](Index b, Index h) {
      if (is_full(b, h)) return false;
      later += cells.open_cells(b, h, [&](Index q, Index k) { return k > q + cells.shift(); });
      return false;
    });
    const std::string but =
        fmt::format(" but for {} cell{} of the future", later, later == 1 ? "" : "s");
    std::string said = finding.message;
    std::erase(said, ',');
    return cells.planes(is_full) == finding.count &&
           (later == 0 ? said.ends_with("causal") : said.ends_with(but));
  }
};

template <>
struct Claim<FindingId::kPlaneFuture> {
  static Example example() {
    return {.has = "gen:full:n=16,b=4 -t 'doc:lens=6+10 | batch:0-2{causal}'",
            .lacks = "gen:full:n=16,b=4 -t 'doc:lens=6+10 | batch:0-3{causal}'"};
  }
  static bool holds(const Claimed& claim) {
    const Finding& finding = claim.finding;
    const PlainCells& cells = claim.cells;
    return sees_future(cells, claim.b(), claim.h(), true) &&
           finding.count <=
               cells.planes([&](Index b, Index h) { return sees_future(cells, b, h, true); }) &&
           finding.count >=
               cells.planes([&](Index b, Index h) { return sees_future(cells, b, h, false); });
  }
};

template <>
struct Claim<FindingId::kFutureDiagonal> {
  static Example example() {
    return {.has = "gen:causal:offset=1,n=32", .lacks = "gen:causal:offset=0,n=32"};
  }
  static bool holds(const Claimed& claim) {
    const Finding& finding = claim.finding;
    const PlainCells& cells = claim.cells;
    const auto before = [&](Index q, Index k) { return q - k > finding.count; };
    const std::string said =
        fmt::format("query {} sees key {}, {} after its own", claim.q(), claim.k(), finding.count);
    return finding.message.starts_with(said) &&
           cells.open(claim.b(), claim.h(), claim.q(), claim.k()) &&
           claim.k() - claim.q() == finding.count &&
           cells.open_cells(claim.b(), claim.h(), before) > 0;
  }
};

template <>
struct Claim<FindingId::kHeadsDocuments> {
  static Example example() {
    return {.has = "gen:causal:n=32,h=2 -t 'heads:0{doc:lens=13+19}|heads:1{doc:lens=14+18}'",
            .lacks = "gen:causal:n=32,h=2 -t doc:lens=13+19"};
  }
  static bool holds(const Claimed& claim) {
    const bool opened =
        claim.finding.message.ends_with("; rows of padding that see every key left out");
    // Whether the last rows of a causal head are padding is not said: without them, and with them.
    const auto of_head = [&](Index head) {
      std::vector<AcrossBorders> out;
      for (const auto& [first, last] :
           {std::pair(false, false), {true, false}, {false, true}, {true, true}}) {
        out.push_back(across_borders(claim.cells, claim.b(), head, lengths_of(claim), first, last));
      }
      return out;
    };
    for (const AcrossBorders& own : of_head(claim.h())) {
      for (const AcrossBorders& other : of_head(claim.number_after(" tokens long, and head "))) {
        if (other.cells == claim.count() && claim.count() > 0 && own.cells == 0 &&
            (own.left_out || other.left_out) == opened &&
            other.first == claim.number_after(", the first of query ")) {
          return true;
        }
      }
    }
    return false;
  }
};

template <>
struct Claim<FindingId::kPlaneDiffers> {
  static Example example() {
    return {.has = "gen:window:keys=8,n=32,h=4 -t 'heads:1{window:keys=7}'",
            .lacks = "gen:window:keys=8,n=32,h=4 -t 'heads:1-2{window:keys=7}'"};
  }
  static bool holds(const Claimed& claim) { return differs_from_equals(claim); }
};

template <>
struct Claim<FindingId::kHeadDiffers> {
  static Example example() {
    return {.has = "gen:causal:n=16,h=4 -t 'heads:0+2+3{window:keys=3}'",
            .lacks = "gen:causal:n=16,h=4 -t 'heads:2-3{window:keys=3}'"};
  }
  static bool holds(const Claimed& claim) { return Claim<FindingId::kPlaneDiffers>::holds(claim); }
};

template <>
struct Claim<FindingId::kPlaneEmpty> {
  static Example example() {
    return {.has = "a.npy --as dense",
            .lacks = "gen:causal:n=6,b=2",
            .arrays = {{"a", causal_and_empty()}}};
  }
  static bool holds(const Claimed& claim) {
    const Finding& finding = claim.finding;
    const PlainCells& cells = claim.cells;
    return cells.planes([&](Index b, Index h) { return cells.open_cells(b, h) == 0; }) ==
           finding.count;
  }
};

template <>
struct Claim<FindingId::kEmptyRows> {
  static Example example() {
    return {.has = "gen:causal:n=16 -t slice:q=4:8,k=6:16",
            .lacks = "gen:causal:n=16 -t slice:q=6:8,k=6:16"};
  }
  static bool holds(const Claimed& claim) { return empty_rows_are_true(claim); }
};

template <>
struct Claim<FindingId::kPaddingRowsEmpty> {
  static Example example() {
    return {.has = "a.npy --as segments",
            .lacks = "b.npy --as segments",
            .arrays = {{"a", i32({1, 6}, {0, 0, 1, 1, -1, -1})},
                       {"b", i32({1, 6}, {0, 0, 1, 1, 2, 2})}}};
  }
  static bool holds(const Claimed& claim) {
    const Finding& finding = claim.finding;
    const PlainCells& cells = claim.cells;
    return cells.seen(claim.b(), claim.h(), claim.q()) == 0 &&
           finding.count <=
               cells.rows([&](Index b, Index h, Index q) { return cells.seen(b, h, q) == 0; });
  }
};

template <>
struct Claim<FindingId::kLeftPaddingNan> {
  static Example example() {
    return {.has = "a.npy --as dense",
            .lacks = "a.npy --as dense -t open:q=0-1,k=0-1",
            .arrays = {{"a", bools(6, [](Index q, Index k) { return 2 <= k && k <= q; })}}};
  }
  static bool holds(const Claimed& claim) {
    const Finding& finding = claim.finding;
    const PlainCells& cells = claim.cells;
    return is_left_padding(cells, claim.b(), claim.h(), claim.q()) &&
           finding.count <= cells.rows([&](Index b, Index h, Index q) {
             return is_left_padding(cells, b, h, q);
           });
  }
};

template <>
struct Claim<FindingId::kFirstBlock> {
  static Example example() {
    return {.has = "gen:window:keys=8,n=512", .lacks = "gen:window:keys=8,n=128"};
  }
  static bool holds(const Claimed& claim) {
    const Finding& finding = claim.finding;
    const PlainCells& cells = claim.cells;
    return finding.count == cells.rows([&](Index b, Index h, Index q) {
      return comes_late(cells, b, h, q);
    }) && comes_late(cells, claim.b(), claim.h(), claim.q());
  }
};

/// A window of 8 keys, and from query 16 on of `later` keys.
inline Tensor window_of_8_then(Index later) {
  return bools(32, [later](Index q, Index k) { return k <= q && q - k < (q < 16 ? 8 : later); });
}

template <>
struct Claim<FindingId::kWindowChanges> {
  static Example example() {
    return {.has = "a.npy --as dense",
            .lacks = "b.npy --as dense",
            .arrays = {{"a", window_of_8_then(5)}, {"b", window_of_8_then(8)}}};
  }
  static CheckedMask question() { return {.start = mask_from_dense(window_of_8_then(9))}; }
  static bool holds(const Claimed& claim) {
    const PlainCells& cells = claim.cells;
    const Index from = claim.number_after("queries from "), after = claim.number_after(" see "),
                before = claim.number_after(" those before ");
    const auto is_such = [&](Index b, Index h) {
      Index first = 0;
      while (first < cells.keys() && !cells.is_seen(b, h, first)) ++first;
      return cells.are_open_just_where(b, h, [&](Index q, Index k) {
        const Index own = q + cells.shift();
        return k >= first && k <= own && own - k < (q < from ? before : after);
      });
    };
    return before != after && from == claim.q() && is_such(claim.b(), claim.h()) &&
           claim.count() <= cells.planes(is_such);
  }
};

/// Documents of 37, 51, 12 and 28 tokens, to all of which the first `sinks` tokens are open.
inline Tensor documents_with_sinks(Index sinks) {
  const auto document = [](Index token) { return (token >= 37) + (token >= 88) + (token >= 100); };
  return bools(128, [=](Index q, Index k) {
    return k <= q && (k < sinks || (document(q) == document(k) && q - k < 16));
  });
}

template <>
struct Claim<FindingId::kDocumentsReopened> {
  static Example example() {
    return {.has = "a.npy --as dense",
            .lacks = "b.npy --as dense",
            .arrays = {{"a", documents_with_sinks(4)}, {"b", documents_with_sinks(0)}}};
  }
  static CheckedMask question() { return {.start = mask_from_dense(documents_with_sinks(4))}; }
  static bool holds(const Claimed& claim) {
    const std::string& text = claim.finding.message;
    const auto lengths = listed_at(text, text.find(" documents of ") + 14);
    const bool one = text.find("all of key ") != std::string::npos;
    const Index begin = claim.number_after(one ? "all of key " : "all of keys ");
    const Index end =
        one ? begin + 1 : claim.number_after(fmt::format("all of keys {}-", begin)) + 1;
    const auto crosses = [&](Index q, Index k) {
      return document_of(q, lengths) != document_of(k, lengths);
    };
    const auto may_be_open = [&](Index q, Index k) {
      return k <= q && (!crosses(q, k) || (k >= begin && k < end));
    };
    const PlainCells& cells = claim.cells;
    Index across = 0, others = 0;
    cells.planes([&](Index b, Index h) {
      across += cells.open_cells(b, h, crosses);
      others += cells.open_cells(b, h) - cells.open_cells(b, h, may_be_open);
      return false;
    });
    return across == claim.count() && others == 0 && across > 0;
  }
};

}  // namespace maskctl::test
