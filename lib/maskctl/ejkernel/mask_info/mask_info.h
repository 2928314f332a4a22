// ejkernel's MaskInfo, with the same values, caches and errors, but lazy.
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
  AxisName kvheads = std::string("tp");  // only stored; no sharding uses it
  AxisName sequence = std::string("sp");
  friend bool operator==(const AxisNames&, const AxisNames&) = default;
};

/// Which transforms have been applied to the mask.
struct BakedInMasks {
  bool causal = false, sliding_window = false, chunked = false, token_type_ids = false;
  friend bool operator==(const BakedInMasks&, const BakedInMasks&) = default;
};

/// The contents of a MaskInfo. A null array is None: neither given nor computed yet.
struct MaskInfoFields {
  std::optional<MaskArray> attention_mask = {};
  Array q_segment_ids = {}, kv_segment_ids = {};  // [B,S] int32, -1 = padding
  Array cu_seqlens_q = {}, cu_seqlens_kv = {};    // [2B] pairs, or [129] cumulative counts
  Array q_positions = {}, kv_positions = {};      // [B,S]
  BakedInMasks baked_in = {};
  AxisNames axes = {};
};

/// One number for all batch rows, or an array [B] with one for each.
using PerBatch = std::variant<Index, Array>;

/// The size of a window: a pair (keys to the left, keys to the right), or one int for both.
using SlidingWindow = std::variant<Index, std::pair<Index, Index>>;

struct TokenTypeOptions {
  std::string combine = "union";  // "union", "intersect" or "replace"
  std::string zero_policy = "q";  // "q", "kv", "both" or "none"
  std::optional<bool> update_segment_ids = {};
};

struct SlidingWindowOptions {
  PerBatch offset = Index{0};
  std::optional<std::string> mode = {};  // "decode" or "prefill"; any other is "default"
  std::optional<PerBatch> index = {};    // required by "decode"
};

struct KvLengthOptions {
  std::optional<Index> q_len = {};
  std::optional<Index> sliding_window = {};
  /// Exclusive end of the query window, in place of kv_lengths. If given, key ids at or past the
  /// length also become -1 (as in newer versions of ejkernel).
  std::optional<PerBatch> end_index = {};
};

/// Positions and axis names, which all constructors take.
struct MaskInfoExtras {
  Array q_positions = {}, kv_positions = {};
  AxisNames axes = {};
};

/// The mask of one attention call as attention mask, segment ids and cumulative lengths. A form
/// that is missing is computed from the others when first read, and cached. Transforms return new
/// objects and are lazy: nothing of size Q x K exists until a dense array is read. Since reading
/// may fill a cache, reading functions are not const, and one object must not be used by two
/// threads; copies share arrays and are cheap.
/// All functions throw PythonError with ejkernel's type and message. Source:
/// ejkernel.types.mask.MaskInfo, including its oddities; see docs/developers/ejkernel.md.
class MaskInfo {
 public:
  MaskInfo() = default;
  /// Like the dataclass's constructor and tree_unflatten: stores the fields and computes nothing.
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
  /// The inputs of dynamic_init(). The first that is given of mask_info, attention_mask, input_ids
  /// and inputs_embeds determines the shape.
  struct DynamicInputs {
    const MaskInfo* mask_info = nullptr;
    std::optional<std::vector<Index>> input_ids_shape = {}, inputs_embeds_shape = {};
    std::optional<MaskArray> attention_mask = {};
  };
  static MaskInfo dynamic_init(const DynamicInputs& inputs);

  /// Returns what is stored now, like JAX's tree_flatten; computes nothing.
  const MaskInfoFields& fields() const { return fields_; }

  // Properties.
  const MaskArray& attention_mask();
  Array q_segment_ids();
  Array kv_segment_ids();
  Array cu_seqlens_q();
  Array cu_seqlens_kv();
  Array q_lens();  // None if no ids are stored
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
  /// If kv_types is null, keys have the types of the queries.
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
  /// [B,H,Q,K]: 0 where open, finfo(dtype).min where closed; dtype must be a float. Throws
  /// Error(kLimit) if the array would take more than max_bytes.
  Tensor create_bias(DType dtype = DType::kFloat32, Index max_bytes = Index{4} << 30);

  /// The fields to replace; those not given keep their values. As an exception, a new mask or new
  /// segment ids clear cu_seqlens_q and cu_seqlens_kv, unless a new value of one of them is given
  /// too.
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

/// Turns debug lines such as "[MaskInfo Debug] Calling MaskInfo.apply_causal()" on or off, for the
/// whole process. Each line is passed to the sink, without a line feed. Off by default; the default
/// sink discards them.
void set_debug_mode(bool enabled);
bool get_debug_mode();
void set_debug_sink(std::function<void(std::string_view line)> sink);

}  // namespace maskctl
