// Names and places of the fields of a config, so that text, parsing and equality are written once.
#pragma once

#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "maskctl/base/index.h"

namespace maskctl::attention {

/// One field of a config class: how it is called and where it is.
template <class Class, class Value>
struct ConfigField {
  std::string_view name;
  Value Class::*member;
};
template <class Class, class Value>
ConfigField(std::string_view, Value Class::*) -> ConfigField<Class, Value>;

/// Calls f(name, value) for each field, in order. Class has `static constexpr auto fields()`.
template <class Class, class F>
void for_each_field(Class& object, F&& f) {
  std::apply([&](const auto&... field) { (f(field.name, object.*field.member), ...); },
             std::remove_const_t<Class>::fields());
}

// Fields that several classes have, as tuples to join with std::tuple_cat.

template <class C>
constexpr auto platform_fields() {
  return std::tuple{ConfigField{"platform", &C::platform}, ConfigField{"backend", &C::backend}};
}
template <class C>
constexpr auto launch_fields() {
  return std::tuple{ConfigField{"num_warps", &C::num_warps},
                    ConfigField{"num_stages", &C::num_stages}};
}
template <class C>
constexpr auto tile_fields() {
  return std::tuple{ConfigField{"block_q", &C::block_q}, ConfigField{"block_k", &C::block_k}};
}
template <class C>
constexpr auto pass_fields() {
  return std::tuple{
      ConfigField{"blocksize_m", &C::blocksize_m}, ConfigField{"blocksize_k", &C::blocksize_k},
      ConfigField{"blocksize_n", &C::blocksize_n}, ConfigField{"q_blocksize", &C::q_blocksize},
      ConfigField{"kv_blocksize", &C::kv_blocksize}};
}

}  // namespace maskctl::attention
