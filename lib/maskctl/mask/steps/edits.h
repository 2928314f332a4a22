// Steps that someone may have meant instead of a given one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "maskctl/mask/steps/field.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl {

/// A step to use instead of another one, and words for it; without a `step`, the other one is left
/// out.
struct StepEdit {
  std::string text;
  std::optional<Step> step;
};

/// Collects the edits of one step in a mask of this size. A rule that wants others than usual()
/// defines `void edits(const Rule&, StepEdits&)`, which adds them in order.
class StepEdits {
 public:
  /// Edits join only this many documents, from the first on, to their neighbours.
  static constexpr std::size_t kMostDocuments = 12;

  /// kCommon: the edits of usual(). kRare: the numbers that a step has if one is lost: a side of a
  /// window is 0 or -1, an argument is at its default, or all batch entries have the number of one
  /// entry.
  enum class Kind : std::uint8_t { kCommon, kRare };

  StepEdits(Index queries, Index keys, Kind kind = Kind::kCommon)
      : keys_(keys), square_(queries == keys), kind_(kind) {}

  std::vector<StepEdit> of(const Step& step);

  Index keys() const { return keys_; }
  bool square() const { return square_; }

  void put(std::string text, Step step) { out_.push_back({std::move(text), std::move(step)}); }
  /// Adds the edits of without(), arguments() and inside().
  void usual(const Step& step);
  /// Adds the edit that leaves the step out.
  void without(const Step& step);
  /// Adds each number plus or minus one, each other choice, neighbouring documents joined, and
  /// document borders moved by one token.
  void arguments(const Step& step);
  /// Adds the edits of each step in the chain (the {...}) of `step`.
  void inside(const Step& step);
  /// Adds make(n), in which document n is joined to document n - 1, for each n from 1 on.
  template <typename Make>
  void join(std::size_t documents, const Make& make) {
    for (std::size_t n = 1; n < std::min(documents, kMostDocuments); ++n) {
      put(joined_text(n), make(n));
    }
  }
  /// The lengths with document n joined to document n - 1; an empty list stays empty.
  static std::vector<Index> joined(std::vector<Index> lengths, std::size_t n);

 private:
  void put(const Step& step, const Field& field, FieldValue value, std::string text);
  void edit(const Step& step, std::string_view name, const Field& field);
  void number(const Step& step, std::string_view name, const Field& field, const FieldValue& value);
  void lost_number(const Step& step, std::string_view name, const Field& field,
                   const FieldValue& value);
  void choice(const Step& step, std::string_view name, const Field& field, const FieldValue& value);
  void borders(const Step& step, const Field& field, const std::vector<Index>& lengths);
  static std::string joined_text(std::size_t n);

  Index keys_;
  bool square_;
  Kind kind_;
  std::string_view entry_ = "batch entry";  // what a list has a number for
  std::vector<StepEdit> out_;
};

/// The chain with step i replaced as the edit says, or left out.
Chain edited(Chain chain, std::size_t i, const StepEdit& edit);
/// The array as int64, with `by` added to all its numbers; it keeps its name if it has one.
NamedArray moved_by(const NamedArray& array, Index by);
/// Words for where a step applies its chain: "each document", "heads 0-3".
std::string inside_words(const Step& step);

}  // namespace maskctl
