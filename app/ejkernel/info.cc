// The command `info` for a MaskInfo: properties, arrays and shardings.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "app/cli/commands/ejkernel.h"
#include "app/cli/commands/info_print.h"
#include "app/ejkernel/sources.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"
#include "maskctl/ejkernel/mask_info/sharding.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::app::ejkernel {
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

AxisName axis_of(Names names) {
  if (names.empty()) return std::monostate();
  if (names.size() == 1) return names.front();
  return names;
}

/// The axis without the names that the mesh lacks. Adds each of these to `dropped`, once.
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
        fmt::format("the mesh has no axis {}; nothing is split over it", joined(dropped, ", ")));
  }
  return MaskInfo(std::move(fields));
}

/// Collects all properties. Each is read from its own copy, because reading a property may change
/// the MaskInfo.
MaskInfoReport report_of(const MaskInfo& info) {
  MaskInfoReport report;
  report.repr = info.repr();
  report.shape = info.shape();
  report.self_attention = info.is_self_attention();
  report.multi_sequence = info.is_multi_sequence();
  const auto& [causal, sliding_window, chunked, token_type_ids] = info.baked_in_masks();
  report.baked_in = {causal, sliding_window, chunked, token_type_ids};
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

/// A copy of `info` whose axis names are those of --axes.
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
                              printable(part)));
    }
    if (names == Names{"none"}) names.clear();
    *targets[found - kAxes.begin()] = axis_of(std::move(names));
  }
  return MaskInfo(std::move(fields));
}

/// How the mesh splits the arrays. Unless --strict is given, axis names that the mesh lacks are
/// dropped with a note.
MeshReport mesh_report(const MaskInfo& info, const MeshOptions& options, Session& session) {
  constexpr Index kMostDevices = 65536;
  const Mesh mesh = mesh_from_text(options.mesh);
  MeshReport report{mesh.axis_names, mesh.axis_sizes, mesh.devices(), {}};
  if (report.devices > kMostDevices) {
    throw Error(Errc::kLimit, fmt::format("--mesh {}: {} devices; at most {} are listed",
                                          options.mesh, report.devices, kMostDevices));
  }
  const MaskInfo checked =
      session.settings().strict
          ? info
          : without_missing_axes(info, mesh, options.sequence_parallel, session);
  const MaskSharding sharding = get_shardings(checked, mesh, options.sequence_parallel);
  const auto add = [&](const char* name_of, const auto& stored, const auto& spec) {
    if (!stored) return;
    const PartitionSpec split = spec.value_or(PartitionSpec{});
    report.arrays.push_back({name_of, stored->shape(), to_text(split),
                             [mesh, split, shape = stored->shape()](Index device) {
                               return shard_of_device(shape, split, mesh, device);
                             }});
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

// Functions that compute one array as ejkernel does. Options of --print choose the function of
// ejkernel: mask_to_segment_ids for --per-head, get_or_compute_qkv_cu_seqlens for --max-segments,
// attention_mask_to_qkv_cu_seqlens for --reduce-heads.

QkvArrays ids(MaskInfo& info, const PrintOptions& print) {
  if (print.per_head) return mask_to_segment_ids(info.attention_mask(), true);
  Array q = info.q_segment_ids();
  return {std::move(q), info.kv_segment_ids()};
}

QkvArrays lengths(MaskInfo& info, const PrintOptions& print) {
  if (print.reduce_heads) {
    return attention_mask_to_qkv_cu_seqlens(info.attention_mask(),
                                            kHeadReductions[*print.reduce_heads]);
  }
  if (print.max_segments) {
    return info.get_or_compute_qkv_cu_seqlens(DType::kInt32, *print.max_segments);
  }
  Array q = info.cu_seqlens_q();
  return {std::move(q), info.cu_seqlens_kv()};
}

template <auto property>
Array read(MaskInfo& info, const PrintOptions&, Index) {
  return (info.*property)();
}

using Read = Array (*)(MaskInfo& info, const PrintOptions& print, Index max_bytes);
/// One function for each name in kPrintedArrays, in the same order.
constexpr Read kReaders[] = {
    [](auto& info, auto&, Index most) { return make_array(info.attention_mask().tensor(most)); },
    [](auto& info, auto&, Index most) {
      return make_array(info.create_bias(DType::kFloat32, most));
    },
    [](auto& info, auto& print, Index) { return ids(info, print).q; },
    [](auto& info, auto& print, Index) { return ids(info, print).kv; },
    [](auto& info, auto& print, Index) { return lengths(info, print).q; },
    [](auto& info, auto& print, Index) { return lengths(info, print).kv; },
    read<&MaskInfo::q_lens>,
    read<&MaskInfo::kv_lens>,
    [](auto& info, auto&, Index) { return info.get_or_compute_positions().q; },
    [](auto& info, auto&, Index) { return info.get_or_compute_positions().kv; },
    read<&MaskInfo::q_attention_mask>,
    read<&MaskInfo::q_position_ids>,
    [](auto& info, auto&, Index) { return info.get_qkv_masks(DType::kBool).q; },
    [](auto& info, auto&, Index) { return info.get_qkv_masks(DType::kBool).kv; },
};
static_assert(std::size(kReaders) == std::size(kPrintedArrays));

}  // namespace

InfoReport info(Loader& loader, const std::string& source, const MeshOptions& mesh,
                Session& session) {
  const MaskInfo info = with_axes(info_of(loader, source), mesh.axes);
  InfoReport report;
  report.source = source;
  report.mask_info = report_of(info);
  if (!mesh.mesh.empty()) report.mesh = mesh_report(info, mesh, session);
  MaskInfo reading = info;
  const MaskArray& mask = reading.attention_mask();
  report.mask = mask.mask();
  report.kind = "mask-info";
  report.polarity = "1";
  report.arrays.push_back({"", std::string(name(mask.dtype())), mask.shape()});
  return report;
}

std::shared_ptr<const Tensor> printed(Loader& loader, const std::string& source,
                                      const PrintOptions& print) {
  MaskInfo info = info_of(loader, source);
  return kReaders[*print.array](info, print, loader.max_bytes());
}

}  // namespace maskctl::app::ejkernel
