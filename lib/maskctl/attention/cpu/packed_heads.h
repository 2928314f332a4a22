// K and V of the key heads of one call, packed for products when tasks first need them.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "maskctl/attention/cpu/heads.h"
#include "maskctl/base/buffer_pool.h"

namespace maskctl::attention {

/// One key head, shared by tasks: the one that first needs some keys packs them, and so has them in
/// its own cache.
class PackedHead {
 public:
  static constexpr Index kUnit = 64;  // keys that are packed at once; a multiple of kColumnGroup
  /// Key head number b * kv_heads + u; `call` must outlive it.
  PackedHead(const CpuCall& call, Index head);
  /// Packs the keys of this range that are not packed yet.
  void need(Range keys);
  /// Keys from j on as columns (pack_columns); j is a multiple of kColumnGroup.
  const float* keys(Index j) const { return keys_ + j * d_.dim; }
  /// Values from key j on as rows (pack_rows), in panels of panel_rows() rows.
  const float* values(Index j) const { return values_ + j * panel_; }
  Index panel_rows() const { return panel_rows_; }

 private:
  void pack(Index first);
  /// Returns whether everything it packed is finite.
  bool pack(const HeadRows& rows, Index first);

  const Dims& d_;
  HeadRows rows_, clean_rows_;
  Index panel_, panel_rows_;
  PooledBuffer memory_;
  float *keys_, *values_;
  std::vector<std::once_flag> packed_;  // one per unit of keys
  std::once_flag cleaned_;
};

/// All key heads of a call, each kept in memory from its first task to its last.
class PackedHeads {
 public:
  /// Each head will be taken `tasks` times.
  PackedHeads(const CpuCall& call, Index tasks);
  std::shared_ptr<PackedHead> take(Index head);

 private:
  struct Head {
    std::shared_ptr<PackedHead> packed;
    Index tasks = 0;  // tasks still to come
  };
  const CpuCall& call_;
  std::mutex mutex_;
  std::vector<Head> heads_;
};

}  // namespace maskctl::attention
