// Predicts, without GPUs, what a ring of H200s should reach: for each mask, number of GPUs and
// assignment, the share of ideal that bench_cuda_ring measures, and what limits it.
// usage: ring_model [TOKENS]   tokens per GPU (16384)
//
// In the model a kernel call is a list of tiles, which multiprocessors take longest first. A rank's
// call on its own keys begins at once. Its calls on other ranks' keys begin when these have come,
// one owner after the other, and alternate between two streams. In the forward pass blocks stay on
// their multiprocessor until their call has no tile left, so that calls follow each other; in the
// backward pass tiles of keys that have come go before tiles of own keys. Each call costs kLaunch;
// rows to which several calls contribute are read and written once more; gradients travel home to
// their owners. Not in the model: how long GPUs wait for each other at the begin and the end of a
// call, and what transfers take from the memory's bandwidth.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <queue>
#include <string>
#include <vector>

#include "gpu_cases.h"
#include "maskctl/attention/ring/assign.h"
#include "maskctl/attention/ring/query_tiles.h"

namespace {

using namespace maskctl;
using namespace maskctl::attention;

constexpr Index kHeads = 16, kDim = 128;
constexpr double kRowBytes = kHeads * kDim * 2;  // bytes of a query, key or value, all heads
constexpr int kMultiprocessors = 132;
constexpr double kLink = 387e9, kMemory = 4e12;  // bytes a second
constexpr double kLaunch = 10e-6;

/// The costs of a pass on one multiprocessor. `tile`: the seconds for a tile of 128 queries and 128
/// keys of a head, at 620 (forward) and 518 (backward) TFLOP/s of all multiprocessors together;
/// `beside`: the fixed cost, in tiles, of an item of work (the open tiles in a row or column of
/// tiles), from the rate measured under documents.
struct Pass {
  double tile, beside;
  double seconds(Index tiles) const { return tile * (static_cast<double>(tiles) + beside); }
};
constexpr Pass kForward{1.79e-6, 1.2}, kBackward{5.34e-6, 1.5};

/// The work on one owner's keys: how many tiles of these keys each tile of queries sees, and how
/// many tiles of queries see each tile of keys.
struct Part {
  std::vector<Index> of_queries, of_keys;
  double bytes = 0;  // keys and values that a rank fetches

  bool empty() const { return of_queries.empty(); }
};

/// A rank's work on the keys of each owner; its own keys come first.
struct Rank {
  std::vector<Part> parts;
  Index tiles = 0, calls = 0;
  double merged_rows = 0, added_rows = 0;
};

/// Counts the tiles of `keys` that each tile of queries sees, and the reverse; leaves out zeros.
Part part_of_owner(const std::vector<QueryTile>& queries, Range keys) {
  Part part;
  std::vector<Index> seen(as_size(keys.size()));
  for (const QueryTile& tile : queries) {
    Index count = 0;
    for (const Range& range : tile.keys) {
      for (Index k = std::max(range.begin, keys.begin); k < std::min(range.end, keys.end); ++k) {
        ++count, ++seen[as_size(k - keys.begin)];
      }
    }
    if (count > 0) part.of_queries.push_back(count);
  }
  std::ranges::copy_if(seen, std::back_inserter(part.of_keys), [](Index n) { return n > 0; });
  part.bytes = static_cast<double>(std::ssize(part.of_keys) * kDealtTile) * 2 * kRowBytes;
  return part;
}

Rank rank_of(const Mask& mask, const std::vector<Range>& share, Index ranks, Index r) {
  Rank rank;
  const Mask own = rows_of(mask, share);
  const std::vector<QueryTile> queries = query_tiles(own, {{0, own.queries()}});
  for (const QueryTile& tile : queries) rank.tiles += tile.cost;
  Index parts_of_tiles = 0;
  for (Index t = 0; t < ranks; ++t) {
    const Range keys = part_of(ceil_div(mask.keys(), kDealtTile), ranks, (r - t + ranks) % ranks);
    rank.parts.push_back(part_of_owner(queries, keys));
    rank.calls += !rank.parts.back().empty();
    parts_of_tiles += std::ssize(rank.parts.back().of_queries);
    if (t > 0) rank.added_rows += static_cast<double>(rank.parts.back().of_queries.size()) * 128;
  }
  rank.merged_rows = static_cast<double>(parts_of_tiles - std::ssize(queries)) * kDealtTile;
  return rank;
}

/// A kernel call: the seconds of its items (the open tiles in a row or column of tiles, for each
/// head), the longest first.
struct Call {
  double begin = 0, end = 0;
  std::vector<double> items;
  std::size_t next = 0;

  bool is_done() const { return next == items.size(); }
};
Call call_of(const std::vector<Index>& tiles, const Pass& pass, double begin) {
  Call call{begin, begin, {}};
  for (const Index n : tiles) call.items.insert(call.items.end(), kHeads, pass.seconds(n));
  std::ranges::sort(call.items, std::greater<>());
  return call;
}

constexpr std::size_t kStreams = 2;  // streams for calls on other ranks' keys

/// The time at which a call can go on: its keys have come, and the calls before it in its stream
/// have ended. Infinity if it is done, or if one before it is not.
double ready(const std::vector<Call>& calls, std::size_t i) {
  if (calls[i].is_done()) return INFINITY;
  double at = calls[i].begin;
  for (std::size_t n = i; i > 0 && n > kStreams; n -= kStreams) {
    const Call& before = calls[n - kStreams];
    if (!before.is_done()) return INFINITY;
    at = std::max(at, before.end);
  }
  return at;
}

/// Runs all calls on all multiprocessors; returns the time at which the last one ends. The first
/// call is the one on the rank's own keys.
double run(std::vector<Call>& calls, bool others_first) {
  const std::vector<double> idle(kMultiprocessors);
  std::priority_queue free(idle.begin(), idle.end(), std::greater<double>());
  double latest = 0;
  while (true) {
    std::size_t chosen = 0;
    double now = INFINITY;
    for (std::size_t n = 0; n < calls.size(); ++n) {
      const std::size_t i = others_first ? (n + 1) % calls.size() : n;
      const double begin = std::max(free.top(), ready(calls, i));
      if (begin < now) chosen = i, now = begin;
    }
    if (now == INFINITY) return latest;
    free.pop();
    Call& call = calls[chosen];
    const double end = now + call.items[call.next++];
    call.end = std::max(call.end, end), latest = std::max(latest, end);
    free.push(end);
  }
}

/// For each rank the seconds that a byte takes from it to a reader, as all its readers share its
/// link.
std::vector<double> seconds_of_byte(const std::vector<Rank>& ranks) {
  const std::size_t n = ranks.size();
  std::vector<double> seconds(n);
  for (std::size_t r = 0; r < n; ++r) {
    for (std::size_t t = 1; t < n; ++t) {
      if (!ranks[r].parts[t].empty()) seconds[(r + n - t) % n] += 1 / kLink;
    }
  }
  return seconds;
}

/// The seconds that each rank takes for a pass.
std::vector<double> seconds(const std::vector<Rank>& ranks, bool is_backward) {
  const std::size_t n = ranks.size();
  const std::vector<double> of_byte = seconds_of_byte(ranks);
  // The times at which the work of each rank ends, and at which the gradients have come to their
  // owners.
  std::vector<double> ends(n), homes(n);
  for (std::size_t r = 0; r < n; ++r) {
    const Rank& rank = ranks[r];
    const auto owner = [&](std::size_t t) { return (r + n - t) % n; };
    std::vector<Call> calls;
    double begin = 0;
    for (std::size_t t = 0; t < n; ++t) {
      const Part& part = rank.parts[t];
      if (t > 0) begin += part.bytes * of_byte[owner(t)];
      calls.push_back(is_backward ? call_of(part.of_keys, kBackward, begin)
                                  : call_of(part.of_queries, kForward, begin));
    }
    const double rows = is_backward ? rank.added_rows : rank.merged_rows;
    ends[r] = run(calls, is_backward) + kLaunch * static_cast<double>(rank.calls) +
              3 * kRowBytes * rows / kMemory;
    for (std::size_t t = 1; t < n && is_backward; ++t) {
      double& home = homes[owner(t)];
      if (rank.parts[t].empty()) continue;
      home = std::max(home, calls[t].end) + rank.parts[t].bytes * (1 / kLink + 3 / kMemory);
    }
  }
  std::ranges::transform(ends, homes, ends.begin(),
                         [](double end, double home) { return std::max(end, home); });
  return ends;
}

double of_ideal(const Mask& mask, const std::vector<Rank>& ranks, bool both) {
  const std::vector<Rank> one{rank_of(mask, {{0, mask.queries()}}, 1, 0)};
  double ideal = 0, seen = 0;
  for (const bool is_backward : {false, true}) {
    if (is_backward && !both) continue;
    ideal += seconds(one, is_backward)[0] / static_cast<double>(ranks.size());
    seen += std::ranges::max(seconds(ranks, is_backward));
  }
  return ideal / seen;
}

void print_line(const std::string& name, const Mask& mask, Assign assign, Index gpus) {
  std::vector<Rank> ranks;
  Index tiles = 0, most = 0, calls = 0;
  std::size_t stretches = 0;
  double bytes = 0;
  const Shares shares = assigned_queries(assign, mask, gpus);
  for (Index r = 0; r < gpus; ++r) {
    ranks.push_back(rank_of(mask, shares[as_size(r)], gpus, r));
    const Rank& rank = ranks.back();
    tiles += rank.tiles, most = std::max(most, rank.tiles), calls = std::max(calls, rank.calls);
    stretches += shares[as_size(r)].size();
    double fetched = 0;
    for (std::size_t t = 1; t < rank.parts.size(); ++t) fetched += rank.parts[t].bytes;
    bytes = std::max(bytes, fetched);
  }
  fmt::print("| {} | {} | {} | {:.2f} | {} | {} | {:.0f} | {:.2f} | {:.2f} |\n", name, gpus,
             kAssignWords[static_cast<std::size_t>(assign)],
             static_cast<double>(most * gpus) / static_cast<double>(tiles), stretches, calls,
             bytes / (1 << 20), of_ideal(mask, ranks, false), of_ideal(mask, ranks, true));
}

void print_table(Index tokens_per_gpu) {
  fmt::print(
      "| mask | GPUs | assignment | most/mean tiles | stretches of all | most calls | most MiB "
      "fetched | forward of ideal | both |\n|---|---|---|---|---|---|---|---|---|\n");
  for (const Index gpus : {2, 4}) {
    const Index tokens = gpus * tokens_per_gpu;
    std::vector<std::pair<std::string, Mask>> masks;
    masks.emplace_back("causal", Mask(bench::causal(tokens)));
    masks.emplace_back("16 documents", Mask(bench::documents(tokens)));
    for (unsigned seed = 1; seed <= 6; ++seed) {
      masks.emplace_back(fmt::format("seed {}", seed), Mask(bench::random_documents(tokens, seed)));
    }
    for (const auto& [name, mask] : masks) {
      for (const Assign assign :
           {Assign::kContiguous, Assign::kZigzag, Assign::kStriped, Assign::kBalanced}) {
        print_line(name, mask, assign, gpus);
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Index tokens = argc > 1 ? std::atoll(argv[1]) : 16384;
  if (argc > 2 || tokens < kDealtTile || tokens % kDealtTile != 0) {
    std::fputs("usage: ring_model [TOKENS], a multiple of 128\n", stderr);
    return 2;
  }
  print_table(tokens);
  return 0;
}
