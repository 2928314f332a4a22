#include "maskctl/attention/sharded/usual_specs.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/calls/axes.h"
#include "maskctl/attention/calls/bound_call.h"
#include "maskctl/attention/calls/fields.h"
#include "maskctl/attention/sharded/cut_call.h"
#include "maskctl/base/text.h"

namespace maskctl::attention {
namespace {

constexpr std::string_view kSequence = "sp";

std::vector<std::string> labels_of(std::string_view text) {
  std::vector<std::string> labels;
  for (const Axis& axis : first_axes(text)) labels.push_back(axis.name);
  return labels;
}

/// For each label (axis name) of an operation, the mesh axes over which axes with this label are
/// split.
class UsualAxes {
 public:
  UsualAxes(const Operation& operation, const Mesh& mesh) {
    bool first = true;
    for (const std::string& label : labels_of(operation.splittable)) {
      const bool batch = first && !label.starts_with('H');
      names_[label] = present(mesh, batch ? Names{"dp", "fsdp"} : Names{"tp"});
      first = false;
    }
    for (const std::string& label : labels_of(operation.collective)) {
      names_[label] = present(mesh, {std::string(kSequence)});
    }
    check(operation, mesh);
  }

  PartitionSpec spec(std::string_view axes, std::size_t rank,
                     std::span<const Index> shape = {}) const {
    PartitionSpec spec;
    const std::vector<Axis> all = checked_axes(axes, rank);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool broadcasts = i < shape.size() && shape[i] == 1 && !all[i].cumulative;
      const auto found = names_.find(all[i].is_either() ? "Hq" : all[i].name);
      spec.axes.push_back(broadcasts || found == names_.end() ? AxisName()
                                                              : name_of(found->second));
    }
    return spec;
  }

 private:
  using Names = std::vector<std::string>;

  static Names present(const Mesh& mesh, Names names) {
    std::erase_if(names, [&](const std::string& name) {
      return std::ranges::find(mesh.axis_names, name) == mesh.axis_names.end();
    });
    return names;
  }
  static AxisName name_of(const Names& names) {
    if (names.empty()) return {};
    return names.size() == 1 ? AxisName(names[0]) : AxisName(names);
  }
  void check(const Operation& operation, const Mesh& mesh) const {
    for (std::size_t i = 0; i < mesh.axis_names.size(); ++i) {
      const std::string& axis = mesh.axis_names[i];
      const bool splits = std::ranges::any_of(names_, [&](const auto& entry) {
        return std::ranges::find(entry.second, axis) != entry.second.end();
      });
      if (splits || mesh.axis_sizes[i] == 1) continue;
      Names labels;
      for (const auto& [label, names] : names_) labels.push_back(label);
      refuse(
          fmt::format("mesh axis '{}' splits nothing of {}, whose axes ({}) can be split: dp "
                      "and fsdp split batches, tp heads, sp sequences",
                      axis, operation.name, joined(labels, ", ")));
    }
  }

  std::map<std::string, Names, std::less<>> names_;
};

}  // namespace

Sharding usual_sharding(const Operation& operation, const Mesh& mesh,
                        const std::map<std::string, std::vector<Index>>& outlines,
                        NamedArguments& arguments) {
  for (const char* option : {"axis_name", "sequence_parallelism_mesh_axis_name"}) {
    const bool has = std::ranges::find(mesh.axis_names, kSequence) != mesh.axis_names.end();
    if (has && operation.find(option, false)) {
      arguments.options.try_emplace(option, std::string(kSequence));
    }
  }
  const UsualAxes usual(operation, mesh);
  Sharding sharding{mesh, {}, {}};
  const BoundCall call(operation, arguments);
  std::size_t first_rank = 0;
  for (const Field& field : operation.fields) {
    if (!field.is_array) continue;
    const auto outline = outlines.find(std::string(field.name));
    const Tensor* const array = array_of(field, call.get());
    std::optional<PartitionSpec> spec;
    if (outline != outlines.end() || array) {
      const std::vector<Index>& shape = array ? array->shape() : outline->second;
      spec = usual.spec(axes_of(field, call.get()), shape.size(), shape);
      if (&field == &operation.fields.front()) first_rank = shape.size();
    }
    sharding.in_specs.push_back(std::move(spec));
  }
  const std::string_view out = out_axes(operation, call.get(), first_rank);
  sharding.out_specs.push_back(usual.spec(out, first_axes(out).size()));
  if (!operation.updated_axes.empty()) {
    const std::size_t rank = first_axes(operation.updated_axes).size();
    sharding.out_specs.push_back(usual.spec(operation.updated_axes, rank));
  }
  return sharding;
}

}  // namespace maskctl::attention
