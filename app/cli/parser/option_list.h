// The options of a command as data, used by the parser, help, completion and manual pages.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl::app {

/// The value of an option: text from a command line ("" for a flag), or a number from Python.
using OptionValue = std::variant<std::string, Index, double>;
/// The text of a value, as Python writes it: "0.5", "64", "64.0".
std::string option_text(const OptionValue& value);

/// An operand or an option.
struct Option {
  std::string names = {};  // "-o,--output"; for an operand "SOURCE"
  /// Stands for the value in help: "FILE", "0|1". Empty for a flag, and for an operand whose name
  /// says enough.
  std::string placeholder = {};
  std::string help = {};
  std::string_view group = {};  // heading in help; empty: "Options"
  bool operand = false;
  bool required = false;  // true only for operands
  bool repeated = false;
  std::function<void(const OptionValue& value)> take = {};

  /// The name for messages: "--output" for "-o,--output".
  std::string long_name() const { return names.substr(operand ? 0 : names.rfind("--")); }
};

/// An environment variable.
struct Variable {
  std::string_view name;
  std::string_view words;       // what the variable does
  std::string_view group = {};  // heading in help, as for an option
};

/// Declares the operands of a command, in order, and its options. Targets must outlive parsing.
class OptionList {
 public:
  using Take = std::function<void(const std::string& text)>;

  std::span<const Option> options() const { return options_; }
  /// The environment variables that the command reads.
  std::span<const Variable> variables() const { return variables_; }
  /// The option with this name, "-o" or "--output"; null if there is none.
  const Option* find(std::string_view name) const;

  void operand(std::string_view name, Take take, bool required = true);
  void operand(std::string_view name, std::string& target, bool required = true);
  /// Declares an operand whose value is one of `choices`.
  void operand(std::string_view name, std::span<const std::string_view> choices,
               std::string& target);
  /// Declares an operand that takes all remaining words; at least one if it is required.
  void operands(std::string_view name, std::vector<std::string>& targets, bool required = true);
  /// Declares an option with one value that may be given once. `names` is, for example,
  /// "-o,--output".
  void value(std::string names, std::string placeholder, std::string help, Take take);
  /// Declares an option that may be given several times.
  void repeated(std::string names, std::string placeholder, std::string help,
                std::vector<std::string>& targets);
  void flag(std::string names, std::string help, bool& target);

  /// Declares an option whose value is a text.
  void text(std::string names, std::string placeholder, std::string help, std::string& target);
  void integer(std::string names, Index low, std::string help, std::function<void(Index)> take);
  /// Declares an option whose value is a finite number of at least 0.
  void number(std::string names, std::string help, std::function<void(double)> take);
  /// Declares an option whose value is one of `choices`; `take` gets its index.
  void choice(std::string names, std::span<const std::string_view> choices, std::string help,
              std::function<void(std::size_t)> take);
  /// Declares --json, for a report with this schema.
  void json(std::string_view schema, bool& target);

  void variable(std::string_view name, std::string_view words);

  /// Calls `declare`. The options that it declares get this heading.
  void under(std::string_view heading, const std::function<void()>& declare);

 private:
  std::vector<Option> options_;
  std::vector<Variable> variables_;
  std::string_view group_;
};

}  // namespace maskctl::app
