// Finds equal lines (rows or columns) by their hashes; private to the mask layer.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl {

/// For each hash, the index of the first hash that equals it.
std::vector<std::uint32_t> first_with_hash(std::span<const std::uint64_t> hashes);

/// For each line, the index of the first line that equals it. same(i, j) compares two lines of
/// equal hash; it is called from several threads. `cells` is the length of a line, to choose the
/// size of tasks.
std::vector<std::uint32_t> first_equal(
    std::span<const std::uint64_t> hashes, Index cells,
    const std::function<bool(std::size_t i, std::size_t j)>& same);

/// Numbers distinct lines 0, 1, ... by first appearance, given first_equal(). Equal lines get the
/// same number; lines for which open(i) is false get -1.
std::vector<std::int32_t> numbers_of(std::span<const std::uint32_t> first,
                                     const std::function<bool(std::size_t i)>& open);

}  // namespace maskctl
