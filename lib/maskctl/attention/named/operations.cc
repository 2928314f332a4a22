#include "maskctl/attention/named/operations.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

std::vector<std::string> split(std::string_view text, char mark) {
  std::vector<std::string> out;
  while (true) {
    const std::string_view part = text.substr(0, text.find(mark));
    out.emplace_back(part);
    if (part.size() == text.size()) return out;
    text.remove_prefix(part.size() + 1);
  }
}

bool has(const NamedOperation& operation, std::string_view name) {
  const auto named = [name](const auto& entry) { return entry.name == name; };
  return std::ranges::any_of(operation.arrays, named) ||
         std::ranges::any_of(operation.options, named) ||
         (operation.has_gradients && name.starts_with("cotangent_"));
}

std::string names_of(const NamedOperation& operation) {
  std::vector<std::string_view> names;
  for (const NamedArray& array : operation.arrays) names.push_back(array.name);
  for (const NamedOption& option : operation.options) names.push_back(option.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

void check_names(const NamedOperation& operation, const NamedArguments& arguments) {
  const auto check = [&operation](const auto& given) {
    for (const auto& [name, value] : given) {
      if (has(operation, name)) continue;
      throw Error(Errc::kInvalidArgument, fmt::format("{} has no argument '{}'; it has {}",
                                                      operation.name, name, names_of(operation)));
    }
  };
  check(arguments.arrays);
  check(arguments.options);
  if ((arguments.mask || arguments.lazy_mask) && !operation.takes_mask) {
    throw Error(Errc::kInvalidArgument, fmt::format("{} takes no mask", operation.name));
  }
}

[[noreturn]] void refuse_missing(const NamedArray& array) {
  throw Error(Errc::kInvalidArgument,
              fmt::format("{}: this array is needed; give {}=SOURCE", array.name, array.name));
}

/// Takes the extents of an array that is given; other ranks than its first form are left alone.
void learn(const NamedArray& array, const Tensor& tensor, const AxisExtents& wanted,
           AxisExtents& extents) {
  const std::vector<std::string> axes = split(split(array.axes, '|').front(), ' ');
  if (axes.size() != tensor.shape().size()) return;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Index extent = tensor.shape()[i];
    const auto found = wanted.find(axes[i]);
    if (found != wanted.end() && found->second != extent) {
      throw Error(Errc::kShape, fmt::format("{}: its axis {} has {}, but {}={} was asked for",
                                            array.name, axes[i], extent, axes[i], found->second));
    }
    extents[axes[i]] = extent;
  }
}

Index extent_of(const std::string& axis, const NamedArray& array, const AxisExtents& extents) {
  Index fixed = 0;
  const auto parsed = std::from_chars(axis.data(), axis.data() + axis.size(), fixed);
  if (parsed.ec == std::errc() && parsed.ptr == axis.data() + axis.size()) return fixed;
  const auto found = extents.find(axis);
  if (found != extents.end()) return found->second;
  throw Error(Errc::kInvalidArgument,
              fmt::format("{}: the extent of its axis {} is not known; give {}=SOURCE", array.name,
                          axis, array.name));
}

Tensor random_array(const NamedArray& array, const AxisExtents& extents, const RandomArrays& random,
                    std::uint64_t seed) {
  std::vector<Index> shape;
  for (const std::string& axis : split(split(array.axes, '|').front(), ' ')) {
    shape.push_back(extent_of(axis, array, extents));
  }
  // Normal numbers are f32 before they are anything else.
  const auto elements = checked_product(shape);
  if (!elements || *elements > random.max_bytes / Index{sizeof(float)}) {
    throw Error(Errc::kLimit,
                fmt::format("{}: {} random numbers take more than {} bytes; use smaller extents or "
                            "raise the limit",
                            array.name, shape_text(shape), random.max_bytes));
  }
  return astype(random_normal(shape, seed), random.dtype);
}

}  // namespace

std::span<const NamedOperation> named_operations() {
  static const std::vector<NamedOperation> all = [] {
    std::vector<NamedOperation> joined;
    for (const auto family :
         {dense_operations(), paged_operations(), linear_operations(), other_operations()}) {
      joined.insert(joined.end(), family.begin(), family.end());
    }
    return joined;
  }();
  return all;
}

const NamedOperation* find_operation(std::string_view name) {
  for (const NamedOperation& operation : named_operations()) {
    if (operation.name == name) return &operation;
    if (!operation.registry.empty() && operation.registry == name) return &operation;
  }
  return nullptr;
}

NamedResults run(const NamedOperation& operation, const NamedArguments& arguments) {
  check_names(operation, arguments);
  for (const NamedArray& array : operation.arrays) {
    if (array.required && !arguments.arrays.contains(std::string(array.name)))
      refuse_missing(array);
  }
  Call call(arguments);
  NamedResults results = operation.run(call);
  call.check_all_used();
  return results;
}

void add_random_arrays(const NamedOperation& operation, const RandomArrays& random,
                       NamedArguments& arguments) {
  AxisExtents extents = random.extents;
  for (const NamedArray& array : operation.arrays) {
    const auto given = arguments.arrays.find(std::string(array.name));
    if (given != arguments.arrays.end()) {
      learn(array, given->second, random.wanted, extents);
    } else if (array.required && array.integers) {
      refuse_missing(array);
    }
  }
  std::uint64_t seed = random.seed;
  for (const NamedArray& array : operation.arrays) {
    ++seed;
    const std::string name(array.name);
    if (!array.required || arguments.arrays.contains(name)) continue;
    arguments.arrays[name] = random_array(array, extents, random, seed);
  }
}

}  // namespace maskctl::attention
