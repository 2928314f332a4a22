// What the ranks of a ring, each on its own GPU, exchange in one call.
#pragma once

#include <vector>

#include "maskctl/attention/cuda/ring/ring.h"

namespace maskctl::attention::cuda {

/// A view of some rows (axis 1) of a contiguous array [B,rows,...] on this GPU.
MutableTensorView view_rows(const MutableTensorView& array, Range rows);
TensorView view_rows(const TensorView& array, Range rows);

/// A rank offers its keys and values, fetches those of other ranks in the order of its parts, and
/// returns gradients of keys to the ranks that own them. The rank that wants an array copies it, in
/// its own stream, after an event that the array's owner has recorded.
///
/// Several streams use memory of the workspace, so all of it is taken before begin().
class Peers {
 public:
  /// `row`: `floats` floats on the GPU, of which mean_row() computes the mean over all ranks; null
  /// if mean_row() will not be called. `gradients`: whether bring_home() will be called.
  Peers(Workspace& workspace, const RingProblem& problem, const RingSteps& steps, const float* row,
        Index floats, bool gradients);
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  /// Offers this rank's keys, values and `row` to the other ranks, and starts to fetch the keys of
  /// the first part.
  void begin();
  /// The workspace for the work on a part: the workspace of the call if the part has this rank's
  /// own keys, otherwise the workspace of one of the two lanes (RingSteps::Lane).
  Workspace& memory(std::size_t part) const;
  /// Returns the problem of a part, and makes the part's stream wait for the part's arrays. Also
  /// starts to fetch the arrays of the next part.
  SoftmaxProblem arrived(std::size_t part);
  /// Call it when all work on the part has been put into its stream.
  void done(std::size_t part) const;
  /// Makes the call's stream wait for the work on all parts.
  void join() const;

  /// Returns the mean over all ranks of the `row` that each gave to its constructor.
  const float* mean_row();

  /// This rank's share of the gradients of another rank's keys and values.
  struct KeyGradients {
    std::size_t part;
    const std::byte *key, *value;
  };
  /// Another rank's share of the gradients of this rank's keys and values, [B,keys,...].
  struct Home {
    Index step;
    Range keys;
    std::byte *key, *value;
  };
  /// Offers `gradients` (of other ranks' keys and values) to these ranks, and fetches the shares
  /// that they have computed of the gradients of this rank's keys and values, in the order of the
  /// steps. Makes the call's stream wait for these shares.
  const std::vector<Home>& bring_home(const std::vector<KeyGradients>& gradients);

  /// Makes the call's stream wait until the other ranks have copied what they need from this rank.
  void close();

 private:
  /// Arrays that another rank may copy once the event `ready` has happened.
  struct Offer {
    int gpu = 0;
    const std::byte* arrays[3] = {};
    EventHandle ready = nullptr;
  };
  struct Slot {
    std::byte *key = nullptr, *value = nullptr;
  };

  const std::deque<RingPart>& parts() const { return steps_.parts; }
  bool is_own(const RingPart& part) const { return part.owner == problem_.shard->rank(); }
  /// Sends to_each[r] to each partner r, and returns the entries that the partners sent here.
  /// Entries of other ranks are copied from `to_each`. Partners are RingSteps::partners or, if the
  /// constructor was given a `row`, all ranks.
  template <class T>
  std::vector<T> exchanged(const std::vector<T>& to_each) const;
  void fetch(std::size_t part);
  /// Copies the rows in `runs` to `to` from an array that a rank has offered. `from_rows` and
  /// `to_rows`: the rows that these two arrays hold.
  void copy_runs(const SeenKeys::Runs& runs, const Offer& from, int array, Range from_rows,
                 std::byte* to, Range to_rows);

  Workspace& workspace_;
  const RingProblem& problem_;
  const RingSteps& steps_;
  Index key_bytes_, value_bytes_;  // bytes of one key or value, in all heads
  const float* row_;
  Index floats_;
  float *rows_ = nullptr, *mean_ = nullptr;
  Slot slots_[2];
  std::vector<Home> home_;
  std::vector<Offer> offers_;  // one per rank
};

}  // namespace maskctl::attention::cuda
