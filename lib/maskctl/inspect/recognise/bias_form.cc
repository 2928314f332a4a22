#include "maskctl/inspect/recognise/bias_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
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

  /// Calls f(q, k, value) for each cell that is not closed.
  template <typename F>
  void each_open(const F& f) const {
    for (Index q = 0; q < queries; ++q) {
      for (Index k = 0; k < keys; ++k) {
        const double value = values[as_size(q * keys + k)];
        if (value > kAlwaysCloses) f(q, k, value);
      }
    }
  }

  bool near(double a, double b) const {
    return std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b));
  }

  /// Returns the slope for which the number in every open cell is slope * variable(q, k); NaN if
  /// there is none.
  template <typename F>
  double slope(const F& variable) const {
    double value_sum = 0;
    double farthest = 0;
    each_open([&](Index q, Index k, double value) {
      const double at = variable(q, k);
      if (std::abs(at) <= std::abs(farthest)) return;
      farthest = at;
      value_sum = value;
    });
    if (farthest == 0) return std::numeric_limits<double>::quiet_NaN();
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

/// True if the open cells contain no other numbers than 0 and `least`.
bool holds_two(const Cells& cells, double least) {
  bool out = least < 0;
  cells.each_open([&](Index, Index, double value) { out &= value == 0 || value == least; });
  return out;
}

BiasPlane plane_of(const Cells& cells) {
  BiasPlane out;
  bool first = true;
  cells.each_open([&](Index, Index, double value) {
    out.least = first ? value : std::min(out.least, value);
    out.largest = first ? value : std::max(out.largest, value);
    first = false;
  });
  if (out.least == 0 && out.largest == 0) return out;
  const auto distance = [](Index q, Index k) { return static_cast<double>(std::abs(k - q)); };
  const auto relative = [](Index q, Index k) { return static_cast<double>(k - q); };
  const auto by_key = [](Index, Index k) { return static_cast<double>(k); };
  out.form = Form::kDistance;
  if (!std::isnan(out.slope = cells.slope(distance))) return out;
  out.form = Form::kRelative;
  if (!std::isnan(out.slope = cells.slope(relative))) return out;
  out.form = Form::kByKey;
  if (!std::isnan(out.slope = cells.slope(by_key))) return out;
  out.slope = 0;
  out.form = Form::kTwo;
  if (out.largest == 0 && holds_two(cells, out.least)) return out;
  out.numbers = cells.table();
  out.form = out.numbers > 0 ? Form::kTable : Form::kIrregular;
  return out;
}

void count_closed(const Cells& cells, BiasForm& out) {
  for (const double value : cells.values) {
    if (!(value <= kAlwaysCloses)) continue;
    ++out.closed_cells;
    const bool inf = std::isinf(value);
    out.closed.add({.inf = inf, .min = !inf, .nearest = value, .farthest = value});
  }
}

/// One line of text about all planes of the same form.
std::string words(Form form, const std::vector<double>& slopes, const BiasPlane& example,
                  Index count, Index planes) {
  const std::string heads = count == planes ? "" : fmt::format(" ({} of {} heads)", count, planes);
  std::vector<std::string> slope_texts;
  for (const double slope : slopes) slope_texts.push_back(fmt::format("{:.6g}", slope));
  switch (form) {
    case Form::kZero:
      return fmt::format("nothing is added where it is open{}", heads);
    case Form::kDistance:
      return fmt::format("ALiBi{}: -m * |key - query|, slopes m {}", heads,
                         joined(slope_texts, " "));
    case Form::kRelative:
      return fmt::format("ALiBi{}: m * (key - query), slopes m {}", heads,
                         joined(slope_texts, " "));
    case Form::kByKey:
      return fmt::format("ALiBi by key{}: m * key, slopes m {}", heads, joined(slope_texts, " "));
    case Form::kTwo:
      return fmt::format(
          "0 and {:.6g} only{}: a mask that closes with {:.6g}, as Swin's with -100, or a penalty",
          example.least, heads, example.least);
    case Form::kTable:
      return fmt::format(
          "a table of relative positions{}, as T5's buckets: {} numbers from {:.6g} to {:.6g} by "
          "key - query",
          heads, example.numbers, example.least, example.largest);
    case Form::kIrregular:
      break;
  }
  return fmt::format("numbers from {:.6g} to {:.6g} that follow neither distance nor key{}",
                     example.least, example.largest, heads);
}

}  // namespace

BiasForm bias_form(const Tensor& bias) {
  if (!is_floating(bias.dtype())) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("a bias is floats, not {}", name(bias.dtype())));
  }
  const std::vector<Index> shape = dense_shape(bias.shape());
  BiasForm out;
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
  constexpr std::size_t kMostSlopes = 16;
  std::vector<std::string> lines;
  for (int f = 0; f <= static_cast<int>(Form::kIrregular); ++f) {
    std::vector<double> slopes;
    BiasPlane example;
    Index count = 0;
    for (const BiasPlane& plane : form.planes) {
      if (static_cast<int>(plane.form) != f) continue;
      const double slope = plane.form == Form::kDistance ? -plane.slope : plane.slope;
      const bool known = std::ranges::find(slopes, slope) != slopes.end();
      if (!known && slopes.size() < kMostSlopes) slopes.push_back(slope);
      example.numbers = std::max(example.numbers, plane.numbers);
      example.least = count == 0 ? plane.least : std::min(example.least, plane.least);
      example.largest = count == 0 ? plane.largest : std::max(example.largest, plane.largest);
      ++count;
    }
    if (count == 0) continue;
    lines.push_back(words(static_cast<Form>(f), slopes, example, count, std::ssize(form.planes)));
  }
  return lines;
}

}  // namespace maskctl
