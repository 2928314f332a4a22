// Checks ids and positions, and what was noticed while a mask was read.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "maskctl/base/error.h"
#include "maskctl/inspect/check/fixes.h"
#include "maskctl/inspect/check/lint_parts.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {

LintRule lint_row(RuleKey<FindingId::kSegmentsReturn>) {
  return {
      .id = "segments-return",
      .severity = Severity::kWarning,
      .summary = "a segment id recurs after another one",
      .claim = "the id stands earlier in its row, with other ids in between",
      .why =
          "ids mean one document in two parts to dense and Flex masks, but two documents to "
          "anything that follows cu_seqlens (varlen kernels)",
      .fix = "sort the tokens by document or give the second part an id of its own",
      .example =
          R"(python3 -c 'import numpy as np; np.save("ids.npy", np.array([[0, 0, 1, 1, 0, 0]], "i4"))'
maskctl check ids.npy --as segments)",
      .unfixed = "whether they are one document or two is not known"};
}

LintRule lint_row(RuleKey<FindingId::kSegmentsZeroTail>) {
  return {
      .id = "segments-zero-tail",
      .severity = Severity::kNote,
      .summary = "segment ids end in zeros that are not the pad id",
      .claim =
          "the ids from the entry on are 0, those before it are above 0, and 0 is not the pad id",
      .why =
          "0 at the end is how Hugging Face and LLaMA-Factory mark padding; here it is a document "
          "like any other",
      .fix = "write the pad id",
      .example =
          R"(python3 -c 'import numpy as np; np.save("ids.npy", np.array([[1, 1, 2, 2, 0, 0]], "i4"))'
maskctl check ids.npy --as segments)",
      .remedy = {Remedy::kSetPadIdToZero}};
}

LintRule lint_row(RuleKey<FindingId::kPositionsOffset>) {
  return {
      .id = "positions-offset",
      .severity = Severity::kNote,
      .summary = "a row does not start at position 0",
      .claim = "the first position of the row that is no padding is above 0",
      .why =
          "right for the tokens that one rank holds under context parallelism, and for queries "
          "after a cache; in a whole row rotary embeddings see a shifted document",
      .fix = "nothing, for a part of a row; else restart position ids at 0 in each document",
      .example =
          R"(python3 -c 'import numpy as np; np.save("positions.npy", np.array([[3, 4, 5, 0, 1, 2]], "i4"))'
maskctl check positions.npy --as positions)"};
}

LintRule lint_row(RuleKey<FindingId::kPositionsStart>) {
  return {
      .id = "positions-start",
      .severity = Severity::kWarning,
      .summary = "a document does not start at position 0",
      .claim = "the position is above 0, and below the one before it or after padding",
      .why =
          "rotary embeddings see a shifted document, and tools that find documents by position "
          "0 join it to the previous one",
      .fix = "restart position ids at 0 in each document",
      .example =
          R"(python3 -c 'import numpy as np; np.save("positions.npy", np.array([[0, 1, 2, -1, 3, 4]], "i4"))'
maskctl check positions.npy --as positions)",
      .unfixed = "which documents the tokens are of is not known"};
}

LintRule lint_row(RuleKey<FindingId::kPositionsJump>) {
  return {
      .id = "positions-jump",
      .severity = Severity::kWarning,
      .summary = "position ids jump or repeat inside a row",
      .claim = "the position is above the one before it by more than 1, or equals it",
      .why =
          "each jump reads as a new document where documents come from position ids; "
          "multi-axis (mRoPE) ids are misread in this way",
      .fix = "pass segment ids or cu_seqlens instead of deriving them from such positions",
      .example =
          R"(python3 -c 'import numpy as np; np.save("positions.npy", np.array([[0, 1, 5, 6, 6, 7]], "i4"))'
maskctl check positions.npy --as positions)",
      .unfixed = "which documents the tokens are of is not known"};
}

LintRule lint_row(RuleKey<FindingId::kNoncanonicalBool>) {
  return {
      .id = "noncanonical-bool",
      .severity = Severity::kWarning,
      .summary = "bool bytes other than 0 and 1",
      .claim = "that many bytes of a bool array are neither 0 nor 1",
      .why =
          "the byte is undefined as a bool: numpy counts 2 as true, kernels that compare with "
          "1 or multiply do not",
      .fix = "normalise with mask != 0 before saving",
      .example =
          R"(python3 -c 'import numpy as np; np.save("mask.npy", (np.tri(6) * 2).astype("u1").view(bool))'
maskctl check mask.npy)",
      .fixed = write_canonical};
}

LintRule lint_row(RuleKey<FindingId::kBiasMixed>) {
  return {
      .id = "bias-mixed",
      .severity = Severity::kWarning,
      .summary = "a bias closes cells with -inf and with finite numbers",
      .claim = "some elements are -inf, and others finite numbers that close",
      .why =
          "a row of -inf alone is NaN after softmax, a row of finfo.min is the mean of V, a "
          "row of both sees the keys of finfo.min only",
      .fix = "use one value",
      .example =
          R"(python3 -c 'import numpy as np; bias = np.where(np.tri(6), 0, -np.inf).astype("f4"); bias[0, 5] = np.finfo("f4").min; np.save("bias.npy", bias)'
maskctl check bias.npy)",
      .remedy = {Remedy::kWriteAs, "bias"},
      .fixed = write_canonical};
}

namespace {

/// The rows of an array [S] or [B,S].
struct IdRows {
  std::vector<std::int64_t> values;
  Index batch = 0, length = 0;

  std::span<const std::int64_t> row(Index b) const {
    return std::span(values).subspan(static_cast<std::size_t>(b * length),
                                     static_cast<std::size_t>(length));
  }
};

IdRows rows_of(const Tensor& array, const char* what) {
  if (array.rank() != 1 && array.rank() != 2) {
    throw Error(Errc::kShape, fmt::format("{} have the shape (S,) or (B, S), not {}", what,
                                          shape_text(array.shape())));
  }
  const Index length = array.extent(array.rank() - 1);
  return {as_int64(array, what), array.rank() == 1 ? 1 : array.extent(0), length};
}

/// The ids seen so far: one flag per id if they are close together, else a hash set.
class SeenIds {
 public:
  explicit SeenIds(std::span<const std::int64_t> ids) {
    if (ids.empty()) return;
    const auto [low, high] = std::ranges::minmax(ids);
    low_ = low;
    const auto width = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    if (width < 4 * ids.size() + 1024) flags_.resize(static_cast<std::size_t>(width) + 1);
  }
  /// Returns false if the id was added before.
  bool add(std::int64_t id) {
    if (flags_.empty()) return hashed_.insert(id).second;
    std::uint8_t& flag = flags_[static_cast<std::size_t>(id - low_)];
    return std::exchange(flag, std::uint8_t{1}) == 0;
  }

 private:
  std::int64_t low_ = 0;
  std::vector<std::uint8_t> flags_;
  std::unordered_set<std::int64_t> hashed_;
};

/// Counts runs of an id that already had an earlier run.
void find_returns(std::span<const std::int64_t> ids, Index batch, std::int32_t pad_id,
                  EntryTally& out) {
  SeenIds seen(ids);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] == pad_id || (i > 0 && ids[i] == ids[i - 1]) || seen.add(ids[i])) continue;
    out.add(batch, i, [&] { return fmt::format("segment id {} recurs", ids[i]); });
  }
}

/// Finds zeros at the end of a row whose other ids are all above 0.
void find_zero_tail(std::span<const std::int64_t> ids, Index batch, std::int32_t pad_id,
                    EntryTally& out) {
  if (pad_id == 0 || ids.empty() || ids.back() != 0) return;
  std::size_t tail = ids.size();
  while (tail > 0 && ids[tail - 1] == 0) --tail;
  if (tail == 0 || std::ranges::any_of(ids.first(tail), [](auto id) { return id <= 0; })) return;
  out.add(batch, tail, [&] {
    return fmt::format("{} zeros end a row of ids from 1 on, and the pad id is {}",
                       ids.size() - tail, pad_id);
  });
}

/// The number of each token's document by its position ids, [B,S]; -1 for padding.
Tensor documents_in_positions(const Tensor& positions, const std::optional<Tensor>& real) {
  const Index tokens = positions.extent(positions.rank() - 1);
  return documents_of({DocumentForm::kPositions, positions, {}, -1, {}, real}, tokens, tokens).q;
}

/// What is wrong with the positions of the tokens of a row, one after another.
struct PositionTallies {
  EntryTally offset, start, jump;

  /// Checks a position against the one before it, which is -1 where there is no token before.
  void check(std::int64_t before, std::int64_t at, Index batch, std::size_t entry,
             bool first_token) {
    if (at == 0 || at == before + 1) return;
    if (first_token) {
      offset.add(batch, entry, [&] { return fmt::format("the first position is {}", at); });
    } else if (before < 0 || at < before) {
      start.add(batch, entry, [&] { return fmt::format("a document starts at position {}", at); });
    } else {
      jump.add(batch, entry, [&] { return fmt::format("position {} follows {}", at, before); });
    }
  }
};

}  // namespace

Findings lint_reading(const ReadFacts& facts) {
  Findings out = lint_facts(facts.arrays);
  if (facts.odd_bools > 0) {
    out.push_back({&lint_rule(FindingId::kNoncanonicalBool),
                   fmt::format("{} bool byte{} neither 0 nor 1", facts.odd_bools,
                               facts.odd_bools == 1 ? " is" : "s are"),
                   {},
                   facts.odd_bools});
  }
  if (facts.inf_closed && facts.min_closed) {
    out.push_back({&lint_rule(FindingId::kBiasMixed),
                   "closed cells hold both -inf and finite numbers",
                   {},
                   0});
  }
  return out;
}

Findings lint_segments(const Tensor& array, std::int32_t pad_id) {
  const IdRows ids = rows_of(array, "segment ids");
  EntryTally returns, zeros;
  for (Index b = 0; b < ids.batch; ++b) {
    find_returns(ids.row(b), b, pad_id, returns);
    find_zero_tail(ids.row(b), b, pad_id, zeros);
  }
  Findings out;
  returns.report(FindingId::kSegmentsReturn, out);
  zeros.report(FindingId::kSegmentsZeroTail, out);
  return out;
}

Findings lint_positions(const Tensor& array, const std::optional<Tensor>& real) {
  const IdRows positions = rows_of(array, "position ids");
  const Tensor documents = documents_in_positions(array, real);
  PositionTallies tallies;
  for (Index b = 0; b < documents.extent(0); ++b) {
    std::int64_t before = -1;
    bool first_token = true;
    const auto row = positions.row(positions.batch == 1 ? 0 : b);
    const auto document = ids_of_batch(documents, b);
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool is_token = document[i] >= 0;
      if (is_token) tallies.check(before, row[i], b, i, first_token);
      first_token = first_token && !is_token;
      before = is_token ? row[i] : -1;
    }
  }
  Findings out;
  tallies.offset.report(FindingId::kPositionsOffset, out);
  tallies.start.report(FindingId::kPositionsStart, out);
  tallies.jump.report(FindingId::kPositionsJump, out);
  return out;
}

}  // namespace maskctl
