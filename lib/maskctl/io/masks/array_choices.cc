#include "maskctl/io/masks/array_choices.h"

#include <fmt/core.h>

#include <filesystem>

#include "maskctl/base/checked.h"
#include "maskctl/io/formats/container.h"

namespace maskctl {
namespace {

/// Only arrays of at most so many elements are read to find out their kind.
constexpr Index kMostRead = Index{1} << 22;

std::vector<ArrayKind> kinds_of(const ContainerOutline::Array& array, const std::string& key,
                                Container& container, const ReadOptions& options) {
  const auto dtype = dtype_from_name(array.dtype);
  if (!dtype) return {};
  const KindChoice choice = kinds_of_shape(*dtype, array.shape);
  if (!choice.needs_values || checked_product(array.shape).value_or(kMostRead + 1) > kMostRead) {
    return choice.kinds;
  }
  std::vector<std::string> unread;
  return fitting_kinds(container.read(key, options, unread));
}

}  // namespace

std::vector<ArrayChoice> array_choices(const std::string& file, const ReadOptions& options) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(file, failed)) return {};
  const auto headers = open_container(ByteSource(file), options)->outline();
  const auto values = open_container(ByteSource(file), options);
  const bool one = values->holds_one_array();
  std::vector<ArrayChoice> out;
  out.reserve(headers.arrays.size());
  for (const ContainerOutline::Array& array : headers.arrays) {
    out.push_back({one ? file : file + ":" + array.name, array.dtype, array.shape,
                   kinds_of(array, one ? "" : array.name, *values, options)});
  }
  return out;
}

std::string to_text(const ArrayChoice& choice) {
  std::string kinds;
  for (const ArrayKind kind : choice.kinds)
    kinds += (kinds.empty() ? ": " : " or ") + std::string(name(kind));
  return fmt::format("{} ({} {}{})", choice.source, choice.dtype, shape_text(choice.shape), kinds);
}

}  // namespace maskctl
