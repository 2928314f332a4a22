#include "app/cli/commands/info_print.h"

#include <fmt/format.h>

#include "app/cli/parser/groups.h"
#include "app/reports/figures.h"
#include "app/session/save.h"
#include "maskctl/base/error.h"

namespace maskctl::app {
namespace {

bool prints_ids(const PrintOptions& print) {
  return print.array && kPrintedArrays[*print.array].ends_with("_segment_ids");
}
bool prints_lengths(const PrintOptions& print) {
  return print.array && kPrintedArrays[*print.array].starts_with("cu_seqlens");
}

[[noreturn]] void refuse(const std::string& message) {
  throw Error(Errc::kInvalidArgument, "info: " + message);
}

}  // namespace

void declare_print(OptionList& list, PrintOptions& print) {
  list.choice("--print", kPrintedArrays,
              "this array of a MaskInfo and nothing else (--semantics ejkernel)",
              [&print](std::size_t i) { print.array = i; });
  list.flag("--per-head", "ids of the mask of each head (--print q_segment_ids, kv_segment_ids)",
            print.per_head);
  list.integer("--max-segments", 0, "ids that are counted (--print cu_seqlens_q, cu_seqlens_kv)",
               [&print](Index n) { print.max_segments = n; });
  list.choice("--reduce-heads", kHeadReductions,
              "lengths of the mask, its heads made one (--print cu_seqlens_q, cu_seqlens_kv)",
              [&print](std::size_t i) { print.reduce_heads = i; });
  declare_destination(list, print.output, "write what --print says: FILE.npy, FILE.npz:KEY, or -");
}

void check_print(const PrintOptions& print) {
  if (!print.array && !print.output.dest.empty()) refuse("-o goes with --print");
  if (print.per_head && !prints_ids(print)) {
    refuse("--per-head goes with --print q_segment_ids or kv_segment_ids");
  }
  if ((print.max_segments || print.reduce_heads) && !prints_lengths(print)) {
    refuse(fmt::format("{} goes with --print cu_seqlens_q or cu_seqlens_kv",
                       print.max_segments ? "--max-segments" : "--reduce-heads"));
  }
  if (print.max_segments && print.reduce_heads) {
    refuse("--max-segments counts ids and --reduce-heads reads the mask: give one of them");
  }
}

std::string printed_text(const Tensor* array, const PrintOptions& print, const Session& session) {
  const OutputOptions& output = print.output;
  if (!array) {
    if (output.dest.empty()) return "None\n";
    refuse(fmt::format("{} is None, which no file holds", kPrintedArrays[*print.array]));
  }
  if (output.dest.empty()) return rows_text(*array);
  write_output(*array, output, session);
  return "";
}

}  // namespace maskctl::app
