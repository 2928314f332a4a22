#include "maskctl/golden/record.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/ranges.h"
#include "maskctl/base/text.h"
#include "maskctl/inspect/count/digest.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/mask/planes/words.h"
#include "maskctl/mask/rows.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/mask/steps/step.h"
#include "maskctl/pipeline/load.h"
#include "maskctl/pipeline/parse/values.h"

namespace maskctl {
namespace {

/// A record lists the rows of a mask only up to this number of rows, and of planes, because records
/// should be small. Longer lists are refused when a record is read.
constexpr Index kMostListed = Index{1} << 14;

std::string plane_name(Index batch, Index head) {
  return fmt::format("batch {}, head {}", batch, head);
}

/// Throws, before anything is allocated, for shapes that no record written here has.
void check_planes(const std::array<Index, 4>& shape, Index most) {
  const auto planes = checked_mul(shape[0], shape[1]);
  if (planes && *planes <= most) return;
  throw Error(Errc::kFormat,
              fmt::format("{} batches of {} heads are too many", shape[0], shape[1]));
}

Mask from_pipeline(const std::array<Index, 4>& shape, const std::string& pipeline) {
  check_planes(shape, Index{1} << 24);
  const Mask open = full_mask(shape[0], shape[1], shape[2], shape[3]);
  return maskctl::apply(open, load_chain(std::span(&pipeline, 1), {}));
}

/// The step, as text, that opens or closes one cell so that it is as in the mask.
std::string cell_step(const Mask& mask, const Cell& cell) {
  const Plane& plane = *mask.plane(cell.batch, cell.head);
  const bool open = plane.count({cell.query, cell.query + 1}, {cell.key, cell.key + 1}) == 1;
  std::string out = fmt::format("{}:q={},k={}", open ? "open" : "close", cell.query, cell.key);
  if (mask.heads() > 1) out = fmt::format("heads:{}{{{}}}", cell.head, out);
  return mask.batch() > 1 ? fmt::format("batch:{}{{{}}}", cell.batch, out) : out;
}

/// A pipeline that gives exactly this mask: the steps that `recognise` finds, and a step for each
/// cell in which those differ. Nothing if there is none, or if it needs arrays.
std::optional<std::string> pipeline_of(const Mask& mask) {
  try {
    const Recognised found = recognise(mask);
    if (found.residue.cells > std::ssize(found.residue.first)) return std::nullopt;
    std::string text = to_text(found.chain);
    for (const Cell& cell : found.residue.first) {
      text += (text.empty() ? "" : " | ") + cell_step(mask, cell);
    }
    if (text.size() > kMostRecorded) return std::nullopt;
    const Mask again =
        from_pipeline({mask.batch(), mask.heads(), mask.queries(), mask.keys()}, text);
    if (differing_cells(mask, again) == 0) return text;
  } catch (const Error& error) {
    // After any other error there is no pipeline to record: its text is too large, or it needs
    // arrays, which have no name here.
    if (error.code() == Errc::kCancelled) throw;
  }
  return std::nullopt;
}

/// Lists the rows of planes as lines of text, until there are too many bytes.
class RowLister {
 public:
  /// Returns false when there are too many bytes.
  bool add(std::string line) {
    bytes_ += line.size();
    lines_.push_back(std::move(line));
    return fits();
  }

  bool add(const Plane& plane) {
    Range same{0, 0};
    std::string keys;
    const auto flush = [&] {
      if (!keys.empty()) add(range_text(same) + ": " + keys);
    };
    for (Index row = 0; row < plane.queries() && fits(); ++row) {
      std::string now = keys_of(plane, row);
      if (now == keys && row > 0) {
        ++same.end;
        continue;
      }
      flush();
      keys = std::move(now);
      same = {row, row + 1};
    }
    flush();
    return fits();
  }

  bool fits() const { return bytes_ <= kMostRecorded; }
  std::vector<std::string> take() { return std::move(lines_); }

 private:
  static std::string keys_of(const Plane& plane, Index row) {
    std::vector<Range> ranges;
    plane.rows({row, row + 1}, [&](Range, const Keys& keys) {
      std::vector<Run> scratch;
      for (const Run& run : as_runs(keys, scratch)) ranges.push_back({run.begin, run.end});
    });
    return ranges.empty() ? "" : ranges_text(ranges);
  }

  std::vector<std::string> lines_;
  std::size_t bytes_ = 0;
};

/// The rows of a mask as text; nothing if they take too many bytes.
std::vector<std::string> rows_of_mask(const Mask& mask) {
  const Index planes = mask.batch() * mask.heads();
  if (mask.queries() > kMostListed || planes > kMostListed) return {};
  RowLister out;
  std::map<std::uint32_t, std::string> listed;
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index h = 0; h < mask.heads(); ++h) {
      const auto [first, fresh] = listed.emplace(mask.index_of(b, h), plane_name(b, h));
      bool fits = planes == 1 ||
                  out.add(plane_name(b, h) + (fresh ? std::string() : " as " + first->second));
      if (fits && fresh) fits = out.add(*mask.plane(b, h));
      if (!fits) return {};
    }
  }
  return out.take();
}

/// Builds a mask from the lines that RowLister writes.
class RowReader {
 public:
  explicit RowReader(const GoldenRecord& record) : record_(record) {
    check_planes(record.shape, kMostListed);
    if (queries() > kMostListed) {
      throw Error(Errc::kFormat, fmt::format("rows of {} queries are too many", queries()));
    }
    planes_.resize(static_cast<std::size_t>(record.shape[0] * record.shape[1]));
    if (planes_.size() == 1) begin(0);
  }

  Mask read() {
    for (const std::string& line : record_.rows) {
      if (line.starts_with("batch ")) {
        head_line(line);
      } else {
        row_line(line);
      }
    }
    finish();
    for (const PlanePtr& plane : planes_) {
      if (!plane) throw Error(Errc::kFormat, "not every batch and head is listed");
    }
    const auto [batch, heads, queries, keys] = record_.shape;
    return Mask::make(batch, heads, queries, keys, [this](Index b, Index h) {
      return planes_[static_cast<std::size_t>(b * record_.shape[1] + h)];
    });
  }

 private:
  [[noreturn]] static void refuse(const std::string& line) {
    throw Error(Errc::kFormat, fmt::format("'{}' is not a row; expected \"3: 0-1+3\", \"batch 0, "
                                           "head 1\" or \"batch 0, head 1 as batch 0, head 0\"",
                                           printable(line)));
  }

  void begin(std::size_t plane) {
    at_ = plane;
    next_row_ = 0;
    runs_.clear();
    offsets_ = {0, 0};  // list 0 is for the rows that see no key
    refs_.assign(static_cast<std::size_t>(record_.shape[2]), RowRef{});
  }

  void finish() {
    if (at_) planes_[*at_] = row_lists(record_.shape[3], runs_, offsets_, refs_);
    at_.reset();
  }

  /// The index of the plane that a text such as "batch 0, head 1" names.
  std::size_t plane_at(std::string_view name, const std::string& line) const {
    const std::size_t comma = name.find(", head ");
    if (!name.starts_with("batch ") || comma == name.npos) refuse(line);
    const auto batch = number_from<Index>(name.substr(6, comma - 6));
    const auto head = number_from<Index>(name.substr(comma + 7));
    const bool inside = batch && head && *batch >= 0 && *batch < record_.shape[0] && *head >= 0 &&
                        *head < record_.shape[1];
    if (!inside) refuse(line);
    return static_cast<std::size_t>(*batch * record_.shape[1] + *head);
  }

  void head_line(const std::string& line) {
    finish();
    const std::string_view text = line;
    const std::size_t as = text.find(" as ");
    const std::size_t plane = plane_at(text.substr(0, as), line);
    if (planes_[plane]) refuse(line);
    if (as == text.npos) return begin(plane);
    const std::size_t other = plane_at(text.substr(as + 4), line);
    if (!planes_[other]) refuse(line);
    planes_[plane] = planes_[other];
  }

  void row_line(const std::string& line) {
    const std::size_t colon = line.find(": ");
    const auto rows = range_from(std::string_view(line).substr(0, colon));
    const bool follows = at_ && colon != line.npos && rows && !rows->empty() &&
                         rows->begin >= next_row_ && rows->end <= queries();
    if (!follows) refuse(line);
    const std::size_t first = runs_.size();
    for (const std::string_view part : split(std::string_view(line).substr(colon + 2), '+')) {
      const auto keys = range_from(part);
      const bool beyond = runs_.size() > first && keys && keys->begin <= runs_.back().end;
      if (!keys || keys->empty() || beyond || keys->begin < 0 || keys->end > record_.shape[3])
        refuse(line);
      runs_.push_back(
          {static_cast<std::int32_t>(keys->begin), static_cast<std::int32_t>(keys->end)});
    }
    offsets_.push_back(std::ssize(runs_));
    const RowRef ref{static_cast<std::uint32_t>(offsets_.size() - 2), 0,
                     static_cast<std::int32_t>(record_.shape[3])};
    for (Index row = rows->begin; row < rows->end; ++row)
      refs_[static_cast<std::size_t>(row)] = ref;
    next_row_ = rows->end;
  }

  Index queries() const { return record_.shape[2]; }

  const GoldenRecord& record_;
  std::vector<PlanePtr> planes_;
  std::optional<std::size_t> at_;  // the plane to which rows belong now
  Index next_row_ = 0;
  std::vector<Run> runs_;
  std::vector<Index> offsets_;
  std::vector<RowRef> refs_;
};

}  // namespace

GoldenRecord record_of(const Mask& mask) {
  GoldenRecord out;
  out.shape = {mask.batch(), mask.heads(), mask.queries(), mask.keys()};
  out.open = mask.count();
  if (mask.cells() == 0) return out;
  out.pipeline = pipeline_of(mask);
  if (!out.pipeline) out.rows = rows_of_mask(mask);
  return out;
}

std::optional<Mask> recorded_mask(const GoldenRecord& record) {
  if (record.pipeline) return from_pipeline(record.shape, *record.pipeline);
  if (record.rows.empty()) return std::nullopt;
  return RowReader(record).read();
}

}  // namespace maskctl
