#include "maskctl/ejkernel/runtime/operation_rows.h"

#include <fmt/format.h>

#include "maskctl/base/error.h"
#include "maskctl/ejkernel/runtime/config_rows.h"

namespace maskctl::attention {
namespace {

/// The number with this name in a config, or in the config's parameters of the forward or backward
/// pass.
std::optional<Index> number_in(const AnyConfig& config, std::string_view name, bool backward) {
  const std::string inner = fmt::format("{}.{}", backward ? "bwd_params" : "fwd_params", name);
  std::optional<Index> found;
  for_each_field(config,
                 [&](const std::string& field, const ConfigField&, const ConfigValue& value) {
                   if (field == name || field == inner) found = number_of(value);
                 });
  return found;
}

}  // namespace

const ConfigRow& ModuleRow::config_row() const { return config_rows()[config_class]; }

std::string_view ModuleRow::number_of(std::string_view hint) const {
  const auto found = std::ranges::find(hint_names, hint, &HintName::hint);
  return found == hint_names.end() ? hint : found->number;
}

std::span<const ModuleRow* const> module_rows() {
  static constexpr const ModuleRow* kRows[] = {
      &kModule<FlashAttentionOp>,
      &kModule<RingAttentionOp>,
      &kModule<ScaledDotProductAttentionOp>,
      &kModule<AttentionOp>,
      &kModule<BlockSparseAttentionOp>,
      &kModule<FlashMLAOp>,
      &kModule<NativeSparseAttentionOp>,
      &kModule<PageAttentionOp>,
      &kModule<RaggedPageAttentionOp>,
      &kModule<RaggedPageAttentionv3Op>,
      &kModule<RaggedPageAttentionv3PagesOp>,
      &kModule<RaggedDecodeAttentionOp>,
      &kModule<GLAttentionOp>,
      &kModule<LightningAttentionOp>,
      &kModule<RecurrentAttentionOp>,
      &kModule<GroupedMatmulOp>,
      &kModule<MeanPoolingOp>,
  };
  return kRows;
}

const ModuleRow* find_module(const Operation& operation) {
  const auto found = std::ranges::find(module_rows(), &operation, &ModuleRow::operation);
  return found == module_rows().end() ? nullptr : *found;
}

const ModuleRow& module_of(const Operation& operation) {
  if (const ModuleRow* row = find_module(operation)) return *row;
  throw Error(Errc::kUnsupported, fmt::format("{} has no config", operation.name));
}

void apply_config(const ModuleRow& row, const AnyConfig& config, bool backward, void* call) {
  for (const Field& field : row.operation->fields) {
    if (!field.is(kHint)) continue;
    const std::optional<Index> number = number_in(config, row.number_of(field.name), backward);
    if (number && *number > 0) *std::get<Index*>(field.slot(call)) = *number;
  }
}

}  // namespace maskctl::attention
