// `info --print`: one array of a MaskInfo, computed as ejkernel computes it.
#pragma once

#include <optional>
#include <string>

#include "app/cli/parser/option_list.h"
#include "app/session/options.h"
#include "maskctl/mask/info/mask_info.h"

namespace maskctl::app {

/// Which array, the arguments of the method that gives it, and where it goes.
struct PrintOptions {
  std::optional<std::size_t> array;  // of the list that --print takes; absent: no --print
  bool per_head = false;
  std::optional<Index> max_segments;
  std::optional<std::size_t> reduce_heads;
  OutputOptions output;
};

void declare_print(OptionList& list, PrintOptions& print);
/// Throws Error(kInvalidArgument) for options that do not go together.
void check_print(const PrintOptions& print);
/// The array as lines, one for each entry of all axes but the last; nothing if it goes to -o.
std::string printed_array(const MaskInfo& info, const PrintOptions& print, Index max_bytes);

}  // namespace maskctl::app
