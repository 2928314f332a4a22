#include "app/reports/layers_text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "maskctl/base/ranges.h"
#include "maskctl/base/text.h"

namespace maskctl::app {
namespace {

/// Layers whose names differ in their first number alone.
struct Alike {
  std::string before, after;
  std::vector<Index> numbers;  // empty: the one name `before`
};

/// A name, with its first number apart. A number that is written with zeros in front, or too large,
/// is part of the name.
Alike parted(const std::string& name) {
  const auto first = std::ranges::find_if(name, is_digit);
  const auto end = std::find_if_not(first, name.end(), is_digit);
  const std::string digits(first, end);
  const auto number = number_from<Index>(digits);
  if (!number || std::to_string(*number) != digits) return {name, {}, {}};
  return {{name.begin(), first}, {end, name.end()}, {*number}};
}

std::string text_of(Alike layers) {
  std::ranges::sort(layers.numbers);
  const auto twice = std::ranges::unique(layers.numbers);
  layers.numbers.erase(twice.begin(), twice.end());
  std::string numbers = ranges_text(ranges_of(layers.numbers));
  std::ranges::replace(numbers, '+', ',');
  return layers.before + numbers + layers.after;
}

}  // namespace

std::string layers_text(std::span<const std::string> layers) {
  std::vector<Alike> groups;
  for (const std::string& name : layers) {
    Alike one = parted(name);
    const auto known = std::ranges::find_if(groups, [&](const Alike& each) {
      return each.before == one.before && each.after == one.after &&
             each.numbers.empty() == one.numbers.empty();
    });
    if (known == groups.end()) {
      groups.push_back(std::move(one));
    } else {
      known->numbers.insert(known->numbers.end(), one.numbers.begin(), one.numbers.end());
    }
  }
  std::vector<std::string> texts;
  texts.reserve(groups.size());
  for (Alike& group : groups) texts.push_back(text_of(std::move(group)));
  return joined(texts, ", ");
}

}  // namespace maskctl::app
