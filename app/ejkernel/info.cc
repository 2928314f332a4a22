// Properties and shardings of a MaskInfo.
#include "app/cli/commands/info_ejkernel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "maskctl/base/error.h"
#include "maskctl/base/text.h"
#include "maskctl/mask/info/sharding.h"
#include "maskctl/pipeline/parse/diagnostic.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::app {
namespace {

using Names = std::vector<std::string>;

std::vector<std::pair<std::string, Array>> stored_arrays(const MaskInfoFields& fields) {
  return {{"q_segment_ids", fields.q_segment_ids}, {"kv_segment_ids", fields.kv_segment_ids},
          {"cu_seqlens_q", fields.cu_seqlens_q},   {"cu_seqlens_kv", fields.cu_seqlens_kv},
          {"q_positions", fields.q_positions},     {"kv_positions", fields.kv_positions}};
}

Array read_from_copy(const MaskInfo& info, Array (MaskInfo::*property)()) {
  MaskInfo copy = info;
  return (copy.*property)();
}

Names names_of(const AxisName& axis) {
  if (const auto* one = std::get_if<std::string>(&axis)) return {*one};
  if (const auto* many = std::get_if<Names>(&axis)) return *many;
  return {};
}

AxisName axis_of(Names names) {
  if (names.empty()) return std::monostate();
  if (names.size() == 1) return names.front();
  return names;
}

/// Drops names that the mesh lacks, and notes each once.
AxisName in_mesh(const AxisName& axis, const Mesh& mesh, Names& dropped) {
  Names kept;
  for (const std::string& name : names_of(axis)) {
    const bool known = std::ranges::count(mesh.axis_names, name) > 0;
    if (known) kept.push_back(name);
    if (!known && std::ranges::count(dropped, name) == 0) dropped.push_back(name);
  }
  return axis_of(std::move(kept));
}

MaskInfo without_missing_axes(const MaskInfo& info, const Mesh& mesh, bool sequence_parallel,
                              Session& session) {
  MaskInfoFields fields = info.fields();
  Names dropped;
  fields.axes.batch = in_mesh(fields.axes.batch, mesh, dropped);
  fields.axes.qheads = in_mesh(fields.axes.qheads, mesh, dropped);
  if (sequence_parallel) fields.axes.sequence = in_mesh(fields.axes.sequence, mesh, dropped);
  if (!dropped.empty()) {
    session.note(
        fmt::format("the mesh has no axis {}; nothing is split over it", fmt::join(dropped, ", ")));
  }
  return MaskInfo(std::move(fields));
}

std::string field_line(std::string_view label, std::string_view value) {
  return fmt::format("    {:<19}{}\n", label, value);
}

std::string yes_no(bool value) { return value ? "yes" : "no"; }

std::string baked_text(const BakedInMasks& baked) {
  Names names;
  if (baked.causal) names.emplace_back("causal");
  if (baked.sliding_window) names.emplace_back("sliding_window");
  if (baked.chunked) names.emplace_back("chunked");
  if (baked.token_type_ids) names.emplace_back("token_type_ids");
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

/// The first elements, and how many there are.
std::string short_text(const Array& array) {
  constexpr std::size_t kShown = 12;
  if (!array) return "None";
  const auto values = as_int64(*array, "lengths");
  const std::size_t shown = std::min(values.size(), kShown);
  return fmt::format("{} {}: {}{}", name(array->dtype()), shape_text(array->shape()),
                     fmt::join(values.begin(), values.begin() + static_cast<Index>(shown), " "),
                     shown < values.size() ? " ..." : "");
}

std::string extent_text(const std::optional<Index>& extent) {
  return extent ? std::to_string(*extent) : "None";
}

std::string slices_text(const std::vector<Range>& ranges) {
  Names parts;
  for (const Range& range : ranges) parts.push_back(fmt::format("{}:{}", range.begin, range.end));
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

}  // namespace

MaskInfoReport report_of(const MaskInfo& info) {
  MaskInfoReport report;
  report.repr = info.repr();
  report.shape = info.shape();
  report.self_attention = info.is_self_attention();
  report.multi_sequence = info.is_multi_sequence();
  report.baked_in = info.baked_in_masks();
  const MaskInfoFields& fields = info.fields();
  if (fields.attention_mask) {
    report.stored.push_back({"attention_mask", std::string(name(fields.attention_mask->dtype())),
                             fields.attention_mask->shape()});
  }
  for (const auto& [key, array] : stored_arrays(fields)) {
    if (array) report.stored.push_back({key, std::string(name(array->dtype())), array->shape()});
  }
  report.lengths = {{"q_lens", read_from_copy(info, &MaskInfo::q_lens)},
                    {"kv_lens", read_from_copy(info, &MaskInfo::kv_lens)},
                    {"cu_seqlens_q", read_from_copy(info, &MaskInfo::cu_seqlens_q)},
                    {"cu_seqlens_kv", read_from_copy(info, &MaskInfo::cu_seqlens_kv)}};
  return report;
}

MaskInfo with_axes(const MaskInfo& info, const std::string& axes) {
  if (axes.empty()) return info;
  static constexpr std::array<std::string_view, 4> kAxes = {"batch", "heads", "kv-heads",
                                                            "sequence"};
  MaskInfoFields fields = info.fields();
  AxisName* targets[] = {&fields.axes.batch, &fields.axes.qheads, &fields.axes.kvheads,
                         &fields.axes.sequence};
  for (const std::string_view part : split(axes, ',')) {
    const std::size_t equals = std::min(part.find('='), part.size());
    const auto found = std::ranges::find(kAxes, part.substr(0, equals));
    Names names;
    if (equals < part.size()) {
      for (const auto name : split(part.substr(equals + 1), '+')) names.emplace_back(name);
    }
    if (found == kAxes.end() || names.empty() || std::ranges::count(names, "") > 0) {
      throw Error(Errc::kInvalidArgument,
                  fmt::format("--axes '{}': expected batch=, heads=, kv-heads= or sequence= with "
                              "names joined by +, or none",
                              shown(part)));
    }
    if (names == Names{"none"}) names.clear();
    *targets[found - kAxes.begin()] = axis_of(std::move(names));
  }
  return MaskInfo(std::move(fields));
}

MeshReport mesh_report(const MaskInfo& info, const MeshOptions& options, Session& session) {
  constexpr Index kMostDevices = 65536;
  MeshReport report;
  report.mesh = mesh_from_text(options.mesh);
  if (report.mesh.devices() > kMostDevices) {
    throw Error(Errc::kLimit, fmt::format("--mesh {}: {} devices; at most {} are listed",
                                          options.mesh, report.mesh.devices(), kMostDevices));
  }
  const MaskInfo checked =
      session.settings().strict
          ? info
          : without_missing_axes(info, report.mesh, options.sequence_parallel, session);
  const MaskSharding sharding = get_shardings(checked, report.mesh, options.sequence_parallel);
  const auto add = [&](const char* name_of, const auto& stored, const auto& spec) {
    if (stored) report.arrays.push_back({name_of, stored->shape(), spec.value_or(PartitionSpec{})});
  };
  const MaskInfoFields& fields = checked.fields();
  add("attention_mask", fields.attention_mask, sharding.attention_mask);
  add("q_segment_ids", fields.q_segment_ids, sharding.q_segment_ids);
  add("kv_segment_ids", fields.kv_segment_ids, sharding.kv_segment_ids);
  add("cu_seqlens_q", fields.cu_seqlens_q, sharding.cu_seqlens_q);
  add("cu_seqlens_kv", fields.cu_seqlens_kv, sharding.cu_seqlens_kv);
  add("q_positions", fields.q_positions, sharding.q_positions);
  add("kv_positions", fields.kv_positions, sharding.kv_positions);
  return report;
}

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
  for (std::size_t i = 0; i < report.mesh.axis_names.size(); ++i) {
    axes.push_back(fmt::format("{}={}", report.mesh.axis_names[i], report.mesh.axis_sizes[i]));
  }
  const Index devices = report.mesh.devices();
  std::string out = fmt::format("  mesh {}: {} devices\n", fmt::join(axes, "+"), devices);
  for (const ShardReport& array : report.arrays) {
    out +=
        field_line(array.name, fmt::format("{} {}", shape_text(array.shape), to_text(array.spec)));
  }
  for (Index device = 0; device < std::min(devices, kLines); ++device) {
    Names parts;
    for (const ShardReport& array : report.arrays) {
      parts.push_back(array.name +
                      slices_text(shard_of_device(array.shape, array.spec, report.mesh, device)));
    }
    out += field_line(fmt::format("device {}", device), fmt::format("{}", fmt::join(parts, " ")));
  }
  if (devices > kLines) out += fmt::format("    ... {} more; --json lists all\n", devices - kLines);
  return out;
}

}  // namespace maskctl::app
