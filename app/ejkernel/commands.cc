// The commands apply, why and show for a MaskInfo, and ejkernel's names of arguments.
#include <fmt/format.h>

#include "app/cli/commands/ejkernel.h"
#include "app/ejkernel/sources.h"
#include "app/session/save.h"
#include "maskctl/ejkernel/chain/why_ejkernel.h"
#include "maskctl/ejkernel/mask_info/mask_info_io.h"
#include "maskctl/ejkernel/visualize/mask_info_view.h"
#include "maskctl/ejkernel/visualize/visualize_text.h"

namespace maskctl::app::ejkernel {
namespace {

void write_mask_array(const MaskArray& array, OutputOptions output, Session& session) {
  if (output.form == OutputOptions::Form::kRuns) {
    write_output(array.mask(), output, session);
  } else if (array.lazy() && array.rank() == 4) {
    output.dtype = array.dtype();
    write_output(array.mask(), output, session);
  } else {
    write_output(array.tensor(session.settings().max_bytes), output, session);
  }
}

}  // namespace

void apply(Loader& loader, const std::string& source, const OutputOptions& output,
           Session& session) {
  MaskInfo info = info_of(loader, source);
  if (output.form == OutputOptions::Form::kMaskInfo) {
    if (output.dtype) info = info.to_dtype(*output.dtype);
    write_mask_info(output.dest, info, write_options(output, session),
                    session.settings().max_bytes);
  } else if (output.form == OutputOptions::Form::kBias) {
    const Tensor bias =
        info.create_bias(output.dtype.value_or(DType::kFloat32), session.settings().max_bytes);
    write_array(output.dest, bias, write_options(output, session));
  } else if (!output.dest.empty()) {
    const bool cast = output.dtype && output.form == OutputOptions::Form::kDense;
    write_mask_array(
        cast ? info.get_or_compute_attention_mask(*output.dtype) : info.attention_mask(), output,
        session);
  }
}

Explained explained(Loader& loader, const std::string& source) {
  const MaskInfo info = read_info(loader, source);
  Explained out;
  out.mask = with_steps(loader, info).attention_mask().mask();
  out.why = [info, &loader](const Cell& cell) {
    return why_ejkernel(info, loader.source().transforms, loader.context(), cell);
  };
  return out;
}

LoadedMask drawn(Loader& loader, const std::string& source) {
  MaskInfo info = info_of(loader, source);
  LoadedMask out;
  const auto ids = [](const Array& array) {
    const bool drawable = array && array->rank() == 2 && array->dtype() == DType::kInt32;
    return drawable ? std::optional(*array) : std::nullopt;
  };
  out.q_segment_ids = ids(info.fields().q_segment_ids);
  out.kv_segment_ids = ids(info.fields().kv_segment_ids);
  out.mask = info.attention_mask().mask();
  return out;
}

std::string visualized(Loader& loader, const std::string& source, const VisualizeRequest& request) {
  MaskInfo info = info_of(loader, source);
  VisualizeOptions out;
  if (request.block) out.block_size = std::pair(request.block->q, request.block->k);
  out.batch = request.batch;
  out.head = request.head;
  out.fit_in_screen = request.fit;
  out.max_rows = request.max_rows.value_or(out.max_rows);
  out.max_cols = request.max_columns.value_or(out.max_cols);
  out.charset = request.ascii ? "ascii" : "unicode";
  out.show_segments = request.segments;
  return visualize(info, out);
}

std::string visualized(const Mask& mask, const Panel& panel, const VisualizeRequest& request) {
  EjkernelOptions out;
  if (request.block) {
    out.q_block = request.block->q;
    out.kv_block = request.block->k;
  }
  out.batch = request.batch;
  out.head = request.head;
  out.fit_in_screen = request.fit;
  out.max_rows = request.max_rows.value_or(out.max_rows);
  out.max_cols = request.max_columns.value_or(out.max_cols);
  out.ascii = request.ascii;
  out.show_segments = request.segments;
  out.mask_shape = {mask.batch(), mask.heads(), mask.queries(), mask.keys()};
  const auto known = [](std::span<const std::int32_t> row) {
    return row.empty() ? std::nullopt : std::optional(row);
  };
  return visualize_text(*panel.plane, known(panel.q_segments), known(panel.k_segments), out);
}

std::string alias_text(const attention::Field& field) {
  return field.alias.empty() ? "" : fmt::format("; ejkernel's {}", field.alias);
}

}  // namespace maskctl::app::ejkernel
