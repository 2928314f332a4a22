// What info says of the numbers of a bias holds for each of its cells.
#include <algorithm>
#include <cmath>
#include <random>
#include <regex>
#include <string>
#include <vector>

#include "maskctl/inspect/recognise/bias_form.h"
#include "maskctl/tensor/convert.h"
#include "support/catch_compat.h"
#include "support/rounds.h"

namespace maskctl::test {
namespace {

/// A bias [H, Q, K] as plain numbers; everything at or below -32752 is closed.
struct Bias {
  Index heads, queries, keys;
  std::vector<double> values;

  double at(Index h, Index q, Index k) const {
    return values[static_cast<std::size_t>((h * queries + q) * keys + k)];
  }
  /// True if `holds(q, k, value)` for all open cells of a head.
  template <typename F>
  bool all(Index h, const F& holds) const {
    for (Index q = 0; q < queries; ++q)
      for (Index k = 0; k < keys; ++k)
        if (at(h, q, k) > -32752 && !holds(q, k, at(h, q, k))) return false;
    return true;
  }
  template <typename F>
  Index count(const F& of_head) const {
    Index out = 0;
    for (Index h = 0; h < heads; ++h) out += of_head(h);
    return out;
  }
};

bool near(double a, double b) {
  return std::abs(a - b) <= 1e-5 * std::max(std::abs(a), std::abs(b));
}
std::vector<double> numbers(const std::string& text) {
  std::vector<double> out;
  static const std::regex one(R"([-+0-9.e]+)");
  for (std::sregex_iterator i(text.begin(), text.end(), one), end; i != end; ++i) {
    out.push_back(std::stod(i->str()));
  }
  return out;
}
Index whole(const std::string& text) { return std::stoll(text); }

/// "0-27, 30" as numbers.
std::vector<bool> listed(const std::string& text, Index extent) {
  std::vector<bool> out(static_cast<std::size_t>(extent), text.empty());
  static const std::regex one(R"((\d+)(?:-(\d+))?)");
  for (std::sregex_iterator i(text.begin(), text.end(), one), end; i != end; ++i) {
    const Index first = whole((*i)[1]), last = (*i)[2].matched ? whole((*i)[2]) : first;
    if (last >= extent) return {};
    for (Index n = first; n <= last; ++n) out[static_cast<std::size_t>(n)] = true;
  }
  return out;
}

/// In how many heads the sentence is true, and of how many it speaks.
struct Truth {
  Index true_in = 0, said = 0;
};
Truth truth_of(std::string line, const Bias& bias) {
  std::smatch m;
  Truth out{0, bias.heads};
  if (std::regex_search(line, m, std::regex(R"( \((\d+) of (\d+) heads\))"))) {
    if (whole(m[2]) != bias.heads) return out;
    out.said = whole(m[1]);
    line = m.prefix().str() + m.suffix().str();
  }
  const auto is = [&](const std::string& pattern) {
    return std::regex_match(line, m, std::regex(pattern));
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
    const std::vector<double> slopes = numbers(m[5]);
    out.true_in = bias.count([&](Index h) {
      return std::ranges::any_of(slopes, [&](double slope) {
        return bias.all(h, [&](Index q, Index k, double value) {
          const double d = static_cast<double>(k - q - shift);
          return near(value, distance ? -slope * std::abs(d) : slope * d);
        });
      });
    });
  } else if (is(R"(ALiBi by key: m \* key, slopes m (.*))")) {
    const std::vector<double> slopes = numbers(m[1]);
    out.true_in = bias.count([&](Index h) {
      return std::ranges::any_of(slopes, [&](double slope) {
        return bias.all(h, [&](Index, Index k, double value) {
          return near(value, slope * static_cast<double>(k));
        });
      });
    });
  } else if (
      is(R"(0 and (.*) only: a mask that closes with (.*), as Swin's with -100, or a penalty)")) {
    const double low = std::stod(m[1].str());
    out.true_in = bias.count([&](Index h) {
      return m[1] == m[2] && low < -10 && bias.all(h, [&](Index, Index, double value) {
        return value == 0 || near(value, low);
      });
    });
  } else if (is(R"((.* \(unnormalised weights times .*\) in .*), and 0 elsewhere)")) {
    // Each part claims its cells; all other open cells hold 0.
    std::vector<double> claimed(static_cast<std::size_t>(bias.queries * bias.keys), 0);
    std::string text = m[1];
    static const std::regex part(
        R"((-?[0-9.e+-]+) \(unnormalised weights times ([0-9.e+-]+)\) in )"),
        place(R"((?:quer(?:y|ies) ([0-9, -]+?))?(?:, )?(?:keys? ([0-9, -]+))?)");
    std::sregex_iterator i(text.begin(), text.end(), part), end;
    if (i == end) return out;
    for (; i != end; ++i) {
      const double value = std::stod((*i)[1].str());
      if (std::abs(std::exp(value) / std::stod((*i)[2].str()) - 1) > 0.01) return out;
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
            for (Index ik = 0; ik < bias.keys; ++ik)
              if (q[static_cast<std::size_t>(iq)] && k[static_cast<std::size_t>(ik)])
                claimed[static_cast<std::size_t>(iq * bias.keys + ik)] = value;
        }
        at = stop + 2;
      }
    }
    out.true_in = bias.count([&](Index h) {
      return bias.all(h, [&](Index q, Index k, double value) {
        return near(value, claimed[static_cast<std::size_t>(q * bias.keys + k)]);
      });
    });
  } else if (
      is(R"(a table of relative positions, as T5's buckets: (\d+) numbers from (.*) to (.*) by key - query)")) {
    out.true_in = bias.count([&](Index h) {
      std::vector<double> table(static_cast<std::size_t>(bias.queries + bias.keys), NAN), seen;
      const bool holds = bias.all(h, [&](Index q, Index k, double value) {
        double& entry = table[static_cast<std::size_t>(k - q + bias.queries)];
        if (std::isnan(entry)) entry = value;
        seen.push_back(value);
        return entry == value && value >= std::stod(m[2].str()) - 1e-4 &&
               value <= std::stod(m[3].str()) + 1e-4;
      });
      std::ranges::sort(seen);
      return holds && std::unique(seen.begin(), seen.end()) - seen.begin() <= whole(m[1]);
    });
  } else if (is(R"(numbers from (.*) to (.*) that follow neither distance nor key)")) {
    out.true_in = bias.count([&](Index h) {
      return bias.all(h, [&](Index, Index, double value) {
        return value >= std::stod(m[1].str()) - 1e-4 && value <= std::stod(m[2].str()) + 1e-4;
      });
    });
  }
  return out;
}

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_(seed) {}

  Bias next() {
    const Index most = 24;
    Bias out{pick(1, 4), pick(0, 3) == 0 ? 1 : pick(1, most), pick(1, most), {}};
    if (pick(0, 1) == 0) out.keys = std::max(out.keys, out.queries);
    const bool same = pick(0, 2) > 0;
    Index form = pick(0, 7), shift = 0;
    for (Index h = 0; h < out.heads; ++h) {
      if (!same || h == 0) form = pick(0, 7);
      if (!same || h == 0)
        shift = pick(0, 2) == 0 ? 0 : pick(0, 1) ? out.keys - out.queries : pick(0, 30);
      if (shift < 0) shift = 0;
      const double slope = std::exp2(-static_cast<double>(pick(1, 8)));
      const bool causal = pick(0, 1) == 1;
      const Index q0 = pick(0, out.queries - 1), k0 = pick(0, out.keys - 1),
                  q1 = pick(q0, out.queries - 1), k1 = pick(k0, out.keys - 1);
      const double low = pick(0, 1) ? -1.25 : -100;
      std::vector<double> table;
      for (Index i = 0; i < out.queries + out.keys; ++i)
        table.push_back(static_cast<double>(pick(-3, 3)) / 4);
      for (Index q = 0; q < out.queries; ++q) {
        for (Index k = 0; k < out.keys; ++k) {
          const auto d = static_cast<double>(k - q - shift);
          const bool in = q >= q0 && q <= q1 && k >= k0 && k <= k1;
          double value = 0;
          if (form == 1) value = -slope * std::abs(d);
          if (form == 2) value = slope * d;
          if (form == 3) value = slope * static_cast<double>(k);
          if (form == 4) value = in ? low : 0;
          if (form == 5) value = table[static_cast<std::size_t>(k - q + out.queries)];
          if (form == 6) value = static_cast<double>(pick(-8, 8)) / 8;
          if (form == 7) value = in ? 0.5 : q < q0 ? low / 2 : 0;
          if (causal && d > 0) value = -INFINITY;
          out.values.push_back(value);
        }
      }
    }
    return out;
  }

 private:
  Index pick(Index low, Index high) {
    return std::uniform_int_distribution<Index>(low, std::max(low, high))(random_);
  }
  std::mt19937_64 random_;
};

TEST_CASE("info: what a bias adds is true of its cells", "[sentences]") {
  Index lines = 0;
  const char* many = std::getenv("MASKCTL_SENTENCES");
  for (Index i = 0; i < (many ? std::atoll(many) : rounds<Index>(2000)); ++i) {
    const Bias bias = Draws(static_cast<std::uint64_t>(i)).next();
    Tensor array(DType::kFloat64, {1, bias.heads, bias.queries, bias.keys});
    std::ranges::copy(bias.values, array.as<double>().begin());
    const std::vector<std::string> text = bias_text(bias_form(astype(array, DType::kFloat32)));
    Index said = 0;
    for (const std::string& line : text) {
      const Truth truth = truth_of(line, bias);
      ++lines;
      said += truth.said;
      if (truth.true_in < truth.said) {
        FAIL_CHECK("bias " << i << ": " << line << ": true in " << truth.true_in << " of "
                           << truth.said);
      }
    }
    CHECK(said == bias.heads);
  }
  CHECK(lines > 0);
}

}  // namespace
}  // namespace maskctl::test
