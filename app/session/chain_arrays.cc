#include "app/session/chain_arrays.h"

#include <fmt/format.h>

#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"

namespace maskctl::app {
ChainArrays::ChainArrays(std::string_view command, std::string dest)
    : command_(command),
      dest_(std::move(dest)),
      names_([this](const std::string& name) { return source_of(name); }) {}

bool ChainArrays::is_single() const {
  return !dest_.empty() && !parse_dest_name(dest_).is_container();
}

std::string ChainArrays::source_of(const std::string& name) const {
  if (dest_.empty()) return fmt::format("{}.npz:{}", command_, name);
  const std::string path = parse_dest_name(dest_).path;
  return is_single() ? path : fmt::format("{}:{}", path, name);
}

std::vector<std::string> ChainArrays::sources() const {
  std::vector<std::string> out;
  out.reserve(names_.arrays().size());
  for (const ArrayNames::Named& array : names_.arrays()) out.push_back(source_of(array.name));
  return out;
}

bool ChainArrays::write(const WriteOptions& options) const {
  if (dest_.empty() || empty()) return false;
  if (!is_single()) {
    std::vector<ArrayRef> arrays;
    arrays.reserve(names_.arrays().size());
    for (const ArrayNames::Named& one : names_.arrays()) arrays.push_back({one.name, &one.array});
    write_arrays(dest_, arrays, options);
    return true;
  }
  if (names_.arrays().size() > 1) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("{}: the pipeline reads {} arrays; --write {} holds one: use a .npz",
                            command_, names_.arrays().size(), printable(dest_)));
  }
  write_array(dest_, names_.arrays().front().array, options);
  return true;
}

}  // namespace maskctl::app
