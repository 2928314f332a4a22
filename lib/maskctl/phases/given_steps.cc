#include "maskctl/phases/given_steps.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/error.h"
#include "maskctl/base/grouped.h"
#include "maskctl/base/text.h"
#include "maskctl/base/work_scope.h"
#include "maskctl/mask/planes/words.h"
#include "maskctl/phases/mask_rows.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

using Kind = PhaseFault::Kind;

/// A key of a step, in its slots.
struct Held {
  Index token = 0, slot = 0;
  auto operator<=>(const Held&) const = default;
};

class Steps {
 public:
  Steps(const Mask& declared, const GivenSteps& steps) : declared_(declared), open_(steps.open) {
    tokens_ = declared.keys();
    const Tensor& positions = steps.positions;
    if (positions.rank() != 2 || positions.elements() == 0) {
      throw Error(Errc::kShape,
                  fmt::format("positions of shape {}: expected [steps, slots], -1 where a slot "
                              "holds no token",
                              shape_text(positions.shape())));
    }
    count_ = positions.extent(0);
    slots_ = positions.extent(1);
    positions_ = as_int64(positions, "positions");
    in_mask(positions_, tokens_, "a slot holds token");
    if (steps.queries) {
      read_queries(*steps.queries);
    } else {
      take_newest();
    }
    in_mask(queries_, declared.queries(), "a query is at position");
    check_open();
  }

  PhaseResult judged() {
    PhaseResult out;
    out.phase = Phase::kGiven;
    const Index heads = std::max(declared_.heads(), open_ ? open_->heads() : 1);
    std::vector<MaskRows> rows;
    for (const PlanePtr& plane : declared_.distinct()) rows.emplace_back(*plane);
    StopPoll poll;
    for (Index step = 0; step < count_; ++step) {
      poll();
      read_slots(step);
      for (Index h = 0; h < heads; ++h) {
        if (h > 0 && same_as_head_0(step, h)) continue;
        judge_step(step, h, rows[declared_.index_of(0, h)], out);
      }
    }
    Index queries = std::ranges::count_if(queries_, [](std::int64_t q) { return q >= 0; });
    out.covered =
        fmt::format("{} of {}", counted(count_, "step"), counted(queries, "query", "queries"));
    return out;
  }

 private:
  static void in_mask(const std::vector<std::int64_t>& numbers, Index extent, const char* what) {
    for (const std::int64_t number : numbers) {
      if (number >= -1 && number < extent) continue;
      throw Error(Errc::kInvalidArgument,
                  fmt::format("{} {}: expected one of the {} of the mask, or -1", what, number,
                              counted(extent, "token")));
    }
  }
  void read_queries(const Tensor& queries) {
    if (queries.rank() != 2 || queries.extent(0) != count_) {
      throw Error(Errc::kShape, fmt::format("queries of shape {}: expected [{}, queries], a row "
                                            "for each step",
                                            shape_text(queries.shape()), count_));
    }
    each_ = queries.extent(1);
    queries_ = as_int64(queries, "queries");
  }
  void take_newest() {
    each_ = 1;
    for (Index step = 0; step < count_; ++step) {
      const auto begin = positions_.begin() + step * slots_;
      queries_.push_back(*std::max_element(begin, begin + slots_));
    }
  }
  void check_open() const {
    if (declared_.batch() != 1) {
      throw Error(Errc::kShape,
                  fmt::format("steps of one sequence beside a mask of {}: expected "
                              "one batch entry",
                              counted(declared_.batch(), "batch entry", "batch entries")));
    }
    if (!open_) return;
    const bool heads =
        open_->heads() == declared_.heads() || open_->heads() == 1 || declared_.heads() == 1;
    if (heads && open_->batch() == count_ && open_->queries() == each_ && open_->keys() == slots_) {
      return;
    }
    throw Error(Errc::kShape,
                fmt::format("masks of steps {}: expected a batch entry for each of {}, with {} "
                            "and {}",
                            shape_text(*open_), counted(count_, "step"),
                            counted(each_, "query", "queries"), counted(slots_, "slot")));
  }
  bool same_as_head_0(Index step, Index h) const {
    return declared_.index_of(0, h) == declared_.index_of(0, 0) &&
           (!open_ || open_->index_of(step, h) == open_->index_of(step, 0));
  }
  void read_slots(Index step) {
    held_.clear();
    for (Index slot = 0; slot < slots_; ++slot) {
      const Index token = positions_[as_size(step * slots_ + slot)];
      if (token >= 0) held_.push_back({token, slot});
    }
    std::ranges::sort(held_);
  }

  void judge_step(Index step, Index h, const MaskRows& declared, PhaseResult& out) {
    std::vector<bool> open(as_size(slots_));
    PhaseStep of;
    const auto first = queries_.begin() + step * each_;
    of.queries = std::count_if(first, first + each_, [](std::int64_t q) { return q >= 0; });
    of.cached = std::max<Index>(*first, 0);
    for (Index i = 0; i < each_; ++i) {
      const Index query = queries_[as_size(step * each_ + i)];
      if (query < 0) continue;
      read_open(step, h, i, declared, query, open);
      ++out.rows;
      auto fault = fault_of(declared, query, open);
      if (!fault) continue;
      ++out.wrong;
      if (out.first) continue;
      fault->head = h;
      fault->step = of;
      fault->number = step;
      fault->row = i;
      fault->query = query;
      out.first = std::move(fault);
    }
  }

  void read_open(Index step, Index h, Index i, const MaskRows& declared, Index query,
                 std::vector<bool>& open) const {
    open.assign(as_size(slots_), false);
    if (!open_) {
      for (const Held& one : held_) open[as_size(one.slot)] = declared.open(query, one.token);
      return;
    }
    std::vector<Run> scratch;
    open_->plane(step, h)->rows({i, i + 1}, [&](Range, const Keys& keys) {
      for (const Run& run : as_runs(keys, scratch)) {
        for (Index slot = run.begin; slot < run.end; ++slot) open[as_size(slot)] = true;
      }
    });
  }

  /// The first key that is wrong in a row, or else its first open slot without a token.
  std::optional<PhaseFault> fault_of(const MaskRows& declared, Index query,
                                     const std::vector<bool>& open) const {
    std::optional<PhaseFault> out;
    const auto found = [&](Kind kind, Index key, Index slot, std::string why) {
      if (out && out->key <= key) return;
      out.emplace();
      out->kind = kind;
      out->key = key;
      out->slot = slot;
      out->why = std::move(why);
    };
    std::size_t at = 0;
    for (const Run& run : declared.row(query)) {
      for (Index key = run.begin; key < run.end && !out; ++key) {
        while (at < held_.size() && held_[at].token < key) ++at;
        if (at < held_.size() && held_[at].token == key) continue;
        found(Kind::kDropped, key, -1, fmt::format("key {} is in no slot", grouped(key)));
      }
    }
    for (std::size_t i = 0; i < held_.size(); ++i) {
      const auto& [key, slot] = held_[i];
      if (out && out->key <= key) break;
      std::vector<Index> opened;
      std::size_t end = i;
      for (; end < held_.size() && held_[end].token == key; ++end) {
        if (open[as_size(held_[end].slot)]) opened.push_back(held_[end].slot);
      }
      i = end - 1;
      const bool want = declared.open(query, key);
      if (opened.empty() && want) {
        found(Kind::kClosed, key, slot,
              fmt::format("key {} is in slot {}, which is closed", grouped(key), grouped(slot)));
      } else if (!opened.empty() && !want) {
        found(Kind::kExtra, key, opened[0],
              fmt::format("key {}, which the mask closes, is open in slot {}", grouped(key),
                          grouped(opened[0])));
      } else if (opened.size() > 1) {
        found(Kind::kTwice, key, opened[0],
              fmt::format("key {} is open in slots {} and {}", grouped(key), grouped(opened[0]),
                          grouped(opened[1])));
      }
    }
    if (out) return out;
    std::vector<bool> holds(open.size());
    for (const Held& one : held_) holds[as_size(one.slot)] = true;
    for (Index slot = 0; slot < slots_; ++slot) {
      if (!open[as_size(slot)] || holds[as_size(slot)]) continue;
      found(Kind::kEmpty, -1, slot,
            fmt::format("slot {} holds no token and is open", grouped(slot)));
      return out;
    }
    return out;
  }

  const Mask& declared_;
  const std::optional<Mask>& open_;
  Index tokens_ = 0, count_ = 0, slots_ = 0, each_ = 0;
  std::vector<std::int64_t> positions_, queries_;
  std::vector<Held> held_;  // of the step that is looked at, by token
};

}  // namespace

PhasesVerdict judge_given(const Mask& declared, const GivenSteps& steps) {
  PhasesVerdict out;
  out.tokens = declared.keys();
  out.phases.push_back(Steps(declared, steps).judged());
  return out;
}

}  // namespace maskctl
