#include "maskctl/inspect/recognise/bias_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/base/ranges.h"
#include "maskctl/base/text.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

using Form = BiasPlane::Form;

/// The relative tolerance for numbers of this dtype: the rounding of a number and of the slope, and
/// at least 2^-21 (float64: 2^-44) for numbers that were computed in this dtype.
double precision(DType dtype) {
  return std::max(epsilon(dtype), dtype == DType::kFloat64 ? 0x1p-44 : 0x1p-21);
}

/// The bias of one head as numbers, row after row.
struct Cells {
  Index queries, keys;
  double tolerance;
  std::vector<double> values;

  /// Calls f(q, k, value) for each cell that is neither closed nor inf nor NaN.
  template <typename F>
  void each_open(const F& f) const {
    for (Index q = 0; q < queries; ++q) {
      for (Index k = 0; k < keys; ++k) {
        const double value = values[as_size(q * keys + k)];
        if (value > kAlwaysCloses && !std::isinf(value)) f(q, k, value);
      }
    }
  }

  bool near(double a, double b) const {
    return std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b));
  }

  /// Returns the slope for which the number in every open cell is slope * variable(q, k); NaN if
  /// there is none, and if the variable has one size alone, 0 aside: any number would then give
  /// a slope.
  template <typename F>
  double slope(const F& variable) const {
    double value_sum = 0;
    double farthest = 0, nearest = 0;
    each_open([&](Index q, Index k, double value) {
      const double at = variable(q, k);
      if (at != 0 && (nearest == 0 || std::abs(at) < std::abs(nearest))) nearest = at;
      if (std::abs(at) <= std::abs(farthest)) return;
      farthest = at;
      value_sum = value;
    });
    if (std::abs(farthest) == std::abs(nearest)) return std::numeric_limits<double>::quiet_NaN();
    const double found = value_sum / farthest;
    bool holds = true;
    each_open(
        [&](Index q, Index k, double value) { holds &= near(value, found * variable(q, k)); });
    return holds ? found : std::numeric_limits<double>::quiet_NaN();
  }

  /// If each number depends only on key - query, how many different ones there are; otherwise 0.
  Index table() const {
    std::vector<double> by_distance(as_size(queries + keys),
                                    std::numeric_limits<double>::quiet_NaN());
    bool holds = true;
    each_open([&](Index q, Index k, double value) {
      double& entry = by_distance[as_size(k - q + queries)];
      if (std::isnan(entry)) entry = value;
      holds &= entry == value;
    });
    if (!holds) return 0;
    std::set<double> numbers;
    for (const double number : by_distance) {
      if (!std::isnan(number)) numbers.insert(number);
    }
    return std::ssize(numbers);
  }
};

/// A bias this far below another reduces a weight to less than a millionth, so it may mean closed.
constexpr double kMayClose = -14;
constexpr std::size_t kMostParts = 4, kMostPartRegions = 4;

struct RangesBefore {
  bool operator()(const std::vector<Range>& a, const std::vector<Range>& b) const {
    return std::ranges::lexicographical_compare(a, b, {}, ends, ends);
  }
  static std::pair<Index, Index> ends(const Range& range) { return {range.begin, range.end}; }
};

/// The numbers other than 0 in the open cells; nothing if there are more than kMostParts.
std::optional<std::set<double>> few_numbers(const Cells& cells) {
  std::set<double> out;
  cells.each_open([&](Index, Index, double value) {
    if (value != 0 && out.size() <= kMostParts) out.insert(value);
  });
  return out.size() <= kMostParts ? std::optional(std::move(out)) : std::nullopt;
}

/// The cells that hold a number, as queries with equal keys; nothing if many of these differ.
std::optional<BiasPart> part_of(const Cells& cells, double value) {
  BiasPart out{value, 0, {}};
  std::map<std::vector<Range>, std::vector<Range>, RangesBefore> queries_of;  // by their keys
  for (Index q = 0; q < cells.queries; ++q) {
    std::vector<Range> keys;
    for (Index k = 0; k < cells.keys; ++k) {
      if (cells.values[as_size(q * cells.keys + k)] != value) continue;
      append_range(keys, {k, k + 1});
      ++out.cells;
    }
    if (keys.empty()) continue;
    append_range(queries_of[keys], {q, q + 1});
    if (queries_of.size() > kMostPartRegions) return std::nullopt;
  }
  std::vector<std::pair<std::vector<Range>, std::vector<Range>>> places;  // queries, keys
  for (const auto& [keys, queries] : queries_of) places.emplace_back(queries, keys);
  std::ranges::sort(places, {}, [](const auto& place) { return place.first.front().begin; });
  for (const auto& [queries, keys] : places) {
    if (queries.size() + keys.size() > 2 * kMostPartRegions) return std::nullopt;
    if (!out.where.empty()) out.where += "; ";
    out.where +=
        fmt::format("{}, {}", range_words(queries, "query", "queries"), range_words(keys, "key"));
  }
  return out;
}

/// Describes a bias of 0 and few other numbers; false if there are many, or many regions.
bool has_parts(const Cells& cells, BiasPlane& out) {
  const auto numbers = few_numbers(cells);
  if (!numbers) return false;
  if (out.largest == 0 && numbers->size() == 1 && out.least <= kMayClose) {
    out.form = Form::kTwo;
    return true;
  }
  for (const double number : *numbers) {
    auto part = part_of(cells, number);
    if (!part) {
      out.parts.clear();
      return false;
    }
    out.parts.push_back(std::move(*part));
  }
  out.form = Form::kParts;
  return true;
}

/// The keys at which query 0 may stand: key 0, the key with which the last query stands at the last
/// key, and those at which its bias is 0.
std::vector<Index> likely_shifts(const Cells& cells) {
  constexpr std::size_t kMostShifts = 8;
  std::vector<Index> out{0};
  if (cells.keys > cells.queries) out.push_back(cells.keys - cells.queries);
  cells.each_open([&](Index q, Index k, double value) {
    const bool known = std::ranges::find(out, k) != out.end();
    if (q == 0 && value == 0 && !known && out.size() < kMostShifts) out.push_back(k);
  });
  return out;
}

/// Sets the form to slopes by distance or by key; false if the numbers follow neither.
bool has_slope(const Cells& cells, BiasPlane& out) {
  const auto fits = [&](Form form, Index shift, const auto& variable) {
    const double slope = cells.slope(variable);
    // For a single query, do not report a slope that grows with the distance: it is a slope by key,
    // counted from key 0.
    const bool single = cells.queries == 1 && form == Form::kDistance;
    if (std::isnan(slope) || (single && slope > 0)) return false;
    out.form = form, out.slope = slope, out.shift = shift;
    return true;
  };
  std::vector<Index> shifts = likely_shifts(cells);
  // A single query with few keys is more likely at the position of the last key than of the first.
  if (cells.queries == 1) std::ranges::reverse(shifts);
  for (const Index shift : shifts) {
    const auto distance = [shift](Index q, Index k) {
      return static_cast<double>(std::abs(k - q - shift));
    };
    if (fits(Form::kDistance, shift, distance)) return true;
  }
  const auto by_key = [](Index, Index k) { return static_cast<double>(k); };
  if (cells.queries == 1) return fits(Form::kByKey, 0, by_key);
  for (const Index shift : shifts) {
    const auto relative = [shift](Index q, Index k) { return static_cast<double>(k - q - shift); };
    if (fits(Form::kRelative, shift, relative)) return true;
  }
  return fits(Form::kByKey, 0, by_key);
}

BiasPlane plane_of(const Cells& cells) {
  BiasPlane out;
  bool first = true;
  cells.each_open([&](Index, Index, double value) {
    out.least = first ? value : std::min(out.least, value);
    out.largest = first ? value : std::max(out.largest, value);
    first = false;
  });
  out.largest += 0.0;  // -0 is 0
  if (out.least == 0 && out.largest == 0) return out;
  if (has_slope(cells, out) || has_parts(cells, out)) return out;
  out.numbers = cells.table();
  constexpr Form kForms[] = {Form::kIrregular, Form::kOne, Form::kPair};
  out.form = out.numbers < 3 ? kForms[out.numbers] : Form::kTable;
  return out;
}

void count_closed(const Cells& cells, BiasForm& out) {
  for (const double value : cells.values) {
    out.nan_cells += std::isnan(value);
    out.inf_cells += std::isinf(value) && value > 0;
    if (!(value <= kAlwaysCloses)) continue;
    ++out.closed_cells;
    const bool inf = std::isinf(value);
    out.closed.add({.inf = inf, .min = !inf, .nearest = value, .farthest = value});
  }
}

/// Planes of the same form, which one line of text describes.
struct Alike {
  BiasPlane example;  // its numbers span those of all planes
  std::vector<std::pair<double, std::vector<Range>>> slopes;  // with their planes, in their order
  Index count = 0;
};

/// "0.5 0.25 (heads 1, 3)"; heads are named where several of a single batch entry share a slope.
std::string slopes_text(const Alike& alike, const BiasForm& form) {
  constexpr std::size_t kMostSlopes = 16;
  const bool single = form.heads == std::ssize(form.planes);
  std::vector<std::string> out;
  for (const auto& [slope, planes] : alike.slopes) {
    if (out.size() == kMostSlopes) break;
    const bool shared = single && (planes.size() > 1 || planes.front().size() > 1);
    out.push_back(fmt::format("{:.6g}", slope));
    if (shared) out.back() += fmt::format(" ({})", range_words(planes, "head"));
  }
  return joined(out, " ");
}

/// "-1.20397 (unnormalised weights times 0.3) in queries 0-27, keys 28-35".
std::string part_words(const BiasPart& part) {
  return fmt::format("{:.6g} (unnormalised weights times {:.3g}) in {}", part.value,
                     std::exp(part.value), part.where);
}

std::string words(const Alike& alike, const BiasForm& form) {
  const BiasPlane& example = alike.example;
  const Index planes = std::ssize(form.planes), queries = form.queries;
  const std::string heads =
      alike.count == planes ? "" : fmt::format(" ({} of {} heads)", alike.count, planes);
  const std::string slopes = slopes_text(alike, form);
  const Index shift = example.shift;
  const std::string at =
      shift == 0 ? ""
                 : fmt::format(" with {} at {}", range_words({0, queries}, "query", "queries"),
                               range_words({shift, shift + queries}, "key"));
  switch (example.form) {
    case Form::kZero:
      return fmt::format("nothing is added where it is open{}", heads);
    case Form::kDistance:
      return fmt::format("ALiBi{}: -m * |key - query|{}, slopes m {}", heads, at, slopes);
    case Form::kRelative:
      return fmt::format("ALiBi{}: m * (key - query){}, slopes m {}", heads, at, slopes);
    case Form::kByKey:
      return fmt::format("ALiBi by key{}: m * key, slopes m {}", heads, slopes);
    case Form::kTwo:
      return fmt::format(
          "0 and {:.6g} only{}: a mask that closes with {:.6g}, as Swin's do with -100, or a "
          "penalty",
          example.least, heads, example.least);
    case Form::kOne:
      return fmt::format("{:.6g} in every open cell{}, which changes no weight", example.least,
                         heads);
    case Form::kPair:
      return fmt::format("{:.6g} and {:.6g} only{}, by key - query", example.least, example.largest,
                         heads);
    case Form::kParts: {
      std::vector<std::string> parts;
      for (const BiasPart& part : example.parts) parts.push_back(part_words(part));
      return fmt::format("{}{}, and 0 elsewhere", joined(parts, "; "), heads);
    }
    case Form::kTable:
      return fmt::format(
          "a table of relative positions{}, as T5's buckets: {} numbers from {:.6g} to {:.6g} by "
          "key - query",
          heads, example.numbers, example.least, example.largest);
    case Form::kIrregular:
      break;
  }
  return fmt::format("numbers from {:.6g} to {:.6g} that are no multiples of distance or key{}",
                     example.least, example.largest, heads);
}

/// Adds plane number n to those that one line describes; false if it takes a line of its own.
bool joins(Alike& alike, const BiasPlane& plane, Index n) {
  BiasPlane& example = alike.example;
  const bool same =
      plane.form == example.form && plane.shift == example.shift && plane.parts == example.parts &&
      ((plane.form != Form::kTwo && plane.form != Form::kOne && plane.form != Form::kPair) ||
       (plane.least == example.least && plane.largest == example.largest));
  if (alike.count > 0 && !same) return false;
  if (alike.count++ == 0) example = plane;
  example.numbers = std::max(example.numbers, plane.numbers);
  example.least = std::min(example.least, plane.least);
  example.largest = std::max(example.largest, plane.largest);
  const double slope = plane.form == Form::kDistance ? -plane.slope : plane.slope;
  auto known =
      std::ranges::find(alike.slopes, slope, &std::pair<double, std::vector<Range>>::first);
  if (known == alike.slopes.end()) known = alike.slopes.insert(known, {slope, {}});
  append_range(known->second, {n, n + 1});
  return true;
}

}  // namespace

BiasForm bias_form(const Tensor& bias) {
  if (!is_floating(bias.dtype())) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("a bias is floats, not {}", name(bias.dtype())));
  }
  const std::vector<Index> shape = dense_shape(bias.shape());
  BiasForm out;
  out.queries = shape[2], out.heads = shape[1];
  const Index cells = shape[2] * shape[3];
  Tensor part(bias.dtype(), {cells});
  for (Index p = 0; p < shape[0] * shape[1]; ++p) {
    const std::size_t bytes = part.bytes().size();
    std::ranges::copy(bias.bytes().subspan(as_size(p) * bytes, bytes), part.bytes().begin());
    const Tensor numbers = astype(part, DType::kFloat64);
    const auto values = numbers.as<double>();
    const Cells head{shape[2], shape[3], precision(bias.dtype()), {values.begin(), values.end()}};
    out.planes.push_back(plane_of(head));
    count_closed(head, out);
  }
  return out;
}

std::vector<std::string> bias_text(const BiasForm& form) {
  constexpr std::size_t kMostLines = 8;
  std::vector<Alike> groups;
  for (Index n = 0; n < std::ssize(form.planes); ++n) {
    const BiasPlane& plane = form.planes[as_size(n)];
    const bool found =
        std::ranges::any_of(groups, [&](Alike& one) { return joins(one, plane, n); });
    if (!found) joins(groups.emplace_back(), plane, n);
  }
  std::ranges::stable_sort(groups, {}, [](const Alike& one) { return one.example.form; });
  std::vector<std::string> lines;
  Index others = 0;
  for (const Alike& one : groups) {
    if (lines.size() < kMostLines) {
      lines.push_back(words(one, form));
    } else {
      others += one.count;
    }
  }
  if (others > 0) lines.push_back(fmt::format("other numbers in {} more heads", others));
  const auto tell = [&lines](const char* what, Index cells) {
    if (cells > 0) lines.push_back(fmt::format("{} in {}", what, counted(cells, "cell")));
  };
  tell("inf", form.inf_cells);
  tell("NaN", form.nan_cells);
  return lines;
}

}  // namespace maskctl
