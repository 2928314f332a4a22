// Mutants: outputs of attention kernels with a planted mistake, each with its truth, against which
// a rule that accepts or refuses kernels can be tried. Shares nothing with what judges outputs.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/mask/cell.h"
#include "maskctl/mask/mask.h"
#include "maskctl/mask/steps/step.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

/// Where a mutant goes wrong: kMask: it applies another mask. kCall: it ignores or misreads another
/// argument of the call. kResult: it computes, merges or writes rows wrongly. kRight: nowhere.
/// kCoarse: nowhere, but keys and values come from a cache of 8 bits.
enum class MutantGroup : std::uint8_t { kMask, kCall, kResult, kRight, kCoarse };
/// "mask", "call", "result", "right" or "coarse".
std::string_view name(MutantGroup group);
/// Whether a rule should accept the mutants of a group.
inline bool is_right(MutantGroup group) { return group >= MutantGroup::kRight; }

/// The name of a kind of mutants, such as "window-wider", and what such a kernel does.
struct MutantKindInfo {
  std::string_view name;
  MutantGroup group = MutantGroup::kMask;
  std::string_view meaning;
  std::string_view needs = {};  // what the call must have, as in "a window"; empty: nothing
};
/// All kinds.
std::span<const MutantKindInfo> mutant_kinds();

/// Which kinds to make, by name.
struct MutantChoice {
  std::vector<std::string> only = {};     // these; empty: all
  std::vector<std::string> without = {};  // but not these
};

/// The call that a right kernel computes.
struct MutantCall {
  Mask base;    // the declared mask is apply(base, steps)
  Chain steps;  // what a kernel may get wrong; may be empty
  Index batch = 1, heads = 2, kv_heads = 2, dim = 64;
  DType dtype = DType::kBFloat16;  // of query, key, value and out: kBFloat16, kFloat16, kFloat32
  std::optional<double> scale, soft_cap;  // scale: 1 / sqrt(D)
  Index sinks = 0;                        // learnable sinks of each head
  bool bias = false;                      // a bias for each head and key
};

/// A rectangle of cells that a mutant treats in another way than the mask says.
struct ChangedCells {
  Index batch = 0, head = 0;
  Range queries = {}, keys = {};
  bool opened = false;  // false: closed
};

/// What a mutant does, for certain.
struct MutantTruth {
  std::string_view kind;
  MutantGroup group = MutantGroup::kRight;
  std::string text;  // "window left 128 instead of 127"
  // Cells that it opens and closes, over all batches and heads of the call.
  Index opened = 0, closed = 0;
  std::vector<ChangedCells> cells;  // the first of these cells, at most kMostRectangles
  /// The largest share of a row's softmax weight that was taken from keys or given to keys (1 for a
  /// row that is not computed), that row as a cell without a key, and the number of rows in which
  /// any weight was moved.
  double weight = 0;
  Cell heaviest;
  Index rows = 0;
  bool lse_only = false;  // out is that of the right kernel

  static constexpr std::size_t kMostRectangles = 64;
};

/// The arrays of one call. All are f32; those of the call and `out` hold numbers of its dtype.
struct Mutant {
  Index number = 0;
  Tensor query, key, value;           // [B,Tq,Hq,D], [B,Tk,Hkv,D] twice
  std::optional<Tensor> bias, sinks;  // [1,Hq,1,Tk], [Hq,n]
  Tensor out, lse;                    // of the mutant: [B,Tq,Hq,D], [B,Hq,Tq]
  /// The results of a right kernel of the same precision, and of the right call without its
  /// rounding.
  Tensor right_out, right_lse, exact_out, exact_lse;
  MutantTruth truth;
};

/// A kind that no mutant of a call has, and why.
struct KindLeftOut {
  std::string_view kind;
  std::string reason;  // "needs a window"
};

class DeclaredCall;

/// The mutants of one call, by number. Number n is the same in every process; it depends on the
/// call, the kinds and the seed only. Every fifth mutant is right or coarse.
class Mutants {
 public:
  /// Throws Error(kInvalidArgument) for a kind that does not exist, and if the call can have none
  /// of the chosen kinds; Error(kShape) for extents that do not fit, and Error(kLimit) for calls
  /// with more than 2^31 pairs of a query and a key.
  Mutants(MutantCall call, std::uint64_t seed, const MutantChoice& choice = {});
  ~Mutants();
  Mutants(Mutants&&) noexcept;

  const MutantCall& call() const;
  const Mask& mask() const;  // the declared mask
  /// The kinds that are made, in their order, and those that the call cannot have.
  const std::vector<MutantKindInfo>& kinds() const;
  const std::vector<KindLeftOut>& left_out() const;

  /// Throws Error(kCancelled) if the current WorkScope is asked to stop.
  Mutant make(Index number) const;

 private:
  std::unique_ptr<const DeclaredCall> declared_;
  std::vector<MutantKindInfo> kinds_;
  std::vector<KindLeftOut> left_out_;
  std::uint64_t seed_;
};

}  // namespace maskctl::attention
