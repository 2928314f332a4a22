// Judges the lines of an info report by the array that info was given.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "inspect/sentences/bias_said.h"
#include "inspect/sentences/printed_lines.h"

namespace maskctl::test {

/// An array as numbers, and how its numbers are stored.
struct StoredArray {
  std::string name, dtype;
  std::vector<Index> shape;
  std::vector<double> values;

  Index extent(std::size_t from_last) const { return shape[shape.size() - 1 - from_last]; }
};

/// The open cells of an array by the definition of its kind; nothing for kinds not defined here.
inline std::optional<Dense> cells_of_kind(const std::string& kind, const StoredArray& array) {
  const Index rank = std::ssize(array.shape), last = array.extent(0);
  const auto value = [&](Index i) { return array.values[static_cast<std::size_t>(i)]; };
  if (kind == "dense" || kind == "bias") {
    if (rank < 2) return std::nullopt;
    const Index queries = array.extent(1), outer = rank > 2 ? array.extent(2) : 1;
    // [Q,K], [B,Q,K] or [B,H,Q,K]
    const Index heads = rank == 4 ? outer : 1, batch = rank == 4 ? array.shape[0] : outer;
    return twin::make(batch, heads, queries, last, [&](Index b, Index h, Index q, Index k) {
      const double one = value(((b * heads + h) * queries + q) * last + k);
      return kind == "dense" ? one != 0 : one > -9999;
    });
  }
  const Index batch = rank == 1 ? 1 : array.shape[0];
  const bool is_known = kind == "key-padding" || kind == "padding" || kind == "segments";
  if (rank > 2 || !is_known) return std::nullopt;
  return twin::make(batch, 1, last, last, [&](Index b, Index, Index q, Index k) {
    const double of_q = value(b * last + q), of_k = value(b * last + k);
    if (kind == "key-padding") return of_k != 0;
    if (kind == "padding") return of_q != 0 && of_k != 0;
    return of_q == of_k && of_q != -1;
  });
}

/// The ranges of keys, such as "4-5", that no query of a batch entry sees in any head.
inline std::vector<std::string> unseen_runs(const Dense& cells, Index b) {
  std::vector<std::string> out;
  for (Index k = 0, begin = -1; k <= cells.k; ++k) {
    bool seen = k == cells.k;
    for (Index h = 0; h < cells.h && !seen; ++h)
      for (Index q = 0; q < cells.q && !seen; ++q) seen = cells.get(b, h, q, k);
    if (!seen && begin < 0) begin = k;
    if (!seen || begin < 0) continue;
    const bool one = begin == k - 1;
    out.push_back(std::to_string(begin) + (one ? "" : "-" + std::to_string(k - 1)));
    begin = -1;
  }
  return out;
}

/// Judges "keys 4-5 (batches 0, 2), key 5, 7 and 3 more (batch 3), and 2 more batches".
inline bool are_unseen(const std::string& text, const Dense& cells) {
  static const std::regex group(
      R"(keys? ([0-9, -]+?)(?: and (\d+) more)?(?: \(batch(?:es)? ([0-9, -]+?)( and \d+ more)?\))?)"
      R"((?:, (?=key)|$|(?=, and \d+ more batches)))");
  static const std::regex rest(R"(, and (\d+) more batches$)"), range(R"((\d+)(?:-(\d+))?)");
  std::set<Index> told;
  bool all_told = true;
  for (std::sregex_iterator at(text.begin(), text.end(), group), end; at != end; ++at) {
    const std::smatch& m = *at;
    const std::string said = m[1],
                      batches = m[3].matched ? m[3].str() : "0-" + std::to_string(cells.b - 1);
    all_told = all_told && !m[4].matched;
    for (std::sregex_iterator one(batches.begin(), batches.end(), range); one != end; ++one) {
      const Index first = std::stoll((*one)[1]);
      const Index last = (*one)[2].matched ? std::stoll((*one)[2]) : first;
      for (Index b = first; b <= last; ++b) {
        if (b >= cells.b || !told.insert(b).second) return false;
        const std::vector<std::string> runs = unseen_runs(cells, b);
        const std::size_t more = m[2].matched ? std::stoul(m[2]) : 0;
        if (more >= runs.size()) return false;
        std::string listed;
        for (std::size_t i = 0; i < runs.size() - more; ++i)
          listed += (i > 0 ? ", " : "") + runs[i];
        if (listed != said) return false;
      }
    }
  }
  Index others = 0;
  for (Index b = 0; b < cells.b; ++b)
    others += told.count(b) == 0 && !unseen_runs(cells, b).empty();
  std::smatch m;
  const Index more = std::regex_search(text, m, rest) ? std::stoll(m[1]) : 0;
  return !told.empty() && (all_told ? others == more : others >= more);
}

class InfoLines {
 public:
  explicit InfoLines(StoredArray array) : array_(std::move(array)) {}

  /// Returns what is false about a report; "" if nothing.
  std::string wrong(const std::string& report) {
    std::smatch kind;
    static const std::regex kind_line(R"(\n  kind      (\S+)\n)");
    kind_ = std::regex_search(report, kind, kind_line) ? kind[1].str() : "";
    cells_ = cells_of_kind(kind_, array_);
    heads_told_ = 0;
    const std::string wrong = wrong_line(report, laws());
    if (!wrong.empty() || heads_told_ == 0) return wrong;
    return heads_told_ == as_bias().heads ? "" : "heads are left out, or told twice";
  }

 private:
  std::vector<LineLaw> laws() {
    std::vector<LineLaw> out{
        {array_.name, [](const auto&) { return true; }},
        {R"(  array     (\w+) \(([0-9, ]*)\))",
         [this](const auto& m) { return m[1] == array_.dtype && has_shape(m[2]); }},
        {R"(  closed by (.*))", [this](const auto& m) { return closes(m[1]); }},
    };
    const std::vector<LineLaw> of = cells_ ? laws_of_masks() : laws_of_arrays();
    out.insert(out.end(), of.begin(), of.end());
    return out;
  }

  std::vector<LineLaw> laws_of_masks() const {
    const Dense& cells = *cells_;
    return {
        {R"(  shape     \[B (\d+), H (\d+), Q (\d+), K (\d+)\])",
         [&cells](const auto& m) {
           return cell_said(m, 1) == Cell{cells.b, cells.h, cells.q, cells.k};
         }},
        {R"(  kind      (\S+))", [this](const auto& m) { return m[1] == kind_; }},
        // Always true: all cells are counted with 1 (0 in a bias) as open.
        {R"(  polarity  1 = may attend)", [](const auto&) { return true; }},
        {R"(  density   (.*): ([0-9,]+) of ([0-9,]+) cells? open)",
         [&cells](const auto& m) {
           const Index open = open_cells(cells), all = std::ssize(cells.cells);
           return number_said(m[2]) == open && number_said(m[3]) == all &&
                  is_percent(m[1], open, all);
         }},
        {"  unseen    not looked for, in so many cells",
         [&cells](const auto&) { return cells.q * cells.k > Index{1} << 34; }},
        {R"(  unseen    no query sees (.*))",
         [&cells](const auto& m) { return are_unseen(m[1], cells); }},
        {R"(  heads     (\d+) in all batches, (\d+) distinct)",
         [&cells](const auto& m) {
           std::set<std::vector<std::uint8_t>> planes;
           for (Index b = 0; b < cells.b; ++b)
             for (Index h = 0; h < cells.h; ++h) planes.insert(twin::plane_of(cells, b, h).cells);
           return number_said(m[1]) == cells.b * cells.h && number_said(m[2]) == std::ssize(planes);
         }},
        // Not judged, because the line is about memory and not about cells.
        {R"(  memory    [0-9.]+ [KMGTPE]?i?B as [a-z +,-]+)", [](const auto&) { return true; }},
    };
  }

  std::vector<LineLaw> laws_of_arrays() {
    return {
        {R"(  kind      fits (.*); say which with --as)",
         [this](const auto& m) { return all_fit(m[1]); }},
        {R"(  kind      not a mask: (.*))", [this](const auto& m) { return is_no_mask(m[1]); }},
        {R"(  adds      (NaN|inf) in (\d+) cells?)",
         [this](const auto& m) {
           const bool nan = m[1] == "NaN";
           return number_said(m[2]) == std::ranges::count_if(array_.values, [nan](double value) {
                    return nan ? std::isnan(value) : std::isinf(value) && value > 0;
                  });
         }},
        {R"(  adds      (.*))",
         [this](const auto& m) {
           const Bias bias = as_bias();
           const Truth truth = truth_of(m[1], bias);
           heads_told_ += truth.said;
           return truth.said > 0 && truth.true_in >= truth.said;
         }},
    };
  }

  bool has_shape(const std::string& text) const {
    std::vector<Index> said;
    static const std::regex one(R"(\d+)");
    for (std::sregex_iterator i(text.begin(), text.end(), one), end; i != end; ++i) {
      said.push_back(number_said(i->str()));
    }
    return said == array_.shape;
  }

  Bias as_bias() const {
    const auto& shape = array_.shape;
    const Index planes = std::ssize(array_.values) / (array_.extent(0) * array_.extent(1));
    return {shape.size() == 4 ? planes : std::max<Index>(planes, 1), array_.extent(1),
            array_.extent(0), array_.values, shape.size() == 4 ? shape[0] == 1 : planes <= 1};
  }

  /// "-inf", "-3.40282347e+38 (the minimum of float32)", "numbers from -1e9 to -1e4".
  bool closes(const std::string& text) const {
    bool inf = false;
    double nearest = -INFINITY, farthest = 0;
    for (const double value : array_.values) {
      if (value > -9999) continue;
      inf = inf || std::isinf(value);
      if (std::isinf(value)) continue;
      nearest = std::max(nearest, value), farthest = std::min(farthest, value);
    }
    const auto like = [](const std::string& said, double value) {
      return std::abs(std::stod(said) - value) <= 1e-5 * std::abs(value);
    };
    std::smatch m;
    if (!std::regex_match(
            text, m,
            compiled(
                R"((-inf)?(?: and )?(?:numbers from (-[0-9.e+]+)(?: \([^)]*\))? to (-[0-9.e+]+)(?: \([^)]*\))?|(-[0-9.e+]+)(?: \([^)]*\))?)?)"))) {
      return false;
    }
    if (m[1].matched != inf) return false;
    if (m[2].matched) return nearest != farthest && like(m[2], farthest) && like(m[3], nearest);
    return m[4].matched ? nearest == farthest && like(m[4], nearest) : std::isinf(nearest);
  }

  /// Judges a list of kinds: it must have several, and the array must be readable as each.
  bool all_fit(const std::string& list) const {
    static const std::regex one(R"([a-z_-]+)");
    Index kinds = 0;
    for (std::sregex_iterator i(list.begin(), list.end(), one), end; i != end; ++i, ++kinds) {
      const std::string kind = i->str();
      static const std::set<std::string> known{"dense",    "padding",    "key-padding",
                                               "segments", "cu_seqlens", "pairs"};
      if (!known.contains(kind)) return false;
      const bool flags =
          std::ranges::all_of(array_.values, [](double v) { return v == 0 || v == 1; });
      const bool grows = std::ranges::is_sorted(array_.values);
      if (kind == "dense" && (!flags || array_.shape.size() < 2)) return false;
      if (kind.ends_with("padding") && (!flags || array_.shape.size() > 2)) return false;
      if (kind == "cu_seqlens" && !(grows && array_.shape.size() == 1)) return false;
      if (kind == "segments" && array_.shape.size() > 2) return false;
    }
    return kinds > 1;
  }

  /// "values other than 0 and -inf, the first is -0.25 at (0, 0, 1, 0)".
  bool is_no_mask(const std::string& text) const {
    std::smatch m;
    if (text.starts_with("looks like position ids")) return goes_on_by_ones();
    if (!std::regex_match(
            text, m,
            compiled(
                R"(values other than 0 and (1|-inf), the first is (\S+) at \(([0-9, ]+)\).*)"))) {
      return false;
    }
    const bool of_masks = m[1] == "1";
    Index index = 0;
    std::size_t axis = array_.shape.size();
    std::vector<Index> place;
    const std::string list = m[3];
    static const std::regex one(R"(\d+)");
    for (std::sregex_iterator i(list.begin(), list.end(), one), end; i != end; ++i) {
      place.push_back(number_said(i->str()));
    }
    if (place.size() != array_.shape.size()) return false;
    for (axis = 0; axis < place.size(); ++axis) index = index * array_.shape[axis] + place[axis];
    const auto first = std::ranges::find_if(array_.values, [of_masks](double value) {
      return value != 0 && (of_masks ? value != 1 : value != -10000 && value > -32752);
    });
    return first != array_.values.end() && first - array_.values.begin() == index &&
           std::abs(*first - std::stod(m[2])) <= 1e-5 * std::abs(*first);
  }

  /// True if some number is above 1, and most numbers are one above their predecessor in the row,
  /// or start a count at 0.
  bool goes_on_by_ones() const {
    Index on = 0, above = 0;
    const Index last = array_.extent(0);
    for (Index i = 0; i < std::ssize(array_.values); ++i) {
      const double value = array_.values[static_cast<std::size_t>(i)];
      const double before = i % last == 0 ? -1 : array_.values[static_cast<std::size_t>(i - 1)];
      on += value == 0 || value == before + 1;
      above += value > 1;
    }
    return above > 0 && 2 * on > std::ssize(array_.values);
  }

  StoredArray array_;
  Index heads_told_ = 0;
  std::string kind_;
  std::optional<Dense> cells_;
};

}  // namespace maskctl::test
