#include "maskctl/render/figure/axis_labels.h"

#include <algorithm>

#include "maskctl/base/printable.h"
#include "maskctl/render/text/canvas.h"

namespace maskctl {
namespace {

/// The text of a label, and how many columns it takes.
struct Label {
  std::string text;
  Index columns = 0;
};

Label label_of(std::string_view token) {
  // A character has at most four bytes, but combining marks, which are left out, take bytes too.
  constexpr std::size_t kEnoughBytes = 256;
  const bool longer = token.size() > kEnoughBytes;
  std::size_t end = std::min(token.size(), kEnoughBytes);
  while (longer && end > 0 && (static_cast<unsigned char>(token[end]) & 0xC0) == 0x80) --end;
  const std::string readable = printable(token.substr(0, end), kUncut);
  Label out, cut;  // `cut` leaves a column for "…"
  for (std::size_t i = 0; i < readable.size();) {
    const std::size_t begin = i;
    const char32_t code = next_code(readable, i);
    const Index columns = columns_of(code);
    if (columns == 0) continue;
    if (out.columns + columns > kMostLabelColumns) return {cut.text + "…", cut.columns + 1};
    out.text += code == U' ' ? "·" : readable.substr(begin, i - begin);
    out.columns += columns;
    if (out.columns <= kMostLabelColumns - 1) cut = out;
  }
  return longer ? Label{cut.text + "…", cut.columns + 1} : out;
}

}  // namespace

AxisLabels axis_labels(std::span<const std::string_view> tokens) {
  AxisLabels out;
  out.texts.reserve(tokens.size());
  for (const std::string_view token : tokens) {
    Label label = label_of(token);
    out.widest = std::max(out.widest, label.columns);
    out.texts.push_back(std::move(label.text));
  }
  return out;
}

}  // namespace maskctl
