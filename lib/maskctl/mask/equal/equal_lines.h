// Equal lines (rows or columns) found by hash; private to the mask layer.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl {

/// For each hash, the index of the first hash equal to it.
std::vector<std::uint32_t> first_with_hash(std::span<const std::uint64_t> hashes);

/// For each line, the first line equal to it. `same(i, j)` decides; it is called from several
/// threads, and only for lines with equal hashes. `cells` is the cost of one comparison.
std::vector<std::uint32_t> first_equal(
    std::span<const std::uint64_t> hashes, Index cells,
    const std::function<bool(std::size_t i, std::size_t j)>& same);

/// Numbers 0, 1, ... in order for lines that are their own first; equal lines get the same number;
/// lines that are not open get -1.
std::vector<std::int32_t> numbers_of(std::span<const std::uint32_t> first,
                                     const std::function<bool(std::size_t i)>& open);

}  // namespace maskctl
