#include "app/tui/screens/choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "app/tui/screens/colors.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"
#include "maskctl/render/figure/words.h"

namespace maskctl::app::tui {
namespace {

constexpr std::array<std::string_view, 4> kQuit = {"q", "<F10>", "<C-c>", "<Esc>"};
constexpr std::array<std::string_view, 3> kOpen = {"<Enter>", "l", "<Right>"};

std::string kinds_text(const ArrayChoice& array) {
  std::string out;
  for (const ArrayKind kind : array.kinds) {
    out += (out.empty() ? "" : " or ") + std::string(name(kind));
  }
  return out.empty() ? "no mask" : out;
}

}  // namespace

bool Choice::is_asked_for(const Error& error) {
  const auto offers = [&](Remedy::Kind kind) {
    return std::ranges::count(error.remedies(), kind, &Remedy::kind);
  };
  return offers(Remedy::kChooseArray) > 0 || offers(Remedy::kReadAs) > 1;
}

Choice Choice::of(const Subject& subject, const Settings& settings, const Error& error) {
  Choice out;
  out.name_ = subject.name;
  ReadOptions options;
  options.max_bytes = settings.max_bytes;
  out.arrays_ = array_choices(subject.name, options);
  if (out.arrays_.empty()) throw error;
  out.kind_ = subject.source.as;
  out.asks_kind_ = out.arrays_.size() == 1;
  return out;
}

std::vector<Choice::Letter> Choice::letters() const {
  std::vector<Letter> out;
  for (const ArrayKind kind : selected().kinds) {
    const std::string_view text = name(kind);
    const auto taken = [&](char c) {
      return std::ranges::find(out, c, &Letter::letter) != out.end();
    };
    const auto letter = std::ranges::find_if_not(text, taken);
    if (letter != text.end()) out.push_back({*letter, kind});
  }
  return out;
}

Choice::Answer Choice::take(const Input& input) {
  if (asks_kind_) {
    const auto known = letters();
    const auto at = std::ranges::find_if(
        known, [&](const Letter& each) { return input.key == std::string(1, each.letter); });
    if (at != known.end()) {
      kind_ = at->kind;
      return Answer::kChosen;
    }
    if (arrays_.size() > 1 && input.key == "<Esc>") {
      asks_kind_ = false;
      return Answer::kNone;
    }
    return one_of(kQuit, input.key) ? Answer::kQuit : Answer::kNone;
  }
  if (one_of(kQuit, input.key)) return Answer::kQuit;
  if (one_of(kDownKeys, input.key)) selected_ = std::min(selected_ + 1, arrays_.size() - 1);
  if (one_of(kUpKeys, input.key) && selected_ > 0) --selected_;
  if (input.key == "g" || input.key == "<Home>") selected_ = 0;
  if (input.key == "G" || input.key == "<End>") selected_ = arrays_.size() - 1;
  if (!one_of(kOpen, input.key) || selected().kinds.empty()) return Answer::kNone;
  asks_kind_ = !kind_ && selected().kinds.size() > 1;
  return asks_kind_ ? Answer::kNone : Answer::kChosen;
}

Subject Choice::chosen(Subject subject) const {
  subject.name = selected().source;
  subject.source.as = kind_ ? kind_ : selected().kinds.front();
  return subject;
}

Canvas Choice::draw(const Screen& screen) const {
  Canvas out(screen.rows, screen.columns);
  const auto line = [&](Index row, std::string_view text, const Glyph& like) {
    out.write(row, 0, fmt::format(" {:<{}}", text, std::max<Index>(screen.columns - 1, 0)), like);
  };
  line(0, fmt::format("{}: {}", printable(name_, kUncut), counted(std::ssize(arrays_), "array")),
       Glyph{.bold = true});
  const auto chosen = static_cast<Index>(selected_);
  const Index lines = std::max<Index>(screen.rows - 3, 1), first = chosen / lines * lines;
  for (Index i = first; i < std::min<Index>(first + lines, std::ssize(arrays_)); ++i) {
    const ArrayChoice& array = arrays_[as_size(i)];
    const std::string own =
        array.source.size() > name_.size() ? array.source.substr(name_.size() + 1) : array.source;
    line(1 + i - first,
         fmt::format("{:<24} {:<9} {:<20} {}", printable(own, kUncut), array.dtype,
                     shape_text(array.shape), kinds_text(array)),
         Glyph{.reverse = i == chosen});
  }
  std::string hints = "j k select  <Enter> open  q quit";
  if (asks_kind_) {
    hints = "it fits several kinds:";
    for (const auto& [letter, kind] : letters())
      hints += fmt::format("  {} {}", letter, name(kind));
  }
  line(screen.rows - 1, hints, {});
  return out;
}

}  // namespace maskctl::app::tui
