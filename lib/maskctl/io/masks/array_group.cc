#include "maskctl/io/masks/array_group.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/error.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {

std::string key_in(const std::string& group, std::string_view key) {
  return group.empty() ? std::string(key) : fmt::format("{}/{}", group, key);
}

std::optional<ArrayKind> grouped_kind(const Container& container, const std::string& group) {
  return kind_of_names(
      [&](std::string_view name) { return container.contains(key_in(group, name)); });
}

ArrayGroup::ArrayGroup(Container& container, const std::string& group,
                       std::vector<const char*> keys, const ReadOptions& options,
                       std::vector<std::string>& notes) {
  std::erase_if(keys, [&](const char* key) { return !container.contains(key_in(group, key)); });
  std::vector<std::string> names;
  names.reserve(keys.size());
  for (const char* key : keys) names.push_back(key_in(group, key));
  std::vector<Tensor> read = container.read(names, options, notes);
  for (std::size_t i = 0; i < keys.size(); ++i) arrays_.push_back({keys[i], std::move(read[i])});
}

const Tensor* ArrayGroup::find(std::string_view key) const {
  const auto found = std::ranges::find(arrays_, key, &NamedTensor::name);
  return found == arrays_.end() ? nullptr : &found->tensor;
}

std::optional<Tensor> ArrayGroup::take_if(std::string_view key) {
  const auto found = std::ranges::find(arrays_, key, &NamedTensor::name);
  if (found == arrays_.end()) return std::nullopt;
  Tensor out = std::move(found->tensor);
  arrays_.erase(found);
  return out;
}

Tensor ArrayGroup::take(std::string_view key) { return *take_if(key); }

std::optional<std::array<Index, 2>> ArrayGroup::two(const char* key, Index least) const {
  const Tensor* const array = find(key);
  if (!array) return std::nullopt;
  const auto values = array->elements() <= 2 ? as_int64(*array, key) : std::vector<std::int64_t>();
  if (values.size() == 2 && values[0] >= least && values[1] >= least) {
    return std::array<Index, 2>{values[0], values[1]};
  }
  throw Error(
      Errc::kFormat,
      fmt::format("{}: expected two numbers of at least {}, of queries and keys", key, least));
}

}  // namespace maskctl
