#include "maskctl/attention/named/call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <numbers>

#include "maskctl/base/error.h"
#include "maskctl/base/threefry.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

[[noreturn]] void refuse(const std::string& name, std::string_view seen, std::string_view wanted) {
  throw Error(Errc::kInvalidArgument, fmt::format("{}: '{}' is not {}", name, seen, wanted));
}

template <class T>
std::optional<T> number_from(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <class T>
T number(const std::string& name, std::string_view text, std::string_view wanted) {
  if (const auto value = number_from<T>(text)) return *value;
  refuse(name, text, wanted);
}

constexpr std::string_view kWhole = "a whole number";

}  // namespace

Tensor random_normal(std::vector<Index> shape, std::uint64_t seed) {
  Tensor out(DType::kFloat32, std::move(shape));
  const auto all = out.as<float>();
  std::vector<std::uint32_t> bits(2 * all.size());
  random_bits(prng_key(seed), 0, bits);
  for (std::size_t i = 0; i < all.size(); ++i) {  // Box and Muller
    const float radius = std::sqrt(-2 * std::log1p(-uniform_from_bits(bits[2 * i])));
    all[i] = radius * std::cos(2 * std::numbers::pi_v<float> * uniform_from_bits(bits[2 * i + 1]));
  }
  return out;
}

const Tensor* Call::optional_array(const std::string& name) {
  used_.insert(name);
  const auto found = arguments_.arrays.find(name);
  return found == arguments_.arrays.end() ? nullptr : &found->second;
}

const Tensor& Call::array(const std::string& name) {
  if (const Tensor* found = optional_array(name)) return *found;
  throw Error(Errc::kInvalidArgument, fmt::format("{}: this array is needed", name));
}

const Mask* Call::mask() {
  mask_used_ = true;
  return arguments_.mask ? &*arguments_.mask : nullptr;
}

lazy::MaskPtr Call::lazy_mask() {
  mask_used_ = true;
  return arguments_.lazy_mask;
}

const std::string* Call::text(const std::string& name) {
  used_.insert(name);
  const auto found = arguments_.options.find(name);
  if (found == arguments_.options.end() || found->second == "none") return nullptr;
  return &found->second;
}

void Call::read(const std::string& name, bool& target) {
  const std::string* given = text(name);
  if (!given) return;
  if (*given != "true" && *given != "false") refuse(name, *given, "true or false");
  target = *given == "true";
}

void Call::read(const std::string& name, Index& target) {
  if (const std::string* given = text(name)) target = number<Index>(name, *given, kWhole);
}

void Call::read(const std::string& name, std::uint64_t& target) {
  if (const std::string* given = text(name)) target = number<std::uint64_t>(name, *given, kWhole);
}

void Call::read(const std::string& name, double& target) {
  const std::string* given = text(name);
  if (!given) return;
  target = number<double>(name, *given, "a number");
  if (std::isnan(target)) refuse(name, *given, "a number");
}

void Call::read(const std::string& name, std::string& target) {
  if (const std::string* given = text(name)) target = *given;
}

std::optional<std::size_t> Call::choice(const std::string& name,
                                        std::span<const std::string_view> names) {
  const std::string* given = text(name);
  if (!given) return std::nullopt;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == *given) return i;
  }
  refuse(name, *given, fmt::format("one of {}", fmt::join(names, ", ")));
}

std::optional<std::vector<std::optional<Index>>> Call::list(const std::string& name) {
  const std::string* given = text(name);
  if (!given) return std::nullopt;
  std::vector<std::optional<Index>> out;
  std::string_view rest = *given;
  while (true) {
    const std::string_view part = rest.substr(0, rest.find('+'));
    out.push_back(part == "none" ? std::nullopt : std::optional(number<Index>(name, part, kWhole)));
    if (part.size() == rest.size()) return out;
    rest.remove_prefix(part.size() + 1);
  }
}

std::optional<std::pair<std::optional<Index>, std::optional<Index>>> Call::window(
    const std::string& name) {
  const auto sides = list(name);
  if (!sides) return std::nullopt;
  if (sides->size() > 2) refuse(name, *text(name), "a window as 4 or 4+0");
  return std::pair(sides->front(), sides->back());
}

const Tensor* Call::cotangent(const std::string& output, const Tensor& like) {
  if (const Tensor* given = optional_array("cotangent_" + output)) return given;
  if (!arguments_.gradient_seed) return nullptr;
  const std::uint64_t seed = *arguments_.gradient_seed + random_.size();
  Tensor& made = random_[output];
  made = astype(random_normal(like.shape(), seed), like.dtype());
  return &made;
}

void Call::check_all_used() const {
  const auto check = [this](const auto& given) {
    for (const auto& [name, value] : given) {
      if (used_.contains(name)) continue;
      throw Error(Errc::kInvalidArgument,
                  fmt::format("{}: the operation has no such argument", name));
    }
  };
  check(arguments_.arrays);
  check(arguments_.options);
  if ((arguments_.mask || arguments_.lazy_mask) && !mask_used_) {
    throw Error(Errc::kInvalidArgument, "the operation takes no mask");
  }
}

}  // namespace maskctl::attention
