// Reads the part of Python in which library calls are written: names, numbers, lists, calls,
// operators, assignments and functions that return an expression. Nothing is executed. Private to
// the layer.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl {

struct NamedPython;

/// A piece of Python. `items` are elements of a list, positional arguments of a call, or operands.
struct Python {
  enum class Kind {
    kNumber,     // number
    kWord,       // text: a dotted name, True, False, None, or "..." (ellipsis)
    kString,     // text
    kList,       // (a, b) or [a, b]
    kCall,       // text: dotted name, methods joined: "A.from_seqlens.make_causal"
    kSubscript,  // items[0][items[1]...]
    kOperator,   // text: its sign; "~", and "+" and "-" as signs, have one operand
  };
  Kind kind = Kind::kWord;
  std::string text;
  Index number = 0;
  std::vector<Python> items;
  std::vector<NamedPython> named;  // keyword arguments of a call
  std::vector<Python> methods;     // for a call: each call of its chain separately, in order
  Index position = 0;              // byte in the text

  bool is_word(std::string_view word) const { return kind == Kind::kWord && text == word; }
  /// Whether this is an operator of two operands with this sign.
  bool is_binary(std::string_view sign) const {
    return kind == Kind::kOperator && text == sign && items.size() == 2;
  }
};

/// A keyword argument.
struct NamedPython {
  std::string first;
  Python second;
};

/// "flash_attn_func" of "flash_attn.flash_attn_func".
inline std::string_view last_name(std::string_view dotted) {
  return dotted.substr(dotted.rfind('.') + 1);
}

/// Parsed lines of Python. A name that an earlier line assigned stands for its value; names in
/// functions have the function's before them, and a number after them.
struct PythonText {
  std::map<std::string, Python> names;
  /// The last expression; or, after lines of `a=1, b=2`, a call without a name that holds them.
  Python last = empty_call();

 private:
  static Python empty_call() {
    Python out;
    out.kind = Python::Kind::kCall;
    return out;
  }
};

/// Throws PipelineError "SUBJECT: ..." with the caret. At most 64 KiB and 64 levels.
PythonText parse_python(std::string_view text, std::string_view subject);

/// What a name stands for; a value that is no name stands for itself.
const Python& named_value(const PythonText& text, const Python& value);
/// named_value() with arithmetic of numbers evaluated.
Python resolved(const PythonText& text, const Python& value);
/// A whole number; nothing for other values.
std::optional<Index> number_in(const PythonText& text, const Python& value);
/// The numbers of a list, also inside torch.tensor([...]), np.array([...]).to(...); nothing
/// otherwise.
std::optional<std::vector<Index>> numbers_in(const PythonText& text, const Python& value);

}  // namespace maskctl
