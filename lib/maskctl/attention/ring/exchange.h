// What ranks send each other: the keys that somebody's queries see, and gradients back.
#pragma once

#include <vector>

#include "maskctl/attention/ring/shard.h"

namespace maskctl::attention {

/// What every rank has, by rank.
std::vector<Tensor> gathered(Communicator& ring, const Tensor& own);

/// Whose keys are seen, from one rank's side.
class SeenKeys {
 public:
  using Runs = std::vector<std::vector<Range>>;  // RingShard::seen_keys

  explicit SeenKeys(const RingShard& shard);
  /// Of the owner at step t, those that this rank's queries see.
  const Runs& wanted(Index t) const { return wanted_[as_size(t)]; }
  /// Of this rank, those that the reader at step t sees.
  const Runs& lent(Index t) const { return lent_[as_size(t)]; }
  bool any_wanted(Index t) const;

 private:
  std::vector<Runs> wanted_, lent_;
};

/// The stretch of keys around the runs of all batches.
Range around(const SeenKeys::Runs& runs);

/// Room for some keys of [B, T, H, D], in f32: zeros.
Tensor stretch_of(const Tensor& like, Range keys);

// Arrays [B, T, H, D] of floats that begin with key `first` of those that the runs count.

/// Start a transfer of every run; sending gives the bytes.
Index send_runs(Communicator& ring, Index to, const SeenKeys::Runs& runs, const Tensor& from,
                Index first = 0);
void receive_runs(Communicator& ring, Index from, const SeenKeys::Runs& runs, Tensor& to,
                  Index first);
/// sum += part, in f32 and in these runs only; the sum begins with key 0.
void add_runs(const Tensor& part, Index first, const SeenKeys::Runs& runs, Tensor& sum);

/// The keys and values of each step: this rank's own at step 0, then of those of the rank before
/// the stretch that this rank sees, and so on; what it sees nothing of inside a stretch is 0.
class KeyValues {
 public:
  /// f32; they must outlive this.
  KeyValues(Communicator& ring, const RingShard& shard, const SeenKeys& seen, const Tensor& key,
            const Tensor& value);
  KeyValues(const KeyValues&) = delete;
  KeyValues& operator=(const KeyValues&) = delete;

  /// Starts to fetch those of step t and to send this rank's own to who needs them then: the bytes
  /// that are sent.
  Index start(Index t);
  /// They have come: ring.finish() was called.
  void arrive();
  const Tensor& key() const { return step_ == 0 ? own_key_ : now_.key; }
  const Tensor& value() const { return step_ == 0 ? own_value_ : now_.value; }
  /// Their places in the whole sequence.
  Range keys() const;

 private:
  struct Held {
    Tensor key, value;
  };

  Communicator& ring_;
  const RingShard& shard_;
  const SeenKeys& seen_;
  const Tensor &own_key_, &own_value_;
  Held now_, next_;  // of this step, unless they are the own, and of the next
  Index step_ = 0;
};

}  // namespace maskctl::attention
