// The arguments of one step, checked against its entry in the table and read by type.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/mask/block_size.h"
#include "maskctl/pipeline/parse/grammar.h"
#include "maskctl/pipeline/steps/bind.h"
#include "maskctl/pipeline/steps/step_infos.h"

namespace maskctl {

/// Throws "pipeline: <message>" with the caret at a byte of the text.
[[noreturn]] void fail_at(const Pipeline& pipeline, Index position, const std::string& message,
                          std::vector<Remedy> remedies = {});

/// The arguments of one step. Names are those of StepInfo::args; an absent argument has its
/// default. All errors are PipelineErrors with the caret at the argument.
class StepArguments {
 public:
  /// Checks keys, repetitions, groups, required arguments and {...}.
  StepArguments(const Pipeline& pipeline, const StepText& step, const StepInfo& info,
                const BindContext& context);

  bool has(std::string_view name) const { return find(name) != nullptr; }
  Index integer(std::string_view name) const;
  /// Nothing for "none".
  std::optional<Index> side(std::string_view name) const;
  double real(std::string_view name) const;
  std::uint64_t seed(std::string_view name) const;
  /// Index into the choices; nothing when absent without a default.
  std::optional<int> choice(std::string_view name) const;
  std::vector<Index> lengths(std::string_view name) const;
  std::vector<Range> ranges(std::string_view name) const;
  std::optional<Range> slice(std::string_view name) const;
  BlockSize block_size(std::string_view name) const;
  /// The array of a SOURCE; an empty one if the argument is absent.
  NamedArray array(std::string_view name) const;
  /// A number, a "0+3" list, or a SOURCE with one value per batch.
  NamedArray integer_or_array(std::string_view name) const;
  /// The lengths of a "3+5" list as int64 [n].
  NamedArray list(std::string_view name) const;
  Mask mask(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  /// The value of an argument that is given, by its type.
  FieldValue value(const Field& field) const;
  /// The step with all arguments that are given.
  Step bound() const;

  /// Throws with the caret at the argument.
  [[noreturn]] void refuse(std::string_view name, const std::string& message) const;

 private:
  const Arg* find(std::string_view name) const;
  const Field& declared(std::string_view name) const;
  std::string label(const Field& spec) const;
  /// The message points at `part`, a view into the value, or at all of the value.
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
