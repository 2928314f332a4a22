// The chains that may describe one plane, of which the shortest is kept; private to inspect.
#pragma once

#include <optional>

#include "maskctl/inspect/recognise/description.h"
#include "maskctl/inspect/recognise/fit.h"
#include "maskctl/mask/plane.h"

namespace maskctl::recognition {

constexpr Index kLoneCells = 4;  // stray cells that any mask may have

/// True for a global step with so many ranges that stray cells may have caused them.
bool has_long_lists(const Chain& chain);

/// Collects chains that may describe a plane and keeps the one with the shortest description, in
/// which each cell that the chain gets wrong counts with its coordinates.
class Candidates {
 public:
  explicit Candidates(const PlanePtr& plane);

  void add(Chain chain);
  /// Adds a chain that fits no mask by chance: if it is exact, and the best one so far is not or
  /// has arrays, it is kept however long it is.
  void add_certain(Chain chain);
  /// Adds the chain followed by the rows, columns and rectangles that it gets wrong, unless it
  /// still differs from the plane in more than `most` cells.
  void add_with_regions(Chain chain, Index most = kUnbounded);
  /// Fits `start` to the plane and adds the best chain that results.
  void fit(const Chain& start);
  /// Frees the memory of a search that has ended.
  void forget_trials() { tried_.reset(); }

  const Chain& chain() const { return best_.chain; }
  bool exact() const { return best_.residue == 0; }
  /// The cells in which the best chain differs from the plane.
  PlanePtr left() const;
  /// True for an exact chain that takes no more bits than one step and one wrong cell: so short
  /// that the search can stop.
  bool is_short() const { return exact() && length_ <= description_.cell() + description_.step(); }
  /// True for a chain whose steps are as short and leave few cells.
  bool is_nearly_short() const;
  /// True for an exact chain of at most two steps, none of which has an array.
  bool is_plain_exact() const;
  /// True for a chain without arrays and long lists that leaves only a few stray cells: searching
  /// further would find nothing shorter.
  bool is_plain() const;
  /// True if the chain says little more than all open or all closed, or if it takes more bits,
  /// wrong cells included, than a list of all open (or all closed) cells.
  bool irregular() const;

 private:
  void add(Fitted one);

  PlanePtr plane_;
  Extent extent_;
  Description description_;
  Index open_;
  std::optional<ChainTrials> tried_;
  Fitted best_;
  Index length_ = -1;
};

}  // namespace maskctl::recognition
