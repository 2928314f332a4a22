// Compares a BlockInfo with its twin in plain loops, and with literal arrays.
#pragma once

#include <sstream>
#include <string>

#include "ejkernel/lazy/block_twin.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::twin {

inline DType downcast(const std::vector<Index>& cells) {
  if (cells.empty()) return DType::kInt32;
  const Index most = *std::max_element(cells.begin(), cells.end());
  return most <= 127 ? DType::kInt8 : most <= 32767 ? DType::kInt16 : DType::kInt32;
}

/// Returns how an array differs in shape, dtype or elements from the expected one; "" if it does
/// not.
inline std::string check_array(const std::string& name, const Tensor& got, const Cube& want,
                               bool small) {
  if (got.shape() != std::vector<Index>{want.slabs, want.rows, want.columns}) {
    return name + ": shape " + shape_text(got.shape()) + ", not " +
           shape_text(std::vector<Index>{want.slabs, want.rows, want.columns});
  }
  const DType dtype = small ? downcast(want.cells) : DType::kInt32;
  if (got.dtype() != dtype) return name + ": dtype " + std::string(maskctl::name(got.dtype()));
  const std::vector<std::int64_t> cells = as_int64(got, "got");
  if (cells == want.cells) return "";
  std::ostringstream out;
  out << name << " is";
  for (const auto v : cells) out << " " << v;
  out << ", not";
  for (const auto v : want.cells) out << " " << v;
  return out.str();
}

inline std::string check_partial(const lazy::BlockInfo& got, const Blocks& want,
                                 const lazy::BlockInfoOptions& o) {
  if (want.partial.empty() != (got.partial_mask_blocks == nullptr)) return "partial blocks: null";
  if (want.partial.empty()) return "";
  const Index n = std::ssize(want.partial);
  const std::vector<Index> shape = o.is_dkv ? std::vector<Index>{n, o.kv_block, o.q_block}
                                            : std::vector<Index>{n, o.q_block, o.kv_block};
  if (got.partial_mask_blocks->shape() != shape) return "partial blocks: shape";
  const Tensor all = got.partial_mask_blocks->tensor();
  if (all.shape() != shape || all.dtype() != DType::kBool) return "partial blocks: tensor";
  for (std::size_t i = 0; i < want.partial.size(); ++i) {
    const Tensor one = got.partial_mask_blocks->block(static_cast<Index>(i));
    const auto cells = one.as<std::uint8_t>();
    const auto part =
        all.as<std::uint8_t>().subspan(i * want.partial[i].size(), want.partial[i].size());
    if (one.shape() != std::vector<Index>(shape.begin() + 1, shape.end()) ||
        !std::equal(cells.begin(), cells.end(), want.partial[i].begin(), want.partial[i].end()) ||
        !std::equal(part.begin(), part.end(), want.partial[i].begin())) {
      return "partial block " + std::to_string(i);
    }
  }
  return "";
}

inline std::string check_info(const lazy::BlockInfo& got, const Blocks& want,
                              const lazy::BlockInfoOptions& o) {
  const bool small = o.downcast_smem_data;
  if (auto e = check_array("block_mask", got.block_mask, want.block_mask, small); !e.empty())
    return e;
  if (auto e = check_array("data_next", got.data_next, want.data_next, small); !e.empty()) return e;
  if (got.mask_next.has_value() != want.mask_next.has_value()) return "mask_next: None";
  if (want.mask_next) {
    if (auto e = check_array("mask_next", *got.mask_next, *want.mask_next, small); !e.empty())
      return e;
  }
  return check_partial(got, want, o);
}

}  // namespace maskctl::twin
