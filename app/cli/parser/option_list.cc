// Declares options.
#include "app/cli/parser/option_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/cli/parser/values.h"
#include "maskctl/base/text.h"
#include "maskctl/pipeline/parse/values.h"

namespace maskctl::app {
namespace {

std::function<void(const OptionValue&)> of_text(OptionList::Take take) {
  return [take = std::move(take)](const OptionValue& given) { take(option_text(given)); };
}

}  // namespace

std::string option_text(const OptionValue& value) {
  if (const auto* number = std::get_if<double>(&value)) {
    const std::string text = fmt::format("{}", *number);
    return text.find_first_not_of("-0123456789") == text.npos ? text + ".0" : text;
  }
  const auto* whole = std::get_if<Index>(&value);
  return whole ? fmt::format("{}", *whole) : std::get<std::string>(value);
}

const Option* OptionList::find(std::string_view name) const {
  for (const Option& option : options_) {
    const auto names = split(option.names, ',');
    if (!option.operand && std::ranges::find(names, name) != names.end()) return &option;
  }
  return nullptr;
}

void OptionList::operand(std::string_view name, Take take, bool required) {
  options_.push_back({.names = std::string(name),
                      .operand = true,
                      .required = required,
                      .take = of_text(std::move(take))});
}

void OptionList::operand(std::string_view name, std::string& target, bool required) {
  operand(
      name, [&target](const std::string& given) { target = given; }, required);
}

void OptionList::operand(std::string_view name, std::span<const std::string_view> choices,
                         std::string& target) {
  operand(name, target);
  options_.back().placeholder = joined(choices, "|");
}

void OptionList::operands(std::string_view name, std::vector<std::string>& targets, bool required) {
  options_.push_back(
      {.names = std::string(name),
       .operand = true,
       .required = required,
       .repeated = true,
       .take = of_text([&targets](const std::string& given) { targets.push_back(given); })});
}

void OptionList::value(std::string names, std::string placeholder, std::string help, Take take) {
  options_.push_back({.names = std::move(names),
                      .placeholder = std::move(placeholder),
                      .help = std::move(help),
                      .group = group_,
                      .take = of_text(std::move(take))});
}

void OptionList::repeated(std::string names, std::string placeholder, std::string help,
                          std::vector<std::string>& targets) {
  value(std::move(names), std::move(placeholder), std::move(help),
        [&targets](const std::string& given) { targets.push_back(given); });
  options_.back().repeated = true;
}

void OptionList::flag(std::string names, std::string help, bool& target) {
  value(std::move(names), "", std::move(help), [&target](const std::string&) { target = true; });
}

void OptionList::text(std::string names, std::string placeholder, std::string help,
                      std::string& target) {
  value(std::move(names), std::move(placeholder), std::move(help),
        [&target](const std::string& given) { target = given; });
}

void OptionList::integer(std::string names, Index low, std::string help,
                         std::function<void(Index)> take) {
  value(std::move(names), "N", std::move(help), {});
  options_.back().take = [name = options_.back().long_name(), low,
                          take = std::move(take)](const OptionValue& given) {
    const auto* whole = std::get_if<Index>(&given);
    const bool fits = whole && low <= *whole && *whole <= kMaxArgument;
    take(fits ? *whole : parse_integer(option_text(given), name, low, kMaxArgument));
  };
}

void OptionList::number(std::string names, std::string help, std::function<void(double)> take) {
  value(std::move(names), "X", std::move(help), {});
  options_.back().take = [name = options_.back().long_name(),
                          take = std::move(take)](const OptionValue& given) {
    const auto* number = std::get_if<double>(&given);
    const bool fits = number && std::isfinite(*number) && *number >= 0;
    take(fits ? *number : parse_number(option_text(given), name));
  };
}

void OptionList::choice(std::string names, std::span<const std::string_view> choices,
                        std::string help, std::function<void(std::size_t)> take) {
  value(std::move(names), joined(choices, "|"), std::move(help), {});
  options_.back().take = [name = options_.back().long_name(), choices,
                          take = std::move(take)](const OptionValue& given) {
    take(parse_choice(option_text(given), name, choices));
  };
}

void OptionList::json(std::string_view schema, bool& target) {
  flag("--json", fmt::format("print JSON ({})", schema), target);
}

void OptionList::variable(std::string_view name, std::string_view words) {
  variables_.push_back({name, words, group_});
}

void OptionList::under(std::string_view heading, const std::function<void()>& declare) {
  const std::string_view outer = group_;
  group_ = heading;
  declare();
  group_ = outer;
}

}  // namespace maskctl::app
