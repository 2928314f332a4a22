// A second, simple implementation (twin) of process_mask(): dense blocks and lists of block
// coordinates, step by step.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "maskctl/ejkernel/lazy/block_info.h"
#include "support/twin.h"

namespace maskctl::twin {

/// An array [slabs, rows, columns] of integers; a slab is a head or a shard of heads.
struct Cube {
  Index slabs = 0, rows = 0, columns = 0;
  std::vector<Index> cells;
  Cube() = default;
  Cube(Index s, Index r, Index c)
      : slabs(s), rows(r), columns(c), cells(static_cast<std::size_t>(s * r * c)) {}
  Index& at(Index s, Index r, Index c) {
    return cells[static_cast<std::size_t>((s * rows + r) * columns + c)];
  }
  Index get(Index s, Index r, Index c) const {
    return cells[static_cast<std::size_t>((s * rows + r) * columns + c)];
  }
};

struct Blocks {
  Cube block_mask, data_next;
  std::optional<Cube> mask_next;
  // The distinct partial blocks, each in row-major order, or transposed for the dkv pass.
  std::vector<std::vector<std::uint8_t>> partial;
  std::string error;  // what ejkernel refuses: "assert", "concatenate" or "" (nothing)
};

class BlockTwin {
 public:
  /// `masks` are the distinct masks in order of first use; head h uses masks[of_head[h]].
  BlockTwin(std::vector<Dense> masks, std::vector<std::size_t> of_head,
            const lazy::BlockInfoOptions& options)
      : masks_(std::move(masks)), of_head_(std::move(of_head)), o_(options) {
    heads_ = static_cast<Index>(of_head_.size());
    rows_ = masks_[0].q / o_.q_block;
    columns_ = masks_[0].k / o_.kv_block;
    per_shard_ = heads_ / o_.head_shards;
    shard_rows_ = rows_ / o_.q_seq_shards;
    single_ = true;
    for (Index h = 0; h < heads_; ++h) {
      single_ = single_ && mask_of(h) == mask_of(h / per_shard_ * per_shard_);
    }
    slabs_ = single_ ? o_.head_shards : heads_;
    number();
  }

  Blocks result() {
    Blocks out;
    out.block_mask = Cube(slabs_, rows_, columns_);
    out.data_next = Cube(slabs_, rows_, columns_);
    Cube mask_next(slabs_, rows_, columns_);
    for (Index s = 0; s < slabs_; ++s) {
      for (Index r = 0; r < rows_; ++r) {
        for (Index c = 0; c < columns_; ++c) {
          out.block_mask.at(s, r, c) = class_of(mask_of_slab(s), r, c);
        }
      }
    }
    for (Index shard = 0; shard < o_.head_shards; ++shard) {
      for (Index q = 0; q < o_.q_seq_shards; ++q) walk(shard, q, out.data_next, mask_next);
    }
    if (!contents_.empty()) out.mask_next = mask_next;
    out.partial = partial_;
    if (o_.shrink_grid && masks_.size() == 1) shrink(out);
    return out;
  }

 private:
  std::size_t mask_of(Index head) const { return of_head_[static_cast<std::size_t>(head)]; }
  std::size_t mask_of_slab(Index slab) const { return mask_of(single_ ? slab * per_shard_ : slab); }
  std::vector<std::uint8_t> block(std::size_t mask, Index r, Index c, bool transpose) const {
    const Index n = transpose ? o_.kv_block : o_.q_block, m = transpose ? o_.q_block : o_.kv_block;
    std::vector<std::uint8_t> cells;
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < m; ++j) {
        const Index q = transpose ? j : i, k = transpose ? i : j;
        cells.push_back(masks_[mask].get(r * o_.q_block + q, c * o_.kv_block + k));
      }
    }
    return cells;
  }
  Index class_of(std::size_t mask, Index r, Index c) const {
    const auto cells = block(mask, r, c, false);
    const auto open = std::count(cells.begin(), cells.end(), 1);
    return open == 0 ? 0 : open == std::ssize(cells) ? 2 : 1;
  }
  void number() {
    for (std::size_t mask = 0; mask < masks_.size(); ++mask) {
      for (Index r = 0; r < rows_; ++r) {
        for (Index c = 0; c < columns_; ++c) {
          if (class_of(mask, r, c) != 1) continue;
          const auto [it, added] =
              contents_.try_emplace(block(mask, r, c, false), static_cast<Index>(contents_.size()));
          if (added) partial_.push_back(block(mask, r, c, o_.is_dkv));
          ids_[{static_cast<Index>(mask), r, c}] = it->second;
        }
      }
    }
  }

  struct Place {
    Index slab, row, column;
  };
  void walk(Index shard, Index q_shard, Cube& data_next, Cube& mask_next) const {
    const Index heads = single_ ? 1 : per_shard_;
    std::vector<Place> order;
    const auto add = [&](Index h, Index r, Index c) {
      order.push_back({shard * heads + h, q_shard * shard_rows_ + r, c});
    };
    if (o_.is_dkv) {
      for (Index c = 0; c < columns_; ++c) {
        for (Index h = 0; h < heads; ++h) {
          for (Index r = 0; r < shard_rows_; ++r) add(h, r, c);
        }
      }
    } else {
      for (Index h = 0; h < heads; ++h) {
        for (Index r = 0; r < shard_rows_; ++r) {
          for (Index c = 0; c < columns_; ++c) add(h, r, c);
        }
      }
    }
    const auto next = [&](std::size_t from, auto&& wanted) -> const Place* {
      for (std::size_t i = 0; i < order.size(); ++i) {
        const Place& p = order[(from + i) % order.size()];
        if (wanted(class_of(mask_of_slab(p.slab), p.row, p.column))) return &p;
      }
      return nullptr;
    };
    for (std::size_t p = 0; p < order.size(); ++p) {
      const auto& [slab, row, column] = order[p];
      if (const Place* at = next(p, [](Index fill) { return fill != 0; })) {
        data_next.at(slab, row, column) = o_.is_dkv ? at->row - q_shard * shard_rows_ : at->column;
      }
      if (const Place* at = next(p, [](Index fill) { return fill == 1; })) {
        mask_next.at(slab, row, column) =
            ids_.at({static_cast<Index>(mask_of_slab(at->slab)), at->row, at->column});
      }
    }
  }

  /// Returns one query shard of an array without the empty blocks, padded at the end to `extent`.
  Cube packed(const Blocks& from, const Cube& array, Index q_shard, Index own, Index extent,
              bool edge) const {
    const Index first = q_shard * shard_rows_;
    Cube out(slabs_, o_.is_dkv ? extent : shard_rows_, o_.is_dkv ? columns_ : extent);
    for (Index s = 0; s < slabs_; ++s) {
      for (Index line = 0; line < (o_.is_dkv ? columns_ : shard_rows_); ++line) {
        std::vector<Index> kept;
        for (Index i = 0; i < (o_.is_dkv ? shard_rows_ : columns_); ++i) {
          const Index r = first + (o_.is_dkv ? i : line), c = o_.is_dkv ? line : i;
          if (from.block_mask.get(s, r, c) != 0) kept.push_back(array.get(s, r, c));
        }
        const auto missing = static_cast<std::size_t>(own) - kept.size();
        kept.insert(o_.is_dkv ? kept.begin() : kept.end(), missing, 0);
        while (std::ssize(kept) < extent) kept.push_back(edge ? kept.back() : 0);
        for (Index i = 0; i < extent; ++i) {
          (o_.is_dkv ? out.at(s, i, line) : out.at(s, line, i)) = kept[static_cast<std::size_t>(i)];
        }
      }
    }
    return out;
  }
  Index longest(const Blocks& from, Index q_shard) const {
    Index most = 0;
    for (Index line = 0; line < (o_.is_dkv ? columns_ : shard_rows_); ++line) {
      Index blocks = 0;
      for (Index i = 0; i < (o_.is_dkv ? shard_rows_ : columns_); ++i) {
        const Index r = q_shard * shard_rows_ + (o_.is_dkv ? i : line), c = o_.is_dkv ? line : i;
        blocks += from.block_mask.get(0, r, c) != 0;
      }
      most = std::max(most, blocks);
    }
    return most;
  }
  static Cube below(const std::vector<Cube>& parts) {
    Cube out(parts[0].slabs, parts[0].rows * std::ssize(parts), parts[0].columns);
    for (Index p = 0; p < std::ssize(parts); ++p) {
      const Cube& part = parts[static_cast<std::size_t>(p)];
      for (Index s = 0; s < part.slabs; ++s) {
        for (Index r = 0; r < part.rows; ++r) {
          for (Index c = 0; c < part.columns; ++c) {
            out.at(s, p * part.rows + r, c) = part.get(s, r, c);
          }
        }
      }
    }
    return out;
  }
  void shrink(Blocks& out) const {
    Index extent = 0;
    for (Index q = 0; q < o_.q_seq_shards; ++q) {
      const Index own = longest(out, q);
      if (own == 0) {
        out.error = "assert";
        return;
      }
      extent = std::max(extent, own);
    }
    if (o_.q_seq_shards > 1 && !out.mask_next) {
      out.error = "concatenate";
      return;
    }
    std::vector<Cube> classes, data, mask;
    for (Index q = 0; q < o_.q_seq_shards; ++q) {
      const Index own = longest(out, q);
      classes.push_back(packed(out, out.block_mask, q, own, extent, false));
      data.push_back(packed(out, out.data_next, q, own, extent, true));
      if (out.mask_next) mask.push_back(packed(out, *out.mask_next, q, own, extent, true));
    }
    out.block_mask = below(classes);
    out.data_next = below(data);
    if (out.mask_next) out.mask_next = below(mask);
  }

  std::vector<Dense> masks_;
  std::vector<std::size_t> of_head_;
  lazy::BlockInfoOptions o_;
  Index heads_, rows_, columns_, per_shard_, shard_rows_, slabs_;
  bool single_;
  std::map<std::vector<std::uint8_t>, Index> contents_;
  std::map<std::array<Index, 3>, Index> ids_;
  std::vector<std::vector<std::uint8_t>> partial_;
};

}  // namespace maskctl::twin
