// What the runtime must know about an operation besides its Operation: its config class, and the
// configs that are worth measuring.
#pragma once

#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "maskctl/attention/calls/fields.h"
#include "maskctl/ejkernel/runtime/configs.h"

namespace maskctl::attention {

struct ConfigRow;

/// The name of a hint of an operation (such as a tile size), and of the config field that sets it.
struct HintName {
  std::string_view hint, number;
};

/// What the runtime needs to know about an operation. operation_rows.h sets some members, and
/// describe_module() sets the others.
struct ModuleRow {
  const Operation* operation = nullptr;
  /// the version of the operation; configs that were cached for another version are not used
  std::string_view version = "0";
  bool tunes = true;  // whether calls are tuned
  /// pairs of a hint's name and the name of its config field, for hints where the names differ
  std::span<const HintName> hint_names = {};
  // The members from here on depend on the types of the call; describe_module() sets them.
  std::size_t config_class = 0;  // index of its class in AnyConfig
  /// heuristic: the config to use without measuring. candidates: others that are worth measuring;
  /// may be null.
  AnyConfig (*heuristic)() = nullptr;
  std::vector<AnyConfig> (*candidates)(const void* call) = nullptr;

  const ConfigRow& config_row() const;
  /// The field of the config that sets a hint.
  std::string_view number_of(std::string_view hint) const;
};

/// The rows of all operations that have a config.
std::span<const ModuleRow* const> module_rows();
/// Null if the operation has no config.
const ModuleRow* find_module(const Operation& operation);
/// Throws Error(kUnsupported) if the operation has no config.
const ModuleRow& module_of(const Operation& operation);

/// Sets the hints of a call from a config; for the backward pass from bwd_params, if the config has
/// them.
void apply_config(const ModuleRow& row, const AnyConfig& config, bool backward, void* call);

/// Each specialization belongs to a struct in operations/*/spec.h. It has a type Config and, where
/// the defaults do not suffice, kRow, heuristic() and candidates(inputs, options).
template <class Op>
struct ModuleOf;

template <class Op, class C>
struct ModuleTypes {
  using Config = C;
  using Inputs = typename Op::Inputs;
  using Options = typename Op::Options;
};

template <class Op>
consteval ModuleRow describe_module() {
  using Own = ModuleOf<Op>;
  using Call = typename Op::Call;
  ModuleRow row;
  if constexpr (requires { Own::kRow; }) row = Own::kRow;
  row.operation = &kOperation<Op>;
  row.config_class = AnyConfig(typename Own::Config{}).index();
  row.heuristic = []() -> AnyConfig {
    if constexpr (requires { Own::heuristic(); }) {
      return Own::heuristic();
    } else {
      return typename Own::Config{};
    }
  };
  if constexpr (requires(const Call& c) { Own::candidates(c.in, c.options); }) {
    row.candidates = [](const void* call) -> std::vector<AnyConfig> {
      const auto& [in, options] = *static_cast<const Call*>(call);
      const auto own = Own::candidates(in, options);
      return {own.begin(), own.end()};
    };
  }
  return row;
}

/// The row of the operation Op, with all members set.
template <class Op>
inline constexpr ModuleRow kModule = describe_module<Op>();

}  // namespace maskctl::attention
