// Which rows of a library a call has, and what they say of an argument.
#include <fmt/format.h>

#include "maskctl/translate/read/call.h"

namespace maskctl {
namespace {

/// Whether `name`, as a call writes it, names the call of the row.
bool is_call_of(const Library& library, const Convention& row, std::string_view name) {
  // In libraries whose classes have methods, the whole dotted name identifies a call; in others its
  // last part, because the object before it may have any name.
  const bool object = !library.methods && last_name(name) == last_name(row.call);
  return object || name == row.call || name.ends_with(fmt::format(".{}", row.call));
}

}  // namespace

std::vector<const Convention*> rows_of(const Library& library, std::string_view name) {
  const std::string dotted = fmt::format(".{}", name);
  std::vector<const Convention*> any, of_module;
  for (const Convention& row : library.calls) {
    if (!name.empty() && !is_call_of(library, row, name)) continue;
    if (row.module.empty()) {
      any.push_back(&row);
    } else if (dotted.find(fmt::format(".{}.", row.module)) != dotted.npos) {
      of_module.push_back(&row);
    }
  }
  return of_module.empty() ? any : of_module;
}

bool leads(const Convention& row, std::string_view argument) {
  for (std::string_view rest : {row.leading, row.names}) {
    while (!rest.empty()) {  // "q, k, v" or "q=q, k=k, v=v"
      const std::string_view one = rest.substr(0, rest.find(", "));
      if (one.substr(0, one.find('=')) == argument) return true;
      rest.remove_prefix(std::min(rest.size(), one.size() + 2));
    }
  }
  return false;
}

bool is_default(const Argument& argument, const Python& value) {
  if (value.kind == Python::Kind::kNumber) return std::to_string(value.number) == argument.fallback;
  return value.is_word(argument.fallback);
}

}  // namespace maskctl
