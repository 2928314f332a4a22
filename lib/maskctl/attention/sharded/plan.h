// Which part of every array a device works on, from partition specs and the meaning of the axes.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/attention/sharded/mesh.h"

namespace maskctl::attention {

// Axes are named as in operation.h; axes of one name are split alike. An axis of extent 1 is
// broadcast and stays whole, and cumulative lengths are counted from 0 in each part.

class Communicator;
struct RingStep;

/// The ring of ranks that share a shard, as one of them sees it. The operation fills in what this
/// rank has when it localises a call.
struct RingPlace {
  Communicator* ring = nullptr;
  std::vector<RingStep>* steps = nullptr;  // where to record them
  /// This rank's positions in the whole, by label. Results have these only.
  std::map<std::string, std::vector<Range>, std::less<>> shares;
  std::vector<std::string_view> arrays;  // inputs that have these only; others have the whole shard

  /// Nothing for a label that the ring does not share.
  std::vector<Range> share(std::string_view label) const;
};

/// What one device works on: a range of every label that is split.
struct Shard {
  std::map<std::string, Range, std::less<>> ranges;
  std::map<std::string, Index, std::less<>> extents;  // extents of the whole, for all labels
  RingPlace* ring = nullptr;                          // null: this process has the whole shard

  bool splits(std::string_view label) const { return ranges.contains(label); }
  /// The extent of the whole; axes of 1 have no label.
  Index extent(std::string_view label) const;
  /// The shard's range; the whole extent where the label is not split.
  Range range(std::string_view label) const;
  /// Where the range begins; 0 where the label is not split.
  Index first(std::string_view label) const { return splits(label) ? range(label).begin : 0; }
  /// The shard's range for each axis of a whole array.
  std::vector<Range> part(std::span<const Index> shape, std::string_view labels) const;
  /// The shape of the whole array of which this shard computed a part.
  std::vector<Index> whole(std::span<const Index> part_shape, std::string_view labels) const;
};

/// Checks specs and makes shards. Add the arrays in the order of their specs, outputs last.
class ShardPlan {
 public:
  /// `splittable`: the labels that an operation can split, as "B Hq Hkv". Splitting Hkv is tied to
  /// Hq. `collective`: labels that the operation splits itself: specs may name them, but shards
  /// hold them whole, one shard for all devices along their axes.
  ShardPlan(std::string_view operation, const Mesh& mesh, std::string_view splittable,
            std::string_view collective = "");

  /// A null spec follows from the other arrays.
  /// Throws Error(kInvalidArgument): an axis that is not splittable, not of the mesh, split
  /// differently in another array, or not divisible; a spec with more entries than axes.
  void add_input(std::string_view name, std::span<const Index> shape, std::string_view labels,
                 const PartitionSpec* spec);
  /// Every label that is split must be split by the spec of the output too; the output need not
  /// have a collective label.
  void add_output(std::string_view name, std::string_view labels, const PartitionSpec& spec);

  Shard shard_of(Index device) const;
  /// True when a device with a lower number has the same shard.
  bool repeats(Index device) const { return repeats(coordinates_of(device)); }
  /// `device` and the devices that differ from it only along mesh axes that split a collective
  /// label (queries or keys that meet in a ring), in ascending order: each of them gets this list.
  std::vector<Index> ring_of(Index device) const;
  Index devices() const { return mesh_.devices(); }
  /// The mesh without devices that repeat the work of others: one along axes that split nothing.
  Mesh working_mesh() const;
  /// The mesh axes that split a label; none for whole.
  std::vector<std::string> axes_of(std::string_view label) const;
  /// Throws Error(kInvalidArgument) unless a label is split over one mesh axis, which `option`
  /// names.
  void check_split(std::string_view label, std::string_view option, const std::string& axis) const;
  /// The number of parts into which axes with this label are split; 1: they stay whole.
  Index parts(std::string_view label) const;

 private:
  using Names = std::vector<std::string>;
  Names checked_names(std::string_view array, const AxisName& entry) const;
  void check_extent(std::string_view array, const std::string& label, Index extent);
  void agree(std::string_view array, const std::string& label, const Names& names);
  void split(std::string_view array, const std::string& label, const Names& names);
  std::size_t mesh_axis(const std::string& name) const;
  Range range_of(const std::string& label, const std::vector<Index>& coordinates) const;
  void check_heads() const;
  std::vector<Index> coordinates_of(Index device) const;
  bool repeats(const std::vector<Index>& coordinates) const;
  bool is_split(const std::string& mesh_axis, bool collective) const;
  [[noreturn]] void fail(const std::string& message) const;

  std::string operation_;
  Mesh mesh_;
  std::set<std::string, std::less<>> splittable_, collective_;
  std::map<std::string, Index, std::less<>> extents_;
  std::map<std::string, Names, std::less<>> split_;        // label -> mesh axes
  std::map<std::string, std::string, std::less<>> whose_;  // label -> the array that split it
};

}  // namespace maskctl::attention
