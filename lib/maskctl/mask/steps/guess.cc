#include "maskctl/mask/steps/guess.h"

#include <algorithm>

#include "maskctl/mask/planes/words.h"

namespace maskctl {
namespace {

constexpr Index kRowsOfPart = 1024;                      // of begin, middle and end
constexpr std::size_t kMostRuns = std::size_t{1} << 18;  // of each of them

}  // namespace

SampledRows::SampledRows(const PlanePtr& plane) : plane_(plane) {
  const Index rows = plane->queries();
  if (rows <= 3 * kRowsOfPart) {
    read({0, rows});
  } else {
    read({0, kRowsOfPart});
    read({rows / 2, rows / 2 + kRowsOfPart});
    read({rows - kRowsOfPart, rows});
  }
}

void SampledRows::read(Range rows) {
  const std::size_t most = runs_.size() + kMostRuns;
  std::vector<Run> scratch;
  for (Index q = rows.begin; q < rows.end && runs_.size() < most; ++q) {
    plane_->rows({q, q + 1}, [&](Range, const Keys& keys) {
      const auto runs = as_runs(keys, scratch);
      runs_.insert(runs_.end(), runs.begin(), runs.end());
    });
    queries_.push_back(q);
    ends_.push_back(runs_.size());
  }
}

SampledRows::Row SampledRows::operator[](Index i) const {
  const std::size_t begin = i == 0 ? 0 : ends_[as_size(i - 1)];
  return {queries_[as_size(i)], std::span(runs_).subspan(begin, ends_[as_size(i)] - begin)};
}

SampledRows::Row SampledRows::row(Index query) const {
  std::vector<Run> scratch;
  plane_->rows({query, query + 1}, [&](Range, const Keys& keys) {
    const auto runs = as_runs(keys, scratch);
    asked_.assign(runs.begin(), runs.end());
  });
  return {query, asked_};
}

bool SampledRows::agree_with(const Plane& other) const {
  constexpr Index kMostRows = 64;
  const Index every = ceil_div(std::max<Index>(size(), 1), kMostRows);
  const Index most = std::max<Index>(ceil_div(size(), every) / 10, 1);  // wrong ones
  Index wrong = 0;
  std::vector<Run> scratch;
  for (Index i = 0; i < size() && wrong <= most; i += every) {
    const Row mine = (*this)[i];
    other.rows({mine.query, mine.query + 1}, [&](Range, const Keys& keys) {
      wrong += !std::ranges::equal(as_runs(keys, scratch), mine.runs);
    });
  }
  return wrong <= most;
}

Index SampledRows::Row::keys() const {
  Index sum = 0;
  for (const Run& run : runs) sum += run.end - run.begin;
  return sum;
}

bool SampledRows::Row::sees(Index key) const {
  const auto after = std::ranges::upper_bound(runs, key, {}, &Run::begin);
  return after != runs.begin() && key < std::prev(after)->end;
}

std::optional<Index> Votes::most() const {
  const auto it = std::ranges::max_element(counts_, {}, [](const auto& one) { return one.second; });
  return it == counts_.end() ? std::nullopt : std::optional(it->first);
}

std::optional<Index> Votes::majority() const {
  for (const auto& [number, votes] : counts_) {
    if (2 * votes > all_) return number;
  }
  return std::nullopt;
}

}  // namespace maskctl
