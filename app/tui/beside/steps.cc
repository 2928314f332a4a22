#include "app/tui/beside/steps.h"

#include <algorithm>

namespace maskctl::app::tui {
namespace {

constexpr std::string_view kBetween = " | ";

/// The byte ranges between separators '|' (or line ends) outside of braces and quotes, including
/// blanks.
std::vector<Range> pieces(std::string_view pipeline) {
  std::vector<Range> out;
  Index begin = 0, depth = 0;
  char quote = 0;
  for (Index i = 0; i < std::ssize(pipeline); ++i) {
    const char c = pipeline[as_size(i)];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}') {
      --depth;
    } else if ((c == '|' || c == '\n') && depth <= 0) {
      out.push_back({begin, i});
      begin = i + 1;
    }
  }
  out.push_back({begin, std::ssize(pipeline)});
  return out;
}

std::string_view part(std::string_view text, Range bytes) {
  return text.substr(as_size(bytes.begin), as_size(bytes.size()));
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
  return text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

}  // namespace

std::vector<EditStep> split_steps(std::string_view pipeline) {
  std::vector<EditStep> out;
  if (trimmed(pipeline).empty()) return out;
  for (const Range piece : pieces(pipeline)) {
    const std::string_view text = trimmed(part(pipeline, piece));
    const bool off = text.starts_with('#');
    out.push_back({std::string(off ? trimmed(text.substr(1)) : text), !off});
  }
  return out;
}

std::string join_steps(std::span<const EditStep> steps, std::string_view between) {
  std::string out;
  for (const EditStep& step : steps) {
    if (&step != steps.data()) out += between;
    out += (step.on ? "" : "#") + step.text;
  }
  return out;
}

std::vector<Range> step_ranges(std::span<const EditStep> steps) {
  std::vector<Range> out;
  Index begin = 0;
  for (const EditStep& step : steps) {
    const Index size = std::ssize(step.text) + (step.on ? 0 : 1);
    out.push_back({begin, begin + size});
    begin += size + std::ssize(kBetween);
  }
  return out;
}

std::string without_off_steps(std::string_view pipeline) {
  std::string out(pipeline);
  bool any = false;  // an earlier step is on
  for (const Range piece : pieces(pipeline)) {
    const bool off = trimmed(part(pipeline, piece)).starts_with('#');
    const auto clear = [&](Range bytes) {
      std::fill(out.begin() + bytes.begin, out.begin() + bytes.end, ' ');
    };
    if (off) clear(piece);
    // Also replace the '|' before this step by a blank, if the step is off or is the first one that
    // is on.
    if (piece.begin > 0 && (off || !any)) clear({piece.begin - 1, piece.begin});
    any |= !off;
  }
  return out;
}

}  // namespace maskctl::app::tui
