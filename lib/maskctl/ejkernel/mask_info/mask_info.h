// ejkernel's MaskInfo with the same values, caches and errors, but lazy.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "maskctl/attention/sharded/mesh.h"
#include "maskctl/ejkernel/mask_info/conversions.h"
#include "maskctl/ejkernel/mask_info/mask_array.h"

namespace maskctl {

using attention::AxisName, attention::names_of;

struct AxisNames {
  AxisName batch = std::vector<std::string>{"dp", "fsdp"};
  AxisName qheads = std::string("tp");
  AxisName kvheads = std::string("tp");  // stored only; no sharding uses it
  AxisName sequence = std::string("sp");
  friend bool operator==(const AxisNames&, const AxisNames&) = default;
};

/// Which transforms have been applied to a mask.
struct BakedInMasks {
  bool causal = false, sliding_window = false, chunked = false, token_type_ids = false;
  friend bool operator==(const BakedInMasks&, const BakedInMasks&) = default;
};

/// What a MaskInfo stores. A null array is None: neither given nor computed yet.
struct MaskInfoFields {
  std::optional<MaskArray> attention_mask = {};
  Array q_segment_ids = {}, kv_segment_ids = {};  // [B,S] int32, -1 = padding
  Array cu_seqlens_q = {}, cu_seqlens_kv = {};    // [2B] pairs, or [129] cumulative counts
  Array q_positions = {}, kv_positions = {};      // [B,S]
  BakedInMasks baked_in = {};
  AxisNames axes = {};
};

/// One number for all batches, or one per batch ([B]).
using PerBatch = std::variant<Index, Array>;

/// Both sides of a window: a single int is the number of keys to the left and to the right.
using SlidingWindow = std::variant<Index, std::pair<Index, Index>>;

struct TokenTypeOptions {
  std::string combine = "union";  // or intersect, replace
  std::string zero_policy = "q";  // or kv, both, none
  std::optional<bool> update_segment_ids = {};
};

struct SlidingWindowOptions {
  PerBatch offset = Index{0};
  std::optional<std::string> mode = {};  // "decode", "prefill"; any other is "default"
  std::optional<PerBatch> index = {};    // required by "decode"
};

struct KvLengthOptions {
  std::optional<Index> q_len = {};
  std::optional<Index> sliding_window = {};
  /// Exclusive end of the query window, replaces kv_lengths; key ids at or beyond the length then
  /// become -1 too (as in newer versions of ejkernel).
  std::optional<PerBatch> end_index = {};
};

/// The positions and axis names that every constructor takes.
struct MaskInfoExtras {
  Array q_positions = {}, kv_positions = {};
  AxisNames axes = {};
};

/// Masks, segment ids and cumulative lengths of one attention call; a form that is absent is
/// computed from the others when first read, then cached. Transforms return new objects and stay
/// lazy: nothing of size Q x K exists until a dense array is read. Reading may fill a cache, so
/// reading functions are not const, and one object must not be read from two threads; copies share
/// arrays and are cheap.
/// All functions throw PythonError with ejkernel's type and text.
/// Source: ejkernel.types.mask.MaskInfo, oddities included; see docs/ejkernel.md.
class MaskInfo {
 public:
  MaskInfo() = default;
  /// The dataclass's constructor and tree_unflatten: stores the fields and derives nothing.
  explicit MaskInfo(MaskInfoFields fields) : fields_(std::move(fields)) {}

  static MaskInfo from_segments(const Tensor& q_segment_ids, const Array& kv_segment_ids = nullptr,
                                bool is_attn_mask = false, const MaskInfoExtras& extras = {});
  static MaskInfo from_attention_mask(const MaskArray& attention_mask, bool mask_is_valid = true,
                                      const MaskInfoExtras& extras = {});
  static MaskInfo from_cu_seqlens(const Tensor& cu_seqlens_q, Index max_q_len,
                                  const Array& cu_seqlens_kv = nullptr,
                                  std::optional<Index> max_kv_len = std::nullopt,
                                  const MaskInfoExtras& extras = {});
  /// jax.random.bernoulli(PRNGKey(seed), 1 - sparsity, [B,1,Q,K]), computed when read.
  static MaskInfo from_random(Index batch_size, Index q_len,
                              std::optional<Index> kv_len = std::nullopt, double sparsity = 0.5,
                              std::int64_t seed = 0, const MaskInfoExtras& extras = {});
  /// The shapes come from the first that is given of mask_info, attention_mask, input_ids,
  /// inputs_embeds.
  struct DynamicInputs {
    const MaskInfo* mask_info = nullptr;
    std::optional<std::vector<Index>> input_ids_shape = {}, inputs_embeds_shape = {};
    std::optional<MaskArray> attention_mask = {};
  };
  static MaskInfo dynamic_init(const DynamicInputs& inputs);

  /// tree_flatten: what is stored now, without computing anything.
  const MaskInfoFields& fields() const { return fields_; }

  // Properties.
  const MaskArray& attention_mask();
  Array q_segment_ids();
  Array kv_segment_ids();
  Array cu_seqlens_q();
  Array cu_seqlens_kv();
  Array q_lens();  // None without stored ids
  Array kv_lens();
  Array q_attention_mask();  // [B,Q] int32: 0 where the id is -1, else 1
  Array q_position_ids();
  Tensor bias();  // create_bias(float32)
  std::optional<Index> batch_size() const;
  std::optional<Index> q_len() const;
  std::optional<Index> kv_len() const;
  std::array<std::optional<Index>, 3> shape() const;
  bool is_multi_sequence() const;
  bool is_self_attention() const;
  const BakedInMasks& baked_in_masks() const { return fields_.baked_in; }
  std::string repr() const;

  // Transforms.
  MaskInfo apply_causal(const PerBatch& offset = Index{0});
  MaskInfo apply_sliding_window(const SlidingWindow& window,
                                const SlidingWindowOptions& options = {});
  MaskInfo apply_chunked(Index chunk_size, Index offset = 0);
  /// Null kv_types: the keys have the types of the queries.
  MaskInfo apply_token_type_ids(const Tensor& q_types, const Array& kv_types = nullptr,
                                const TokenTypeOptions& options = {});
  MaskInfo apply_kv_lengths(const Tensor& kv_lengths, const KvLengthOptions& options = {});
  MaskInfo to_dtype(DType dtype);

  // Conversions.
  MaskInfo materialize_attention_mask(DType dtype = DType::kBool);
  MaskInfo materialize_segment_ids(bool per_head = false);
  MaskArray get_or_compute_attention_mask(DType dtype = DType::kBool);
  QkvArrays get_or_compute_segment_ids(bool per_head = false);
  QkvArrays get_or_compute_qkv_cu_seqlens(DType out_dtype = DType::kInt32,
                                          Index max_segments = 128);
  QkvArrays get_or_compute_positions();
  QkvMasks get_qkv_masks(DType dtype = DType::kBool);
  /// [B,H,Q,K]: 0 where open, finfo(dtype).min where closed; dtype is a float. Throws Error(kLimit)
  /// when that takes more than max_bytes.
  Tensor create_bias(DType dtype = DType::kFloat32, Index max_bytes = Index{4} << 30);

  /// Replaces the fields that are given; a new mask or new ids drop both cumulative lengths unless
  /// one of these is given too. A field cannot be cleared.
  struct Replacement {
    std::optional<MaskArray> attention_mask = {};
    Array q_segment_ids = {}, kv_segment_ids = {}, cu_seqlens_q = {}, cu_seqlens_kv = {};
    Array q_positions = {}, kv_positions = {};
    std::optional<BakedInMasks> baked_in = {};
    std::optional<AxisName> batch_axis = {}, qheads_axis = {}, kvheads_axis = {},
                            sequence_axis = {};
  };
  MaskInfo replace(const Replacement& fields) const;

 private:
  MaskInfoFields fields_;
};

/// Turns debug lines ("[MaskInfo Debug] Calling MaskInfo.apply_causal()") on or off; they go to the
/// sink, one call per line, without a line feed. Off by default, and the default sink drops them.
/// Applies to the whole process.
void set_debug_mode(bool enabled);
bool get_debug_mode();
void set_debug_sink(std::function<void(std::string_view line)> sink);

}  // namespace maskctl
