// Computes the attention weights of one query when the cursor visits it.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>

#include "app/session/loader.h"
#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::app::tui {

/// The query and key arrays from which weights are computed. Random arrays are the same as those of
/// `attend attention --seed N`.
struct WeightOptions {
  std::string query, key;  // SOURCEs of [B,Tq,Hq,D] and [B,Tk,Hkv,D]; empty: random
  std::uint64_t seed = 0;
};

/// The weights of one query, or in `problem` the reason why there are none.
struct WeightRow {
  Tensor weights;  // [heads, keys], float32; zeros for a query that sees no key
  std::string problem;

  std::span<const float> of(Index head) const;
};

/// Reads or generates the query and key arrays when they are first needed, and caches the last
/// rows.
class RowWeights {
 public:
  /// Throws Error(kInvalidArgument) if only one of the two arrays is given. The loader must outlive
  /// this object.
  RowWeights(WeightOptions options, Loader& loader);

  /// The number of query heads: that of the query array if it is read from a file, else that of the
  /// mask.
  Index heads(const Mask& mask);
  /// The weights for a batch and query of the mask. The reference is valid until two other rows
  /// have been computed.
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
  std::string unreadable_;  // why the arrays could not be read
  std::list<Kept> kept_;    // rows, the most recent first
};

}  // namespace maskctl::app::tui
