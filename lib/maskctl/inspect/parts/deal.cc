#include "maskctl/inspect/parts/deal.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/error.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/words.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

Mask causal_mask(Index tokens) { return Mask(diagonal_band(tokens, tokens, -kUnbounded, 0)); }

/// The tokens of each row of [P,S], which holds -1 where there is none.
std::vector<PartSide> sides_of(const Tensor& all, const char* what) {
  if (all.rank() != 2 || all.elements() == 0) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("{} of shape {}: expected [parts, tokens], -1 where a place holds none",
                            what, shape_text(all.shape())));
  }
  const auto numbers = as_int64(all, what);
  const Index length = all.extent(1);
  std::vector<PartSide> out(as_size(all.extent(0)));
  for (Index i = 0; i < std::ssize(numbers); ++i) {
    if (numbers[as_size(i)] == -1) continue;
    PartSide& side = out[as_size(i / length)];
    append_index(numbers[as_size(i)], side.tokens);
    append_index(i % length, side.places);
  }
  return out;
}

}  // namespace

Indices tokens_of_rank(Split split, Index tokens, Index ranks, Index rank) {
  Indices out;
  const auto part = [&](Index parts, Index i) {
    const Index begin = i * tokens / parts;
    append_progression({begin, 1, (i + 1) * tokens / parts - begin}, out);
  };
  switch (split) {
    case Split::kContiguous:
      part(ranks, rank);
      break;
    case Split::kZigzag:
      part(2 * ranks, rank);
      part(2 * ranks, 2 * ranks - 1 - rank);
      break;
    case Split::kStriped:
      append_progression({rank, ranks, ceil_div(std::max<Index>(tokens - rank, 0), ranks)}, out);
      break;
  }
  return out;
}

std::vector<ComputedPart> ring_sides(Split split, Index tokens, Index ranks, bool all_keys) {
  std::vector<ComputedPart> out;
  for (Index rank = 0; rank < ranks; ++rank) {
    const PartSide q = side_of(tokens_of_rank(split, tokens, ranks, rank));
    for (Index step = 0; step < (all_keys ? 1 : ranks); ++step) {
      const Index owner = (rank - step + ranks) % ranks;
      out.push_back(
          {all_keys ? fmt::format("rank {}", rank) : fmt::format("rank {}, step {}", rank, step),
           q,
           side_of(all_keys ? Indices{{0, 1, tokens}}
                            : tokens_of_rank(split, tokens, ranks, owner)),
           {}});
    }
  }
  return out;
}

std::vector<ComputedPart> given_sides(const Tensor& q, const Tensor& kv) {
  std::vector<PartSide> rows = sides_of(q, "tokens of queries");
  std::vector<PartSide> columns = sides_of(kv, "tokens of keys");
  if (rows.size() != columns.size()) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("queries of {} parts beside keys of {}", rows.size(), columns.size()));
  }
  std::vector<ComputedPart> out;
  for (std::size_t part = 0; part < rows.size(); ++part) {
    out.push_back(
        {fmt::format("part {}", part), std::move(rows[part]), std::move(columns[part]), {}});
  }
  return out;
}

void take_batches(std::vector<ComputedPart>& parts, const Mask& mask) {
  if (mask.batch() != std::ssize(parts)) {
    throw Error(Errc::kShape,
                fmt::format("masks of {} parts (batch entries): expected {}, from {} "
                            "to {}",
                            mask.batch(), parts.size(), parts.front().name, parts.back().name));
  }
  for (Index part = 0; part < mask.batch(); ++part) {
    parts[as_size(part)].mask =
        sliced(mask, {part, part + 1}, {0, mask.heads()}, {0, mask.queries()}, {0, mask.keys()});
  }
}

void take_declared(std::vector<ComputedPart>& parts, const Mask& declared) {
  for (ComputedPart& part : parts) {
    part.mask = declared.map(
        [&](const PlanePtr& plane) { return taken(plane, part.q.tokens, part.kv.tokens); });
    part.q = side_of(std::move(part.q.tokens));
    part.kv = side_of(std::move(part.kv.tokens));
  }
}

std::vector<ComputedPart> rollouts_of(const Mask& tree) {
  const Plane& plane = *tree.plane(0, 0);
  std::vector<bool> is_parent(as_size(plane.queries()));
  const auto each_path = [&](const auto& f) {
    std::vector<Run> scratch;
    plane.rows({0, plane.queries()}, [&](Range rows, const Keys& keys) {
      const auto runs = as_runs(keys, scratch);
      for (Index token = rows.begin; token < rows.end; ++token) {
        if (!runs.empty()) f(token, runs);
      }
    });
  };
  each_path([&](Index token, std::span<const Run> runs) {
    for (const Run& run : runs) {
      // All of a path but its own token; they were marked already where the one before was.
      const Index last = run.end - 1 == token ? run.end - 2 : run.end - 1;
      for (Index i = last; i >= run.begin && !is_parent[as_size(i)]; --i)
        is_parent[as_size(i)] = true;
    }
  });
  std::vector<ComputedPart> out;
  each_path([&](Index token, std::span<const Run> runs) {
    if (is_parent[as_size(token)]) return;
    Indices path;
    for (const Run& run : runs) append_progression({run.begin, 1, run.end - run.begin}, path);
    const Mask mask = causal_mask(count_of(path));
    const PartSide side = side_of(std::move(path));
    out.push_back({fmt::format("rollout to token {}", token), side, side, mask});
  });
  return out;
}

std::vector<ComputedPart> rollouts_of(const Tensor& tokens) {
  std::vector<ComputedPart> out;
  for (PartSide& one : sides_of(tokens, "rollouts")) {
    const PartSide side = side_of(std::move(one.tokens));
    const Mask mask = causal_mask(count_of(side.tokens));
    out.push_back({fmt::format("rollout {}", out.size()), side, side, mask});
  }
  return out;
}

std::vector<ComputedPart> sampler_parts(Index tokens, Index size) {
  std::vector<ComputedPart> out;
  const auto add = [&](std::string name, Range q, Indices keys) {
    const Mask mask = full_mask(1, 1, q.size(), count_of(keys));
    out.push_back(
        {std::move(name), side_of({{q.begin, 1, q.size()}}), side_of(std::move(keys)), mask});
  };
  for (Index block = 0; block * size < tokens; ++block) {
    const Range at{block * size, std::min((block + 1) * size, tokens)};
    Indices keys{{at.begin, 1, at.size()}};
    append_progression({tokens, 1, at.begin}, keys);
    add(fmt::format("block {}", block), at, std::move(keys));
    add(fmt::format("block {}, kept", block), {tokens + at.begin, tokens + at.end},
        {{tokens, 1, at.end}});
  }
  return out;
}

}  // namespace maskctl
