#include "maskctl/inspect/count/row_lengths.h"

#include <algorithm>

namespace maskctl {

void LengthCounts::add(std::span<const LengthGroup> groups) {
  const std::lock_guard lock(mutex_);
  if (few_rows_) {
    list_.insert(list_.end(), groups.begin(), groups.end());
    return;
  }
  for (const LengthGroup& group : groups) {
    const auto length = static_cast<std::size_t>(group.keys);
    if (length >= histogram_.size()) histogram_.resize(2 * length + 1);
    histogram_[length] += static_cast<std::int32_t>(group.rows);
  }
}

std::vector<LengthGroup> LengthCounts::groups() {
  std::vector<LengthGroup> out;
  for (std::size_t length = 0; length < histogram_.size(); ++length) {
    if (histogram_[length] > 0) out.push_back({static_cast<Index>(length), histogram_[length]});
  }
  std::ranges::sort(list_, {}, &LengthGroup::keys);
  for (const LengthGroup& group : list_) {
    if (out.empty() || out.back().keys != group.keys) out.push_back({group.keys, 0});
    out.back().rows += group.rows;
  }
  return out;
}

void LengthBatch::flush() {
  next(0);
  counts_.add(groups_);
  groups_.clear();
}

void LengthBatch::next(Index keys) {
  constexpr std::size_t kMost = 4096;
  if (groups_.size() == kMost) {
    counts_.add(groups_);
    groups_.clear();
  }
  if (rows_ > 0) groups_.push_back({keys_, rows_});
  keys_ = keys;
  rows_ = 0;
}

std::vector<LengthGroup> merge_groups(const std::vector<LengthGroup>& a,
                                      const std::vector<LengthGroup>& b, Index times) {
  std::vector<LengthGroup> out;
  out.reserve(a.size() + b.size());
  auto left = a.begin();
  for (const LengthGroup& group : b) {
    while (left != a.end() && left->keys < group.keys) out.push_back(*left++);
    out.push_back({group.keys, group.rows * times});
    if (left != a.end() && left->keys == group.keys) out.back().rows += (left++)->rows;
  }
  out.insert(out.end(), left, a.end());
  return out;
}

double median(const std::vector<LengthGroup>& groups) {
  Index rows = 0;
  for (const LengthGroup& group : groups) rows += group.rows;
  if (rows == 0) return 0;
  const auto keys_at = [&groups](Index row) {
    auto group = groups.begin();
    for (; row >= group->rows; ++group) row -= group->rows;
    return static_cast<double>(group->keys);
  };
  return (keys_at((rows - 1) / 2) + keys_at(rows / 2)) / 2;
}

}  // namespace maskctl
