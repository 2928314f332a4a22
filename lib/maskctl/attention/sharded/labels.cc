#include "maskctl/attention/sharded/labels.h"

#include <fmt/format.h>

#include "maskctl/base/error.h"

namespace maskctl::attention {
namespace {

AxisLabel label_of(std::string_view text) {
  AxisLabel label;
  if (text.front() >= '1' && text.front() <= '9') {
    label.factor = text.front() - '0';
    text.remove_prefix(1);
  }
  label.cumulative = text.ends_with('+');
  if (label.cumulative) text.remove_suffix(1);
  label.name = std::string(text);
  return label;
}

std::vector<AxisLabel> labels_of(std::string_view text) {
  std::vector<AxisLabel> labels;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    if (!word.empty()) labels.push_back(label_of(word));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  return labels;
}

}  // namespace

std::vector<AxisLabel> axis_labels(std::string_view labels, std::size_t rank,
                                   std::string_view what) {
  for (std::string_view rest = labels;;) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    std::vector<AxisLabel> alternative = labels_of(rest.substr(0, end));
    if (alternative.size() == rank) return alternative;
    if (end == rest.size()) break;
    rest.remove_prefix(end + 1);
  }
  throw Error(Errc::kShape, fmt::format("{} has rank {}, expected axes ({})", what, rank, labels));
}

}  // namespace maskctl::attention
