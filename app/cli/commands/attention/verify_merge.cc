// maskctl verify-merge: tests whether partial partial results were merged right.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "app/cli/commands/attention/call.h"
#include "app/cli/commands/command.h"
#include "app/cli/parser/groups.h"
#include "app/cli/parser/values.h"
#include "app/reports/merge_report.h"
#include "app/session/loader.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"
#include "maskctl/io/formats/container.h"
#include "maskctl/verify/merge_verdict.h"

namespace maskctl::app {
namespace {

struct VerifyMergeOptions {
  std::vector<std::string> words;           // FILE or NAME=SOURCE
  std::optional<attention::Layout> layout;  // absent: bthd
  bool base_2 = false;
  bool json = false;
};

constexpr std::string_view kBases[] = {"e", "2"};

void declare(OptionList& list, VerifyMergeOptions& merge) {
  list.operands("NAME=SOURCE", merge.words);
  declare_layout(list, "axes of the outputs: time or heads first (bthd)", merge.layout);
  list.choice("--lse-base", kBases, "base of the logarithm in each lse (e)",
              [&merge](std::size_t base) { merge.base_2 = base == 1; });
  list.json("maskctl.verify-merge/1", merge.json);
}

/// The SOURCE of each array of a merge, by its name: "part0_out", "part0_lse", ..., "out", "lse".
using MergeArrays = std::map<std::string, std::string>;

/// The number and the array of a part: {0, "out"} of "part0_out"; nothing for other names.
std::optional<std::pair<Index, std::string_view>> part_of(std::string_view name) {
  constexpr std::string_view kPart = "part";
  const std::size_t mark = name.find('_');
  if (!name.starts_with(kPart) || mark == name.npos) return {};
  const auto number = number_from<Index>(name.substr(kPart.size(), mark - kPart.size()));
  const std::string_view array = name.substr(mark + 1);
  if (!number || *number < 0 || (array != "out" && array != "lse")) return {};
  return std::pair{*number, array};
}

bool is_name(std::string_view name) { return name == "out" || name == "lse" || part_of(name); }

[[noreturn]] void refuse_name(const std::string& seen) {
  throw Error(
      Errc::kInvalidArgument,
      fmt::format("verify-merge: {}: expected part0_out, part0_lse, part1_out, ..., out and "
                  "lse, or a file that holds arrays of these names",
                  seen));
}

/// Adds the arrays of a container that have such names and are not given already.
void take_arrays(const std::string& path, const Session& session, MergeArrays& arrays) {
  const ReadOptions how{session.settings().max_bytes, session.settings().strict};
  const auto container = open_container(ByteSource(path), how);
  bool any = false;
  for (const std::string& key : container->keys()) {
    const std::string name = key.substr(key.rfind('/') + 1);
    if (!is_name(name)) continue;
    any = true;
    arrays.try_emplace(name, fmt::format("{}:{}", path, key));
  }
  if (!any) refuse_name(fmt::format("{} holds {}", path, printable_list(container->keys())));
}

MergeArrays arrays_of(const VerifyMergeOptions& options, const Session& session) {
  MergeArrays arrays;
  std::vector<std::string> files;
  for (const std::string& word : options.words) {
    const std::size_t mark = word.find('=');
    const std::string name = word.substr(0, mark);
    if (mark != word.npos && is_name(name)) {
      if (arrays.try_emplace(name, word.substr(mark + 1)).second) continue;
      throw Error(Errc::kInvalidArgument, fmt::format("{}: given more than once", name));
    }
    std::error_code failed;
    if (!std::filesystem::is_regular_file(word, failed))
      refuse_name(mark == word.npos ? word + " is no file" : word);
    files.push_back(word);
  }
  for (const std::string& file : files) take_arrays(file, session, arrays);
  return arrays;
}

/// Reads the array of this name, which the merge needs.
Tensor array_of(const MergeArrays& arrays, const std::string& name, Loader& loader) {
  const auto found = arrays.find(name);
  if (found != arrays.end()) return loader.array(found->second);
  throw Error(Errc::kInvalidArgument,
              fmt::format("verify-merge: no {0}; give {0}=SOURCE: parts are numbered from 0, and "
                          "each has an out and an lse",
                          name));
}

attention::MergeCall call_of(const VerifyMergeOptions& options, Session& session) {
  const MergeArrays arrays = arrays_of(options, session);
  Index parts = 2;
  for (const auto& [name, source] : arrays) {
    const auto part = part_of(name);
    if (!part) continue;
    // Parts are numbered from 0, so a number that is not below the number of arrays has a gap
    // before it.
    if (part->first >= static_cast<Index>(arrays.size())) refuse_name(name);
    parts = std::max(parts, part->first + 1);
  }
  const SourceOptions plain;
  Loader loader(plain, session);
  attention::MergeCall call;
  call.layout = options.layout.value_or(attention::Layout::kBthd);
  call.base_2 = options.base_2;
  for (Index p = 0; p < parts; ++p) {
    call.parts.push_back({array_of(arrays, fmt::format("part{}_out", p), loader),
                          array_of(arrays, fmt::format("part{}_lse", p), loader)});
  }
  call.out = array_of(arrays, "out", loader);
  if (arrays.contains("lse")) call.lse = array_of(arrays, "lse", loader);
  return call;
}

Answer run(const VerifyMergeOptions& options, Session& session) {
  const attention::MergeCall call = call_of(options, session);
  const MergeReport report{static_cast<Index>(call.parts.size()), options.base_2,
                           attention::judge_merge(call)};
  const auto verdict = report.judgement.verdict;
  const int status = verdict == attention::MergeVerdict::kRight     ? 0
                     : verdict == attention::MergeVerdict::kUnclear ? 2
                                                                    : 1;
  return answer_in(
      options.json, [&] { return merge_text(report); }, [=] { return merge_json(report); }, status);
}

}  // namespace

extern const Command kVerifyMerge = command<VerifyMergeOptions, declare, run>({
    .name = "verify-merge",
    .group = kJudge,
    .operands = "[FILE] [NAME=SOURCE...]",
    .summary = "proof that partial results were merged right",
    .examples =
        "  maskctl verify-merge merge.npz   with part0_out, part0_lse, part1_out, ..., out\n"
        "  maskctl verify-merge parts.npz out=merged.npy lse=lse.npy --layout bhtd\n"
        "  maskctl verify-merge merge.npz --lse-base 2   where lse are logarithms to base 2\n",
    .negative = "the merged result is not that of its parts",
});

}  // namespace maskctl::app
