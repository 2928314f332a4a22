// K and V of the key heads of a call, packed for matrix products when a task first needs them.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "maskctl/attention/cpu/heads.h"
#include "maskctl/base/buffer_pool.h"

namespace maskctl::attention {

/// One key head, shared by tasks. The first task that needs some keys packs them, so they are then
/// in the cache of its core.
class PackedHead {
 public:
  static constexpr Index kUnit = 64;  // keys packed at a time; a multiple of kColumnGroup
  /// `head` is b * kv_heads + u; `call` must outlive this object.
  PackedHead(const CpuCall& call, Index head);
  /// Packs the keys in this range that are not packed yet.
  void need(Range keys);
  /// The keys from j on, packed by pack_columns(); j must be a multiple of kColumnGroup.
  const float* keys(Index j) const { return keys_ + j * d_.dim; }
  /// The values from key j on, packed by pack_rows() in panels of panel_rows() rows.
  const float* values(Index j) const { return values_ + j * panel_; }
  Index panel_rows() const { return panel_rows_; }

 private:
  void pack(Index first);
  /// Packs kUnit keys and their values, from key `first` on. Returns whether all of them are
  /// finite.
  bool pack(const HeadRows& rows, Index first);

  const Dims& d_;
  HeadRows rows_, clean_rows_;
  Index panel_, panel_rows_;
  PooledBuffer memory_;
  float *keys_, *values_;
  std::vector<std::once_flag> packed_;  // one per kUnit keys
  std::once_flag cleaned_;
};

/// All key heads of a call. Each is kept in memory from the first take() to the last.
class PackedHeads {
 public:
  /// `tasks`: how many times take() will be called for each head.
  PackedHeads(const CpuCall& call, Index tasks);
  std::shared_ptr<PackedHead> take(Index head);

 private:
  struct Head {
    std::shared_ptr<PackedHead> packed;
    Index tasks = 0;  // calls of take() still to come
  };
  const CpuCall& call_;
  std::mutex mutex_;
  std::vector<Head> heads_;
};

}  // namespace maskctl::attention
