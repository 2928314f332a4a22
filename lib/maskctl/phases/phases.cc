#include "maskctl/phases/phases.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/error.h"
#include "maskctl/base/grouped.h"
#include "maskctl/base/text.h"
#include "maskctl/inspect/parts/deal.h"
#include "maskctl/phases/sweep.h"

namespace maskctl {
namespace {

constexpr Index kMostTokens = Index{1} << 26, kMostDrafts = 1024;

[[noreturn]] void refuse_query(const std::string& why) { throw Error(Errc::kInvalidArgument, why); }

void check(const Mask& mask, const Cache& cache, const PhasesQuery& query) {
  if (mask.queries() != mask.keys() || mask.queries() == 0) {
    throw Error(Errc::kShape, fmt::format("a mask of {} queries and {} keys: expected one of each "
                                          "for every token, and a token",
                                          mask.queries(), mask.keys()));
  }
  if (mask.queries() > kMostTokens) {
    throw Error(Errc::kLimit, fmt::format("phases of {} tokens: expected at most {}",
                                          mask.queries(), kMostTokens));
  }
  const bool ring = cache.order == Cache::Order::kRing;
  if (ring && cache.page > 1) refuse_query("a ring drops tokens one by one: expected no page");
  if (ring && cache.last >= Cache::kAll)
    refuse_query("a ring needs its size: expected last tokens");
  if (cache.last < 0 || cache.sinks < 0 || cache.page < 1 || cache.slots < 0) {
    refuse_query("a cache of a negative size");
  }
  if (cache.last == 0 && cache.reads == Cache::Reads::kWritten) {
    refuse_query("a cache that is read once it is written keeps its own token: expected 1 or more");
  }
  if (cache.last >= Cache::kAll && cache.slots > 0 && cache.slots < mask.queries()) {
    refuse_query(
        fmt::format("{} keeps all tokens in {}, which have no room for {}: expected no "
                    "more tokens, or more slots",
                    cache.name.empty() ? "a cache" : cache.name, counted(cache.slots, "slot"),
                    counted(mask.queries(), "token")));
  }
  for (const Index chunk : query.chunks) {
    if (chunk < 2)
      refuse_query(fmt::format("chunks of {}: expected 2 or more", counted(chunk, "token")));
  }
  if (std::ssize(query.tree) > kMostDrafts) {
    throw Error(Errc::kLimit,
                fmt::format("{} drafts: expected at most {}", query.tree.size(), kMostDrafts));
  }
  if (std::ssize(query.tree) > mask.queries()) {
    refuse_query(fmt::format("{} beside {}: expected no more drafts than tokens",
                             counted(std::ssize(query.tree), "draft"),
                             counted(mask.queries(), "token")));
  }
  for (Index i = 0; i < std::ssize(query.tree); ++i) {
    const Index parent = query.tree[as_size(i)];
    if (parent >= -1 && parent < i) continue;
    refuse_query(
        fmt::format("the parent of draft {} is {}: expected an earlier draft, or -1", i, parent));
  }
}

std::string tokens_text(Index low, Index high) {
  return low == high ? counted(high, "token")
                     : fmt::format("{} to {}", grouped(low), counted(high, "token"));
}

/// Judges the phases of one plane of the mask.
class Judge {
 public:
  Judge(const Plane& plane, const Cache& cache, const PhasesQuery& query, Index batch, Index head)
      : rows_(plane),
        cache_(cache),
        query_(query),
        tokens_(plane.queries()),
        batch_(batch),
        head_(head) {}

  void prefill(PhaseResult& out) {
    const bool all = cache_.reads == Cache::Reads::kKept || by_positions(cache_.several);
    out.covered = all && tokens_ > 1 ? fmt::format("prompts of {}", tokens_text(1, tokens_))
                                     : fmt::format("a prompt of {}", counted(tokens_, "token"));
    compare({0, tokens_}, out, [n = tokens_](Index q) { return PlacedQuery{{0, n}, q}; });
    if (!all) return;
    compare({0, tokens_ - 1}, out, [](Index q) { return PlacedQuery{{0, q + 1}, q}; });
  }

  void chunks(PhaseResult& out) {
    if (!by_positions(cache_.several)) return listed_chunks(out);
    const Index largest = std::min(largest_chunk(), tokens_);
    out.covered = fmt::format("chunks of {}, from any token", tokens_text(2, largest));
    // The query that begins a largest chunk, and the one that ends it: their rows enclose those of
    // all smaller chunks.
    compare({0, tokens_}, out, [n = tokens_, largest](Index q) {
      const Index end = std::min(q + largest, n), cached = std::min(q, end - 2);
      return PlacedQuery{{cached, end - cached}, q - cached};
    });
    compare({0, tokens_}, out, [largest](Index q) {
      const Index end = std::max<Index>(q + 1, 2), cached = std::max<Index>(end - largest, 0);
      return PlacedQuery{{cached, end - cached, 0}, q - cached};
    });
  }

  void decode(PhaseResult& out) {
    out.covered = fmt::format("each token after {}", tokens_text(1, tokens_ - 1));
    compare({1, tokens_}, out, [](Index q) { return PlacedQuery{{q, 1}, 0}; });
  }

  void rollback(PhaseResult& out) {
    const Index most = std::min(query_.taken_back, tokens_ - 1);
    const bool all = by_positions(cache_.one) || cache_.rollback == Cache::Rollback::kExact;
    out.covered = fmt::format("each token after {} taken back",
                              tokens_text(all ? std::min<Index>(most, 1) : most, most));
    compare({1, tokens_}, out, [n = tokens_, most](Index q) {
      return PlacedQuery{{q, 1, std::min(most, n - q)}, 0};
    });
  }

  void tree(PhaseResult& out) {
    const Index drafts = std::ssize(query_.tree);
    out.covered = fmt::format("a tree of {} after {}", counted(drafts, "draft"),
                              tokens_text(0, tokens_ - drafts));
    sweep_tree(cache_, rows_, tokens_, query_.tree, batch_, head_, out);
  }

 private:
  static bool by_positions(const SlotMask& mask) { return mask.of == SlotMask::Of::kPositions; }
  /// The largest chunk for which rows are asked. Where a step reads what was kept before it, all
  /// sizes are one question.
  Index largest_chunk() const {
    if (cache_.reads == Cache::Reads::kKept) return tokens_;
    return query_.chunks.empty() ? 2 : *std::ranges::max_element(query_.chunks);
  }
  void compare(Range queries, PhaseResult& out,
               const std::function<PlacedQuery(Index q)>& place) const {
    sweep(cache_, rows_, queries, place, batch_, head_, out);
  }
  void listed_chunks(PhaseResult& out) {
    out.covered = fmt::format("chunks of {} from token 0", joined(query_.chunks, " and of "));
    for (const Index chunk : query_.chunks) {
      compare({0, tokens_}, out, [n = tokens_, chunk](Index q) {
        const Index cached = q / chunk * chunk;
        return PlacedQuery{{cached, std::min(chunk, n - cached)}, q - cached};
      });
    }
  }

  MaskRows rows_;
  const Cache& cache_;
  const PhasesQuery& query_;
  Index tokens_, batch_, head_;
};

/// Why a library is not asked what is left once tokens are taken back; empty if it is.
const char* refused_rollback(const Cache& cache) {
  switch (cache.rollback) {
    case Cache::Rollback::kExact:
    case Cache::Rollback::kLoses:
      return "";
    case Cache::Rollback::kRefuses:
      return cache.last < Cache::kAll ? "the library takes nothing back once it has dropped tokens"
                                      : "";
    case Cache::Rollback::kNever:
      return "the library takes nothing back";
    case Cache::Rollback::kUnread:
      return "what the library takes back was not read in its source";
  }
  return "";
}

PhaseResult judged_ranks(const Mask& mask, const PhasesQuery& query) {
  PhaseResult out;
  out.phase = Phase::kRanks;
  out.parts = ring_sides(query.split, mask.queries(), query.ranks, false);
  take_declared(out.parts, mask);
  out.ranks = judge_parts(mask, out.parts, true);
  out.rows = mask.queries();
  out.wrong = out.ranks->ok(true) ? 0 : 1;
  out.covered = fmt::format("{} and their ring, each pair once", counted(query.ranks, "rank"));
  return out;
}

}  // namespace

const char* name_of(Phase phase) {
  switch (phase) {
    case Phase::kPrefill:
      return "prefill";
    case Phase::kChunks:
      return "chunks";
    case Phase::kDecode:
      return "decode";
    case Phase::kRollback:
      return "rollback";
    case Phase::kTree:
      return "tree";
    case Phase::kRanks:
      return "ranks";
    case Phase::kGiven:
      return "steps";
  }
  return "";
}

bool PhasesVerdict::holds() const { return first() == nullptr; }

const PhaseResult* PhasesVerdict::first() const {
  const auto found =
      std::ranges::find_if(phases, [](const PhaseResult& one) { return !one.holds(); });
  return found == phases.end() ? nullptr : &*found;
}

PhasesVerdict judge_phases(const Mask& mask, const Cache& cache, const PhasesQuery& query) {
  check(mask, cache, query);
  PhasesVerdict out;
  out.tokens = mask.queries();
  const auto begin = [&](Phase phase) {
    out.phases.emplace_back().phase = phase;
    return out.phases.size() - 1;
  };
  const bool several = out.tokens > 1;
  begin(Phase::kPrefill);
  const bool all_chunks =
      cache.reads == Cache::Reads::kKept && cache.several.of == SlotMask::Of::kPositions;
  if (several && (!query.chunks.empty() || all_chunks)) begin(Phase::kChunks);
  if (several) begin(Phase::kDecode);
  if (several && query.taken_back > 0) begin(Phase::kRollback);
  if (!query.tree.empty()) begin(Phase::kTree);
  std::vector<bool> seen(mask.distinct().size());
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index h = 0; h < mask.heads(); ++h) {
      if (seen[mask.index_of(b, h)]) continue;
      seen[mask.index_of(b, h)] = true;
      Judge judge(*mask.plane(b, h), cache, query, b, h);
      for (PhaseResult& phase : out.phases) {
        switch (phase.phase) {
          case Phase::kPrefill:
            judge.prefill(phase);
            break;
          case Phase::kChunks:
            phase.judged = cache.chunks_read;
            if (phase.judged) {
              judge.chunks(phase);
            } else {
              phase.covered = "how the library reads chunks was not read in its source";
            }
            break;
          case Phase::kDecode:
            judge.decode(phase);
            break;
          case Phase::kRollback:
            phase.covered = refused_rollback(cache);
            phase.judged = phase.covered.empty();
            if (phase.judged) judge.rollback(phase);
            break;
          case Phase::kTree:
            judge.tree(phase);
            break;
          case Phase::kRanks:
          case Phase::kGiven:
            break;
        }
      }
    }
  }
  for (PhaseResult& phase : out.phases) {
    if (phase.first) phase.first->why = why_text(cache, *phase.first);
  }
  if (query.ranks > 0) out.phases.push_back(judged_ranks(mask, query));
  return out;
}

}  // namespace maskctl
