#include "maskctl/golden/golden.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "maskctl/base/error.h"
#include "maskctl/base/grouped.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"
#include "maskctl/golden/text_file.h"
#include "maskctl/inspect/count/digest.h"
#include "maskctl/inspect/count/stats.h"
#include "maskctl/inspect/diff/diff.h"
#include "maskctl/io/formats/container.h"
#include "maskctl/io/masks/mask_io.h"
#include "maskctl/pipeline/mask_file.h"
#include "maskctl/render/text/draw.h"

namespace maskctl {
namespace {

using Expect = GoldenEntry::Expect;
using Expected = GoldenEntry::Expected;
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

bool is_file(Expect expect) {
  return expect == Expect::kDrawing || expect == Expect::kStats || expect == Expect::kArray;
}

/// The text that a golden file of a drawing or of statistics should have for this mask.
std::string text_of(const GoldenEntry& entry, const Expected& expected, const Mask& mask) {
  return expected.expect == Expect::kDrawing ? drawing_of(entry, mask) : golden_stats(mask);
}

bool is_runs(const std::string& file) { return file.ends_with(".npz"); }

/// True if the file holds a mask as steps.
bool is_mask_file(const std::string& file) {
  std::error_code failed;
  return std::filesystem::is_regular_file(file, failed) &&
         !mask_file_format(*open_container(file, {})).empty();
}

/// Writes the mask in the form that the golden file has: as steps, runs or cells.
void write_array_file(const std::string& file, const Mask& mask, const std::string& golden) {
  if (is_mask_file(golden)) return write_mask_file(file, mask, {.force = true});
  MaskWriteOptions options;
  options.kind = is_runs(file) ? ArrayKind::kRuns : ArrayKind::kDense;
  options.force = true;
  write_mask(file, mask, options);
}

/// The name of the file for the new version: "dir/mask.new.npy" for "dir/mask.npy".
std::string new_name(const std::string& file) {
  const std::filesystem::path path(file);
  const std::string name = path.stem().string() + ".new" + path.extension().string();
  return (path.parent_path() / name).string();
}

void remove_new(const std::string& file) {
  std::error_code ignored;
  std::filesystem::remove(new_name(file), ignored);
}

/// The file in which an array of this name is.
std::string file_of(const std::string& array) { return parse_source_name(array).path; }

bool may_write(const std::string& file, const GoldenContext& context) {
  return context.folder.empty() || is_below(context.folder, file_of(file));
}

void check_place(const std::string& file, const GoldenContext& context) {
  if (may_write(file, context)) return;
  throw Error(Errc::kInvalidArgument,
              fmt::format("{}: golden files are written below the folder of the manifest, and "
                          "nowhere else; name one there",
                          printable(file)));
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

/// The first line in which the two texts differ, from both of them.
std::string lines_detail(const std::string& want, const std::string& have) {
  std::size_t line = 0, at = 0;
  while (at < want.size() && at < have.size() && want[at] == have[at]) {
    line += want[at++] == '\n';
  }
  return fmt::format("line {}\n  golden {}\n  now    {}\n", line + 1, line_at(want, line),
                     line_at(have, line));
}

constexpr std::size_t kDiffLines = 3;  // lines of diff_detail(): counts, first cell, cause

/// What `diff` says about the two masks, and a drawing of the difference.
std::string diff_detail(const Mask& want, const Mask& have, const MaskDiff& found) {
  std::string out = fmt::format("{} only in the golden mask (A), {} only in this one (B)\n",
                                counted(found.only_a, "cell"), grouped(found.only_b));
  out += fmt::format("first: {}: open in {} only\n", cell_text(*found.first),
                     found.first_in_a ? "A" : "B");
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

/// A result that says that the mask differs. Its cause is the first `cause_lines` lines of
/// `detail`.
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

GoldenResult check_text(const GoldenEntry& entry, const Expected& expected, const Mask& mask,
                        bool write_new) {
  const std::string have = text_of(entry, expected, mask);
  const std::string want = read_text_file(expected.value);
  if (have == want) return {};
  if (write_new) write_text_file(new_name(expected.value), have);
  return differs(fmt::format("{} differs", expected.value), lines_detail(want, have));
}

/// Compares the mask with the wanted one: passed if they are equal, else the result says how they
/// differ.
GoldenResult compared(const std::string& message, const Mask& want, const Mask& mask) {
  if (!same_shape(want, mask)) {
    return differs(message,
                   fmt::format("golden {}\nnow    {}\n", shape_text(want), shape_text(mask)));
  }
  const MaskDiff found = diff(want, mask);
  if (found.equal()) return {};
  return differs(message, diff_detail(want, mask, found), kDiffLines);
}

/// The mask of which the digest was taken, if its cells are recorded. Throws if they do not match
/// the digest.
std::optional<Mask> mask_of_digest(const GoldenRecord& record, const std::string& digest) {
  std::optional<Mask> out = recorded_mask(record);
  if (out && content_digest(*out) != digest) {
    throw Error(Errc::kFormat, "is of another mask; golden update writes it anew");
  }
  return out;
}

/// Text that compares the recorded shape and count with those of the mask, for records without
/// cells.
std::string shape_and_count(const GoldenRecord& was, const Mask& mask) {
  const auto& [batch, heads, queries, keys] = was.shape;
  return fmt::format(
      "golden [B {}, H {}, Q {}, K {}], {} open\nnow    {}, {} open\n"
      "the cells are not kept: expect = {{ array = \"FILE.npz\" }} keeps them\n",
      batch, heads, queries, keys, counted(was.open, "cell"), shape_text(mask),
      counted(mask.count(), "cell"));
}

GoldenResult check_digest(const GoldenEntry& entry, const Expected& expected, const Mask& mask) {
  const std::string have = content_digest(mask);
  if (have == expected.value) return {};
  const std::string message = "the content differs from its sha256";
  std::string digests = fmt::format("golden {}\nnow    {}\n",
                                    expected.value.empty() ? "(none)" : expected.value, have);
  if (!entry.was || expected.value.empty()) {
    return differs(message, digests + fmt::format("mask   {}, {} open\n", shape_text(mask),
                                                  counted(mask.count(), "cell")));
  }
  try {
    const auto want = mask_of_digest(*entry.was, expected.value);
    return want ? compared(message, *want, mask)
                : differs(message, shape_and_count(*entry.was, mask), 2);
  } catch (const Error& error) {
    if (error.code() == Errc::kCancelled) throw;
    return differs(message, fmt::format("key 'was' {}\n", error.what()) + digests);
  }
}

GoldenResult check_array(const Expected& expected, const Mask& mask, const GoldenContext& context,
                         bool write_new) {
  const GoldenResult out =
      compared(fmt::format("{} differs", expected.value), context.load_array(expected.value), mask);
  const bool passed = out.status == Status::kPassed;
  if (!passed && write_new) write_array_file(new_name(expected.value), mask, expected.value);
  return out;
}

GoldenResult check_expectations(const GoldenEntry& entry, const Expected& expected,
                                const Mask& mask, const GoldenContext& context) {
  std::string lines;
  Index failed = 0;
  for (const ExpectationResult& one : context.expectations(entry, mask, expected.holds)) {
    if (one.holds) continue;
    ++failed;
    lines += fmt::format("{}: {}{}{}\n", one.text, count_text(one),
                         one.first ? ", the first at " + cell_text(*one.first) : "",
                         one.detail.empty() ? "" : ", " + one.detail);
  }
  if (failed == 0) return {};
  return differs(fmt::format("{} of {} expectations do not hold", failed, expected.holds.size()),
                 lines);
}

GoldenResult check_file(const GoldenEntry& entry, const Expected& expected, const Mask& mask,
                        const GoldenContext& context) {
  const std::string file =
      expected.expect == Expect::kArray ? file_of(expected.value) : expected.value;
  if (!file_exists(file)) {
    return differs(fmt::format("{} is missing; `maskctl golden update` writes it", expected.value),
                   "");
  }
  const bool write_new = context.write_new && may_write(new_name(expected.value), context);
  const GoldenResult out = expected.expect == Expect::kArray
                               ? check_array(expected, mask, context, write_new)
                               : check_text(entry, expected, mask, write_new);
  if (out.status == Status::kPassed && write_new) remove_new(expected.value);
  return out;
}

GoldenResult check_one(const GoldenEntry& entry, const Expected& expected, const Mask& mask,
                       const GoldenContext& context) {
  if (expected.expect == Expect::kVerdict) return context.verdict(entry);
  if (expected.expect == Expect::kSha256) return check_digest(entry, expected, mask);
  if (expected.expect == Expect::kHolds) return check_expectations(entry, expected, mask, context);
  return check_file(entry, expected, mask, context);
}

void append(std::string& text, const std::string& more) {
  if (!text.empty() && !more.empty()) text += "; ";
  text += more;
}

/// The mask of the entry. If the entry only has a verdict about a kernel, an empty mask, because
/// context.verdict reads the mask itself.
Mask mask_of(const GoldenEntry& entry, const GoldenContext& context) {
  const bool judged_only = entry.expected.size() == 1 && entry.find(Expect::kVerdict);
  return judged_only ? Mask() : context.load(entry);
}

GoldenResult checked(const GoldenEntry& entry, const Mask& mask, const GoldenContext& context) {
  GoldenResult out;
  for (const Expected& expected : entry.expected) {
    const GoldenResult one = check_one(entry, expected, mask, context);
    out.status = std::max(out.status, one.status);
    append(out.message, one.message);
    append(out.cause, one.cause);
    out.detail += one.detail;
  }
  return out;
}

/// False if the entry has a digest, but its record is missing or is not that of the mask.
bool is_recorded(const GoldenEntry& entry, const Mask& mask) {
  const Expected* digest = entry.find(Expect::kSha256);
  if (!digest) return true;
  if (!entry.was || entry.was->open != mask.count()) return false;
  try {
    const auto was = recorded_mask(*entry.was);
    return !was || (same_shape(*was, mask) && differing_cells(*was, mask) == 0);
  } catch (const Error& error) {
    if (error.code() == Errc::kCancelled) throw;
    return false;
  }
}

template <typename F>
GoldenResult or_error(const GoldenContext& context, const F& check) {
  try {
    return check();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const Error& error) {
    return {Status::kError, context.message ? context.message(error) : error.what(), "", ""};
  } catch (const std::exception& error) {
    return {Status::kError, error.what(), "", ""};
  }
}

}  // namespace

GoldenResult check_golden(const GoldenEntry& entry, const GoldenContext& context) {
  return or_error(context, [&] { return checked(entry, mask_of(entry, context), context); });
}

bool is_outdated(const GoldenEntry& entry, const GoldenContext& context) {
  GoldenContext quiet = context;
  quiet.write_new = false;
  const Mask mask = mask_of(entry, context);
  bool out = !is_recorded(entry, mask);
  for (const Expected& expected : entry.expected) {
    if (is_file(expected.expect)) check_place(expected.value, context);
    const GoldenResult now =
        or_error(context, [&] { return check_one(entry, expected, mask, quiet); });
    if (now.status == Status::kPassed) continue;
    if (expected.expect == Expect::kHolds || expected.expect == Expect::kVerdict) {
      throw Error(Errc::kInvalidArgument,
                  fmt::format("'{}': {}; update writes no expectations: change the source or the "
                              "manifest",
                              entry.name, now.message));
    }
    out = true;
  }
  return out;
}

std::optional<GoldenValue> update_golden(const GoldenEntry& entry, const GoldenContext& context) {
  const Mask mask = mask_of(entry, context);
  for (const Expected& expected : entry.expected) {
    if (!is_file(expected.expect)) continue;
    check_place(expected.value, context);
    make_folder_of(expected.value);
    if (expected.expect == Expect::kArray) {
      write_array_file(expected.value, mask, expected.value);
    } else {
      write_text_file(expected.value, text_of(entry, expected, mask));
    }
    remove_new(expected.value);
  }
  if (!entry.find(Expect::kSha256)) return std::nullopt;
  return GoldenValue{content_digest(mask), record_of(mask)};
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
