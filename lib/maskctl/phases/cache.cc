#include "maskctl/phases/cache.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/grouped.h"
#include "maskctl/base/text.h"

namespace maskctl {
namespace {

void add(SlotView& view, Index slot, Index begin, Index end) {
  if (begin >= end) return;
  if (view.count > 0) {
    SlotRun& before = view.runs[view.count - 1];
    if (before.token + before.count == begin && before.slot + before.count == slot) {
      before.count += end - begin;
      view.used += end - begin;
      return;
    }
  }
  view.runs[view.count++] = {slot, begin, end - begin};
  view.used += end - begin;
}

}  // namespace

Index Cache::first_kept(Index seen) const {
  const Index first = std::max<Index>(seen - last, 0);
  return page > 1 ? first / page * page : first;
}

Index seen_before(const Cache& cache, const PhaseStep& step) {
  const bool kept = cache.reads == Cache::Reads::kKept;
  const Index seen = step.cached + (kept ? 0 : step.queries);
  const bool loses = cache.rollback == Cache::Rollback::kLoses;
  return loses ? std::max(seen, step.cached + step.taken_back) : seen;
}

SlotView view_of(const Cache& cache, const PhaseStep& step) {
  const Index end = step.cached + step.queries;
  const bool kept = cache.reads == Cache::Reads::kKept;
  const Index sinks = std::min(cache.sinks, kept ? step.cached : end);
  // Its own tokens are read, however many were taken back.
  const Index first = std::min(std::max(cache.first_kept(seen_before(cache, step)), sinks),
                               kept ? step.cached : end);
  SlotView view;
  switch (cache.order) {
    case Cache::Order::kPosition:
      add(view, 0, 0, sinks);
      add(view, first, first, end);
      break;
    case Cache::Order::kTime:
      add(view, 0, 0, sinks);
      add(view, sinks, first, end);
      break;
    case Cache::Order::kRing: {
      add(view, 0, 0, sinks);
      const Index ring = cache.last + (kept ? 1 : 0);
      if (kept && step.queries > 1) {
        add(view, sinks, first, end);
        break;
      }
      const Index at = (first - sinks) % ring, before_turn = std::min(ring - at, end - first);
      add(view, sinks + at, first, first + before_turn);
      add(view, sinks, first + before_turn, end);
      break;
    }
  }
  view.slots = cache.slots;
  for (int i = 0; i < view.count; ++i) {
    view.slots = std::max(view.slots, view.runs[i].slot + view.runs[i].count);
  }
  return view;
}

std::string mask_text(const SlotMask& mask) {
  using Of = SlotMask::Of;
  std::string out;
  switch (mask.rule) {
    case SlotMask::Rule::kDeclared:
      out = "masks by the declared rule";
      break;
    case SlotMask::Rule::kWindow:
      out = mask.window == 1 ? "masks all but the query's own key"
                             : fmt::format("masks all but the last {} keys", grouped(mask.window));
      break;
    case SlotMask::Rule::kCausal:
      out = "masks later keys alone";
      break;
    case SlotMask::Rule::kOpen:
      return "masks nothing";
  }
  switch (mask.of) {
    case Of::kPositions:
      return out;
    case Of::kSlots:
      return out + ", by slots, the queries being the last";
    case Of::kFirstSlots:
      return out + ", by slots, the first query being slot 0";
    case Of::kMixed:
      return out + ", by slots of keys and positions of queries";
  }
  return out;
}

std::string cache_text(const Cache& cache) {
  std::string out;
  const std::string last = counted(cache.last, "token");
  if (cache.last >= Cache::kAll) {
    out = "keeps all tokens";
  } else if (cache.sinks > 0) {
    out = fmt::format("keeps the first {} and the last {}", grouped(cache.sinks), last);
  } else if (cache.last == 0) {
    out = cache.page > 1
              ? fmt::format("keeps the tokens from the last multiple of {} on", grouped(cache.page))
              : "keeps no token";
  } else {
    out = cache.last == 1 ? "keeps the last token" : "keeps the last " + last;
  }
  if (cache.page > 1 && cache.last > 0 && cache.last < Cache::kAll) {
    out += fmt::format(", in pages of {}", grouped(cache.page));
  }
  if (cache.last < Cache::kAll) {
    out += cache.reads == Cache::Reads::kKept ? "; a step reads these and its own"
                                              : "; a step writes its own first";
  }
  if (cache.several == cache.one) return out + "; " + mask_text(cache.one);
  return fmt::format("{}; {}; with one query {}", out, mask_text(cache.several),
                     mask_text(cache.one));
}

}  // namespace maskctl
