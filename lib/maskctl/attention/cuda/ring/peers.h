// What the ranks of a ring on GPUs do for each other in one call.
#pragma once

#include <vector>

#include "maskctl/attention/cuda/ring/ring.h"

namespace maskctl::attention::cuda {

/// A view of some rows of an array [B,rows,...] without gaps, on this GPU.
MutableTensorView view_rows(const MutableTensorView& array, Range rows);
TensorView view_rows(const TensorView& array, Range rows);

/// A rank offers its keys and values, fetches those of other ranks in the order of its parts, and
/// returns gradients of keys to their owners. The rank that wants an array copies it, in a stream
/// of its own, after the event that the other rank has recorded.
///
/// Several streams use memory of the workspace: all of it is taken before begin().
class Peers {
 public:
  /// `row`: `floats` floats for mean_row(), or null; `gradients`: bring_home() will be called.
  Peers(Workspace& workspace, const RingProblem& problem, const RingSteps& steps, const float* row,
        Index floats, bool gradients);
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  /// Offers the rank's keys, values and row to the others, and starts to fetch the keys of the
  /// first part.
  void begin();
  /// The workspace for the work on a part: the call's own for this rank's keys, else a lane's.
  Workspace& memory(std::size_t part) const;
  /// The problem of a part, for whose arrays its stream waits. Starts to fetch those of the next
  /// part.
  SoftmaxProblem arrived(std::size_t part);
  /// All work on the part is in its stream.
  void done(std::size_t part) const;
  /// The call's stream waits for the work on all parts.
  void join() const;

  /// The mean over all ranks of their `row`.
  const float* mean_row();

  /// This rank's share of the gradients of another rank's keys.
  struct KeyGradients {
    std::size_t part;
    const std::byte *key, *value;
  };
  /// Another rank's share of the gradients of this rank's keys, [B,keys,...].
  struct Home {
    Index step;
    Range keys;
    std::byte *key, *value;
  };
  /// Offers this rank's shares and fetches the other ranks', in the order of the steps; the call's
  /// stream waits for them.
  const std::vector<Home>& bring_home(const std::vector<KeyGradients>& gradients);

  /// The call's stream waits until the other ranks have copied what they want from this one.
  void close();

 private:
  /// Arrays that another rank may copy once `ready` has happened.
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
  /// Sends each partner its entry and returns the entries that partners sent to this rank; with a
  /// row for mean_row() all ranks are partners. Entries of other ranks stay as they are.
  template <class T>
  std::vector<T> exchanged(const std::vector<T>& to_each) const;
  void fetch(std::size_t part);
  /// Copies runs from rows of an offered array to rows of `to`.
  void copy_runs(const SeenKeys::Runs& runs, const Offer& from, int array, Range from_rows,
                 std::byte* to, Range to_rows);

  Workspace& workspace_;
  const RingProblem& problem_;
  const RingSteps& steps_;
  Index key_bytes_, value_bytes_;  // bytes of one key, or value, in all heads
  const float* row_;
  Index floats_;
  float *rows_ = nullptr, *mean_ = nullptr;
  Slot slots_[2];
  std::vector<Home> home_;
  std::vector<Offer> offers_;  // by rank
};

}  // namespace maskctl::attention::cuda
