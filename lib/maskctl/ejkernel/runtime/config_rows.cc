#include "maskctl/ejkernel/runtime/config_rows.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace maskctl::attention {
namespace {

/// The fields of a class, in the order of its members.
template <class C>
struct FieldList {
  std::array<ConfigField, 10> fields = {};
  std::size_t count = 0;
  std::size_t bytes = 0;  // total size of the members, with padding

  template <auto member>
  constexpr void add(std::string_view name, Index least = 1) {
    using Value = std::remove_reference_t<decltype(std::declval<C&>().*member)>;
    fields[count++] = {name, least, [](void* object) -> ConfigValue {
                         return &(static_cast<C*>(object)->*member);
                       }};
    bytes = (bytes + alignof(Value) - 1) / alignof(Value) * alignof(Value) + sizeof(Value);
  }
};

/// Lists the fields of the config class C. The candidates are all members that any config class
/// has; a field has the name of its member.
template <class C>
consteval FieldList<C> list_fields() {
  FieldList<C> list;
  if constexpr (requires { &C::platform; }) list.template add<&C::platform>("platform");
  if constexpr (requires { &C::backend; }) list.template add<&C::backend>("backend");
  if constexpr (requires { &C::fwd_params; }) list.template add<&C::fwd_params>("fwd_params");
  if constexpr (requires { &C::bwd_params; }) list.template add<&C::bwd_params>("bwd_params");
  if constexpr (requires { &C::blocksize_m; }) list.template add<&C::blocksize_m>("blocksize_m");
  if constexpr (requires { &C::blocksize_k; }) list.template add<&C::blocksize_k>("blocksize_k");
  if constexpr (requires { &C::blocksize_n; }) list.template add<&C::blocksize_n>("blocksize_n");
  if constexpr (requires { &C::q_blocksize; }) list.template add<&C::q_blocksize>("q_blocksize");
  if constexpr (requires { &C::kv_blocksize; }) list.template add<&C::kv_blocksize>("kv_blocksize");
  if constexpr (requires { &C::blocksize_heads; })
    list.template add<&C::blocksize_heads>("blocksize_heads");
  if constexpr (requires { &C::blocksize_keys; })
    list.template add<&C::blocksize_keys>("blocksize_keys");
  if constexpr (requires { &C::num_key_splits; })
    list.template add<&C::num_key_splits>("num_key_splits");
  if constexpr (requires { &C::block_q; }) list.template add<&C::block_q>("block_q");
  if constexpr (requires { &C::block_m; }) list.template add<&C::block_m>("block_m");
  if constexpr (requires { &C::block_n; }) list.template add<&C::block_n>("block_n");
  if constexpr (requires { &C::block_k; }) list.template add<&C::block_k>("block_k");
  if constexpr (requires { &C::block_d; }) list.template add<&C::block_d>("block_d");
  if constexpr (requires { &C::block_size; }) list.template add<&C::block_size>("block_size");
  if constexpr (requires { &C::query_chunk_size; })
    list.template add<&C::query_chunk_size>("query_chunk_size");
  if constexpr (requires { &C::key_chunk_size; })
    list.template add<&C::key_chunk_size>("key_chunk_size");
  if constexpr (requires { &C::num_splits; }) list.template add<&C::num_splits>("num_splits", 0);
  if constexpr (requires { &C::pages_per_compute_block; })
    list.template add<&C::pages_per_compute_block>("pages_per_compute_block");
  if constexpr (requires { &C::chunk_prefill_size; })
    list.template add<&C::chunk_prefill_size>("chunk_prefill_size");
  if constexpr (requires { &C::num_kv_pages_per_block; })
    list.template add<&C::num_kv_pages_per_block>("num_kv_pages_per_block");
  if constexpr (requires { &C::num_queries_per_block; })
    list.template add<&C::num_queries_per_block>("num_queries_per_block");
  if constexpr (requires { &C::num_warps; }) list.template add<&C::num_warps>("num_warps");
  if constexpr (requires { &C::num_stages; }) list.template add<&C::num_stages>("num_stages");
  if constexpr (requires { &C::bypass_xla_tiling; })
    list.template add<&C::bypass_xla_tiling>("bypass_xla_tiling");
  return list;
}

template <class C>
struct FieldsOf {
  static constexpr FieldList<C> kList = list_fields<C>();
  static_assert((kList.bytes + alignof(C) - 1) / alignof(C) * alignof(C) == sizeof(C),
                "a member of the class has no field");
  static constexpr std::span<const ConfigField> kFields{kList.fields.data(), kList.count};
};

template <class C>
constexpr ConfigRow row(std::string_view name, std::string_view cache_name) {
  return {name, cache_name, FieldsOf<C>::kFields, []() -> AnyConfig { return C{}; }};
}

constexpr ConfigRow kRows[] = {
    row<ScaledDotProductAttentionConfig>("ScaledDotProductAttentionConfig", "sdpa"),
    row<AttentionConfig>("AttentionConfig", "attention"),
    row<FlashAttentionConfig>("FlashAttentionConfig", "flash-attn"),
    row<BlockSparseAttentionConfig>("BlockSparseAttentionConfig", "blocksparse"),
    row<RingAttentionConfig>("RingAttentionConfig", "ring-attention"),
    row<NativeSparseAttentionConfig>("NativeSparseAttentionConfig", "nsa"),
    row<PageAttentionConfig>("PageAttentionConfig", "page-attention"),
    row<RaggedPageAttentionConfig>("RaggedPageAttentionConfig", "ragged-page-attention"),
    row<RaggedPageAttentionv3Config>("RaggedPageAttentionv3Config", "ragged-page-attention-v3"),
    row<RaggedDecodeAttentionConfig>("RaggedDecodeAttentionConfig", "ragged-decode-attention"),
    row<RecurrentAttentionConfig>("RecurrentAttentionConfig", "recurrent"),
    row<GLAttentionConfig>("GLAttentionConfig", "gla"),
    row<LightningAttentionConfig>("LightningAttentionConfig", "lightning-attention"),
    row<FlashMLAConfig>("FlashMLAConfig", "mla"),
    row<GroupedMatmulConfig>("GroupedMatmulConfig", "grouped-matmul"),
    row<MeanPoolingConfig>("MeanPoolingConfig", "pooling"),
};

/// Whether the rows are in the order of the alternatives of AnyConfig.
consteval bool in_order() {
  std::size_t index = 0;
  for (const ConfigRow& row : kRows) {
    if (row.defaults().index() != index++) return false;
  }
  return index == std::variant_size_v<AnyConfig>;
}
static_assert(in_order());

void visit_fields(std::span<const ConfigField> fields, void* object, const std::string& prefix,
                  const ConfigVisitor& f) {
  for (const ConfigField& field : fields) {
    const std::string name = prefix + std::string(field.name);
    const ConfigValue value = field.value(object);
    f(name, field, value);
    std::visit(
        [&](auto* member) {
          if constexpr (requires { fields_of(**member); }) {
            if (*member) visit_fields(fields_of(**member), &**member, name + ".", f);
          }
        },
        value);
  }
}

}  // namespace

std::span<const ConfigRow> config_rows() { return kRows; }
const ConfigRow& row_of(const AnyConfig& config) { return kRows[config.index()]; }

std::span<const ConfigField> fields_of(const FwdParams&) { return FieldsOf<FwdParams>::kFields; }
std::span<const ConfigField> fields_of(const BwdParams&) { return FieldsOf<BwdParams>::kFields; }

void* object_of(AnyConfig& config) {
  return std::visit([](auto& own) -> void* { return &own; }, config);
}

void for_each_field(AnyConfig config, const ConfigVisitor& f) {
  visit_fields(row_of(config).fields, object_of(config), "", f);
}

std::optional<Index> number_of(const ConfigValue& value) {
  if (const auto* number = std::get_if<Index*>(&value)) return **number;
  if (const auto* number = std::get_if<std::optional<Index>*>(&value)) return **number;
  return std::nullopt;
}

}  // namespace maskctl::attention
