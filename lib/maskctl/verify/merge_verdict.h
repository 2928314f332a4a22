// Whether partial results of attention, each over some of the keys, were merged right, and if not,
// which mistake made the merged result.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/tensor/tensor.h"
#include "maskctl/verify/probe.h"

namespace maskctl::attention {

/// What is left of the softmax over the keys of one part: its normalised output, and the logarithm
/// of the sum of its exponentials. (0, -inf) is the part without keys, which changes no merge; an
/// lse of +inf, as FlashAttention gives it, means the same.
struct PartialResult {
  Tensor out;  // [B,T,H,D] or [B,H,T,D]; without B if there is one batch entry
  Tensor lse;  // [B,H,T] or [B,T,H], as the shape says; [B,H,T] if T is H
};

struct MergeCall {
  std::vector<PartialResult> parts;  // two or more, of the same axes
  Tensor out;                        // the merged output, in the shape of a part's
  std::optional<Tensor> lse;         // the merged lse
  Layout layout = Layout::kBthd;     // of all outputs
  bool base_2 = false;               // every lse is a logarithm to base 2, not e
};

/// kRight: up to rounding, the array is that of the merge. kMistaken: it is what one or more
/// mistakes give. kNone: it is neither. kUnclear: no row can be judged.
enum class MergeVerdict : std::uint8_t { kRight, kMistaken, kNone, kUnclear };
std::string_view name(MergeVerdict verdict);  // "right", "mistaken", "none", "unclear"

/// What is known of the merged output, or of the merged lse.
struct MergeFinding {
  MergeVerdict verdict = MergeVerdict::kRight;
  /// kMistaken: the mistakes that fit, all equally well.
  std::vector<std::string> fits = {};
  /// kRight: the mistakes that would have given the same in these arrays, up to rounding.
  std::vector<std::string> same = {};
  Index tried = 0;         // how many mistakes were tried
  bool in_part = false;    // kMistaken: no fit explains all rows, but the other rows are right
  Index rows_off = 0;      // rows that are not those of the right merge
  std::string where = {};  // these rows: "heads 0-3, queries 32-63"
  std::string first = {};  // the first element that is off: "(0, 2, 1, 0): 0.5 instead of 0.25"
};

struct MergeJudgement {
  MergeVerdict verdict = MergeVerdict::kRight;  // the worst of both findings
  MergeFinding out;
  std::optional<MergeFinding> lse;
  std::array<Index, 4> shape{};       // batch, heads, queries, elements of a head
  DType precision = DType::kFloat32;  // of the merged output, as its values show
  Index rows = 0;
  Index part_empty = 0, all_empty = 0;  // rows in which a part has no keys; those in which all have
  Index untold = 0;                     // rows not judged: the lse of a part is NaN there
  bool transposed_lse = false;          // an lse is [B,T,H]
  /// Whether out and lse are those of the right merge if every lse is to the other base.
  bool right_to_other_base = false;
};

/// Compares a merge with out = sum of exp(lse_p - lse) out_p, lse = ln of the sum of exp(lse_p),
/// and with what mistakes give: another base, other weights, parts that were left out or taken
/// twice, NaN from rows without keys. The right out of a row in which no part has keys is 0, its
/// lse -inf. The tolerance is what rounding each step of a merge of these parts, one after another,
/// to the precision of the output causes. Throws Error(kInvalidArgument) for fewer than two parts
/// and for arrays that hold no floats, Error(kShape) for shapes that do not fit each other.
MergeJudgement judge_merge(const MergeCall& call);

/// "right up to rounding", "what equal weights give", "none of 40 mistakes gives it".
std::string to_text(const MergeFinding& finding);

}  // namespace maskctl::attention
