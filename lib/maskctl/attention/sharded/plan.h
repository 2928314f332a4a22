// Decides which part of every array each device works on, from partition specs and axis names.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/attention/sharded/mesh.h"

namespace maskctl::attention {

// An axis name ("Tq", "Hkv": see operation.h) is called a label here. Axes with the same label are
// split in the same way. An axis of extent 1 broadcasts and is not split, and cumulative lengths
// start again from 0 in each part.

class Communicator;
struct RingStep;

/// The ring of ranks that share one shard, as seen from one of them. Operation::localise fills in
/// the shares (the positions) of this rank.
struct RingPlace {
  Communicator* ring = nullptr;
  std::vector<RingStep>* steps = nullptr;  // receives measurements of the steps; may be null
  /// The positions in the whole arrays that this rank has along each label (axis name, such as
  /// "Tq") that the ring splits. Results have only these positions.
  std::map<std::string, std::vector<Range>, std::less<>> shares;
  std::vector<std::string_view> arrays;  // inputs cut to `shares`; others have the whole shard

  /// Returns the positions of this rank along the axes with this label (axis name); empty if the
  /// ring does not split them.
  std::vector<Range> share(std::string_view label) const;
};

/// The part of a call that one device computes: for each label (axis name, such as "Hq") that is
/// split, a range of the axes with that label.
struct Shard {
  std::map<std::string, Range, std::less<>> ranges;
  std::map<std::string, Index, std::less<>> extents;  // extent of each label, in whole arrays
  RingPlace* ring = nullptr;                          // null: this process computes the whole shard

  bool splits(std::string_view label) const { return ranges.contains(label); }
  /// The whole extent of the axes with this label (axis name); 1 if there are none, because axes of
  /// extent 1 have no label.
  Index extent(std::string_view label) const;
  /// The shard's range of the axes with this label; the whole axis if they are not split.
  Range range(std::string_view label) const;
  /// The begin of range(label); 0 if the axes with this label are not split.
  Index first(std::string_view label) const { return splits(label) ? range(label).begin : 0; }
  /// The shard's range on each axis of a whole array.
  std::vector<Range> part(std::span<const Index> shape, std::string_view labels) const;
  /// The shape of the whole array, from the shape of the shard's part.
  std::vector<Index> whole(std::span<const Index> part_shape, std::string_view labels) const;
};

/// Checks partition specs and makes shards. Add the arrays in the order of their specs, outputs
/// last.
class ShardPlan {
 public:
  /// `splittable`: the labels that may be split, as in "B Hq Hkv"; Hkv must be split like Hq.
  /// `collective`: labels that the operation itself splits (over a ring). Specs may split them, but
  /// a shard has their whole extent, and all devices along those mesh axes share it.
  ShardPlan(std::string_view operation, const Mesh& mesh, std::string_view splittable,
            std::string_view collective = "");

  /// Adds an input. A null spec is derived from the other arrays. Throws Error(kInvalidArgument)
  /// for a label that cannot be split, an unknown mesh axis, a split that differs from another
  /// array's or does not divide the extent, and a spec with more entries than the array has axes.
  void add_input(std::string_view name, std::span<const Index> shape, std::string_view labels,
                 const PartitionSpec* spec);
  /// Adds an output. Throws Error(kInvalidArgument) unless its spec splits every label as the
  /// inputs do; only collective labels may be absent.
  void add_output(std::string_view name, std::string_view labels, const PartitionSpec& spec);

  Shard shard_of(Index device) const;
  /// Whether a device with a lower number has the same shard.
  bool repeats(Index device) const { return repeats(coordinates_of(device)); }
  /// `device` and the devices that differ from it only along mesh axes that split a collective
  /// label (the queries or keys of a ring), in ascending order: each of them gets this list.
  std::vector<Index> ring_of(Index device) const;
  Index devices() const { return mesh_.devices(); }
  /// The mesh without redundant devices: mesh axes that split nothing get size 1.
  Mesh working_mesh() const;
  /// The mesh axes over which the axes with this label are split; empty if they are not split.
  std::vector<std::string> axes_of(std::string_view label) const;
  /// Throws Error(kInvalidArgument) unless the axes with this label are split over exactly the mesh
  /// axis `axis`; `option` names the argument that says so.
  void check_split(std::string_view label, std::string_view option, const std::string& axis) const;
  /// The number of parts into which the axes with this label are split; 1: not split.
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
  std::map<std::string, Names, std::less<>> split_;        // label -> mesh axes that split it
  std::map<std::string, std::string, std::less<>> whose_;  // label -> the array whose spec split it
};

}  // namespace maskctl::attention
