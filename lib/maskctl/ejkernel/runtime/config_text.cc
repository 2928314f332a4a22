#include "maskctl/ejkernel/runtime/config_text.h"

#include <fmt/format.h>

#include <ranges>
#include <set>

#include "maskctl/base/error.h"
#include "maskctl/base/text.h"

namespace maskctl::attention {
namespace {

std::string value_text(Platform platform) { return std::string(name(platform)); }
std::string value_text(DeviceKind kind) { return std::string(name(kind)); }
std::string value_text(bool value) { return value ? "true" : "false"; }
std::string value_text(Index value) { return fmt::format("{}", value); }

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

/// f(full name, value) for each plain field, those of FwdParams and BwdParams included; a params
/// field that is present and one that is absent are both announced to `params`.
template <class Config, class F, class P>
void visit_plain(Config& config, F&& f, P&& params) {
  for_each_field(config, [&](std::string_view field, auto& value) {
    if constexpr (requires { value->num_warps; }) {
      params(field, value);
      if (!value) return;
      for_each_field(*value, [&](std::string_view inner, auto& size) {
        f(fmt::format("{}.{}", field, inner), size);
      });
    } else {
      f(std::string(field), value);
    }
  });
}

template <class Config>
std::string text_of(const Config& config) {
  std::string text(Config::kName);
  const auto add = [&](const std::string& field, const auto& value) {
    if constexpr (requires { value.has_value(); }) {
      if (value) text += fmt::format(" {}={}", field, value_text(*value));
    } else {
      text += fmt::format(" {}={}", field, value_text(value));
    }
  };
  visit_plain(config, add, [&](std::string_view field, const auto& params) {
    if (params && *params == std::decay_t<decltype(*params)>())
      text += fmt::format(" {}={{}}", field);
  });
  return text;
}

/// Reads one "field=value".
template <class Config>
bool read_field(std::string_view field, std::string_view text, Config& config) {
  bool read = false;
  const auto take_value = [&](const std::string& own, auto& value) {
    if (own == field) read = read_value(text, value);
  };
  visit_plain(config, take_value, [&](std::string_view own, auto& params) {
    const bool inner = field.starts_with(own) && field.substr(own.size()).starts_with('.');
    const bool empty = field == own && text == "{}";
    if ((inner || empty) && !params) params.emplace();
    read = read || empty;
  });
  return read;
}

/// Reads the fields of a config; the text is empty or begins with a space.
template <class Config>
std::optional<AnyConfig> read_fields(std::string_view text) {
  Config config;
  std::set<std::string_view> seen;
  for (const std::string_view token : split(text, ' ') | std::views::drop(1)) {
    const std::size_t equals = token.find('=');
    if (equals == token.npos || !seen.insert(token.substr(0, equals)).second ||
        !read_field(token.substr(0, equals), token.substr(equals + 1), config)) {
      return std::nullopt;
    }
  }
  return config;
}

template <std::size_t I = 0>
std::optional<AnyConfig> read_class(std::string_view type, std::string_view fields) {
  if constexpr (I == std::variant_size_v<AnyConfig>) {
    return std::nullopt;
  } else {
    using Config = std::variant_alternative_t<I, AnyConfig>;
    return type == Config::kName ? read_fields<Config>(fields) : read_class<I + 1>(type, fields);
  }
}

void check_size(std::string_view config, const std::string& field, Index value) {
  const Index least = field == "num_splits" ? 0 : 1;
  if (value >= least) return;
  throw Error(Errc::kInvalidArgument,
              fmt::format("{}: {} is {}, expected a {} number", config, field, value,
                          least == 0 ? "non-negative" : "positive"));
}

std::size_t mix(std::size_t seed, std::size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15u + (seed << 6) + (seed >> 2));
}

template <class Params>
std::size_t hash_fields(const Params& params) {
  std::size_t hash = 0, number = 0;
  for_each_field(params, [&](std::string_view, const std::optional<Index>& value) {
    ++number;
    if (value) hash = mix(mix(hash, number), std::hash<Index>()(*value));
  });
  return hash;
}

}  // namespace

std::string to_text(const AnyConfig& config) {
  return std::visit([](const auto& own) { return text_of(own); }, config);
}

std::optional<AnyConfig> config_from_text(std::string_view text) {
  const std::string_view type = text.substr(0, text.find(' '));
  return read_class(type, text.substr(type.size()));
}

void check_config(const AnyConfig& config) {
  std::visit(
      [](const auto& own) {
        const auto check = [&](const std::string& field, const auto& value) {
          using Value = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<Value, Index>) check_size(own.kName, field, value);
          if constexpr (std::is_same_v<Value, std::optional<Index>>) {
            if (value) check_size(own.kName, field, *value);
          }
        };
        visit_plain(own, check, [](std::string_view, const auto&) {});
      },
      config);
}

std::size_t hash_of(const FwdParams& params) { return hash_fields(params); }
std::size_t hash_of(const BwdParams& params) { return hash_fields(params); }

}  // namespace maskctl::attention
