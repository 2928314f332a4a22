// Converts masks to segment ids, and to the start and end of the valid part.
#include <fmt/core.h>

#include <algorithm>

#include "maskctl/ejkernel/mask_info/conversions.h"
#include "maskctl/ejkernel/mask_info/debug_trace.h"
#include "maskctl/ejkernel/mask_info/mask_info_arrays.h"
#include "maskctl/ejkernel/mask_info/open_lines.h"
#include "maskctl/ejkernel/mask_info/python_error.h"
#include "maskctl/mask/arrays/segment_ids.h"

namespace maskctl {
namespace {

/// Collects the segment ids of planes, one after another. Each distinct plane is processed once.
class IdRows {
 public:
  IdRows(const Mask& mask, const std::vector<Index>& lead)
      : mask_(mask), found_(mask.distinct().size()) {
    std::vector<Index> q_shape = lead, k_shape = lead;
    q_shape.push_back(mask.queries());
    k_shape.push_back(mask.keys());
    q_ = Tensor(DType::kInt32, q_shape);
    k_ = Tensor(DType::kInt32, k_shape);
  }
  void add(Index b, Index h) {
    auto& ids = found_[mask_.index_of(b, h)];
    if (!ids) ids = segment_ids_of_mask(*mask_.plane(b, h));
    std::ranges::copy(ids->first, q_.as<std::int32_t>().begin() + rows_ * mask_.queries());
    std::ranges::copy(ids->second, k_.as<std::int32_t>().begin() + rows_ * mask_.keys());
    ++rows_;
  }
  QkvArrays take() { return {make_array(std::move(q_)), make_array(std::move(k_))}; }

 private:
  using Ids = std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>>;
  const Mask& mask_;
  std::vector<std::optional<Ids>> found_;
  Tensor q_, k_;
  Index rows_ = 0;
};

/// ejkernel takes the minimum over row numbers, which numpy refuses for an empty mask.
void check_not_empty(const Mask& mask) {
  if (mask.queries() > 0 && mask.keys() > 0) return;
  value_error("zero-size array to reduction operation min which has no identity");
}

void check_head_0(const Mask& mask) {
  if (mask.heads() > 0) return;
  throw PythonError(PythonType::kIndexError, "head 0 of a mask without heads is out of range");
}

/// For each batch row, which rows and columns have an open cell in any head.
std::vector<OpenLines> open_lines(const Mask& mask, Index batch, Index heads) {
  std::vector<OpenLines> lines;
  for (Index b = 0; b < batch; ++b) {
    OpenLines& now = lines.emplace_back(mask.queries(), mask.keys());
    std::vector<bool> seen(mask.distinct().size());
    for (Index h = 0; h < heads; ++h) {
      const std::uint32_t number = mask.index_of(b, h);
      if (seen[number]) continue;
      seen[number] = true;
      now.add(*mask.plane(b, h));
    }
  }
  return lines;
}

/// Returns a bool array [B, n] that says which rows (or columns, by `side`) of each batch row have
/// an open cell.
template <typename Side>
Tensor flags_of(const std::vector<OpenLines>& lines, Index n, Side side) {
  Tensor out(DType::kBool, {static_cast<Index>(lines.size()), n});
  auto to = out.as<std::uint8_t>().begin();
  for (const OpenLines& line : lines) to = std::ranges::copy(line.*side, to).out;
  return out;
}

Mask reduced(const Mask& mask, std::string_view reduce_heads) {
  // open_lines() counts a cell as open if any head opens it
  if (reduce_heads == "any") return mask;
  if (reduce_heads == "first") {
    check_head_0(mask);
    return sliced(mask, {0, mask.batch()}, {0, 1}, {0, mask.queries()}, {0, mask.keys()});
  }
  if (reduce_heads != "all") {
    value_error(
        fmt::format("reduce_heads must be one of ['any','all','first'], got '{}'.", reduce_heads));
  }
  if (mask.heads() > 0) return maskctl::reduce_heads(Op::kAnd, mask);
  return Mask::make(mask.batch(), 1, mask.queries(), mask.keys(),
                    [&](Index, Index) { return complement(mask.distinct().front()); });
}

}  // namespace

QkvArrays mask_to_segment_ids(const MaskArray& array, bool per_head) {
  trace_call("ArrayImpl.mask_to_segment_ids");
  const Index rank = array.rank();
  if (rank < 2 || rank > 4) {
    value_error(fmt::format(
        "Invalid mask shape. Expected 2D (Q,K), 3D (batch,Q,K), or 4D (batch,heads,Q,K) mask, but "
        "got {}D mask with shape {}. Ensure your attention mask has the correct dimensionality.",
        rank, shape_text(array.shape())));
  }
  const Mask mask = array.mask();
  if (rank == 4 && !per_head) check_head_0(mask);
  check_not_empty(mask);
  std::vector<Index> lead(array.shape().begin(), array.shape().end() - 2);
  const bool first_head = rank == 4 && !per_head;
  if (first_head) lead.pop_back();
  IdRows ids(mask, lead);
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index h = 0; h < (first_head ? 1 : mask.heads()); ++h) ids.add(b, h);
  }
  return ids.take();
}

QkvArrays attention_mask_to_padding_segment_ids(const MaskArray& array) {
  const Index rank = array.rank();
  if (rank < 2 || rank > 4) {
    value_error(fmt::format("attention_mask must be 2D, 3D, or 4D, got shape {}",
                            shape_text(array.shape())));
  }
  const Mask mask = rank == 3 ? heads_as_batches(array.mask()) : array.mask();
  const auto lines = open_lines(mask, mask.batch(), mask.heads());
  return {ids_of_flags(flags_of(lines, mask.queries(), &OpenLines::rows)),
          ids_of_flags(flags_of(lines, mask.keys(), &OpenLines::columns))};
}

QkvArrays attention_mask_to_qkv_cu_seqlens(const MaskArray& array, std::string_view reduce_heads,
                                           DType out_dtype) {
  trace_call("ArrayImpl.attention_mask_to_qkv_cu_seqlens");
  const Index rank = array.rank();
  if (rank == 2) return qkv_masks_to_cu_seqlens(array.tensor(), nullptr, out_dtype);
  if (rank != 3 && rank != 4) {
    value_error(
        fmt::format("attention_mask must be 2D (batch, seq), 3D (batch, q, kv), or 4D "
                    "(batch, heads, q, kv); got shape {}.",
                    shape_text(array.shape())));
  }
  const Mask mask =
      rank == 3 ? heads_as_batches(array.mask()) : reduced(array.mask(), reduce_heads);
  const auto lines = open_lines(mask, mask.batch(), mask.heads());
  return qkv_masks_to_cu_seqlens(flags_of(lines, mask.queries(), &OpenLines::rows),
                                 make_array(flags_of(lines, mask.keys(), &OpenLines::columns)),
                                 out_dtype);
}

}  // namespace maskctl
