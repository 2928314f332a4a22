// Small random masks of every kind of plane with their dense twins, and random arrays, for the
// inspect tests.
#pragma once

#include <string>
#include <vector>

#include "maskctl/pipeline/load.h"
#include "maskctl/tensor/tensor.h"
#include "support/leaf_maker.h"
#include "support/tensors.h"

namespace maskctl::test {

struct MaskPair {
  Mask mask;
  twin::Dense dense;
};

/// A random mask of at most two batch entries and two heads, whose planes may be shared.
inline MaskPair random_mask(std::mt19937& random, Index queries, Index keys) {
  const twin::Pick pick = twin::pick_from(random);
  const Index batch = pick(1, 2), heads = pick(1, 2);
  std::vector<twin::Pair> planes;
  for (Index i = pick(1, 3); i > 0; --i) {
    planes.push_back(
        twin::make_leaf(static_cast<twin::Leaf>(pick(0, twin::kLeaves - 1)), pick, queries, keys));
  }
  MaskPair out{{}, twin::Dense(batch, heads, queries, keys)};
  out.mask = Mask::make(batch, heads, queries, keys, [&](Index b, Index h) {
    const auto& [plane, dense] = planes[static_cast<std::size_t>(b * heads + h) % planes.size()];
    for (Index q = 0; q < queries; ++q) {
      for (Index k = 0; k < keys; ++k) out.dense.set(b, h, q, k, dense.get(q, k));
    }
    return plane;
  });
  return out;
}

/// Random ids -1 (padding), 0, 1 and 2, in stretches of up to 4 tokens; ids recur.
inline Tensor random_ids(std::mt19937& random, Index batch, Index tokens) {
  Tensor out(DType::kInt32, {batch, tokens});
  std::int32_t id = 0;
  Index left = 0;
  for (std::int32_t& value : out.as<std::int32_t>()) {
    if (left-- == 0) {
      id = static_cast<std::int32_t>(random() % 4) - 1;
      left = static_cast<Index>(random() % 4);
    }
    value = id;
  }
  return out;
}

/// A chain from the text of steps that read no arrays.
inline Chain chain_of(const std::string& text) { return load_chain(std::span(&text, 1), {}); }

inline Mask made(Index queries, Index keys, const std::string& text) {
  return maskctl::apply(Mask(full_plane(queries, keys)), chain_of(text));
}

}  // namespace maskctl::test
