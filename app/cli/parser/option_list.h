// The options of a command as data: what the parser, help, completion and man pages read.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl::app {

/// An operand or option.
struct Option {
  std::string names = {};  // "-o,--output"; of an operand "SOURCE"
  /// What the value is: "FILE", "0|1"; empty for a flag, and for an operand that its name explains.
  std::string placeholder = {};
  std::string help = {};
  std::string_view group =
      {};  // the heading of help under which it stands; empty: the command's own
  bool operand = false;
  bool required = false;  // only operands
  bool repeated = false;
  std::function<void(const std::string& text)> take = {};  // a flag gives ""

  /// "--output" for "-o,--output": the name used in messages.
  std::string long_name() const { return names.substr(operand ? 0 : names.rfind("--")); }
};

/// A variable of the environment.
struct Variable {
  std::string_view name;
  std::string_view words;       // what it does
  std::string_view group = {};  // as that of an option
};

/// Where a command declares its operands, in order, and its options. Targets must outlive parsing.
class OptionList {
 public:
  using Take = std::function<void(const std::string& text)>;

  std::span<const Option> options() const { return options_; }
  /// The variables that the command reads.
  std::span<const Variable> variables() const { return variables_; }
  /// The option of that name, "-o" or "--output"; null when there is none.
  const Option* find(std::string_view name) const;

  void operand(std::string_view name, Take take, bool required = true);
  void operand(std::string_view name, std::string& target, bool required = true);
  /// An operand that is one of `choices`.
  void operand(std::string_view name, std::span<const std::string_view> choices,
               std::string& target);
  /// All operands that are left; at least one if they are required.
  void operands(std::string_view name, std::vector<std::string>& targets, bool required = true);
  /// An option with one value, given at most once; `names` is, for example, "-o,--output".
  void value(std::string names, std::string placeholder, std::string help, Take take);
  /// An option that may be repeated.
  void repeated(std::string names, std::string placeholder, std::string help,
                std::vector<std::string>& targets);
  void flag(std::string names, std::string help, bool& target);

  /// An option whose value is kept as text.
  void text(std::string names, std::string placeholder, std::string help, std::string& target);
  void integer(std::string names, Index low, std::string help, std::function<void(Index)> take);
  /// One of `choices`; `take` gets its index.
  void choice(std::string names, std::span<const std::string_view> choices, std::string help,
              std::function<void(std::size_t)> take);
  /// --json, for a report of this schema.
  void json(std::string_view schema, bool& target);

  void variable(std::string_view name, std::string_view words);

  /// Calls `declare`; the options that it adds stand under this heading.
  void under(std::string_view heading, const std::function<void()>& declare);

 private:
  std::vector<Option> options_;
  std::vector<Variable> variables_;
  std::string_view group_;
};

}  // namespace maskctl::app
