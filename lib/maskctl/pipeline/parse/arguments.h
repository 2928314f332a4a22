// Checks the arguments of one step against the table of steps, and reads them by type.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/mask/block_size.h"
#include "maskctl/pipeline/parse/grammar.h"
#include "maskctl/pipeline/steps/bind.h"
#include "maskctl/pipeline/steps/step_infos.h"

namespace maskctl {

/// Throws PipelineError "pipeline: <message>"; the caret is at byte `position` of the text.
[[noreturn]] void fail_at(const Pipeline& pipeline, Index position, const std::string& message,
                          std::vector<Remedy> remedies = {});

/// The arguments of one step, by the names in StepInfo::args. An argument that is absent has its
/// default. All errors are PipelineErrors with the caret at the argument.
class StepArguments {
 public:
  /// Checks that keys are known and not repeated, that no required argument is missing (in the
  /// group of arguments that is used, too), and that the text has {...} only if the step takes it.
  StepArguments(const Pipeline& pipeline, const StepText& step, const StepInfo& info,
                const BindContext& context);

  bool has(std::string_view name) const { return find(name) != nullptr; }
  Index integer(std::string_view name) const;
  /// One side of a window; nothing for "none", which means unbounded.
  std::optional<Index> side(std::string_view name) const;
  double real(std::string_view name) const;
  std::uint64_t seed(std::string_view name) const;
  /// The index of the value in the list of choices; nothing if it is absent and has no default.
  std::optional<int> choice(std::string_view name) const;
  std::vector<Index> lengths(std::string_view name) const;
  std::vector<Range> ranges(std::string_view name) const;
  std::optional<Range> slice(std::string_view name) const;
  BlockSize block_size(std::string_view name) const;
  /// The array that a SOURCE names; an empty one if the argument is absent.
  NamedArray array(std::string_view name) const;
  /// The value of an argument that is a number, a list such as "0+3", or a SOURCE; a list or array
  /// has one value per batch.
  NamedArray integer_or_array(std::string_view name) const;
  /// The lengths in a list such as "3+5", as int64 [n].
  NamedArray list(std::string_view name) const;
  Mask mask(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  /// The value of an argument that is present, read by its type.
  FieldValue value(const Field& field) const;
  /// Returns a Step with the values of all arguments that are present.
  Step bound() const;

  /// Throws PipelineError with the caret at the argument.
  [[noreturn]] void refuse(std::string_view name, const std::string& message) const;

 private:
  /// The numbers of a list such as "3+5+1*196", which has 1 as often as 196 times; `wrong` says of
  /// a part that it is no number of at least `least`, or has no count of at least 1.
  std::vector<Index> numbers(const Arg& arg, Index least,
                             const std::function<std::string(std::string_view)>& wrong) const;
  const Arg* find(std::string_view name) const;
  const Field& declared(std::string_view name) const;
  std::string label(const Field& spec) const;
  /// Throws PipelineError with the caret at `part`, a view into the value of the argument, or at
  /// the start of the value.
  [[noreturn]] void refuse_value(const Arg& arg, const std::string& message,
                                 std::string_view part = {}) const;
  Index checked_integer(const Arg& arg, const Field& spec, std::string_view expected) const;

  const Field& spec_of(const Arg& arg) const;
  void check_repeated() const;
  void check_groups() const;
  void check_nested() const;
  Chain nested() const;

  const Pipeline& pipeline_;
  const StepText& step_;
  const StepInfo& info_;
  const BindContext& context_;
};

}  // namespace maskctl
