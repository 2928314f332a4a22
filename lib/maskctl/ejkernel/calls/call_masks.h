// What calls take of ejkernel's objects: a MaskInfo and lazy masks as masks, ids and positions.
#pragma once

#include <functional>
#include <list>

#include "maskctl/attention/operations/blocksparse/blocksparse.h"
#include "maskctl/attention/operations/ring/ring.h"
#include "maskctl/ejkernel/lazy/lazy_mask.h"
#include "maskctl/ejkernel/mask_info/mask_info.h"

namespace maskctl::attention {

/// What calls take of a MaskInfo. Lives as long as the calls that it was given to; safe for one
/// thread.
class CallMask {
 public:
  explicit CallMask(const MaskInfo& info) : info_(info) {}
  CallMask(const CallMask&) = delete;
  CallMask& operator=(const CallMask&) = delete;

  /// Its attention_mask, computed from its segment ids when it stores none, closes further cells.
  template <class Options>
  void give(Options& options) {
    close(options.mask);
  }
  /// Its stored segment ids, which follow segment_padding; with a stored mask, or beside other ids,
  /// its mask. Throws Error(kInvalidArgument) for an axis_name that is not its sequence axis.
  void give(RingAttentionOptions& options);
  /// Its mask, if it stores one or ids for both sides; and unless the call has positions, those
  /// that it stores, or that its ids give when it stores no mask.
  void give(BlocksparseAttentionOptions& options);

 private:
  void close(MaskArguments& mask);

  MaskInfo info_;
  QkvArrays positions_;
  std::list<Mask> masks_;
};

/// A lazy mask [Tq,Tk] or [Hq,Tq,Tk]; null for none.
StaticMask static_mask(const lazy::MaskPtr& mask);
/// ejkernel's builder: gives a lazy mask [Tq,Tk] for each head.
using LazyMaskBuilder = std::function<lazy::MaskPtr(Index q_len, Index kv_len, Index num_heads,
                                                    Index head_index, Index num_reps)>;
MaskBuilder mask_builder(LazyMaskBuilder build);

}  // namespace maskctl::attention
