// Checks cumulative lengths.
#include <fmt/format.h>

#include "maskctl/inspect/check/fixes.h"
#include "maskctl/inspect/check/lint_parts.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {

LintRule lint_row(RuleKey<FindingId::kCuShape>) {
  return {
      .id = "cu-shape",
      .severity = Severity::kError,
      .summary = "cu_seqlens are not one axis of whole numbers",
      .claim =
          "the array has more than one axis, fewer than two entries, or entries that are not "
          "whole numbers",
      .why = "varlen kernels take a 1-D array of N + 1 ends and read past any other",
      .fix = "give [0, n0, n0 + n1, ...] as one axis of int32",
      .example =
          R"(python3 -c 'import numpy as np; np.save("cu.npy", np.array([[0, 3], [0, 4]], "i4"))'
maskctl check cu.npy --as cu_seqlens)",
      .unfixed = "which lengths are meant is not known"};
}

LintRule lint_row(RuleKey<FindingId::kCuStart>) {
  return {
      .id = "cu-start",
      .severity = Severity::kError,
      .summary = "cu_seqlens do not start with 0",
      .claim = "the first entry is not 0",
      .why =
          "kernels read document i as [cu[i], cu[i + 1]); the tokens before cu[0] are never "
          "computed and their outputs are whatever the buffer held",
      .fix =
          "put 0 in front: lengths were given instead of their cumulative sum, or the 0 was "
          "cut off",
      .example = R"(python3 -c 'import numpy as np; np.save("cu.npy", np.array([3, 6, 9], "i4"))'
maskctl check cu.npy --as cu_seqlens)",
      .unfixed = "which lengths are meant is not known"};
}

LintRule lint_row(RuleKey<FindingId::kCuFalls>) {
  return {
      .id = "cu-falls",
      .severity = Severity::kError,
      .summary = "cu_seqlens fall",
      .claim = "the entry is smaller than the one before it",
      .why = "a document of negative length: kernels skip it or read out of bounds, silently",
      .fix = "take the cumulative sum of lengths that are at least 0",
      .example = R"(python3 -c 'import numpy as np; np.save("cu.npy", np.array([0, 6, 4, 9], "i4"))'
maskctl check cu.npy --as cu_seqlens)",
      .unfixed = "which lengths are meant is not known"};
}

LintRule lint_row(RuleKey<FindingId::kCuTotal>) {
  return {
      .id = "cu-total",
      .severity = Severity::kError,
      .summary = "cu_seqlens do not end at the number of tokens",
      .claim = "the last entry is not the number of tokens",
      .why =
          "tokens past the last end are not computed and keep what the buffer held; an end "
          "past the tokens reads memory outside the array",
      .fix = "make the last entry the number of tokens; give padding a document of its own",
      .example = R"(python3 -c 'import numpy as np; np.save("cu.npy", np.array([0, 3, 9], "i4"))'
maskctl check cu.npy --as cu_seqlens --shape 1+1+12+12)",
      .unfixed = "which lengths are meant is not known"};
}

LintRule lint_row(RuleKey<FindingId::kCuDtype>) {
  return {
      .id = "cu-dtype",
      .severity = Severity::kWarning,
      .summary = "cu_seqlens are not int32",
      .claim = "the entries are of another type than int32",
      .why =
          "flash-attention refuses them; kernels that take a raw pointer read int64 as pairs "
          "of int32",
      .fix = "cast to int32",
      .example = R"(python3 -c 'import numpy as np; np.save("cu.npy", np.array([0, 3, 9], "i8"))'
maskctl check cu.npy --as cu_seqlens)",
      .fixed = lengths_as_int32,
      .unfixed = "they are not of the SOURCE"};
}

LintRule lint_row(RuleKey<FindingId::kCuEmptyDocument>) {
  return {
      .id = "cu-empty-document",
      .severity = Severity::kNote,
      .summary = "cu_seqlens hold documents without tokens",
      .claim = "the entry equals the one before it",
      .why =
          "harmless in most kernels; tools that number documents by their tokens skip them, so "
          "numbers may not agree",
      .fix = "drop repeated entries, unless they pad the array to a fixed size",
      .example = R"(python3 -c 'import numpy as np; np.save("cu.npy", np.array([0, 3, 3, 9], "i4"))'
maskctl check cu.npy --as cu_seqlens)"};
}

namespace {

void lint_ends(const std::vector<std::int64_t>& ends, std::optional<Index> tokens,
               std::string_view what, Findings& out) {
  EntryTally start, falls, empty, total;
  const auto entry_only = [](EntryTally& tally) { tally.first.batch.reset(); };
  if (ends.front() != 0) {
    start.add(0, 0, [&] { return fmt::format("{} start with {}", what, ends.front()); });
  }
  for (std::size_t i = 1; i < ends.size(); ++i) {
    if (ends[i] < ends[i - 1]) {
      falls.add(0, i,
                [&] { return fmt::format("{} fall from {} to {}", what, ends[i - 1], ends[i]); });
    } else if (ends[i] == ends[i - 1]) {
      empty.add(0, i, [&] { return fmt::format("document {} has no tokens", i - 1); });
    }
  }
  if (tokens && ends.back() != *tokens) {
    total.add(0, ends.size() - 1, [&] {
      return fmt::format("{} end at {}, the tokens at {}", what, ends.back(), *tokens);
    });
  }
  for (EntryTally* tally : {&start, &falls, &empty, &total}) entry_only(*tally);
  start.report(FindingId::kCuStart, out);
  falls.report(FindingId::kCuFalls, out);
  total.report(FindingId::kCuTotal, out);
  empty.report(FindingId::kCuEmptyDocument, out);
}

}  // namespace

Findings lint_cu_seqlens(const Tensor& array, std::optional<Index> tokens, std::string_view what) {
  Findings out;
  if (array.rank() != 1 || array.elements() < 2 || !is_integer(array.dtype())) {
    out.push_back(
        {&lint_rule(FindingId::kCuShape),
         fmt::format("{} are {} of shape {}", what, name(array.dtype()), shape_text(array.shape())),
         {},
         0});
    return out;
  }
  lint_ends(as_int64(array, "cu_seqlens"), tokens, what, out);
  if (array.dtype() != DType::kInt32) {
    out.push_back({&lint_rule(FindingId::kCuDtype),
                   fmt::format("{} are {}", what, name(array.dtype())),
                   {},
                   0});
  }
  return out;
}

}  // namespace maskctl
