// Attention weights of one query, computed as it is visited.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>

#include "app/session/loader.h"
#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::app::tui {

/// The queries and keys whose weights are shown. Random ones are those of `attend attention --seed
/// N`.
struct WeightOptions {
  std::string query, key;  // SOURCEs of [B,Tq,Hq,D] and [B,Tk,Hkv,D]; empty: random
  std::uint64_t seed = 0;
};

/// The weights of one query, or why there are none.
struct WeightRow {
  Tensor weights;  // [heads, keys] f32; a query that sees no key has zeros
  std::string problem;

  std::span<const float> of(Index head) const;
};

/// Reads or makes queries and keys when they are first needed, and keeps the last rows.
class RowWeights {
 public:
  /// Throws Error(kInvalidArgument) when only one of the two arrays is named; the loader must
  /// outlive it.
  RowWeights(WeightOptions options, Loader& loader);

  /// Heads of the queries: those of the file, else those of the mask.
  Index heads(const Mask& mask);
  /// The row of a batch and query of the mask; valid until the one after the next is asked for.
  const WeightRow& row(const Mask& mask, Index batch, Index query);

 private:
  struct Kept {
    Mask mask;
    Index batch = 0, query = 0;
    WeightRow row = {};

    bool is_of(const Mask& other, Index in_batch, Index of_query) const;
  };
  void read();
  void make_random(const Mask& mask);
  Tensor weights(const Mask& mask, Index batch, Index query) const;

  const WeightOptions options_;
  Loader& loader_;
  std::optional<Tensor> query_, key_;
  std::string unreadable_;  // why there are none
  std::list<Kept> kept_;    // the most recent first
};

}  // namespace maskctl::app::tui
