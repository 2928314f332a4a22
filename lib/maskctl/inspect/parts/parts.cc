#include "maskctl/inspect/parts/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "maskctl/base/error.h"
#include "maskctl/base/work_scope.h"
#include "maskctl/inspect/parts/token_classes.h"
#include "maskctl/inspect/recognise/cells.h"

namespace maskctl {
namespace {

constexpr Index kMostTokens = Index{1} << 28;

Index nth(const Indices& indices, Index n) {
  for (const Progression& one : indices) {
    if (n < one.count) return one.at(n);
    n -= one.count;
  }
  return n;
}

auto order(const Cell& at) { return std::tuple(at.batch, at.head, at.query, at.key); }

/// The first open cell of a mask that has one, whose rows are tokens that ascend, as tokens.
Cell first_open(const Mask& mask, const Indices& q, const Indices& kv) {
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index h = 0; h < mask.heads(); ++h) {
      std::optional<Cell> first;
      recognition::each_row_while(*mask.plane(b, h), [&](Range rows, const Keys& keys) {
        std::vector<Run> scratch;
        for (const Run& run : as_runs(keys, scratch)) {
          for (Index k = run.begin; k < run.end; ++k) {
            const Cell cell{b, h, nth(q, rows.begin), nth(kv, k)};
            if (!first || order(cell) < order(*first)) first = cell;
          }
        }
        return !first;
      });
      if (first) return *first;
    }
  }
  return {};
}

class PartsJudge {
 public:
  PartsJudge(const Mask& mask, std::span<const ComputedPart> parts)
      : parts_(parts),
        batch_(mask.batch()),
        heads_(mask.heads()),
        q_(mask.queries(), "queries"),
        kv_(mask.keys(), "keys") {
    for (std::size_t part = 0; part < parts.size(); ++part) add(part);
    mask_ = spread(mask);
    q_.close();
  }

  /// All figures where each part is right and none is missing; nothing otherwise, and where pairs
  /// are computed twice but should not be.
  std::optional<PartsVerdict> sound(bool once) {
    PartsVerdict out;
    out.declared = mask_.count();
    for (const ComputedPart& part : parts_) {
      const Mask cells = spread(part_of(part.mask, part.q.places, part.kv.places));
      const Index open = cells.count();
      if (spread(part.mask).count() != open) return std::nullopt;
      if (differing_cells(part_of(mask_, part.q.tokens, part.kv.tokens), cells) > 0) {
        return std::nullopt;
      }
      out.computed += open;
    }
    for (std::uint32_t rows = 0; rows < q_.size(); ++rows) {
      if (!all_held(rows)) return std::nullopt;
    }
    out.twice = out.computed - out.declared;
    if (once && out.twice > 0) return std::nullopt;
    return out;
  }

  PartsVerdict judged() {
    kv_.close();
    out_.declared = mask_.count();
    std::map<std::uint32_t, std::set<std::uint32_t>> compared;
    Index declared = 0;
    for (std::uint32_t rows = 0; rows < q_.size(); ++rows) {
      if (q_.tokens(rows).empty()) continue;
      // The classes of keys by those who hold them with these queries.
      std::map<std::uint32_t, std::vector<Holder>> holders;
      for (const std::size_t q : q_.lists(rows)) {
        for (const auto& [kv, part] : of_queries_[q]) {
          for (const std::uint32_t columns : kv_.classes(kv)) {
            holders[columns].push_back({part, q, kv});
          }
        }
      }
      std::map<std::vector<Holder>, std::vector<std::uint32_t>> groups;
      for (auto& [columns, by] : holders) {
        compared[rows].insert(columns);
        groups[by].push_back(columns);
      }
      for (const auto& [by, columns] : groups) {
        throw_if_stopped();
        declared += compare(rows, columns, by);
      }
    }
    if (declared < out_.declared) lose(compared);
    for (std::size_t part = 0; part < parts_.size(); ++part) check_places(part);
    std::ranges::sort(out_.faults, {}, [](const PartsFault& fault) {
      return std::tuple(fault.kind, order(fault.first));
    });
    return std::move(out_);
  }

 private:
  void add(std::size_t part) {
    const ComputedPart& one = parts_[part];
    check_side(one, one.q, one.mask.queries(), "queries");
    check_side(one, one.kv, one.mask.keys(), "keys");
    const std::vector<std::size_t> queries = q_.add(one.q, one.name);
    for (const std::size_t kv : kv_.add(one.kv, one.name)) {
      for (const std::size_t q : queries) of_queries_[q].push_back({kv, part});
    }
    const auto joint = [&](Index& mine, Index its, const char* what) {
      if (mine != its && mine != 1 && its != 1) {
        throw Error(Errc::kShape, fmt::format("{}: {} {} beside {}", one.name, its, what, mine));
      }
      if (its != 1) mine = its;
    };
    joint(batch_, one.mask.batch(), "batch entries");
    joint(heads_, one.mask.heads(), "heads");
  }

  static void check_side(const ComputedPart& part, const PartSide& side, Index extent,
                         const char* name) {
    for (const Progression& one : side.places) {
      if (one.last() < extent) continue;
      throw Error(Errc::kShape, fmt::format("{}: its mask has {} {}, its tokens need {}", part.name,
                                            extent, name, one.last() + 1));
    }
  }
  Mask spread(const Mask& mask) const {
    return Mask::make(batch_, heads_, mask.queries(), mask.keys(),
                      [&](Index b, Index h) { return mask.plane(b, h); });
  }
  static Mask part_of(const Mask& mask, const Indices& q, const Indices& kv) {
    return mask.map([&](const PlanePtr& plane) { return taken(plane, q, kv); });
  }

  /// Whether the parts that hold a class of queries hold all keys that it sees.
  bool all_held(std::uint32_t rows) {
    const auto& tokens = q_.tokens(rows);
    if (tokens.empty()) return true;
    Index missing = part_of(mask_, tokens, {{0, 1, mask_.keys()}}).count();
    if (held_.empty()) held_.resize(as_size(mask_.keys()), kNobody);
    for (const std::size_t q : q_.lists(rows)) {
      for (const auto& [kv, part] : of_queries_[q]) {
        if (missing == 0) return true;
        Indices unseen;
        for (const Progression& one : kv_.list(kv).tokens) {
          for (Index i = 0; i < one.count; ++i) {
            std::uint32_t& by = held_[as_size(one.at(i))];
            if (by != rows) append_index(one.at(i), unseen);
            by = rows;
          }
        }
        missing -= part_of(mask_, tokens, unseen).count();
      }
    }
    return missing == 0;
  }

  /// A part, and the lists with which it holds a class of queries and one of keys.
  struct Holder {
    std::size_t part = 0, q = 0, kv = 0;
    auto operator<=>(const Holder&) const = default;
  };

  /// Compares the pairs of a class of queries and some of keys, all with the same holders. Returns
  /// how many the mask opens.
  Index compare(std::uint32_t rows, const std::vector<std::uint32_t>& columns,
                const std::vector<Holder>& holders) {
    const Indices& q = q_.tokens(rows);
    const auto joined = [&](const auto& of) {
      Indices out;
      for (const std::uint32_t one : columns) {
        for (const Progression& next : of(one)) append_progression(next, out);
      }
      return out;
    };
    const Indices kv = joined([&](std::uint32_t one) { return kv_.tokens(one); });
    const Mask declared = part_of(mask_, q, kv);
    Mask all;
    std::optional<Mask> again;
    Index computed = 0;
    std::vector<std::size_t> parts;
    for (const Holder& by : holders) {
      const Indices places = joined([&](std::uint32_t one) { return kv_.places(one, by.kv); });
      const Mask cells = spread(part_of(parts_[by.part].mask, q_.places(rows, by.q), places));
      computed += cells.count();
      counted_[by.part] += cells.count();
      if (!parts.empty()) {
        const Mask both = zip(Op::kAnd, all, cells);
        again = again ? zip(Op::kOr, *again, both) : both;
      }
      all = parts.empty() ? cells : zip(Op::kOr, all, cells);
      parts.push_back(by.part);
    }
    out_.computed += computed;
    const Index once = all.count(), opened = declared.count();
    if (computed > once) add_fault(PartsFault::Kind::kTwice, parts, computed - once, *again, q, kv);
    if (opened == once && differing_cells(declared, all) == 0) return opened;
    const Mask lost = zip(Op::kSub, declared, all), extra = zip(Op::kSub, all, declared);
    add_fault(PartsFault::Kind::kLost, parts, lost.count(), lost, q, kv);
    add_fault(PartsFault::Kind::kExtra, parts, extra.count(), extra, q, kv);
    return opened;
  }

  void add_fault(PartsFault::Kind kind, std::vector<std::size_t> parts, Index pairs,
                 const Mask& cells, const Indices& q, const Indices& kv) {
    if (pairs == 0) return;
    (kind == PartsFault::Kind::kLost    ? out_.lost
     : kind == PartsFault::Kind::kTwice ? out_.twice
                                        : out_.extra) += pairs;
    const Cell first = first_open(cells, q, kv);
    std::ranges::sort(parts);
    const auto known = std::ranges::find_if(out_.faults, [&](const PartsFault& fault) {
      return fault.kind == kind && fault.parts == parts;
    });
    if (known == out_.faults.end()) {
      out_.faults.push_back({kind, std::move(parts), pairs, first});
      return;
    }
    known->pairs += pairs;
    if (order(first) < order(known->first)) known->first = first;
  }
  /// Finds the pairs that no part holds.
  void lose(std::map<std::uint32_t, std::set<std::uint32_t>>& compared) {
    for (std::uint32_t rows = 0; rows < q_.size(); ++rows) {
      if (q_.tokens(rows).empty()) continue;
      const Indices keys = kv_.other_tokens(compared[rows]);
      const Mask lost = part_of(mask_, q_.tokens(rows), keys);
      add_fault(PartsFault::Kind::kLost, {}, lost.count(), lost, q_.tokens(rows), keys);
    }
  }

  /// Finds what a part opens in rows and columns that hold no token.
  void check_places(std::size_t part) {
    const ComputedPart& one = parts_[part];
    const Mask all = spread(one.mask);
    const Index beside = all.count() - counted_[part];
    if (beside == 0) return;
    const auto unused = [](const Indices& places, Index extent) {
      std::vector<bool> used(as_size(extent));
      for (const Progression& each : places) {
        for (Index i = 0; i < each.count; ++i) used[as_size(each.at(i))] = true;
      }
      Indices out;
      for (Index i = 0; i < extent; ++i) {
        if (!used[as_size(i)]) append_index(i, out);
      }
      return out;
    };
    const Indices rows = unused(one.q.places, one.mask.queries()), every_row{{0, 1, all.queries()}};
    const Indices columns = unused(one.kv.places, one.mask.keys()), every_key{{0, 1, all.keys()}};
    const auto first_in = [&](const Indices& q, const Indices& kv) -> std::optional<Cell> {
      const Mask cells = part_of(all, q, kv);
      if (cells.count() == 0) return std::nullopt;
      return first_open(cells, q, kv);
    };
    auto first = first_in(rows, every_key);
    if (!first) first = first_in(every_row, columns);
    out_.no_token += beside;
    out_.computed += beside;
    if (first) out_.faults.push_back({PartsFault::Kind::kNoToken, {part}, beside, *first});
  }

  std::span<const ComputedPart> parts_;
  Index batch_, heads_;
  Mask mask_;
  TokenClasses q_, kv_;
  /// The lists of keys, and the part, with which a list of queries goes.
  std::map<std::size_t, std::vector<std::pair<std::size_t, std::size_t>>> of_queries_;
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};
  std::vector<std::uint32_t> held_;  // the last class of queries that a key was held for
  std::map<std::size_t, Index> counted_;
  PartsVerdict out_;
};

}  // namespace

PartSide side_of(Indices tokens) {
  const Index count = count_of(tokens);
  return {std::move(tokens), {{0, 1, count}}};
}

PartsVerdict judge_parts(const Mask& mask, std::span<const ComputedPart> parts, bool once) {
  const Index tokens = std::max(mask.queries(), mask.keys());
  if (tokens > kMostTokens) {
    throw Error(Errc::kLimit,
                fmt::format("parts of {} tokens: expected at most {}", tokens, kMostTokens));
  }
  PartsJudge judge(mask, parts);
  if (auto sound = judge.sound(once)) return *std::move(sound);
  return judge.judged();
}

}  // namespace maskctl
