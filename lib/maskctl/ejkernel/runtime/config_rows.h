// A row for each config class: its names, and its fields with their types and bounds. Text, files,
// checks and hashes of configs go by the rows alone.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "maskctl/ejkernel/runtime/configs.h"

namespace maskctl::attention {

/// A member of a config, by its type.
using ConfigValue = std::variant<Platform*, DeviceKind*, bool*, Index*, std::optional<Index>*,
                                 std::optional<FwdParams>*, std::optional<BwdParams>*>;

struct ConfigField {
  std::string_view name;                  // ejkernel's: "block_q", "fwd_params"
  Index least = 1;                        // of a number
  ConfigValue (*value)(void*) = nullptr;  // the member of an object of the class
};

struct ConfigRow {
  std::string_view name;        // ejkernel's: "FlashAttentionConfig"
  std::string_view cache_name;  // of the file that remembers its configs
  std::span<const ConfigField> fields;
  AnyConfig (*defaults)() = nullptr;
};

/// In the order of AnyConfig.
std::span<const ConfigRow> config_rows();
const ConfigRow& row_of(const AnyConfig& config);

/// What the fields of a config are members of.
void* object_of(AnyConfig& config);
/// The fields of the params of a pass.
std::span<const ConfigField> fields_of(const FwdParams&);
std::span<const ConfigField> fields_of(const BwdParams&);

/// Calls f(name, field, value) for each field of a copy of a config, in order; after params that
/// are present come their own fields, as "fwd_params.q_blocksize".
using ConfigVisitor =
    std::function<void(const std::string& name, const ConfigField&, const ConfigValue&)>;
void for_each_field(AnyConfig config, const ConfigVisitor& f);

/// The number that a field holds; nothing for other types, and for a number that is left out.
std::optional<Index> number_of(const ConfigValue& value);

}  // namespace maskctl::attention
