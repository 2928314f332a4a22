// What ranks send each other: the keys that another rank's queries see, and gradients back.
#pragma once

#include <vector>

#include "maskctl/attention/ring/shard.h"

namespace maskctl::attention {

/// The tensors of all ranks, by rank.
std::vector<Tensor> gathered(Communicator& ring, const Tensor& own);

/// Which keys ranks see of each other, from one rank's side.
class SeenKeys {
 public:
  using Runs = std::vector<std::vector<Range>>;  // RingShard::seen_keys

  explicit SeenKeys(const RingShard& shard);
  /// The keys of the owner at step t that this rank's queries see.
  const Runs& wanted(Index t) const { return wanted_[as_size(t)]; }
  /// The keys of this rank that the reader at step t sees.
  const Runs& sent(Index t) const { return sent_[as_size(t)]; }
  bool any_wanted(Index t) const;

 private:
  std::vector<Runs> wanted_, sent_;
};

/// The stretch of keys around the runs of all batches.
Range around(const SeenKeys::Runs& runs);

/// An f32 array of zeros like [B, T, H, D], with room for these keys only.
Tensor stretch_of(const Tensor& like, Range keys);

// `first` is the number, as runs count keys, of the first key in an array of floats [B, T, H, D].

/// Start a transfer of every run; send_runs returns the bytes sent.
Index send_runs(Communicator& ring, Index to, const SeenKeys::Runs& runs, const Tensor& from,
                Index first = 0);
void receive_runs(Communicator& ring, Index from, const SeenKeys::Runs& runs, Tensor& to,
                  Index first);
/// sum += part, in f32 and in these runs only; the sum begins with key 0.
void add_runs(const Tensor& part, Index first, const SeenKeys::Runs& runs, Tensor& sum);

/// The keys and values of each step: this rank's own at step 0, then the stretch that this rank
/// sees of the previous rank's keys, and so on. Keys inside a stretch that it does not see are 0.
class KeyValues {
 public:
  /// The arrays are f32 and must outlive this.
  KeyValues(Communicator& ring, const RingShard& shard, const SeenKeys& seen, const Tensor& key,
            const Tensor& value);
  KeyValues(const KeyValues&) = delete;
  KeyValues& operator=(const KeyValues&) = delete;

  /// Starts to fetch the keys and values of step t and to send this rank's own to the reader at
  /// that step. Returns the bytes sent.
  Index start(Index t);
  /// Goes on to the next step, whose arrays have come: ring.finish() was called.
  void arrive();
  const Tensor& key() const { return step_ == 0 ? own_key_ : now_.key; }
  const Tensor& value() const { return step_ == 0 ? own_value_ : now_.value; }
  /// The positions of the current keys in the whole sequence.
  Range keys() const;

 private:
  struct Held {
    Tensor key, value;
  };

  Communicator& ring_;
  const RingShard& shard_;
  const SeenKeys& seen_;
  const Tensor &own_key_, &own_value_;
  Held now_, next_;  // arrays of this step, unused at step 0, and of the next
  Index step_ = 0;
};

}  // namespace maskctl::attention
