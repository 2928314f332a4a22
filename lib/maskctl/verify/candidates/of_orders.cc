// Rows of an output in another order.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "maskctl/tensor/convert.h"
#include "maskctl/verify/candidates/fitted.h"
#include "maskctl/verify/key_side.h"
#include "maskctl/verify/merged.h"

namespace maskctl::attention {
namespace {

constexpr Index kLeastMatched = 4;  // of a row: shorter ones are easily alike

/// A row of an output by its axes.
struct Place {
  Index b = 0, t = 0, h = 0;
};

/// The rows of an output [B,T,H,D] or [B,H,T,D].
struct Rows {
  Index batch = 0, tokens = 0, heads = 0;
  Layout layout = Layout::kBthd;

  Index count() const { return batch * tokens * heads; }
  Index number(const Place& at) const { return vector_at(layout, at.b, at.t, at.h, tokens, heads); }
  Place place(Index n) const {
    const Index b = n / (tokens * heads), rest = n % (tokens * heads);
    return layout == Layout::kBthd ? Place{b, rest / heads, rest % heads}
                                   : Place{b, rest % tokens, rest / tokens};
  }
};

/// An order that programs use: which row of the right output lies at a place.
struct NamedOrder {
  std::string text;
  std::function<Place(const Place&)> source;
};

/// Row p of a sequence that is cut into 2n chunks, of which rank r has chunks r and 2n - 1 - r.
Index zigzag(Index p, Index tokens, Index ranks) {
  const Index chunk = tokens / (2 * ranks), n = p / chunk;
  return (n % 2 == 0 ? n / 2 : 2 * ranks - 1 - n / 2) * chunk + p % chunk;
}
Index zigzag_back(Index p, Index tokens, Index ranks) {
  const Index chunk = tokens / (2 * ranks), n = p / chunk;
  return (n < ranks ? 2 * n : 2 * (2 * ranks - 1 - n) + 1) * chunk + p % chunk;
}

std::vector<NamedOrder> usual_orders(const Rows& rows) {
  const Index tokens = rows.tokens, heads = rows.heads, batch = rows.batch;
  std::vector<NamedOrder> out;
  const auto of_time = [&](std::string text, const std::function<Index(Index)>& source) {
    out.push_back({std::move(text), [source](const Place& at) {
                     return Place{at.b, source(at.t), at.h};
                   }});
  };
  of_time("rows in reverse", [tokens](Index t) { return tokens - 1 - t; });
  constexpr Index kMostRanks = 64;
  for (Index ranks = 2; ranks <= std::min(kMostRanks, tokens / 2); ++ranks) {
    if (tokens % (2 * ranks) == 0) {
      of_time(
          fmt::format("rows in the order of a zigzag over {} ranks, which was not undone", ranks),
          [=](Index t) { return zigzag(t, tokens, ranks); });
      of_time(fmt::format("rows of a zigzag over {} ranks, undone though it was not done", ranks),
              [=](Index t) { return zigzag_back(t, tokens, ranks); });
    }
    if (tokens % ranks != 0) continue;
    of_time(fmt::format("rows interleaved: each {} apart come first, as striped over {} ranks",
                        ranks, ranks),
            [=](Index t) { return t % (tokens / ranks) * ranks + t / (tokens / ranks); });
    of_time(fmt::format("{} ranges of rows interleaved, as if they had been striped", ranks),
            [=](Index t) { return t % ranks * (tokens / ranks) + t / ranks; });
  }
  if (heads > 1) {
    out.push_back({"heads in reverse", [heads](const Place& at) {
                     return Place{at.b, at.t, heads - 1 - at.h};
                   }});
    out.push_back(
        {"time and heads exchanged: written as [B,H,T,D], read as [B,T,H,D]", [=](const Place& at) {
           const Index n = at.t * heads + at.h;
           return Place{at.b, n % tokens, n / tokens};
         }});
    out.push_back(
        {"time and heads exchanged: written as [B,T,H,D], read as [B,H,T,D]", [=](const Place& at) {
           const Index n = at.h * tokens + at.t;
           return Place{at.b, n / heads, n % heads};
         }});
  }
  if (batch > 1) {
    out.push_back({"batch entries in reverse", [batch](const Place& at) {
                     return Place{batch - 1 - at.b, at.t, at.h};
                   }});
  }
  if (batch > 1 && heads > 1) {
    out.push_back({"batch entries and heads exchanged", [=](const Place& at) {
                     const Index n = at.b * heads + at.h;
                     return Place{n % batch, at.t, n / batch};
                   }});
    out.push_back({"heads and batch entries exchanged", [=](const Place& at) {
                     const Index n = at.h * batch + at.b;
                     return Place{n / heads, at.t, n % heads};
                   }});
  }
  return out;
}

constexpr double kAbout = 0x1p-5;  // of the length of a row that is about another

std::span<const float> row_of(std::span<const float> rows, Index n, Index length) {
  return rows.subspan(as_size(n * length), as_size(length));
}
double squared(std::span<const float> row) {
  return std::transform_reduce(row.begin(), row.end(), 0.0, std::plus<>(),
                               [](double x) { return x * x; });
}
/// The squared distance; infinite if it is not a number.
double apart(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t e = 0; e < a.size(); ++e) {
    const double x = static_cast<double>(a[e]) - b[e];
    sum += x * x;
  }
  return std::isfinite(sum) ? sum : std::numeric_limits<double>::infinity();
}
bool about_equal(std::span<const float> a, std::span<const float> b) {
  return apart(a, b) <= kAbout * kAbout * squared(b);
}

/// Finds, for rows of one array, those of another that are nearest to them.
class Matcher {
 public:
  Matcher(std::span<const float> of, Index length) : of_(of), length_(as_size(length)) {
    const Tensor direction = random_normal({length}, 23);
    direction_.assign(direction.as<float>().begin(), direction.as<float>().end());
    for (std::size_t n = 0; n * length_ < of.size(); ++n) {
      along_.emplace_back(dot(of_.subspan(n * length_, length_)), static_cast<Index>(n));
    }
    std::ranges::sort(along_);
  }

  /// The number of the row that is nearly equal to `row`; absent if there is none.
  std::optional<Index> match(std::span<const float> row) const {
    constexpr std::size_t kMost = 4096;
    const double at = dot(row), size = std::sqrt(squared(row));
    const double reach = kAbout * size * std::sqrt(static_cast<double>(length_));
    auto next = std::ranges::lower_bound(along_, std::pair{at - reach, Index{0}});
    std::optional<Index> best;
    double least = kAbout * kAbout * size * size;
    for (std::size_t seen = 0; next != along_.end() && next->first <= at + reach; ++next) {
      if (++seen > kMost) return {};
      const double distance = apart(row, row_of(of_, next->second, static_cast<Index>(length_)));
      if (distance < least) least = distance, best = next->second;
    }
    return best;
  }

 private:
  double dot(std::span<const float> row) const {
    double sum = 0;
    for (std::size_t e = 0; e < length_; ++e) sum += static_cast<double>(row[e]) * direction_[e];
    return sum;
  }

  std::span<const float> of_;
  std::size_t length_;
  std::vector<float> direction_;
  std::vector<std::pair<double, Index>> along_;
};

struct Moved {
  Index row = 0, source = 0;
};

/// The rows of `given` that are off, each with the row of `declared` that it is a copy of. Empty if
/// too many of them are copies of no row, or most are copies of a few rows.
std::vector<Moved> moved_rows(std::span<const float> given, std::span<const float> declared,
                              Index length) {
  const Matcher matcher(declared, length);
  std::vector<Moved> out;
  Index unknown = 0;
  for (Index n = 0; n < std::ssize(given) / length; ++n) {
    const auto row = row_of(given, n, length);
    if (about_equal(row, row_of(declared, n, length))) continue;
    if (const auto source = matcher.match(row)) {
      out.push_back({n, *source});
    } else if (++unknown > 16 && unknown > std::ssize(out) / 8) {
      return {};
    }
  }
  std::set<Index> sources;
  for (const Moved& row : out) sources.insert(row.source);
  const bool few = 2 * sources.size() < out.size();
  return few || unknown > std::ssize(out) / 8 ? std::vector<Moved>{} : out;
}

std::string place_text(const Rows& rows, Index n) {
  const Place at = rows.place(n);
  std::string out = rows.batch > 1 ? fmt::format("batch {}, ", at.b) : "";
  if (rows.heads > 1) out += fmt::format("head {}, ", at.h);
  return out + fmt::format("query {}", at.t);
}

std::string order_text(const Rows& rows, const std::vector<Moved>& moved) {
  constexpr std::size_t kMostShown = 2;
  std::string out = "rows in another order:";
  for (std::size_t n = 0; n < std::min(kMostShown, moved.size()); ++n) {
    out += fmt::format("{} the row of {} is that of {}", n == 0 ? "" : ";",
                       place_text(rows, moved[n].row), place_text(rows, moved[n].source));
  }
  if (moved.size() > kMostShown) out += fmt::format("; and {} more", moved.size() - kMostShown);
  return out;
}

/// The results with row n of one array replaced by row source[n].
NamedResults with_rows(NamedResults results, const char* name, const std::vector<Index>& source) {
  const Tensor before = results.at(name);
  const Index length = before.elements() / std::max<Index>(std::ssize(source), 1);
  const auto to = results.at(name).as<float>();
  for (Index n = 0; n < std::ssize(source); ++n) {
    std::ranges::copy(row_of(before.as<float>(), source[as_size(n)], length),
                      to.begin() + n * length);
  }
  return results;
}

/// Converts an order of the rows of `out` to the same order of the rows of an lse.
std::vector<Index> lse_rows(const CallVariants& call, const Tensor& lse,
                            const std::vector<Index>& source) {
  std::vector<Index> of_out(source.size());  // the row of lse for each row of out
  for (Index n = 0; n < lse.elements(); ++n) of_out[as_size(out_row(call, lse, n))] = n;
  std::vector<Index> out;
  for (Index n = 0; n < lse.elements(); ++n) {
    out.push_back(of_out[as_size(source[as_size(out_row(call, lse, n))])]);
  }
  return out;
}

}  // namespace

Candidates of_orders(const std::shared_ptr<const CallVariants>& call, const NamedResults& declared,
                     const NamedResults& given) {
  const auto found = given.find("out");
  if (call->gradients() || found == given.end() || !is_floating(found->second.dtype())) return {};
  const Tensor& wanted = declared.at("out");
  if (wanted.rank() != 4 || wanted.shape().back() < kLeastMatched) return {};
  const bool heads_first = call->operation().heads_first();
  const Rows rows{wanted.extent(0), wanted.extent(heads_first ? 2 : 1),
                  wanted.extent(heads_first ? 1 : 2), heads_first ? Layout::kBhtd : Layout::kBthd};
  const Index length = wanted.shape().back();
  const Tensor seen = astype(found->second, DType::kFloat32);
  // The lse either moves with the rows or is as declared.
  const auto reordered = [&](const std::string& text, const std::vector<Index>& source) {
    std::function<NamedResults()> flipped;
    if (call->has_values()) {
      flipped = [call, source] { return with_rows(*call->with_random_signs(), "out", source); };
    }
    Candidates out{
        {text, {}, [declared, source] { return with_rows(declared, "out", source); }, flipped}};
    if (given.contains("lse") && can_merge(declared)) {
      const auto with_lse = [declared, source, call] {
        return with_rows(with_rows(declared, "out", source), "lse",
                         lse_rows(*call, declared.at("lse"), source));
      };
      out.push_back({text + ", and their lse with them", {}, with_lse, flipped});
    }
    return out;
  };
  for (const NamedOrder& order : usual_orders(rows)) {
    std::vector<Index> source;
    for (Index n = 0; n < rows.count(); ++n) {
      const Index from = rows.number(order.source(rows.place(n)));
      if (!about_equal(row_of(seen.as<float>(), n, length),
                       row_of(wanted.as<float>(), from, length))) {
        break;
      }
      source.push_back(from);
    }
    if (std::ssize(source) == rows.count()) return reordered(order.text, source);
  }
  const std::vector<Moved> moved = moved_rows(seen.as<float>(), wanted.as<float>(), length);
  if (moved.empty()) return {};
  std::vector<Index> source(as_size(rows.count()));
  std::iota(source.begin(), source.end(), Index{0});
  for (const Moved& row : moved) source[as_size(row.row)] = row.source;
  return reordered(order_text(rows, moved), source);
}

}  // namespace maskctl::attention
