#include "maskctl/ejkernel/visualize/mask_info_view.h"

#include <fmt/format.h>

#include "maskctl/ejkernel/mask_info/debug_trace.h"
#include "maskctl/ejkernel/mask_info/python_error.h"
#include "maskctl/ejkernel/visualize/visualize_text.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

[[noreturn]] void out_of_range(const std::string& message) {
  throw PythonError(PythonType::kIndexError, message);
}

/// The shape of a mask of rank 3 or 4 as [B,H,Q,K].
std::vector<Index> shape_of(const MaskArray& mask) {
  std::vector<Index> shape = mask.shape();
  if (shape.size() == 3) shape.insert(shape.begin() + 1, 1);
  if (shape.size() == 4) return shape;
  throw PythonError(
      PythonType::kValueError,
      fmt::format("Visualization requires a 4D attention mask with shape (batch, heads, q_len, "
                  "kv_len), but got {}D mask with shape {}. Ensure the mask is properly formatted "
                  "before visualization.",
                  mask.rank(), shape_text(mask.shape())));
}

void check_range(const VisualizeOptions& options, Index batches, Index heads) {
  if (options.batch < 0 || options.batch >= batches) {
    out_of_range(
        fmt::format("Batch index out of range. Requested batch={}, but valid range is "
                    "[0, {}). The attention mask has batch_size={}.",
                    options.batch, batches, batches));
  }
  if (options.head < 0 || options.head >= heads) {
    out_of_range(
        fmt::format("Head index out of range. Requested head={}, but valid range is "
                    "[0, {}). The attention mask has {} head(s).",
                    options.head, heads, heads));
  }
}

/// The ids of one batch row, ids[batch], or ids[batch, head] if the rank is 3.
std::vector<std::int32_t> row_of(const Tensor& stored, Index batch, Index head) {
  const Tensor ids = astype(stored, DType::kInt32);
  const bool per_head = ids.rank() == 3;
  if (ids.rank() != 2 && !per_head) {
    out_of_range(
        fmt::format("segment ids of shape {} have no row of a batch", shape_text(ids.shape())));
  }
  if (batch >= ids.extent(0) || (per_head && head >= ids.extent(1))) {
    out_of_range(fmt::format("segment ids of shape {} have no batch {} and head {}",
                             shape_text(ids.shape()), batch, head));
  }
  const Index row = per_head ? batch * ids.extent(1) + head : batch;
  const Index length = ids.extent(ids.rank() - 1);
  const auto tokens = ids.as<std::int32_t>().subspan(static_cast<std::size_t>(row * length),
                                                     static_cast<std::size_t>(length));
  return {tokens.begin(), tokens.end()};
}

/// The stored segment ids of queries or of keys, for the batch entry and head that are shown.
/// nullopt if segment ids are not shown, or if none are stored: then visualize_text() computes them
/// from the mask.
std::optional<std::vector<std::int32_t>> ids_of(const Array& stored,
                                                const VisualizeOptions& options) {
  if (!options.show_segments) return std::nullopt;
  if (stored) return row_of(*stored, options.batch, options.head);
  // ejkernel calls mask_to_segment_ids() once if ids of queries are missing, and once if ids of
  // keys are missing.
  trace_call("mask_to_segment_ids");
  return std::nullopt;
}

EjkernelOptions text_options(const VisualizeOptions& options, std::vector<Index> shape) {
  EjkernelOptions out;
  if (const Index* size = std::get_if<Index>(&options.block_size)) {
    out.q_block = out.kv_block = *size;
  } else {
    std::tie(out.q_block, out.kv_block) = std::get<std::pair<Index, Index>>(options.block_size);
  }
  out.batch = options.batch;
  out.head = options.head;
  out.fit_in_screen = options.fit_in_screen;
  out.max_rows = options.max_rows;
  out.max_cols = options.max_cols;
  out.ascii = options.charset == "ascii";
  out.show_segments = options.show_segments;
  out.mask_shape = std::move(shape);
  return out;
}

}  // namespace

std::string visualize(MaskInfo& info, const VisualizeOptions& options) {
  trace_call("MaskInfo.visualize");
  const MaskArray array = info.get_or_compute_attention_mask();
  const std::vector<Index> shape = shape_of(array);
  check_range(options, shape[0], shape[1]);
  const Mask mask = array.mask();
  // The Mask of an array [B,Q,K] is [1,B,Q,K].
  const PlanePtr& plane =
      array.rank() == 3 ? mask.plane(0, options.batch) : mask.plane(options.batch, options.head);
  const auto q_ids = ids_of(info.fields().q_segment_ids, options);
  const auto kv_ids = ids_of(info.fields().kv_segment_ids, options);
  const auto span_of = [](const std::optional<std::vector<std::int32_t>>& ids) {
    return ids ? std::optional<std::span<const std::int32_t>>(*ids) : std::nullopt;
  };
  return visualize_text(*plane, span_of(q_ids), span_of(kv_ids), text_options(options, shape));
}

}  // namespace maskctl
