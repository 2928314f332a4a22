#include "maskctl/ejkernel/runtime/config_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <set>

#include "maskctl/base/error.h"
#include "maskctl/base/text.h"
#include "maskctl/ejkernel/runtime/config_rows.h"

namespace maskctl::attention {
namespace {

// text_of() returns nullopt if the value is not set.
std::optional<std::string> text_of(const Platform& platform) { return std::string(name(platform)); }
std::optional<std::string> text_of(const DeviceKind& kind) { return std::string(name(kind)); }
std::optional<std::string> text_of(const bool& value) { return value ? "true" : "false"; }
std::optional<std::string> text_of(const Index& value) { return fmt::format("{}", value); }
std::optional<std::string> text_of(const std::optional<Index>& value) {
  return value ? text_of(*value) : std::nullopt;
}
/// Returns "{}" for the empty parameters of a pass. Nothing for others, because their fields are
/// printed one by one.
template <class Params>
std::optional<std::string> text_of(const std::optional<Params>& params) {
  if (!params || *params != Params()) return std::nullopt;
  return "{}";
}

template <class T>
bool take_value(const std::optional<T>& value, T& out) {
  if (value) out = *value;
  return value.has_value();
}
bool read_value(std::string_view text, Platform& out) {
  return take_value(platform_from_name(text), out);
}
bool read_value(std::string_view text, DeviceKind& out) {
  return take_value(device_kind_from_name(text), out);
}
bool read_value(std::string_view text, bool& out) {
  out = text == "true";
  return out || text == "false";
}
bool read_value(std::string_view text, Index& out) {
  return take_value(number_from<Index>(text), out) && out >= 0;
}
bool read_value(std::string_view text, std::optional<Index>& out) {
  return read_value(text, out.emplace());
}
template <class Params>
bool read_value(std::string_view text, std::optional<Params>& out) {
  if (!out) out.emplace();
  return text == "{}";
}

/// Sets the field with this name from `text`. The name is like "q_blocksize", or like
/// "fwd_params.q_blocksize" for a field in the parameters of a pass.
bool read_field(std::span<const ConfigField> fields, void* object, std::string_view name,
                std::string_view text) {
  const std::size_t dot = name.find('.');
  const auto field = std::ranges::find(fields, name.substr(0, dot), &ConfigField::name);
  if (field == fields.end()) return false;
  return std::visit(
      [&](auto* value) {
        if (dot == name.npos) return read_value(text, *value);
        if constexpr (requires { fields_of(**value); }) {
          if (!*value) value->emplace();
          return read_field(fields_of(**value), &**value, name.substr(dot + 1), text);
        } else {
          return false;
        }
      },
      field->value(object));
}

std::size_t mix(std::size_t seed, std::size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15u + (seed << 6) + (seed >> 2));
}

template <class Params>
std::size_t hash_fields(Params params) {
  std::size_t hash = 0, number = 0;
  for (const ConfigField& field : fields_of(params)) {
    const auto& value = *std::get<std::optional<Index>*>(field.value(&params));
    ++number;
    if (value) hash = mix(mix(hash, number), std::hash<Index>()(*value));
  }
  return hash;
}

}  // namespace

std::string to_text(const AnyConfig& config) {
  std::string text(row_of(config).name);
  for_each_field(
      config, [&](const std::string& name, const ConfigField&, const ConfigValue& value) {
        const auto own = std::visit([](const auto* member) { return text_of(*member); }, value);
        if (own) text += fmt::format(" {}={}", name, *own);
      });
  return text;
}

std::optional<AnyConfig> config_from_text(std::string_view text) {
  const std::string_view type = text.substr(0, text.find(' '));
  const auto row = std::ranges::find(config_rows(), type, &ConfigRow::name);
  if (row == config_rows().end()) return std::nullopt;
  AnyConfig config = row->defaults();
  std::set<std::string_view> seen;
  for (const std::string_view token : split(text, ' ') | std::views::drop(1)) {
    const std::size_t equals = token.find('=');
    if (equals == token.npos || !seen.insert(token.substr(0, equals)).second ||
        !read_field(row->fields, object_of(config), token.substr(0, equals),
                    token.substr(equals + 1))) {
      return std::nullopt;
    }
  }
  return config;
}

void check_config(const AnyConfig& config) {
  for_each_field(
      config, [&](const std::string& name, const ConfigField& field, const ConfigValue& value) {
        const std::optional<Index> number = number_of(value);
        if (!number || *number >= field.least) return;
        throw Error(Errc::kInvalidArgument,
                    fmt::format("{}: {} is {}, expected a {} number", row_of(config).name, name,
                                *number, field.least == 0 ? "non-negative" : "positive"));
      });
}

std::size_t hash_of(const FwdParams& params) { return hash_fields(params); }
std::size_t hash_of(const BwdParams& params) { return hash_fields(params); }

}  // namespace maskctl::attention
