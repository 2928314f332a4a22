#include "maskctl/attention/cuda/blocks/block_plan.h"

#include <algorithm>
#include <numeric>

#include "maskctl/base/threads.h"

namespace maskctl::attention::cuda {
namespace {

/// Calls f(token, n, t, first) for each token of each sequence n: `token` is its index in [B,T],
/// `t` its index in the sequence, and `first` the index in [B,T] of the sequence's first token.
template <class F>
void for_each_token(const BlockProblem& c, F&& f) {
  for (std::size_t n = 0; n < c.sequences.size(); ++n) {
    const TokenSequence& s = c.sequences[n];
    const Index first = s.batch * c.d.queries + s.tokens.begin;
    for (Index t = 0; t < s.tokens.size(); ++t) f(first + t, n, t, first);
  }
}

/// For one sequence and key head: the tokens that see each block of keys, sorted by block. The
/// readers of block n end at index ends[n].
struct SequenceReaders {
  std::vector<KeyReader> readers;
  std::vector<Index> ends;
};

SequenceReaders readers_of(const BlockProblem& c, std::size_t n, Index u) {
  const Range tokens = c.sequences[n].tokens;
  std::vector<std::pair<Index, KeyReader>> found;
  SequenceReaders by_block;
  by_block.ends.resize(as_size(ceil_div(tokens.size(), c.block_size) + 1));
  for (Index t = 0; t < tokens.size(); ++t) {
    for (const KeyBlock& seen : c.blocks(n, t, u)) {
      const Index block = (seen.keys.begin - tokens.begin) / c.block_size;
      found.push_back(
          {block, {static_cast<std::int32_t>(t), static_cast<std::int32_t>(seen.times)}});
      ++by_block.ends[as_size(block) + 1];
    }
  }
  // After this sum, ends[n] is where the readers of block n begin. The loop below increments
  // ends[n] for each reader that it stores, so that finally ends[n] is where these readers end.
  std::partial_sum(by_block.ends.begin(), by_block.ends.end(), by_block.ends.begin());
  by_block.readers.resize(found.size());
  for (const auto& [block, reader] : found) {
    by_block.readers[as_size(by_block.ends[as_size(block)]++)] = reader;
  }
  by_block.ends.pop_back();
  return by_block;
}

}  // namespace

BlockPlan::BlockPlan(const BlockProblem& c, Stream stream)
    : offsets_(as_size(c.d.batch * c.d.queries)),
      indices_(c.indices.values(), stream),
      counts_(c.counts.values(), stream) {
  for_each_token(c, [&](Index token, std::size_t n, Index t, Index first) {
    offsets_[as_size(token)] = {first, c.indices.row(n, t),
                                c.counts.empty() ? 0 : c.counts.row(n, t)};
  });
  device_offsets_ = {offsets_, stream};
  lists_ = {device_offsets_.data(),
            indices_.data(),
            c.counts.empty() ? nullptr : counts_.data(),
            c.indices.width(),
            c.count,
            c.d.kv_heads,
            std::min(c.block_size, std::max<Index>(c.d.queries, 1)),
            !c.counts_duplicates};
}

BlockGradientPlan::BlockGradientPlan(const BlockProblem& c, Stream stream) : plan_(c, stream) {
  const Index heads = c.d.kv_heads;
  std::vector<SequenceReaders> parts(c.sequences.size() * as_size(heads));
  parallel_for(static_cast<Index>(parts.size()),
               [&](Index i) { parts[as_size(i)] = readers_of(c, as_size(i / heads), i % heads); });
  Index total = 0;
  for (const SequenceReaders& part : parts) total += static_cast<Index>(part.readers.size());
  // The readers are split into about kPieces pieces: enough to fill the GPU, also when one block of
  // keys is seen by all tokens. More pieces would take more memory for partial sums.
  constexpr Index kPieces = 1024, kLeastReaders = 16;
  const Index readers_of_tile = std::max(kLeastReaders, ceil_div(total, kPieces));
  readers_.reserve(as_size(total));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const TokenSequence& s = c.sequences[i / as_size(heads)];
    const Index before = static_cast<Index>(readers_.size());
    readers_.insert(readers_.end(), parts[i].readers.begin(), parts[i].readers.end());
    Index begin = 0, block = 0;
    for (const Index end : parts[i].ends) {
      const Range keys{block * c.block_size, std::min((block + 1) * c.block_size, s.tokens.size())};
      add_tiles({s.batch * c.d.queries + s.tokens.begin,
                 keys,
                 static_cast<Index>(i) % heads,
                 {before + begin, before + end},
                 -1},
                readers_of_tile);
      begin = end, ++block;
    }
    parts[i] = {};
  }
  device_readers_ = {readers_, stream};
  device_tiles_ = {tiles_, stream};
  device_splits_ = {splits_, stream};
}

void BlockGradientPlan::add_tiles(const KeyTile& block, Index readers_of_tile) {
  const Index pieces = ceil_div(block.readers.size(), readers_of_tile);
  for (Index key = block.keys.begin; pieces > 0 && key < block.keys.end; key += kTileKeys) {
    KeyTile tile = block;
    tile.keys = {key, std::min(key + kTileKeys, block.keys.end)};
    if (pieces > 1) {
      splits_.push_back({tile.first + key, tile.keys.size(), tile.u, {slots_, slots_ + pieces}});
    }
    for (Index piece = 0; piece < pieces; ++piece) {
      tile.readers.begin = block.readers.begin + piece * readers_of_tile;
      tile.readers.end = std::min(tile.readers.begin + readers_of_tile, block.readers.end);
      if (pieces > 1) tile.slot = slots_++;
      tiles_.push_back(tile);
    }
  }
}

SelectionPlan::SelectionPlan(const SelectionProblem& problem, Stream stream)
    : offsets_(as_size(problem.blocks->d.batch * problem.blocks->d.queries)) {
  const BlockProblem& c = *problem.blocks;
  for_each_token(c, [&](Index token, std::size_t n, Index t, Index first) {
    offsets_[as_size(token)] = {
        first, c.sequences[n].batch * problem.mean_keys.extent(1) + (*problem.first_blocks)[n]};
    most_blocks_ = std::max(most_blocks_, t / c.block_size + 1);
  });
  device_offsets_ = {offsets_, stream};
}

}  // namespace maskctl::attention::cuda
