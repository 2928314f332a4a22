// Chains as the text of a pipeline, and the arrays in them as names that such a text can hold.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/mask/steps/step.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// The text of a chain, such as "causal | window:keys=3". Arguments that have their default value
/// are left out. pipeline/steps/bind.h reads it back: bind(parse(to_text(c))) gives an equal chain
/// if the context reads the same arrays. An empty chain gives an empty text, which parse() refuses.
/// Throws Error(kInvalidArgument) for an array that is too long for a text and has no name.
std::string to_text(const Chain& chain);
/// Likewise, where arrays that are too long are called by names in a file that could hold them:
/// "doc:recognised.npz:ids1".
std::string to_text(Chain chain, std::string_view file);

/// A value of an argument as pipelines write it: in quotes where the grammar needs them.
std::string written_value(std::string_view value);
/// True for characters that end a value without quotes.
bool ends_bare_value(char c);

/// Gives names to the arrays that chains read, so that texts can refer to them. Equal arrays get
/// the same name; short ones are written in the text and need none.
class ArrayNames {
 public:
  struct Named {
    std::string name;  // "ids1"
    Tensor array;
  };
  struct NamedOther {
    std::string name;  // "mask1"
    Mask mask;
  };
  /// What becomes of arrays and masks that have the name of the SOURCE they were read from.
  enum class Sources : std::uint8_t { kKeep, kRename };

  /// `source_of` makes what stands in the text from a name: "ids1" may become "mask.npz:ids1".
  explicit ArrayNames(std::function<std::string(const std::string& name)> source_of,
                      Sources sources = Sources::kKeep);

  void name(Chain& chain);
  const std::vector<Named>& arrays() const { return arrays_; }
  /// With Sources::kRename, the masks with which steps combine.
  const std::vector<NamedOther>& masks() const { return masks_; }

 private:
  /// The entry of an array. A new array gets an entry named `stem` and a number, such as "ids2".
  const Named& added(const Tensor& array, std::string_view stem);
  const NamedOther& added(const Mask& mask);

  std::function<std::string(const std::string& name)> source_of_;
  Sources sources_;
  std::vector<Named> arrays_;
  std::vector<NamedOther> masks_;
};

}  // namespace maskctl
