// The arrays of one mask that are stored together, and which kind of mask their names say.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/io/formats/container.h"
#include "maskctl/io/kinds/kind.h"
#include "maskctl/io/streams/named_arrays.h"

namespace maskctl {

/// The name of an array of a group in its container; an empty group is the whole container.
std::string key_in(const std::string& group, std::string_view key);

/// The kind of the arrays in a group of a container, if it is one of several arrays that its names
/// alone say. Nothing otherwise.
std::optional<ArrayKind> grouped_kind(const Container& container, const std::string& group);

/// The arrays of a group that are among `keys`, read in the order of the file.
class ArrayGroup {
 public:
  ArrayGroup(Container& container, const std::string& group, std::vector<const char*> keys,
             const ReadOptions& options, std::vector<std::string>& notes);

  const Tensor* find(std::string_view key) const;
  /// The array, which must be there; later calls do not find it.
  Tensor take(std::string_view key);
  std::optional<Tensor> take_if(std::string_view key);
  /// The two numbers of an array, each at least `least`; nothing if the array is absent.
  std::optional<std::array<Index, 2>> two(const char* key, Index least) const;

 private:
  std::vector<NamedTensor> arrays_;
};

}  // namespace maskctl
