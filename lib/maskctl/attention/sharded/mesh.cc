#include "maskctl/attention/sharded/mesh.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/base/text.h"

namespace maskctl::attention {
namespace {

[[noreturn]] void bad_mesh(std::string_view text, std::string_view what) {
  throw Error(Errc::kInvalidArgument,
              fmt::format("mesh '{}': {}; expected NAME=SIZE+..., such as dp=2+tp=4", text, what));
}

/// Parses an axis such as "dp=2" and adds it to the mesh.
void add_axis(std::string_view text, std::string_view part, Mesh& mesh) {
  const std::size_t equals = part.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    bad_mesh(text, fmt::format("'{}' is not an axis", part));
  }
  const std::string name(part.substr(0, equals));
  const std::string_view digits = part.substr(equals + 1);
  const auto size = number_from<Index>(digits);
  if (!size || *size < 1) {
    bad_mesh(text, fmt::format("axis {} has size '{}', not a positive number", name, digits));
  }
  if (mesh.find(name)) bad_mesh(text, fmt::format("axis {} appears twice", name));
  mesh.axis_names.push_back(name);
  mesh.axis_sizes.push_back(*size);
}

}  // namespace

std::vector<std::string> names_of(const AxisName& entry) {
  if (const auto* one = std::get_if<std::string>(&entry)) return {*one};
  if (const auto* many = std::get_if<std::vector<std::string>>(&entry)) return *many;
  return {};
}

Index Mesh::devices() const {
  const auto devices = checked_product(axis_sizes);
  if (!devices) throw Error(Errc::kLimit, "the mesh has more devices than fit 64 bits");
  return *devices;
}

std::optional<std::size_t> Mesh::find(std::string_view axis) const {
  const auto found = std::ranges::find(axis_names, axis);
  if (found == axis_names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - axis_names.begin());
}

Mesh mesh_from_text(std::string_view text) {
  Mesh mesh;
  for (const std::string_view part : split(text, '+')) add_axis(text, part, mesh);
  mesh.devices();
  return mesh;
}

std::string to_text(const AxisName& entry) {
  std::vector<std::string> names = names_of(entry);
  if (names.empty()) return "None";
  for (std::string& name : names) name = "'" + name + "'";
  return names.size() == 1 ? names[0] : fmt::format("({})", joined(names, ", "));
}

std::string to_text(const PartitionSpec& spec) {
  std::vector<std::string> entries;
  for (const AxisName& entry : spec.axes) entries.push_back(to_text(entry));
  return fmt::format("PartitionSpec({}{})", joined(entries, ", "), entries.size() == 1 ? "," : "");
}

}  // namespace maskctl::attention
