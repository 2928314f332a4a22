// What ejkernel adds to an operation, beside the row of the operation itself: its config class and
// what is worth measuring.
#pragma once

#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "maskctl/attention/fields.h"
#include "maskctl/ejkernel/runtime/configs.h"

namespace maskctl::attention {

struct ConfigRow;

/// A hint of an operation, and the number of its config that sets it.
struct HintName {
  std::string_view hint, number;
};

/// Rows are written in operation_rows.h and completed by describe_module().
struct ModuleRow {
  const Operation* operation = nullptr;
  std::string_view version = "0";             // version of its remembered configs
  bool tunes = true;                          // whether calls are tuned, both passes together
  std::span<const HintName> hint_names = {};  // only hints whose number has another name
  // The typed half, made by describe_module().
  std::size_t config_class = 0;  // the index of its class in AnyConfig
  /// The config without measuring, and others worth measuring; null where there are none.
  AnyConfig (*heuristic)() = nullptr;
  std::vector<AnyConfig> (*candidates)(const void* call) = nullptr;

  const ConfigRow& config_row() const;
  /// The number of the config that sets a hint.
  std::string_view number_of(std::string_view hint) const;
};

/// All of them: operations without a config have none.
std::span<const ModuleRow* const> module_rows();
/// Null for an operation that has no config.
const ModuleRow* find_module(const Operation& operation);
/// Throws Error(kUnsupported) for an operation that has no config.
const ModuleRow& module_of(const Operation& operation);

/// Sets the hints of a call from a config, those of the backward pass where it has its own.
void apply_config(const ModuleRow& row, const AnyConfig& config, bool backward, void* call);

/// Beside a struct of operations/*/spec.h: its Config; and where the defaults are not all, kRow,
/// heuristic() and candidates(inputs, options).
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

/// The row of a module, complete.
template <class Op>
inline constexpr ModuleRow kModule = describe_module<Op>();

}  // namespace maskctl::attention
