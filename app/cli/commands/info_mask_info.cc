#include "app/cli/commands/info_mask_info.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/text.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::app {
namespace {

using Names = std::vector<std::string>;

std::string field_line(std::string_view label, std::string_view value) {
  return fmt::format("    {:<19}{}\n", label, value);
}

std::string yes_no(bool value) { return value ? "yes" : "no"; }

std::string baked_text(const BakedInReport& baked) {
  Names names;
  if (baked.causal) names.emplace_back("causal");
  if (baked.sliding_window) names.emplace_back("sliding_window");
  if (baked.chunked) names.emplace_back("chunked");
  if (baked.token_type_ids) names.emplace_back("token_type_ids");
  return names.empty() ? "none" : joined(names, ", ");
}

/// The dtype, shape and first elements of an array: "int32 (3,): 0 4 9".
std::string short_text(const std::shared_ptr<const Tensor>& array) {
  constexpr std::size_t kShown = 12;
  if (!array) return "None";
  const auto values = as_int64(*array, "lengths");
  const std::size_t shown = std::min(values.size(), kShown);
  return fmt::format("{} {}: {}{}", name(array->dtype()), shape_text(array->shape()),
                     joined(std::span(values).first(shown), " "),
                     shown < values.size() ? " ..." : "");
}

std::string extent_text(const std::optional<Index>& extent) {
  return extent ? std::to_string(*extent) : "None";
}

std::string slices_text(const std::vector<Range>& ranges) {
  Names parts;
  for (const Range& range : ranges) parts.push_back(fmt::format("{}:{}", range.begin, range.end));
  return fmt::format("[{}]", joined(parts, ", "));
}

}  // namespace

std::string mask_info_text(const MaskInfoReport& report) {
  std::string out = "  MaskInfo\n";
  out += field_line("repr", report.repr);
  out +=
      field_line("shape", fmt::format("({}, {}, {})", extent_text(report.shape[0]),
                                      extent_text(report.shape[1]), extent_text(report.shape[2])));
  out += field_line("is_self_attention", yes_no(report.self_attention));
  out += field_line("is_multi_sequence", yes_no(report.multi_sequence));
  out += field_line("baked in", baked_text(report.baked_in));
  for (const ArrayReport& array : report.stored) {
    out += field_line("stored",
                      fmt::format("{} {} {}", array.name, array.dtype, shape_text(array.shape)));
  }
  for (const auto& [key, array] : report.lengths) out += field_line(key, short_text(array));
  return out;
}

std::string mesh_text(const MeshReport& report) {
  constexpr Index kLines = 64;
  Names axes;
  for (std::size_t i = 0; i < report.axis_names.size(); ++i) {
    axes.push_back(fmt::format("{}={}", report.axis_names[i], report.axis_sizes[i]));
  }
  const Index devices = report.devices;
  std::string out = fmt::format("  mesh {}: {} devices\n", joined(axes, "+"), devices);
  for (const ShardReport& array : report.arrays) {
    out += field_line(array.name, fmt::format("{} {}", shape_text(array.shape), array.spec));
  }
  for (Index device = 0; device < std::min(devices, kLines); ++device) {
    Names parts;
    for (const ShardReport& array : report.arrays) {
      parts.push_back(array.name + slices_text(array.part(device)));
    }
    out += field_line(fmt::format("device {}", device), joined(parts, " "));
  }
  if (devices > kLines) out += fmt::format("    ... {} more; --json lists all\n", devices - kLines);
  return out;
}

}  // namespace maskctl::app
