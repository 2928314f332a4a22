// Judges the sentences of info about the numbers of a bias, for each of its cells.
#pragma once

#include <algorithm>
#include <cmath>
#include <regex>
#include <string>
#include <vector>

#include "inspect/sentences/patterns.h"
#include "maskctl/base/index.h"

namespace maskctl::test {

/// A bias [H, Q, K] as plain numbers; everything at or below -32752 is closed,
/// and +inf and NaN are told by themselves.
struct Bias {
  Index heads, queries, keys;
  std::vector<double> values;
  bool single = true;  // heads of one batch entry; false: those of several, one after another

  double at(Index h, Index q, Index k) const {
    return values[static_cast<std::size_t>((h * queries + q) * keys + k)];
  }
  /// True if `holds(q, k, value)` for all open cells of a head.
  template <typename F>
  bool all(Index h, const F& holds) const {
    for (Index q = 0; q < queries; ++q)
      for (Index k = 0; k < keys; ++k)
        if (at(h, q, k) > -32752 && !std::isinf(at(h, q, k)) && !holds(q, k, at(h, q, k)))
          return false;
    return true;
  }
  template <typename F>
  Index count(const F& of_head) const {
    Index out = 0;
    for (Index h = 0; h < heads; ++h) out += of_head(h);
    return out;
  }
};

inline bool near(double a, double b) {
  return std::abs(a - b) <= 1e-5 * std::max(std::abs(a), std::abs(b));
}
inline std::vector<double> numbers(const std::string& text) {
  std::vector<double> out;
  static const std::regex one(R"([-+0-9.e]+)");
  for (std::sregex_iterator i(text.begin(), text.end(), one), end; i != end; ++i) {
    out.push_back(std::stod(i->str()));
  }
  return out;
}
inline Index whole(const std::string& text) { return std::stoll(text); }

/// "0-27, 30" as numbers.
inline std::vector<bool> listed(const std::string& text, Index extent) {
  std::vector<bool> out(static_cast<std::size_t>(extent), text.empty());
  static const std::regex one(R"((\d+)(?:-(\d+))?)");
  for (std::sregex_iterator i(text.begin(), text.end(), one), end; i != end; ++i) {
    const Index first = whole((*i)[1]), last = (*i)[2].matched ? whole((*i)[2]) : first;
    if (last >= extent) return {};
    for (Index n = first; n <= last; ++n) out[static_cast<std::size_t>(n)] = true;
  }
  return out;
}

/// True if `said` is `value` rounded to three digits.
inline bool is_rounded(double said, double value) {
  if (value == 0 || std::isinf(value)) return said == value;
  const double unit = std::pow(10, std::floor(std::log10(value)) - 2);
  return std::abs(said - value) <= 0.501 * unit;
}

/// Judges "from -3.5 to 2": all numbers must lie between these, and both must occur.
struct Span {
  double low, high;
  bool has_low = false, has_high = false;

  bool holds(double value) {
    has_low = has_low || near(value, low), has_high = has_high || near(value, high);
    return (value > low || near(value, low)) && (value < high || near(value, high));
  }
  bool is_tight() const { return has_low && has_high; }
};

/// The number of heads in which a sentence is true, and the number of heads that it is about.
struct Truth {
  Index true_in = 0, said = 0;
};
/// True if the number is the other one, of 24 bits, with six digits.
inline bool has_six_digits(double said, double value) {
  if (value == 0) return said == 0;
  const double unit = std::pow(10, std::floor(std::log10(std::abs(value))) - 5);
  return std::abs(said - value) <= 0.501 * unit + 2e-7 * std::abs(value);
}

/// Whether all numbers of a head are its number beside the diagonal times the distance, and stand
/// at two distances at least.
inline bool is_slope(const Bias& bias, Index h) {
  double slope = NAN, first = NAN;
  bool two = false;
  return bias.all(h, [&](Index q, Index k, double value) {
    const auto distance = static_cast<double>(std::abs(k - q));
    if (distance == 0) return value == 0;
    if (std::isnan(first)) slope = value / distance, first = distance;
    two = two || distance != first;
    return value == slope * distance;
  }) && two;
}

/// The number of heads in which all numbers are one of the slopes of "0.5 0.25 (heads 1, 3)" times
/// `variable`; 0 if one of the slopes fits no head with a number other than 0, or not those that
/// are said. `all_heads`: the sentence is about all heads, else others may fit that have another
/// form.
template <typename F>
Index heads_of_slopes(const Bias& bias, bool all_heads, const std::string& text,
                      const F& variable) {
  static const std::regex one(R"(([-+0-9.e]+)(?: \(heads? ([0-9, -]+)\))? ?)");
  std::vector<bool> fits(static_cast<std::size_t>(bias.heads));
  for (std::sregex_iterator i(text.begin(), text.end(), one), end; i != end; ++i) {
    const double slope = std::stod((*i)[1]);
    const bool named = (*i)[2].matched;
    std::vector<bool> its(fits.size());
    bool needed = false;
    for (Index h = 0; h < bias.heads; ++h) {
      bool numbers = false, read = slope == 0;
      const bool all = bias.all(h, [&](Index q, Index k, double value) {
        const double at = variable(q, k);
        numbers = numbers || value != 0;
        read = read || (at != 0 && has_six_digits(slope, value / at));
        return near(value, slope * at);
      });
      if (!all || (numbers && !read)) continue;
      needed = needed || numbers;
      fits[static_cast<std::size_t>(h)] = true;
      its[static_cast<std::size_t>(h)] = numbers;
    }
    if (!needed) return 0;
    const std::vector<bool> heads = listed((*i)[2], bias.heads);
    for (std::size_t h = 0; named && h < its.size(); ++h) {
      if (heads.empty() || (heads[h] && !its[h]) || (all_heads && its[h] && !heads[h])) return 0;
    }
    // Several are to be named, where heads are of one batch entry.
    const bool several = all_heads && std::ranges::count(its, true) > 1;
    if (named ? !bias.single : bias.single && several) return 0;
  }
  return std::ranges::count(fits, true);
}

inline Truth truth_of(std::string line, const Bias& bias) {
  std::smatch m;
  Truth out{0, bias.heads};
  if (std::regex_search(line, m, compiled(R"( \((\d+) of (\d+) heads\))"))) {
    if (whole(m[2]) != bias.heads) return out;
    out.said = whole(m[1]);
    line = m.prefix().str() + m.suffix().str();
  }
  const auto is = [&](const std::string& pattern) {
    return std::regex_match(line, m, compiled(pattern));
  };
  if (line == "nothing is added where it is open") {
    out.true_in = bias.count([&](Index h) {
      return bias.all(h, [](Index, Index, double value) { return value == 0; });
    });
  } else if (
      is(R"(ALiBi: (-m \* \|key - query\||m \* \(key - query\))(?: with (?:query|queries) 0(?:-(\d+))? at keys? (\d+)(?:-(\d+))?)?, slopes m (.*))")) {
    const bool distance = m[1].str()[0] == '-';
    const Index shift = m[3].matched ? whole(m[3]) : 0;
    const Index last = m[2].matched ? whole(m[2]) : 0,
                last_key = m[4].matched ? whole(m[4]) : shift;
    if (m[3].matched && (last != bias.queries - 1 || last_key != shift + last)) return out;
    out.true_in = heads_of_slopes(bias, out.said == bias.heads, m[5], [&](Index q, Index k) {
      const double d = static_cast<double>(k - q - shift);
      return distance ? -std::abs(d) : d;
    });
  } else if (is(R"(ALiBi by key: m \* key, slopes m (.*))")) {
    out.true_in = heads_of_slopes(bias, out.said == bias.heads, m[1],
                                  [](Index, Index k) { return static_cast<double>(k); });
  } else if (
      is(R"(0 and (.*) only: a mask that closes with (.*), as Swin's do with -100, or a penalty)")) {
    const double low = std::stod(m[1].str());
    out.true_in = bias.count([&](Index h) {
      return m[1] == m[2] && low < -10 && bias.all(h, [&](Index, Index, double value) {
        return value == 0 || near(value, low);
      });
    });
  } else if (is(R"((.* \(unnormalised weights times .*\) in .*), and 0 elsewhere)")) {
    // Each part of the sentence gives the numbers of its cells; all other open cells must hold 0.
    std::vector<double> claimed(static_cast<std::size_t>(bias.queries * bias.keys), 0);
    std::string text = m[1];
    static const std::regex part(
        R"((-?[0-9.e+-]+) \(unnormalised weights times ([0-9.e+-]+|inf)\) in )"),
        place(R"((?:quer(?:y|ies) ([0-9, -]+?))?(?:, )?(?:keys? ([0-9, -]+))?)");
    std::sregex_iterator i(text.begin(), text.end(), part), end;
    if (i == end) return out;
    for (; i != end; ++i) {
      const double value = std::stod((*i)[1].str());
      if (!is_rounded(std::stod((*i)[2].str()), std::exp(value))) return out;
      const auto next = std::next(i);
      const auto from = (*i).position() + (*i).length();
      std::string places = text.substr(
          static_cast<std::size_t>(from),
          next == end ? std::string::npos : static_cast<std::size_t>(next->position() - from));
      for (std::size_t at = 0; at < places.size();) {
        const std::size_t stop = std::min(places.find("; ", at), places.size());
        const std::string one = places.substr(at, stop - at);
        std::smatch p;
        if (!one.empty()) {
          if (!std::regex_match(one, p, place)) return out;
          const auto q = listed(p[1], bias.queries), k = listed(p[2], bias.keys);
          if (q.empty() || k.empty()) return out;
          for (Index iq = 0; iq < bias.queries; ++iq)
            for (Index ik = 0; ik < bias.keys; ++ik) {
              if (!q[static_cast<std::size_t>(iq)] || !k[static_cast<std::size_t>(ik)]) continue;
              double& cell = claimed[static_cast<std::size_t>(iq * bias.keys + ik)];
              if (cell != 0) return out;  // two parts claim it
              cell = value;
            }
        }
        at = stop + 2;
      }
    }
    std::vector<bool> open(claimed.size());  // in a head that the sentence is true of
    out.true_in = bias.count([&](Index h) {
      bool adds = false;  // a head with none of the numbers is not meant
      const bool fits = bias.all(h, [&](Index q, Index k, double value) {
        adds = adds || value != 0;
        return near(value, claimed[static_cast<std::size_t>(q * bias.keys + k)]);
      }) && adds;
      if (fits) {
        bias.all(h, [&](Index q, Index k, double) {
          return open[static_cast<std::size_t>(q * bias.keys + k)] = true;
        });
      }
      return fits;
    });
    for (std::size_t cell = 0; cell < claimed.size(); ++cell) {
      if (claimed[cell] != 0 && !open[cell]) return {0, out.said};  // no number stands there
    }
  } else if (
      is(R"(a table of relative positions, as T5's buckets: (\d+) numbers from (.*) to (.*) by key - query)")) {
    Span span{std::stod(m[2].str()), std::stod(m[3].str())};
    bool exact = false;  // the head with the most numbers has so many
    out.true_in = bias.count([&](Index h) {
      if (is_slope(bias, h)) return false;  // a table too, but said as ALiBi
      std::vector<double> table(static_cast<std::size_t>(bias.queries + bias.keys), NAN), seen;
      const bool holds = bias.all(h, [&](Index q, Index k, double value) {
        double& entry = table[static_cast<std::size_t>(k - q + bias.queries)];
        if (std::isnan(entry)) entry = value;
        seen.push_back(value);
        return entry == value && span.holds(value);
      });
      std::ranges::sort(seen);
      const Index different = std::unique(seen.begin(), seen.end()) - seen.begin();
      exact = exact || (holds && different == whole(m[1]));
      return holds && different <= whole(m[1]);
    });
    if (!span.is_tight() || !exact) out.true_in = 0;
  } else if (is(R"((.*) in every open cell, which changes no weight)")) {
    const double only = std::stod(m[1].str());
    out.true_in = bias.count([&](Index h) {
      return only != 0 &&
             bias.all(h, [&](Index, Index, double value) { return near(value, only); });
    });
  } else if (is(R"((.*) and (.*) only, by key - query)")) {
    const double low = std::stod(m[1].str()), high = std::stod(m[2].str());
    out.true_in = bias.count([&](Index h) {
      std::vector<double> table(static_cast<std::size_t>(bias.queries + bias.keys), NAN);
      bool has_low = false, has_high = false;
      return bias.all(h,
                      [&](Index q, Index k, double value) {
                        double& entry = table[static_cast<std::size_t>(k - q + bias.queries)];
                        if (std::isnan(entry)) entry = value;
                        has_low = has_low || near(value, low),
                        has_high = has_high || near(value, high);
                        return entry == value && (near(value, low) || near(value, high));
                      }) &&
             has_low && has_high && low < high;
    });
  } else if (is(R"(numbers from (.*) to (.*) that are no multiples of distance or key)")) {
    Span span{std::stod(m[1].str()), std::stod(m[2].str())};
    out.true_in = bias.count([&](Index h) {
      return bias.all(h, [&](Index, Index, double value) { return span.holds(value); });
    });
    if (!span.is_tight()) out.true_in = 0;
  } else if (is(R"(other numbers in (\d+) more heads)")) {
    out = {whole(m[1]), whole(m[1])};
  }
  return out;
}

}  // namespace maskctl::test
