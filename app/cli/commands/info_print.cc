#include "app/cli/commands/info_print.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "app/cli/parser/groups.h"
#include "app/reports/figures.h"
#include "app/session/save.h"
#include "maskctl/base/error.h"

namespace maskctl::app {
namespace {

constexpr std::array<std::string_view, 3> kReductions = {"any", "all", "first"};

/// Of ids, that of mask_to_segment_ids(per_head); of lengths, those of
/// get_or_compute_qkv_cu_seqlens(max_segments) and attention_mask_to_qkv_cu_seqlens(reduce_heads).
enum class Arguments { kNone, kIds, kLengths };

struct PrintedArray {
  std::string_view name;
  Array (*read)(MaskInfo& info, const PrintOptions& print, Index max_bytes);
  Arguments takes = Arguments::kNone;
};

QkvArrays ids(MaskInfo& info, const PrintOptions& print) {
  if (print.per_head) return mask_to_segment_ids(info.attention_mask(), true);
  Array q = info.q_segment_ids();
  return {std::move(q), info.kv_segment_ids()};
}

QkvArrays lengths(MaskInfo& info, const PrintOptions& print) {
  if (print.reduce_heads) {
    return attention_mask_to_qkv_cu_seqlens(info.attention_mask(),
                                            kReductions[*print.reduce_heads]);
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

constexpr PrintedArray kArrays[] = {
    {"attention_mask",
     [](auto& info, auto&, Index most) { return make_array(info.attention_mask().tensor(most)); }},
    {"bias", [](auto& info, auto&,
                Index most) { return make_array(info.create_bias(DType::kFloat32, most)); }},
    {"q_segment_ids", [](auto& info, auto& print, Index) { return ids(info, print).q; },
     Arguments::kIds},
    {"kv_segment_ids", [](auto& info, auto& print, Index) { return ids(info, print).kv; },
     Arguments::kIds},
    {"cu_seqlens_q", [](auto& info, auto& print, Index) { return lengths(info, print).q; },
     Arguments::kLengths},
    {"cu_seqlens_kv", [](auto& info, auto& print, Index) { return lengths(info, print).kv; },
     Arguments::kLengths},
    {"q_lens", read<&MaskInfo::q_lens>},
    {"kv_lens", read<&MaskInfo::kv_lens>},
    {"q_positions", [](auto& info, auto&, Index) { return info.get_or_compute_positions().q; }},
    {"kv_positions", [](auto& info, auto&, Index) { return info.get_or_compute_positions().kv; }},
    {"q_attention_mask", read<&MaskInfo::q_attention_mask>},
    {"q_position_ids", read<&MaskInfo::q_position_ids>},
    {"q_mask", [](auto& info, auto&, Index) { return info.get_qkv_masks(DType::kBool).q; }},
    {"kv_mask", [](auto& info, auto&, Index) { return info.get_qkv_masks(DType::kBool).kv; }},
};

std::vector<std::string_view> array_names() {
  std::vector<std::string_view> names;
  for (const PrintedArray& array : kArrays) names.push_back(array.name);
  return names;
}

[[noreturn]] void refuse(const std::string& message) {
  throw Error(Errc::kInvalidArgument, "info: " + message);
}

}  // namespace

void declare_print(OptionList& list, PrintOptions& print) {
  static const std::vector<std::string_view> names = array_names();
  list.choice("--print", names, "this array of a MaskInfo and nothing else (--semantics ejkernel)",
              [&print](std::size_t i) { print.array = i; });
  list.flag("--per-head", "ids of the mask of each head (--print q_segment_ids, kv_segment_ids)",
            print.per_head);
  list.integer("--max-segments", 0, "ids that are counted (--print cu_seqlens_q, cu_seqlens_kv)",
               [&print](Index n) { print.max_segments = n; });
  list.choice("--reduce-heads", kReductions,
              "lengths of the mask, its heads made one (--print cu_seqlens_q, cu_seqlens_kv)",
              [&print](std::size_t i) { print.reduce_heads = i; });
  declare_destination(list, print.output, "write what --print says: FILE.npy, FILE.npz:KEY, or -");
}

void check_print(const PrintOptions& print) {
  const Arguments takes = print.array ? kArrays[*print.array].takes : Arguments::kNone;
  if (!print.array && !print.output.dest.empty()) refuse("-o goes with --print");
  if (print.per_head && takes != Arguments::kIds) {
    refuse("--per-head goes with --print q_segment_ids or kv_segment_ids");
  }
  if ((print.max_segments || print.reduce_heads) && takes != Arguments::kLengths) {
    refuse(fmt::format("{} goes with --print cu_seqlens_q or cu_seqlens_kv",
                       print.max_segments ? "--max-segments" : "--reduce-heads"));
  }
  if (print.max_segments && print.reduce_heads) {
    refuse("--max-segments counts ids and --reduce-heads reads the mask: give one of them");
  }
}

std::string printed_array(const MaskInfo& info, const PrintOptions& print, Index max_bytes) {
  const PrintedArray& wanted = kArrays[*print.array];
  MaskInfo copy = info;
  const Array array = wanted.read(copy, print, max_bytes);
  const OutputOptions& output = print.output;
  if (!array) {
    if (!output.dest.empty()) refuse(fmt::format("{} is None, which no file holds", wanted.name));
    return "None\n";
  }
  if (output.dest.empty()) return rows_text(*array);
  write_output(*array, output);
  return "";
}

}  // namespace maskctl::app
