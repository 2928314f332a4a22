// Equal lines (rows or columns) found by hash; private to the mask layer.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl {

/// For each hash the index of the first equal one.
std::vector<std::uint32_t> first_with_hash(std::span<const std::uint64_t> hashes);

/// For each line the first line that is the same: `same(i, j)` decides, asked from several threads
/// and only for lines of equal hash; `cells` is what a comparison costs.
std::vector<std::uint32_t> first_equal(
    std::span<const std::uint64_t> hashes, Index cells,
    const std::function<bool(std::size_t i, std::size_t j)>& same);

/// Numbers 0, 1, ... for the lines that are their own first, in order, and the same for those equal
/// to them; -1 for lines that are not open.
std::vector<std::int32_t> numbers_of(std::span<const std::uint32_t> first,
                                     const std::function<bool(std::size_t i)>& open);

}  // namespace maskctl
