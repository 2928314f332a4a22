// Parses the subset of Python that library calls need: expressions, assignments, and functions that
// return an expression. Nothing is executed. Private to the layer.
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

/// A node of a Python expression. `items` are the elements of a list, the positional arguments of a
/// call, or the operands of an operator.
struct Python {
  enum class Kind {
    kNumber,     // value in `number`
    kWord,       // in `text`: a dotted name, True, False, None, or "..."
    kString,     // content in `text`
    kList,       // (a, b) or [a, b]
    kCall,       // `text`: dotted name, methods joined: "A.from_seqlens.make_causal"
    kSubscript,  // items[0][items[1]...]
    kOperator,   // `text`: the sign; "~" and signs of numbers have one operand
  };
  Kind kind = Kind::kWord;
  std::string text;
  Index number = 0;
  std::vector<Python> items;
  std::vector<NamedPython> named;  // keyword arguments of a call
  std::vector<Python> methods;     // each call in a chain of methods, in order
  Index position = 0;              // byte offset in the text

  bool is_word(std::string_view word) const { return kind == Kind::kWord && text == word; }
  /// True for an operator with two operands and this sign.
  bool is_binary(std::string_view sign) const {
    return kind == Kind::kOperator && text == sign && items.size() == 2;
  }
};

/// A keyword argument: name and value.
struct NamedPython {
  std::string first;
  Python second;
};

/// The last part of a dotted name: "flash_attn_func" of "flash_attn.flash_attn_func".
inline std::string_view last_name(std::string_view dotted) {
  return dotted.substr(dotted.rfind('.') + 1);
}

/// The result of parsing. `names` has the values that lines assign to names. Names inside a
/// function have the function's name in front and a number behind.
struct PythonText {
  std::map<std::string, Python> names;
  /// The last expression. After lines of `a=1, b=2`, a call without a name that has these
  /// arguments.
  Python last = empty_call();

 private:
  static Python empty_call() {
    Python out;
    out.kind = Python::Kind::kCall;
    return out;
  }
};

/// Parses a text of at most 64 KiB and 64 levels. Throws PipelineError "SUBJECT: ..." with a caret.
PythonText parse_python(std::string_view text, std::string_view subject);

/// The value of a name; any other expression is returned as it is.
const Python& named_value(const PythonText& text, const Python& value);
/// named_value(), with arithmetic on numbers evaluated.
Python resolved(const PythonText& text, const Python& value);
/// The value of an expression that is a whole number; nothing for others.
std::optional<Index> number_in(const PythonText& text, const Python& value);
/// The numbers in a list, also inside torch.tensor([...]) or np.array([...]).to(...); nothing for
/// other expressions.
std::optional<std::vector<Index>> numbers_in(const PythonText& text, const Python& value);

}  // namespace maskctl
