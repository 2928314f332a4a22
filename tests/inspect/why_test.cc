// why(), against the cell in the mask after each step of the chain.
#include "maskctl/inspect/why/why.h"

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "maskctl/base/error.h"
#include "maskctl/inspect/why/decided.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/combine.h"
#include "maskctl/mask/steps/kv_lengths.h"
#include "maskctl/pipeline/steps/bind.h"
#include "support/catch_compat.h"

namespace maskctl {
namespace {

constexpr Index kBatch = 2, kHeads = 3;

std::mt19937& random_stream() {
  static std::mt19937 random(17);
  return random;
}
Index pick(Index low, Index high) {
  return low + static_cast<Index>(random_stream()() % static_cast<unsigned>(high - low + 1));
}

Tensor random_ints(std::vector<Index> shape, Index low, Index high) {
  Tensor out(DType::kInt32, std::move(shape));
  for (std::int32_t& value : out.as<std::int32_t>()) {
    value = static_cast<std::int32_t>(pick(low, high));
  }
  return out;
}

Mask random_mask(Index batch, Index heads, Index queries, Index keys) {
  return mask_from_dense(random_ints({batch, heads, queries, keys}, 0, 1));
}

/// Gives the steps random arrays that fit the mask before them; the name of an array is its kind.
BindContext context_for(const Mask& mask) {
  BindContext out;
  out.read_array = [&mask](const std::string& name) {
    if (name == "qids") return random_ints({mask.queries()}, -1, 2);
    if (name == "kids") return random_ints({mask.batch(), mask.keys()}, -1, 2);
    if (name == "lens") return random_ints({mask.batch()}, 0, mask.keys());
    if (name == "ends") return random_ints({mask.batch()}, 0, mask.queries());
    if (name == "flags") return random_ints({mask.batch(), mask.keys()}, 0, 1);
    const Index rows = ceil_div(mask.queries(), 2), columns = ceil_div(mask.keys(), 3);
    return random_ints({mask.batch(), rows, columns}, 0, 1);  // the argument "map"
  };
  out.read_mask = [&mask](const std::string&) {
    return random_mask(mask.batch(), pick(0, 1) == 0 ? 1 : mask.heads(), mask.queries(),
                       mask.keys());
  };
  return out;
}

std::string number(Index low, Index high) { return std::to_string(pick(low, high)); }

std::string random_step(const Mask& mask) {
  const std::string align = pick(0, 1) == 0 ? "align=top-left" : "align=bottom-right";
  const Index queries = mask.queries(), keys = mask.keys();
  switch (pick(0, 21)) {
    case 0:
      return "causal:" + align + ",offset=" + number(-2, 2);
    case 1:
      return "causal:" + align + ",offset=lens";
    case 2:
      return "window:left=" + number(0, 4) + ",right=none," + align;
    case 3:
      return "window:both=" + number(0, 3) + "," + align + ",offset=" + number(-2, 2);
    case 4:
      return "chunk:size=" + number(1, 5) + ",offset=" + number(-3, 3);
    case 5:
      return "doc:q=qids,kv=kids";
    case 6:
      return "pad:lens=" + number(0, keys) + ",side=" + (pick(0, 1) == 0 ? "left" : "right");
    case 7:
      return "pad:flags";
    case 8:
      return "dilated:stride=" + number(1, 4);
    case 9:
      return "block:map,size=2x3";
    case 10:
      return "random:sparsity=0.5,seed=" + number(0, 99) + (pick(0, 1) ? ",stream=numpy" : "");
    case 11:
      return "prefix:n=" + number(0, 3);
    case 12:
      return "sinks:n=" + number(0, 3);
    case 13:
      return "global:tokens=" + number(0, std::max(queries, keys) - 1);
    case 14: {
      const char* ops[] = {"and:", "or:", "xor:", "sub:"};
      return ops[pick(0, 3)] + std::string("m");
    }
    case 15:
      return std::string("tokens:q=qids,kv=kids,combine=") + (pick(0, 1) ? "union" : "intersect") +
             ",zero=" + (pick(0, 1) ? "q" : "none");
    case 16:
      return "tokens:q=qids,kv=kids,combine=replace";
    case 17:
      return "not";
    case 18: {
      const Index q = pick(0, queries - 1), k = pick(0, keys - 1);
      return "slice:q=" + std::to_string(q) + ":" + number(q + 1, queries) +
             ",k=" + std::to_string(k) + ":" + number(k + 1, keys);
    }
    case 19:
      return "kv-lengths:lens,q_len=" + number(1, queries) + ",window=" + number(1, keys) +
             (pick(0, 1) ? ",end=ends" : "");
    case 20:
      return "heads:0+" + number(0, mask.heads() - 1) + "{causal:" + align + " | not}";
    default:
      return "slice:h=" + number(0, mask.heads() - 1);
  }
}

std::string print_step(const Step&) { return "step"; }

/// Checks why() for random cells of the last mask, against the masks after every step.
void check_chain(const std::vector<Mask>& masks, const Chain& chain, const std::string& text) {
  INFO(text);
  const Mask& last = masks.back();
  for (Index b = 0; b < last.batch(); ++b) {
    for (Index h = 0; h < last.heads(); ++h) {
      for (Index n = 0; n < 12; ++n) {
        const Cell cell{b, h, pick(0, last.queries() - 1), pick(0, last.keys() - 1)};
        const Why found = why(masks.front(), chain, cell, print_step);
        REQUIRE(found.open == is_open(last, cell));
        std::size_t at = 0;
        for (const WhyStep& step : found.steps) {
          if (step.depth > 0) continue;
          REQUIRE(step.before == is_open(masks[at], step.from));
          REQUIRE(step.after == is_open(masks[at + 1], step.to));
          REQUIRE(!step.reason.empty());
          ++at;
        }
        REQUIRE(at == chain.size());
        if (found.decided_by) {
          REQUIRE(found.steps[*found.decided_by].after == found.open);
        } else {
          REQUIRE(found.open == found.source_open);
        }
      }
    }
  }
}

/// Checks that decided_cells() names the step at the top that changed each cell last, as why()
/// does.
void check_decided(const Mask& source, const Chain& chain, const std::string& text) {
  INFO(text);
  const DecidedCells found = decided_cells(source, chain);
  REQUIRE(found.by.size() == chain.size());
  for (Index n = 0; n < 12; ++n) {
    const Mask& last = found.mask;
    const Cell cell{pick(0, last.batch() - 1), pick(0, last.heads() - 1),
                    pick(0, last.queries() - 1), pick(0, last.keys() - 1)};
    std::optional<std::size_t> wanted;
    std::size_t top = 0;
    for (const WhyStep& step : why(source, chain, cell, print_step).steps) {
      if (step.depth > 0) continue;
      if (step.before != step.after) wanted = top;
      ++top;
    }
    for (std::size_t i = 0; i < chain.size(); ++i) {
      if (!found.by[i]) continue;
      const Mask& by = *found.by[i];
      REQUIRE((by.plane(cell.batch, cell.head)
                   ->count({cell.query, cell.query + 1}, {cell.key, cell.key + 1}) > 0) ==
              (wanted == i));
    }
    const bool lost =
        std::ranges::any_of(chain, [](const Step& step) { return step.is<step::KvLengths>(); });
    REQUIRE((lost || std::ranges::all_of(found.by, &std::optional<Mask>::has_value)));
  }
}

TEST_CASE("why gives the state that each mask of a random chain has") {
  for (int round = 0; round < 1500; ++round) {
    const Index queries = pick(1, 9), keys = pick(0, 1) == 0 ? queries : pick(1, 9);
    std::vector<Mask> masks = {random_mask(kBatch, kHeads, queries, keys)};
    Chain chain;
    std::string text;
    for (Index steps = pick(1, 6); steps > 0; --steps) {
      const std::string step = random_step(masks.back());
      const Chain bound = bind(parse(step), context_for(masks.back()));
      masks.push_back(apply(masks.back(), bound.front()));
      chain.push_back(bound.front());
      text += step + " | ";
    }
    check_chain(masks, chain, text);
    check_decided(masks.front(), chain, text);
  }
}

TEST_CASE("why follows one plane that a step copies to several batch entries") {
  const Mask source = random_mask(1, 1, 4, 4);
  const Chain chain = {{step::Combine{Op::kAnd, random_mask(2, 3, 4, 4), ""}}};
  const std::vector<Mask> masks = {source, apply(source, chain.front())};
  check_chain(masks, chain, "and");
}

Why of(const std::string& text, const Mask& mask, const Cell& cell) {
  return why(mask, bind(parse(text), {}), cell, print_step);
}

TEST_CASE("the reasons of why contain the numbers that the steps used") {
  const Mask full(full_plane(256, 256));
  const Why window = of("window:left=127 | causal", full, {0, 0, 133, 3});
  CHECK(!window.open);
  CHECK(window.decided_by == std::size_t{0});
  CHECK(window.steps[0].reason == "key 3 is 130 left of query 133, left=127");
  CHECK(window.steps[1].reason == "the last key of query 133 is 133: key 3 is 130 before it");
  const Mask wide(full_plane(4, 10));
  CHECK(of("causal:align=bottom-right,offset=-1", wide, {0, 0, 2, 9}).steps[0].reason ==
        "the last key of query 2 is 7 (query 2 + 6 from K - Q - 1 from offset): key 9 is 2 past "
        "it");
  CHECK(of("chunk:size=4,offset=1", wide, {0, 0, 3, 3}).steps[0].reason ==
        "query 3 + offset 1 is in chunk 1, key 3 in chunk 0 (size=4)");
  const Mask square(full_plane(10, 10));
  CHECK(of("doc:lens=3+5", square, {0, 0, 9, 4}).steps[0].reason ==
        "query 9 is past the last document, which ends at 8, key 4 is in document 1 [3, 8)");
}

TEST_CASE("why numbers tokens inside their documents for a step inside documents") {
  const Mask square(full_plane(10, 10));
  const Why found = of("within:lens=3+5{causal}", square, {0, 0, 5, 7});
  REQUIRE(found.steps.size() == 2);
  CHECK(found.steps[0].reason ==
        "query 5 is in document 1, keys [3, 8): key 7 is one of them; in it they are query 2 and "
        "key 4");
  CHECK(found.steps[1].reason == "the last key of query 2 is 2: key 4 is 2 past it");
  CHECK(of("within:lens=3+5{causal}", square, {0, 0, 5, 1}).steps[0].reason ==
        "query 5 is in document 1, keys [3, 8): key 1 is none");
  CHECK(of("within:lens=3+5{causal}", square, {0, 0, 9, 1}).steps[0].reason ==
        "query 9 is in no document");
}

TEST_CASE("why follows slices back to cells of the source") {
  const Mask full(full_plane(256, 256));
  const Why found = of("causal | slice:q=128:192,k=100:200", full, {0, 0, 5, 40});
  CHECK(found.source == Cell{0, 0, 133, 140});
  CHECK(!found.open);
  CHECK(found.decided_by == std::size_t{0});
  CHECK(found.steps[1].reason == "query 133, key 140 is inside the slice, now query 5, key 40");
}

TEST_CASE("why of a million tokens needs no dense cells") {
  const Mask full(full_plane(1 << 20, 1 << 20));
  const Why found = of("window:keys=4096 | random:sparsity=0.5,seed=1 | not | dilated:stride=3",
                       full, {0, 0, 1 << 19, 7});
  CHECK(found.steps.size() == 4);
}

TEST_CASE("why refuses cells outside the mask and steps that do not fit") {
  const Mask wide(full_plane(4, 10));
  const auto message = [&](const std::string& text, const Cell& cell) -> std::string {
    try {
      of(text, wide, cell);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK(message("not", {0, 0, 4, 0}) ==
        "query 4 is outside of the mask [B 1, H 1, Q 4, K 10]: expected 0 to 3");
  CHECK(message("slice:k=2:5", {0, 0, 0, 3}) ==
        "key 3 is outside of the mask [B 1, H 1, Q 4, K 3]: expected 0 to 2");
  CHECK(message("not", {1, 0, 0, 0}).find("batch 1") == 0);
  CHECK(message("causal", {0, 0, 0, 0}).find("step causal: 4 queries and 10 keys") == 0);
}

}  // namespace
}  // namespace maskctl
