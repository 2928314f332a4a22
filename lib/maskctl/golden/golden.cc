#include "maskctl/golden/golden.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "maskctl/base/error.h"
#include "maskctl/golden/digest.h"
#include "maskctl/golden/text_file.h"
#include "maskctl/inspect/count/stats.h"
#include "maskctl/inspect/diff/diff.h"
#include "maskctl/io/masks/mask_io.h"
#include "maskctl/render/text/draw.h"

namespace maskctl {
namespace {

using Expect = GoldenEntry::Expect;
using Status = GoldenResult::Status;

constexpr Index kDrawnRows = 64, kDrawnColumns = 120;

DrawOptions drawing_options() {
  DrawOptions out;
  out.style = Style::kAscii;
  out.max_rows = kDrawnRows;
  out.max_columns = kDrawnColumns;
  return out;
}

void check_plane(const GoldenEntry& entry, const Mask& mask) {
  if (entry.batch < mask.batch() && entry.head < mask.heads()) return;
  throw Error(Errc::kInvalidArgument, fmt::format("batch {}, head {} is not in the mask {}",
                                                  entry.batch, entry.head, shape_text(mask)));
}

std::string drawing_of(const GoldenEntry& entry, const Mask& mask) {
  check_plane(entry, mask);
  return draw_text({.panels = {{.plane = mask.plane(entry.batch, entry.head)}}}, drawing_options());
}

/// The content that the golden file of an entry should have.
std::string text_of(const GoldenEntry& entry, const Mask& mask) {
  return entry.expect == Expect::kDrawing ? drawing_of(entry, mask) : golden_stats(mask);
}

bool is_runs(const std::string& file) { return file.ends_with(".npz"); }

void write_array_file(const std::string& file, const Mask& mask) {
  MaskWriteOptions options;
  options.kind = is_runs(file) ? ArrayKind::kRuns : ArrayKind::kDense;
  options.force = true;
  write_mask(file, mask, options);
}

/// Turns "dir/mask.npy" into "dir/mask.new.npy".
std::string new_name(const std::string& file) {
  const std::filesystem::path path(file);
  const std::string name = path.stem().string() + ".new" + path.extension().string();
  return (path.parent_path() / name).string();
}

std::string line_at(const std::string& text, std::size_t number) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < number && begin != std::string::npos; ++i) {
    begin = text.find('\n', begin);
    if (begin != std::string::npos) ++begin;
  }
  if (begin == std::string::npos || begin >= text.size()) return "(end)";
  return text.substr(begin, text.find('\n', begin) - begin);
}

/// Shows the first line that differs, from both texts.
std::string lines_detail(const std::string& want, const std::string& have) {
  std::size_t line = 0, at = 0;
  while (at < want.size() && at < have.size() && want[at] == have[at]) {
    line += want[at++] == '\n';
  }
  return fmt::format("line {}\n  golden {}\n  now    {}\n", line + 1, line_at(want, line),
                     line_at(have, line));
}

std::string diff_detail(const Mask& want, const Mask& have, const MaskDiff& found) {
  std::string out = fmt::format("{} cells only in the golden mask (A), {} only in this one (B)\n",
                                found.only_a, found.only_b);
  if (const auto cause = diff_cause(want, have, found)) {
    out += fmt::format("cause: {}\n", cause->text);
  }
  const auto [batch, head] = std::pair(found.first->batch, found.first->head);
  Panel panel{.plane = want.plane(batch, head), .other = have.plane(batch, head)};
  if (found.planes.size() > 1 || want.batch() * want.heads() > 1) {
    panel.name = fmt::format("batch {}, head {}", batch, head);
  }
  return out + draw_text({.panels = {panel}}, drawing_options());
}

/// The first `cause_lines` lines of `detail` say how it differs.
GoldenResult differs(std::string message, std::string detail, std::size_t cause_lines = 4) {
  std::string cause;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < cause_lines && begin < detail.size(); ++i) {
    const std::size_t end = std::min(detail.find('\n', begin), detail.size());
    const std::size_t first = std::min(detail.find_first_not_of(' ', begin), end);
    cause += (cause.empty() ? "" : "; ") + detail.substr(first, end - first);
    begin = end + 1;
  }
  return {Status::kDiffers, std::move(message), std::move(cause), std::move(detail)};
}

GoldenResult check_text(const GoldenEntry& entry, const Mask& mask, bool write_new) {
  const std::string have = text_of(entry, mask);
  const std::string want = read_text_file(entry.value);
  if (have == want) return {};
  if (write_new) write_text_file(new_name(entry.value), have);
  return differs(fmt::format("{} differs", entry.value), lines_detail(want, have));
}

GoldenResult check_digest(const GoldenEntry& entry, const Mask& mask) {
  const std::string have = content_digest(mask);
  if (have == entry.value) return {};
  return differs("the content differs from its sha256",
                 fmt::format("golden {}\nnow    {}\nmask   {}, {} cells open\n",
                             entry.value.empty() ? "(none)" : entry.value, have, shape_text(mask),
                             mask.count()));
}

GoldenResult check_array(const GoldenEntry& entry, const Mask& mask, const GoldenContext& context) {
  const Mask want = context.load_array(entry.value);
  const bool same_shape = want.batch() == mask.batch() && want.heads() == mask.heads() &&
                          want.queries() == mask.queries() && want.keys() == mask.keys();
  MaskDiff found;
  if (same_shape) found = diff(want, mask);
  if (same_shape && found.equal()) return {};
  if (context.write_new) write_array_file(new_name(entry.value), mask);
  if (!same_shape) {
    return differs(fmt::format("{} differs", entry.value),
                   fmt::format("golden {}\nnow    {}\n", shape_text(want), shape_text(mask)));
  }
  const std::string detail = diff_detail(want, mask, found);
  const bool named = detail.find("\ncause: ") != std::string::npos;
  return differs(fmt::format("{} differs", entry.value), detail, named ? 2 : 1);
}

GoldenResult check_expectations(const GoldenEntry& entry, const Mask& mask,
                                const GoldenContext& context) {
  std::string lines;
  Index failed = 0;
  for (const ExpectationResult& one : context.expectations(entry, mask)) {
    if (one.holds) continue;
    ++failed;
    lines += fmt::format(
        "{}: {} {}{}{}\n", one.text, one.count, one.unit,
        one.first ? fmt::format(", the first at batch {}, head {}, query {}, key {}",
                                one.first->batch, one.first->head, one.first->query, one.first->key)
                  : "",
        one.detail.empty() ? "" : ", " + one.detail);
  }
  if (failed == 0) return {};
  return differs(fmt::format("{} of {} expectations do not hold", failed, entry.holds.size()),
                 lines);
}

GoldenResult checked(const GoldenEntry& entry, const GoldenContext& context) {
  if (entry.expect == Expect::kVerdict) return context.judge(entry);
  const Mask mask = context.load(entry);
  if (entry.expect == Expect::kSha256) return check_digest(entry, mask);
  if (entry.expect == Expect::kHolds) return check_expectations(entry, mask, context);
  if (!file_exists(entry.value)) {
    return differs(fmt::format("{} is missing; `maskctl golden update` writes it", entry.value),
                   "");
  }
  if (entry.expect == Expect::kArray) return check_array(entry, mask, context);
  return check_text(entry, mask, context.write_new);
}

}  // namespace

GoldenResult check_golden(const GoldenEntry& entry, const GoldenContext& context) {
  try {
    return checked(entry, context);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    return {Status::kError, error.what(), "", ""};
  }
}

GoldenUpdate update_golden(const GoldenEntry& entry, const GoldenContext& context) {
  GoldenContext quiet = context;
  quiet.write_new = false;
  GoldenUpdate out;
  const GoldenResult now = check_golden(entry, quiet);
  out.changed = now.status != Status::kPassed;
  if (!out.changed) return out;
  if (entry.expect == Expect::kHolds || entry.expect == Expect::kVerdict) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("'{}': {}; update writes no expectations: change the source or the "
                            "manifest",
                            entry.name, now.message));
  }
  const Mask mask = context.load(entry);
  if (entry.expect != Expect::kSha256) make_folder_of(entry.value);
  if (entry.expect == Expect::kSha256) {
    out.digest = content_digest(mask);
  } else if (entry.expect == Expect::kArray) {
    write_array_file(entry.value, mask);
  } else {
    write_text_file(entry.value, text_of(entry, mask));
  }
  if (entry.expect != Expect::kSha256) {
    std::error_code ignored;
    std::filesystem::remove(new_name(entry.value), ignored);
  }
  return out;
}

std::string golden_stats(const Mask& mask) {
  const PlaneStats total = mask_stats(mask, {}).total;
  return fmt::format(
      "{{\n  \"shape\": [{}, {}, {}, {}],\n  \"open\": {},\n  \"empty_rows\": {},\n"
      "  \"full_rows\": {},\n  \"min_keys\": {},\n  \"median_keys\": {},\n  \"max_keys\": {}\n}}\n",
      mask.batch(), mask.heads(), mask.queries(), mask.keys(), total.open, total.empty_rows,
      total.full_rows, total.min_keys, total.median_keys, total.max_keys);
}

}  // namespace maskctl
