#include "maskctl/inspect/check/expect.h"

#include <fmt/format.h>

#include "maskctl/base/error.h"
#include "maskctl/base/grouped.h"
#include "maskctl/base/text.h"
#include "maskctl/inspect/count/row_safety.h"
#include "maskctl/inspect/count/stats_parts.h"
#include "maskctl/mask/blocks/block_map.h"

namespace maskctl {
namespace {

/// An expectation that holds if `wrong` has no open cell; its open cells are the violations.
ExpectationResult none_open(const Mask& wrong) {
  ExpectationResult out;
  out.unit = "cells";
  out.count = wrong.count();
  out.holds = out.count == 0;
  if (!out.holds) out.first = first_cell(wrong);
  return out;
}

Mask applied(const Mask& mask, const Chain& chain) {
  Mask made = maskctl::apply(full_like(mask), chain);
  if (made.queries() == mask.queries() && made.keys() == mask.keys()) return made;
  throw Error(Errc::kShape, fmt::format("the expected mask is {} and cannot be compared with {}",
                                        shape_text(made), shape_text(mask)));
}

ExpectationResult answer(const Mask& mask, const expect::Within& rule) {
  return none_open(zip(Op::kSub, mask, applied(mask, rule.chain)));
}

ExpectationResult answer(const Mask& mask, const expect::Covers& rule) {
  const Mask lost = zip(Op::kSub, applied(mask, rule.chain), mask);
  ExpectationResult out = none_open(lost);
  if (lost.keys() == 0) return out;
  Index rows = 0;
  for (Index b = 0; b < lost.batch(); ++b) {
    for (Index h = 0; h < lost.heads(); ++h) {
      rows += lost.plane(b, h)->count({0, lost.queries()}, {0, 1});
    }
  }
  if (rows > 0)
    out.detail = fmt::format("{} lose{} key 0", counted(rows, "row"), rows == 1 ? "s" : "");
  return out;
}

ExpectationResult answer(const Mask& mask, const expect::SubsetOf& rule) {
  return none_open(zip(Op::kSub, mask, rule.mask));
}

ExpectationResult answer(const Mask& mask, const expect::Equals& rule) {
  const Mask wanted = applied(mask, rule.chain);
  ExpectationResult out = none_open(zip(Op::kXor, mask, wanted));
  if (out.holds) return out;
  const Index too_many = zip(Op::kSub, mask, wanted).count();
  out.detail = fmt::format("{} open that should be closed, {} closed that should be open", too_many,
                           out.count - too_many);
  return out;
}

ExpectationResult answer(const Mask& mask, const expect::NoLeak& rule) {
  ExpectationResult out;
  out.unit = "cells";
  out.leaks = leaks(mask, documents_of(rule.documents, mask));
  out.count = out.leaks->cross;
  out.holds = out.count == 0;
  out.first = out.leaks->first;
  return out;
}

ExpectationResult answer(const Mask& mask, const expect::Symmetric&) {
  if (mask.queries() != mask.keys()) {
    throw Error(Errc::kShape, fmt::format("symmetric: expected as many queries as keys, got {}",
                                          shape_text(mask)));
  }
  return none_open(zip(Op::kSub, mask, transposed(mask)));
}

/// The violations in one distinct plane, which sum_planes() adds up over batches and heads.
struct PlaneAnswer {
  Index count = 0;
  Cell first;  // batch and head are not set
};
template <typename AnswerPlane>
ExpectationResult sum_planes(const Mask& mask, std::string_view unit,
                             const AnswerPlane& answer_plane) {
  std::vector<PlaneAnswer> answers;
  for (const PlanePtr& plane : mask.distinct()) answers.push_back(answer_plane(*plane));
  ExpectationResult out;
  out.unit = unit;
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index h = 0; h < mask.heads(); ++h) {
      const PlaneAnswer& plane = answers[mask.index_of(b, h)];
      if (plane.count > 0 && !out.first) {
        out.first = Cell{b, h, plane.first.query, plane.first.key};
      }
      out.count += plane.count;
    }
  }
  out.holds = out.count == 0;
  return out;
}

ExpectationResult answer(const Mask& mask, const expect::NoEmptyRows&) {
  return sum_planes(mask, "rows", [](const Plane& plane) {
    PlaneAnswer out;
    const std::vector<Range> ranges = empty_rows(plane);
    for (const Range& range : ranges) out.count += range.size();
    if (!ranges.empty()) out.first = {0, 0, ranges.front().begin, -1};
    return out;
  });
}

ExpectationResult answer(const Mask& mask, const expect::BlockAligned& rule) {
  const BlockSize size = rule.block;
  return sum_planes(mask, "blocks", [size](const Plane& plane) {
    const TileMap map = tile_map(plane, size.q, size.k);
    PlaneAnswer out;
    out.count = map.partial();
    if (out.count == 0) return out;
    std::size_t run = 0;
    while (map.runs[run].fill != Fill::kPartial) ++run;
    Index row = 0;
    while (map.row_offsets[static_cast<std::size_t>(row) + 1] <= static_cast<Index>(run)) ++row;
    out.first = {0, 0, row * size.q, map.runs[run].first * size.k};
    return out;
  });
}

ExpectationResult answer(const Mask& mask, const expect::RowSafe& rule) {
  Index empty = 0;
  const std::vector<Index> uses = plane_uses(mask);
  std::size_t plane_number = 0;
  ExpectationResult out = sum_planes(mask, "rows", [&](const Plane& plane) {
    const RowSafety safety = row_safety(plane, rule.block);
    empty += safety.empty * uses[plane_number++];
    return PlaneAnswer{safety.empty + safety.late, {0, 0, safety.first.value_or(0), -1}};
  });
  if (!out.holds && empty > 0) {
    out.detail = empty == out.count ? "all of them see no key at all"
                                    : fmt::format("{} of them see no key at all", empty);
  }
  return out;
}

ExpectationResult answer(const Mask& mask, const expect::Density& rule) {
  ExpectationResult out;
  out.unit = "cells";
  out.count = mask.count();
  if (mask.cells() == 0) throw Error(Errc::kShape, "density: the mask has no cells");
  const double density = static_cast<double>(out.count) / static_cast<double>(mask.cells());
  out.holds = (!rule.min || density >= *rule.min) && (!rule.max || density <= *rule.max);
  out.detail = fmt::format("{} of {} open, density {:.6g}", grouped(out.count),
                           counted(mask.cells(), "cell"), density);
  return out;
}

}  // namespace

std::string count_text(const ExpectationResult& result) {
  std::string_view one = result.unit;
  one.remove_suffix(1);
  return counted(result.count, one);
}

ExpectationResult check(const Mask& mask, const Expectation& expectation) {
  ExpectationResult out =
      std::visit([&mask](const auto& rule) { return answer(mask, rule); }, expectation.rule);
  out.text = expectation.text;
  return out;
}

}  // namespace maskctl
