// The exchange between ranks: keys and values that another rank's queries see, and their gradients
// back.
#pragma once

#include <vector>

#include "maskctl/attention/ring/shard.h"

namespace maskctl::attention {

/// The tensors `own` of all ranks, in the order of ranks.
std::vector<Tensor> gathered(Communicator& ring, const Tensor& own);

/// Which keys this rank must receive from and send to each other rank.
class SeenKeys {
 public:
  using Runs = std::vector<std::vector<Range>>;  // one list per batch row: see RingShard::seen_keys

  explicit SeenKeys(const RingShard& shard);
  /// The keys of rank owner(t) (see RingShard) that this rank's queries see.
  const Runs& wanted(Index t) const { return wanted_[as_size(t)]; }
  /// The keys of this rank that the queries of rank reader(t) (see RingShard) see.
  const Runs& sent(Index t) const { return sent_[as_size(t)]; }
  bool any_wanted(Index t) const;

 private:
  std::vector<Runs> wanted_, sent_;
};

/// Returns the smallest range that contains the runs (ranges of keys) of all batch rows.
Range around(const SeenKeys::Runs& runs);

/// A zeroed f32 array shaped like `like`, [B, T, H, D], but with T = keys.size().
Tensor stretch_of(const Tensor& like, Range keys);

// Functions on runs of keys in float arrays [B, T, H, D]; `first` is the key number of the first
// row of an array.

/// Start a transfer of each run of keys; send_runs() returns the number of bytes sent.
Index send_runs(Communicator& ring, Index to, const SeenKeys::Runs& runs, const Tensor& from,
                Index first = 0);
void receive_runs(Communicator& ring, Index from, const SeenKeys::Runs& runs, Tensor& to,
                  Index first);
/// sum += part, in f32, restricted to these runs of keys. Row 0 of `sum` is key 0, row 0 of `part`
/// is key `first`.
void add_runs(const Tensor& part, Index first, const SeenKeys::Runs& runs, Tensor& sum);

/// The keys and values for each step: at step 0 those of this rank, at step t the smallest range of
/// rank owner(t)'s keys that contains all keys that this rank sees. Rows in that range that it does
/// not see are 0.
class KeyValues {
 public:
  /// The arrays must be f32 and outlive this object.
  KeyValues(Communicator& ring, const RingShard& shard, const SeenKeys& seen, const Tensor& key,
            const Tensor& value);
  KeyValues(const KeyValues&) = delete;
  KeyValues& operator=(const KeyValues&) = delete;

  /// Starts to receive the keys and values of step t, and to send this rank's own to reader(t).
  /// Returns the number of bytes sent.
  Index start(Index t);
  /// Makes the arrays that start(t) requested the current ones, which key() and value() return.
  /// Call it after ring.finish().
  void arrive();
  const Tensor& key() const { return step_ == 0 ? own_key_ : now_.key; }
  const Tensor& value() const { return step_ == 0 ? own_value_ : now_.value; }
  /// The keys of the current step, as positions in the whole sequence.
  Range keys() const;

 private:
  struct Held {
    Tensor key, value;
  };

  Communicator& ring_;
  const RingShard& shard_;
  const SeenKeys& seen_;
  const Tensor &own_key_, &own_value_;
  Held now_, next_;  // arrays of the current step (unused at step 0) and of the next
  Index step_ = 0;
};

}  // namespace maskctl::attention
