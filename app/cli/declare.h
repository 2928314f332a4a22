// Declares the options of each command, independently of the parser that reads them.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/dispatch.h"

namespace maskctl::app {

/// Where a command declares its operands and options. The targets must outlive parsing.
class OptionList {
 public:
  using Take = std::function<void(const std::string& text)>;

  virtual ~OptionList() = default;

  /// A positional operand; targets are filled in the order of declaration.
  virtual void operand(std::string_view name, std::string& target) = 0;
  virtual void operands(std::string_view name, std::vector<std::string>& targets) = 0;
  /// An option with one value, given at most once; `names` is, for example, "-o,--output".
  virtual void value(const std::string& names, const std::string& placeholder,
                     const std::string& help, Take take) = 0;
  /// An option that may be repeated.
  virtual void repeated(const std::string& names, const std::string& placeholder,
                        const std::string& help, std::vector<std::string>& targets) = 0;
  virtual void flag(const std::string& names, const std::string& help, bool& target) = 0;

  /// An option whose value is kept as text.
  void text(const std::string& names, const std::string& placeholder, const std::string& help,
            std::string& target);
  void integer(const std::string& names, Index low, const std::string& help,
               std::function<void(Index)> take);
  /// One of `choices`; `take` gets its index.
  void choice(const std::string& names, std::span<const std::string_view> choices,
              const std::string& help, std::function<void(std::size_t)> take);
};

/// The options of every command.
void declare_globals(OptionList& list, GlobalOptions& globals);
/// The options of one command from help.h.
void declare_command(std::string_view command, OptionList& list, Request& request);

// Groups of options that several commands share.
void declare_transforms(OptionList& list, SourceOptions& source);
void declare_source(OptionList& list, SourceOptions& source);
void declare_semantics(OptionList& list, SourceOptions& source);
/// --gzip LEVEL.
void declare_gzip(OptionList& list, int& gzip);
/// -o, --dtype, --force, --append, --gzip.
void declare_destination(OptionList& list, OutputOptions& output, const std::string& help);
/// These, and --to for the forms of a mask.
void declare_output(OptionList& list, OutputOptions& output, bool mask_info = false);

// The commands that run attention.
void declare_attend(OptionList& list, AttendOptions& attend);
void declare_verify(OptionList& list, VerifyOptions& verify);
void declare_probe(OptionList& list, ProbeOptions& probe);
void declare_bench(OptionList& list, BenchOptions& bench);
void declare_backends(OptionList& list, BackendsOptions& backends);

}  // namespace maskctl::app
