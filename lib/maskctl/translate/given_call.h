// Reads calls that a program makes, whose arguments are values.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "maskctl/mask/mask.h"
#include "maskctl/translate/conventions.h"

namespace maskctl {

/// An array that a call is given; `numbers` are its elements if they are whole numbers or bool.
struct GivenArray {
  std::vector<Index> shape;
  std::optional<std::vector<Index>> numbers;
};
/// An object that is neither a plain value nor an array, such as a function.
struct GivenObject {};

struct GivenArgument {
  std::string name;
  /// A text is a value as Python writes it: "True", "(4, 0)".
  std::variant<std::string, GivenArray, GivenObject> value;
  bool at_default = false;  // the function itself has this value as its default
};

/// The numbers of queries and keys in the arrays of a call.
struct CallSize {
  Index queries = 0, keys = 0;
};

struct GivenCall {
  Mask mask;  // [1, 1, Q, K], or [B, 1, Q, K] if numbers differ between batch entries
  /// Arguments that may change the mask but are not read: masks of their own, and arguments that no
  /// row of the library knows. Those at their defaults are left out. Each is text such as
  /// "attention_chunk=4", or the name alone. If there are any, `mask` is not the call's.
  std::vector<std::string> unread;
};

/// Reads the mask of a call by the library's row for it. Throws Error for a function without a row,
/// and for values that the library refuses.
GivenCall read_call(const Library& library, std::string_view function,
                    std::span<const GivenArgument> arguments, CallSize size);
/// The arguments of a function that say something about its mask.
std::vector<std::string_view> mask_arguments(const Library& library, std::string_view function);

}  // namespace maskctl
