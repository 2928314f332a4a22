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

// Arrays [B, T, H, D] of floats; each starts a transfer of every run and gives its bytes.
Index send_runs(Communicator& ring, Index to, const SeenKeys::Runs& runs, const Tensor& from);
void receive_runs(Communicator& ring, Index from, const SeenKeys::Runs& runs, Tensor& to);
/// sum += part, in f32 and in these runs only.
void add_runs(const Tensor& part, const SeenKeys::Runs& runs, Tensor& sum);

/// The keys and values of each step: this rank's own at step 0, then those of the rank before, and
/// so on; what no query of this rank sees is not there and holds anything.
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
  const Tensor& key() const { return first_ ? own_key_ : key_[current_]; }
  const Tensor& value() const { return first_ ? own_value_ : value_[current_]; }

 private:
  Communicator& ring_;
  const RingShard& shard_;
  const SeenKeys& seen_;
  const Tensor &own_key_, &own_value_;
  Tensor key_[2], value_[2];  // of this step and of the next
  int current_ = 1;
  bool first_ = true;
};

}  // namespace maskctl::attention
