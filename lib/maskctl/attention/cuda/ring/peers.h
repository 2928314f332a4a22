// What the ranks of a ring on GPUs do for each other in one call.
#pragma once

#include <vector>

#include "maskctl/attention/cuda/ring/ring.h"

namespace maskctl::attention::cuda {

/// A part of an array of rows, [B,rows,...] without gaps, of this GPU.
MutableTensorView view_rows(const MutableTensorView& array, Range rows);
TensorView view_rows(const TensorView& array, Range rows);

/// A rank offers its keys and values, fetches those of others in the order of its parts, and gives
/// gradients of keys back to their owners. Each transfer is a copy by the rank that wants it, in a
/// stream of its own, after what the other has recorded.
///
/// Several streams use memory of the workspace: all of it is taken before begin().
class Peers {
 public:
  /// `row`: so many floats for mean_row(); `gradients`: bring_home() will be called.
  Peers(Workspace& workspace, const RingProblem& problem, const RingSteps& steps, const float* row,
        Index floats, bool gradients);
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  /// Offers the rank's keys, values and row to the others, and starts to fetch the keys of the
  /// first part.
  void begin();
  /// Where the work on a part is done: the own keys' in the call's workspace.
  Workspace& memory(std::size_t part) const;
  /// The part with its arrays, for which its stream waits. Those of the next are fetched meanwhile.
  SoftmaxProblem arrived(std::size_t part);
  /// The part's stream has all work on it.
  void done(std::size_t part) const;
  /// The call's stream waits for the work on all parts.
  void join() const;

  /// The mean over all ranks of their `row`.
  const float* mean_row();

  /// What this rank gives to the gradients of another's keys.
  struct KeyGradients {
    std::size_t part;
    const std::byte *key, *value;
  };
  /// What another gives to those of this one's, [B,keys,...].
  struct Home {
    Index step;
    Range keys;
    std::byte *key, *value;
  };
  /// Those that others give, in the order of the steps; the call's stream waits for them.
  const std::vector<Home>& bring_home(const std::vector<KeyGradients>& gradients);

  /// The call's stream waits until the others have what they want of this one.
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
  /// What every partner has for this rank, given what this one has for each; with a row for
  /// mean_row() all are partners. Entries of others are as they were.
  template <class T>
  std::vector<T> exchanged(const std::vector<T>& to_each) const;
  void fetch(std::size_t part);
  /// From rows of an offered array to rows of `to`.
  void copy_runs(const SeenKeys::Runs& runs, const Offer& from, int array, Range from_rows,
                 std::byte* to, Range to_rows);

  Workspace& workspace_;
  const RingProblem& problem_;
  const RingSteps& steps_;
  Index key_bytes_, value_bytes_;  // of one key in all heads
  const float* row_;
  Index floats_;
  float *rows_ = nullptr, *mean_ = nullptr;
  Slot slots_[2];
  std::vector<Home> home_;
  std::vector<Offer> offers_;  // of each rank
};

}  // namespace maskctl::attention::cuda
