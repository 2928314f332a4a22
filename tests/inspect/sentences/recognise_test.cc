// Tests that the figures of recognise and diff equal those of plain loops over the cells.
#include "maskctl/inspect/recognise/recognise.h"

#include <set>

#include "inspect/sentences/drawn_masks.h"
#include "inspect/sentences/draws_asked.h"
#include "maskctl/inspect/diff/diff.h"
#include "maskctl/mask/steps/chain_text.h"
#include "support/catch_compat.h"
#include "support/rounds.h"

namespace maskctl::test {
namespace {

using twin::Dense;

Dense broadcast(const Dense& own, const Dense& other) {
  return twin::make(std::max(own.b, other.b), std::max(own.h, other.h), own.q, own.k,
                    [&](Index b, Index h, Index q, Index k) { return own.get(b, h, q, k); });
}

/// Returns what is wrong with the figures of a difference; "" if nothing.
std::string figures_wrong(const MaskDiff& said, const Dense& in_a, const Dense& in_b) {
  const Dense a = broadcast(in_a, in_b), b = broadcast(in_b, in_a);
  MaskDiff want;
  want.block = said.block;
  std::set<std::tuple<Index, Index, Index, Index>> blocks;
  for (Index batch = 0; batch < a.b; ++batch) {
    for (Index head = 0; head < a.h; ++head) {
      PlaneDiff plane{batch, head};
      for (Index q = 0; q < a.q; ++q) {
        bool row = false;
        for (Index k = 0; k < a.k; ++k) {
          const bool x = a.get(batch, head, q, k), y = b.get(batch, head, q, k);
          want.both += x && y;
          if (x == y) continue;
          row = true;
          (x ? plane.only_a : plane.only_b) += 1;
          blocks.emplace(batch, head, q / said.block.q, k / said.block.k);
          if (!want.first) want.first = Cell{batch, head, q, k}, want.first_in_a = x;
        }
        want.rows += row;
      }
      want.only_a += plane.only_a, want.only_b += plane.only_b;
      if (plane.only_a + plane.only_b > 0) want.planes.push_back(plane);
    }
  }
  if (said.only_a != want.only_a || said.only_b != want.only_b || said.both != want.both)
    return "cells";
  if (said.rows != want.rows) return "rows";
  if (said.blocks != std::ssize(blocks)) return "blocks";
  if (said.first != want.first || (want.first && said.first_in_a != want.first_in_a))
    return "first";
  if (said.planes.size() != want.planes.size()) return "planes";
  for (std::size_t i = 0; i < said.planes.size(); ++i) {
    const PlaneDiff &x = said.planes[i], &y = want.planes[i];
    if (x.batch != y.batch || x.head != y.head || x.only_a != y.only_a || x.only_b != y.only_b) {
      return "a plane";
    }
  }
  return "";
}

/// Returns what is wrong with a pipeline and the cells that it leaves; "" if nothing.
std::string recognised_wrong(const Recognised& found, const Dense& mask) {
  const Dense full =
      twin::make(mask.b, mask.h, mask.q, mask.k, [](Index, Index, Index, Index) { return true; });
  const Dense made = twin::run_chain(full, found.chain);
  if (made.b != mask.b || made.h != mask.h || made.q != mask.q || made.k != mask.k) return "shape";
  std::vector<Cell> left;
  for (Index b = 0; b < mask.b; ++b)
    for (Index h = 0; h < mask.h; ++h)
      for (Index q = 0; q < mask.q; ++q)
        for (Index k = 0; k < mask.k; ++k)
          if (made.get(b, h, q, k) != mask.get(b, h, q, k)) left.push_back({b, h, q, k});
  if (found.residue.cells != std::ssize(left)) return "unexplained cells";
  if (left.size() > Residue::kListed) left.resize(Residue::kListed);
  return found.residue.first == left ? "" : "the first cells";
}

TEST_CASE("recognise: the pipeline makes the mask but for the cells that it names", "[sentences]") {
  for (Index i = 0; i < draws_asked(300); ++i) {
    const Mask mask = MaskDraws(first_draw() + static_cast<std::uint64_t>(i) + 7000).mask();
    Recognised found = recognise(mask);
    const std::string wrong = recognised_wrong(found, twin::dense_of(mask));
    if (!wrong.empty()) {
      FAIL_CHECK("mask " << i << ": " << wrong << ": " << to_text(found.chain, "a.npz"));
    }
    // One cell more or less, or another cell, is found to be false.
    found.residue.cells += i % 2 == 0 ? 1 : -1;
    CHECK(recognised_wrong(found, twin::dense_of(mask)) == "unexplained cells");
    found.residue.cells -= i % 2 == 0 ? 1 : -1;
    if (found.residue.first.empty()) continue;
    found.residue.first.back().key += 1;
    CHECK(recognised_wrong(found, twin::dense_of(mask)) == "the first cells");
  }
}

TEST_CASE("diff: the figures are those of the cells", "[sentences]") {
  for (Index i = 0; i < draws_asked(400); ++i) {
    const DrawnPair pair = MaskDraws(first_draw() + static_cast<std::uint64_t>(i) + 9000).pair();
    const BlockSize block = i % 3 == 0 ? BlockSize{128, 128} : BlockSize{1 + i % 7, 1 + i % 5};
    const MaskDiff said = diff(pair.a, pair.b, block);
    const Dense a = twin::dense_of(pair.a), b = twin::dense_of(pair.b);
    const std::string wrong = figures_wrong(said, a, b);
    if (!wrong.empty()) FAIL_CHECK("pair " << i << ": " << wrong);
    MaskDiff lie = said;
    ++(i % 4 == 0 ? lie.only_a : i % 4 == 1 ? lie.rows : i % 4 == 2 ? lie.blocks : lie.first->key);
    CHECK_FALSE(figures_wrong(lie, a, b).empty());
  }
}

}  // namespace
}  // namespace maskctl::test
