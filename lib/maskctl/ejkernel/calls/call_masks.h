// Passes ejkernel's objects to attention calls: a MaskInfo or lazy masks become masks, ids and
// positions.
#pragma once

#include <functional>
#include <list>

#include "maskctl/attention/operations/blocksparse/blocksparse.h"
#include "maskctl/attention/operations/ring/ring.h"
#include "maskctl/ejkernel/lazy/lazy_mask.h"
#include "maskctl/ejkernel/mask_info/mask_info.h"

namespace maskctl::attention {

/// Passes a MaskInfo to attention calls. Must outlive those calls; not thread-safe.
class CallMask {
 public:
  explicit CallMask(const MaskInfo& info) : info_(info) {}
  CallMask(const CallMask&) = delete;
  CallMask& operator=(const CallMask&) = delete;

  /// Adds the MaskInfo's attention_mask to the options, so that the call also closes the cells
  /// which that mask closes. If no mask is stored, it is computed from the segment ids.
  template <class Options>
  void give(Options& options) {
    close(options.mask);
  }
  /// Sets the segment ids of `options` to those that the MaskInfo stores;
  /// options.mask.segment_padding applies to them. If the MaskInfo stores a mask, or the call has
  /// other ids, passes the MaskInfo's mask instead. Throws Error(kInvalidArgument) if axis_name is
  /// not the sequence axis of the MaskInfo.
  void give(RingAttentionOptions& options);
  /// Passes the MaskInfo's mask, if it stores one or has ids of both queries and keys. Unless the
  /// call has positions, also passes positions: the stored ones or, if the MaskInfo stores no mask,
  /// those computed from its ids.
  void give(BlocksparseAttentionOptions& options);

 private:
  void close(MaskArguments& mask);

  MaskInfo info_;
  QkvArrays positions_;
  std::list<Mask> masks_;
};

/// The mask of a lazy mask [Tq,Tk] or [Hq,Tq,Tk]; null if `mask` is null.
StaticMask static_mask(const lazy::MaskPtr& mask);
/// ejkernel's mask builder: returns a lazy mask [Tq,Tk] for each head.
using LazyMaskBuilder = std::function<lazy::MaskPtr(Index q_len, Index kv_len, Index num_heads,
                                                    Index head_index, Index num_reps)>;
MaskBuilder mask_builder(LazyMaskBuilder build);

}  // namespace maskctl::attention
