// Mutants that write rows to wrong places, or not at all, or normalise and merge them wrongly.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "maskctl/verify/mutants/kinds.h"

namespace maskctl::attention {
namespace {

/// The call whose row q is row order[q] of the given one.
void reorder(const DeclaredCall& declared, std::span<const Index> order, KernelCall& call) {
  std::vector<Range> ranges;
  for (const Index q : order) {
    if (!ranges.empty() && ranges.back().end == q) {
      ++ranges.back().end;
    } else {
      ranges.push_back({q, q + 1});
    }
  }
  call.mask = rows_of(declared.mask(), ranges);
  const Tensor from = call.query;
  const Index width = from.extent(2) * from.extent(3);
  for (Index b = 0; b < from.extent(0); ++b) {
    for (Index q = 0; q < declared.queries(); ++q) {
      std::copy_n(from.as<float>().data() + (b * declared.queries() + order[as_size(q)]) * width,
                  width, call.query.as<float>().data() + (b * declared.queries() + q) * width);
    }
  }
}

std::vector<Index> ascending(Index n) {
  std::vector<Index> out(as_size(n));
  std::iota(out.begin(), out.end(), Index{0});
  return out;
}

std::string rows_reversed(const DeclaredCall& declared, Draw&, KernelCall& call) {
  std::vector<Index> order = ascending(declared.queries());
  std::ranges::reverse(order);
  reorder(declared, order, call);
  return "the rows are in reverse order";
}

/// Rank r of n has the chunks r and 2n - 1 - r of 2n, and its rows are not put back.
std::string rows_zigzag(const DeclaredCall& declared, Draw& draw, KernelCall& call) {
  const Index ranks = draw.coin() ? 2 : 4, chunk = declared.queries() / (2 * ranks);
  if (chunk == 0 || chunk * 2 * ranks != declared.queries()) return "";
  std::vector<Index> order;
  for (Index rank = 0; rank < ranks; ++rank) {
    for (const Index from : {rank, 2 * ranks - 1 - rank}) {
      for (Index i = 0; i < chunk; ++i) order.push_back(from * chunk + i);
    }
  }
  reorder(declared, order, call);
  return fmt::format("the rows are in the zigzag order of {} ranks", ranks);
}

std::string rows_stale(const DeclaredCall& declared, Draw& draw, KernelCall& call) {
  const Index tiles = declared.queries() / 64;
  if (tiles < 2) return "";
  const Index first = draw.between(1, tiles - 1) * 64;
  std::vector<Index> order = ascending(declared.queries());
  for (Index q = first; q < first + 64; ++q) order[as_size(q)] = q - 64;
  reorder(declared, order, call);
  return fmt::format("queries {}-{} have the results of the 64 before them", first, first + 63);
}

void clear(std::span<float> weights, float& lse) {
  std::ranges::fill(weights, 0.0F);
  lse = 0;
}

std::string rows_missing(const DeclaredCall& declared, Draw& draw, KernelCall& call) {
  const Index size = draw.between(1, std::min<Index>(64, declared.queries()));
  const Index first = draw.below(declared.queries() - size + 1);
  const Range gone{first, first + size};
  call.fault = [gone](const RowPlace& row, std::span<float> weights, float& lse) {
    if (gone.contains(row.query)) clear(weights, lse);
  };
  return fmt::format("queries {}-{} are zeros", gone.begin, gone.end - 1);
}

std::string head_missing(const DeclaredCall& declared, Draw& draw, KernelCall& call) {
  const MutantCall& about = declared.call();
  if (about.heads < 2) return "";
  const Index head = draw.below(about.heads);
  call.fault = [head](const RowPlace& row, std::span<float> weights, float& lse) {
    if (row.head == head) clear(weights, lse);
  };
  return fmt::format("head {} is zeros", head);
}

std::string batch_missing(const DeclaredCall& declared, Draw& draw, KernelCall& call) {
  const Index batch = declared.call().batch;
  if (batch < 2) return "";
  const Index gone = draw.between(1, batch - 1);
  call.fault = [gone](const RowPlace& row, std::span<float> weights, float& lse) {
    if (row.batch == gone) clear(weights, lse);
  };
  return fmt::format("batch {} is zeros", gone);
}

std::string empty_slots(const DeclaredCall&, Draw& draw, KernelCall& call) {
  const Index slots = draw.between(1, 64);
  call.fault = [slots](const RowPlace&, std::span<float> weights, float& lse) {
    const double right = lse, extra = std::log(static_cast<double>(slots));
    const double top = std::max(right, extra);
    const double sum = top + std::log(std::exp(right - top) + std::exp(extra - top));
    const auto factor = static_cast<float>(std::exp(right - sum));
    for (float& weight : weights) weight *= factor;
    lse = static_cast<float>(sum);
  };
  return fmt::format("{} empty slot{} with logit 0 in the denominator of every row", slots,
                     slots == 1 ? "" : "s");
}

/// Gives the keys before a border the share left_share(weight before it, weight from it on) of a
/// row's weight, and the other keys the rest.
std::string merged(const DeclaredCall& declared, Draw& draw, KernelCall& call,
                   double (*left_share)(double left, double right), std::string_view how) {
  if (declared.keys() < 2) return "";
  const Index border = draw.between(1, declared.keys() - 1);
  call.fault = [border, left_share](const RowPlace&, std::span<float> weights, float&) {
    const auto left = weights.first(as_size(border)), right = weights.subspan(as_size(border));
    const double a = std::accumulate(left.begin(), left.end(), 0.0);
    const double b = std::accumulate(right.begin(), right.end(), 0.0);
    if (a == 0 || b == 0) return;
    const double share = left_share(a, b);
    for (float& weight : left) weight *= static_cast<float>(share * (a + b) / a);
    for (float& weight : right) weight *= static_cast<float>((1 - share) * (a + b) / b);
  };
  return fmt::format("keys before {} and from it on are merged {}", border, how);
}

std::string merged_evenly(const DeclaredCall& declared, Draw& draw, KernelCall& call) {
  return merged(
      declared, draw, call, [](double, double) { return 0.5; }, "as if they weighed the same");
}

/// Merges two parts of the keys by 2^lse although their lse are natural logarithms.
std::string merged_by_exp2(const DeclaredCall& declared, Draw& draw, KernelCall& call) {
  return merged(
      declared, draw, call,
      [](double left, double right) {
        const double a = std::pow(left, std::numbers::ln2), b = std::pow(right, std::numbers::ln2);
        return a / (a + b);
      },
      "by 2^lse instead of e^lse");
}

std::string lse_base_2(const DeclaredCall&, Draw&, KernelCall& call) {
  call.fault = [](const RowPlace&, std::span<float>, float& lse) {
    lse *= static_cast<float>(std::numbers::log2e);
  };
  return "the lse is in base 2";
}

constexpr MutantKind kResultKinds[] = {
    kind_row(MutantGroup::kResult, "rows-reversed", "rows are written in reverse order",
             rows_reversed, "several queries"),
    kind_row(MutantGroup::kResult, "rows-zigzag", "rows stay in the order of ranks", rows_zigzag,
             "a number of queries that 4 divides"),
    kind_row(MutantGroup::kResult, "rows-stale", "64 rows have the results of those before them",
             rows_stale, "128 queries"),
    kind_row(MutantGroup::kResult, "rows-missing", "1 to 64 rows are zeros", rows_missing,
             "a query"),
    kind_row(MutantGroup::kResult, "head-missing", "one head is zeros", head_missing,
             "several heads"),
    kind_row(MutantGroup::kResult, "batch-missing", "one batch entry is zeros", batch_missing,
             "several batch entries"),
    kind_row(MutantGroup::kResult, "empty-slots",
             "1 to 64 slots without a key are counted in the denominator", empty_slots, ""),
    kind_row(MutantGroup::kResult, "merged-evenly",
             "two ranges of keys are merged as if they weighed the same", merged_evenly,
             "several keys"),
    kind_row(MutantGroup::kResult, "merged-by-exp2",
             "two ranges of keys are merged by 2^lse, of a natural lse", merged_by_exp2,
             "several keys"),
    kind_row(MutantGroup::kResult, "lse-base-2", "the lse is in base 2, and out is right",
             lse_base_2, ""),
};

}  // namespace

std::span<const MutantKind> result_kinds() { return kResultKinds; }

}  // namespace maskctl::attention
