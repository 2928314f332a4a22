#include "maskctl/attention/calls/bound_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/calls/fields.h"
#include "maskctl/base/text.h"

namespace maskctl::attention {
namespace {

std::vector<std::string_view> names_of(const Operation& operation) {
  std::vector<std::string_view> names;
  for (const Field& field : operation.fields) {
    const bool again = std::ranges::find(names, field.name) != names.end();
    if (field.listed() && !again) names.push_back(field.name);
  }
  return names;
}

}  // namespace

bool takes_cotangent(const Operation& operation, std::string_view output) {
  const std::vector<std::string_view> all = split(operation.cotangents, ' ');
  return operation.has_gradients() && std::ranges::find(all, output) != all.end();
}

void refuse_name(const Operation& operation, std::string_view name) {
  refuse(fmt::format("{} has no argument '{}'; it has {}", operation.name, name,
                     joined(names_of(operation), ", ")));
}

void refuse_missing(const Field& field) {
  refuse(fmt::format("{}: this array is needed; give {}=SOURCE", field.name, field.name));
}

BoundCall::BoundCall(const Operation& operation, const NamedArguments& arguments)
    : operation_(operation), values_(operation.copy_call(operation.empty_call())) {
  operation.context(values_.get()) = arguments.context;
  for (const auto& [name, array] : arguments.arrays) {
    if (!name.starts_with(kCotangent)) set(name, array);
  }
  for (const auto& [name, text] : arguments.options) set_option(name, text);
  set_masks(arguments);
}

void BoundCall::check_required() const {
  for (const Field& field : operation_.fields) {
    if (field.is(kRequired) && !array_of(field, get())) refuse_missing(field);
  }
}

std::vector<IdleArgument> BoundCall::idle(bool over_mesh) const {
  std::vector<IdleArgument> idle = idle_arguments(operation_, given_, get(), over_mesh);
  for (const IdleArgument& argument : idle) {
    if (argument.field->is(kStrict)) refuse(argument.line);
  }
  return idle;
}

void BoundCall::move_updated(NamedResults& results) {
  for (auto& [name, array] : updated_) results[name] = std::move(array);
}

void BoundCall::set(const std::string& name, const Tensor& array) {
  const Field* const field = operation_.find(name, true);
  if (!field) refuse_name(operation_, name);
  if (array_of(*field, get())) refuse(fmt::format("{}: given more than once", field->name));
  given_.push_back(field);
  visit_member(*field, get(), [&](auto& member) {
    using Member = std::decay_t<decltype(member)>;
    if constexpr (std::is_same_v<Member, const Tensor*>) {
      member = &array;
    } else if constexpr (std::is_same_v<Member, Tensor*>) {
      member = &updated_.emplace(name, array).first->second;
    }
  });
}

void BoundCall::set_option(const std::string& name, const std::string& text) {
  const Field* const field = operation_.find(name, false);
  if (!field) refuse_name(operation_, name);
  given_.push_back(field);
  read_text(*field, text, get());
}

void BoundCall::set_masks(const NamedArguments& arguments) {
  bool takes_mask = false, takes_static_mask = false;
  for (const Field& field : operation_.fields) {
    visit_member(field, get(), [&](auto& member) {
      using Member = std::decay_t<decltype(member)>;
      if constexpr (std::is_same_v<Member, const Mask*>) {
        takes_mask = true;
        given_.push_back(&field);
        member = arguments.mask ? &*arguments.mask : nullptr;
      } else if constexpr (std::is_same_v<Member, StaticMask>) {
        takes_static_mask = true;
        given_.push_back(&field);
        member = arguments.static_mask;
      }
    });
  }
  if ((arguments.mask && !takes_mask) || (arguments.static_mask && !takes_static_mask)) {
    refuse(fmt::format("{} takes no mask", operation_.name));
  }
}

}  // namespace maskctl::attention
