// A row for each config class, with its name, and its fields with their types and bounds. Text,
// files, checks and hashes of configs are generated from these rows.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "maskctl/ejkernel/runtime/configs.h"

namespace maskctl::attention {

/// A pointer to a member of a config, in its type.
using ConfigValue = std::variant<Platform*, DeviceKind*, bool*, Index*, std::optional<Index>*,
                                 std::optional<FwdParams>*, std::optional<BwdParams>*>;

struct ConfigField {
  std::string_view name;                  // ejkernel's name: "block_q", "fwd_params"
  Index least = 1;                        // lower bound of a number
  ConfigValue (*value)(void*) = nullptr;  // returns the member of an object of the class
};

struct ConfigRow {
  std::string_view name;        // ejkernel's name: "FlashAttentionConfig"
  std::string_view cache_name;  // name of the file in which its configs are cached
  std::span<const ConfigField> fields;
  AnyConfig (*defaults)() = nullptr;
};

/// The rows, in the order of the alternatives of AnyConfig.
std::span<const ConfigRow> config_rows();
const ConfigRow& row_of(const AnyConfig& config);

/// The object that the variant `config` holds, as an argument of ConfigField::value.
void* object_of(AnyConfig& config);
/// The fields of the parameters of one pass.
std::span<const ConfigField> fields_of(const FwdParams&);
std::span<const ConfigField> fields_of(const BwdParams&);

/// Calls f(name, field, value) for each field of a copy of a config, in order. Fields of FwdParams
/// and BwdParams follow if those are set, with names like "fwd_params.q_blocksize".
using ConfigVisitor =
    std::function<void(const std::string& name, const ConfigField&, const ConfigValue&)>;
void for_each_field(AnyConfig config, const ConfigVisitor& f);

/// The number that a field has; nullopt for fields of other types and for a number that is not set.
std::optional<Index> number_of(const ConfigValue& value);

}  // namespace maskctl::attention
