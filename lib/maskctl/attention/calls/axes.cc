#include "maskctl/attention/calls/axes.h"

#include <fmt/format.h>

#include <charconv>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/base/text.h"

namespace maskctl::attention {
namespace {

Axis axis_of(std::string_view text) {
  Axis axis;
  const auto number = std::from_chars(text.data(), text.data() + text.size(), axis.factor);
  text.remove_prefix(static_cast<std::size_t>(number.ptr - text.data()));
  axis.cumulative = text.ends_with("+1");
  if (axis.cumulative) text.remove_suffix(2);
  axis.name = std::string(text);
  return axis;
}

}  // namespace

std::vector<std::vector<Axis>> axes_alternatives(std::string_view axes) {
  std::vector<std::vector<Axis>> out;
  for (const std::string_view alternative : split(axes, '|')) {
    std::vector<Axis>& list = out.emplace_back();
    for (const std::string_view word : split(alternative, ' ')) {
      if (!word.empty()) list.push_back(axis_of(word));
    }
  }
  return out;
}

std::vector<Axis> first_axes(std::string_view axes) {
  return std::move(axes_alternatives(axes).front());
}

std::optional<std::vector<Axis>> axes_of_rank(std::string_view axes, std::size_t rank) {
  for (std::vector<Axis>& alternative : axes_alternatives(axes)) {
    if (alternative.size() == rank) return std::move(alternative);
  }
  return std::nullopt;
}

std::vector<Axis> checked_axes(std::string_view axes, std::size_t rank, std::string_view what) {
  if (auto found = axes_of_rank(axes, rank)) return *std::move(found);
  refuse_shape(fmt::format("{} has rank {}, expected axes ({})", what, rank, axes));
}

}  // namespace maskctl::attention
