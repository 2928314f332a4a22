// The options of each command, declared without the parser that reads them.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/dispatch.h"

namespace maskctl::app {

/// Where a command declares its operands and options. The targets must outlive the parsing.
class OptionList {
 public:
  using Take = std::function<void(const std::string& text)>;

  virtual ~OptionList() = default;

  /// A positional; each target is filled in the order of declaration.
  virtual void operand(std::string_view name, std::string& target) = 0;
  virtual void operands(std::string_view name, std::vector<std::string>& targets) = 0;
  /// An option with one value, given at most once; `names` as "-o,--output".
  virtual void value(const std::string& names, const std::string& placeholder,
                     const std::string& help, Take take) = 0;
  /// An option that may be repeated.
  virtual void repeated(const std::string& names, const std::string& placeholder,
                        const std::string& help, std::vector<std::string>& targets) = 0;
  virtual void flag(const std::string& names, const std::string& help, bool& target) = 0;

  /// Values of a type, checked by parse.h.
  void text(const std::string& names, const std::string& placeholder, const std::string& help,
            std::string& target);
  void integer(const std::string& names, Index low, const std::string& help,
               std::function<void(Index)> take);
  /// One of `names_of_choices`; `take` gets its number.
  void choice(const std::string& names, std::span<const std::string_view> choices,
              const std::string& help, std::function<void(std::size_t)> take);
};

/// The options of every command.
void declare_globals(OptionList& list, GlobalOptions& globals);
/// Those of one command that help.h lists.
void declare_command(std::string_view command, OptionList& list, Request& request);

// Groups that several commands share.
void declare_transforms(OptionList& list, SourceOptions& source);
void declare_source(OptionList& list, SourceOptions& source);
void declare_semantics(OptionList& list, SourceOptions& source);
/// --gzip LEVEL.
void declare_gzip(OptionList& list, int& gzip);
/// -o, --dtype, --force, --append, --gzip.
void declare_destination(OptionList& list, OutputOptions& output, const std::string& help);
/// Those and --to of the forms of a mask.
void declare_output(OptionList& list, OutputOptions& output, bool mask_info = false);

// The commands that run attention.
void declare_attend(OptionList& list, AttendOptions& attend);
void declare_verify(OptionList& list, VerifyOptions& verify);
void declare_probe(OptionList& list, ProbeOptions& probe);
void declare_bench(OptionList& list, BenchOptions& bench);
void declare_backends(OptionList& list, BackendsOptions& backends);

}  // namespace maskctl::app
