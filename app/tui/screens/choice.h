// Lets the user choose one of several arrays of a file, or the kind of an array that fits several.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/tui/beside/scene.h"
#include "app/tui/state/input.h"
#include "app/tui/state/state.h"
#include "maskctl/base/error.h"
#include "maskctl/io/masks/array_choices.h"
#include "maskctl/render/text/canvas.h"

namespace maskctl::app::tui {

class Choice {
 public:
  /// True if the error can be solved by a choice: a file with several arrays, or an array that fits
  /// several kinds.
  static bool is_asked_for(const Error& error);
  /// The choice that solves this error about the SOURCE. Rethrows the error if there is nothing to
  /// choose.
  static Choice of(const Subject& subject, const Settings& settings, const Error& error);

  enum class Answer : std::uint8_t { kNone, kChosen, kQuit };
  Answer take(const Input& input);
  /// Returns `subject`, which says what to read, with the array and the kind that the user chose.
  Subject chosen(Subject subject) const;
  Canvas draw(const Screen& screen) const;

 private:
  /// A kind of array, and the letter key that chooses it.
  struct Letter {
    char letter;
    ArrayKind kind;
  };
  std::vector<Letter> letters() const;
  const ArrayChoice& selected() const { return arrays_[selected_]; }

  std::string name_;
  std::vector<ArrayChoice> arrays_;
  std::size_t selected_ = 0;
  bool asks_kind_ = false;
  std::optional<ArrayKind> kind_;
};

}  // namespace maskctl::app::tui
