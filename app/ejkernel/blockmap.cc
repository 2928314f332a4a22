// The command `blockmap`: the blocks of a mask in the form in which block-sparse kernels load them.
#include <fmt/format.h>

#include "app/cli/commands/ejkernel.h"
#include "app/reports/report.h"
#include "app/session/loader.h"
#include "maskctl/base/error.h"
#include "maskctl/ejkernel/lazy/block_info.h"
#include "maskctl/mask/arrays/dense.h"

namespace maskctl::app::ejkernel {
namespace {

void check_options(const BlockmapOptions& options, const Mask& mask) {
  if (!options.block) {
    throw Error(Errc::kInvalidArgument, "blockmap: --block QxK is missing; 128 is 128x128");
  }
  const BlockSize& block = *options.block;
  if (mask.queries() % block.q != 0 || mask.keys() % block.k != 0) {
    throw Error(Errc::kShape, fmt::format("blockmap: blocks of {}x{} do not divide {}; the kernel "
                                          "needs whole blocks",
                                          block.q, block.k, shape_text(mask)));
  }
  if (options.batch >= mask.batch()) {
    throw Error(Errc::kInvalidArgument, fmt::format("--batch {} is out of range: the mask has {}",
                                                    options.batch, mask.batch()));
  }
  if (options.json && options.dest == "-") {
    throw Error(Errc::kInvalidArgument, "blockmap: --json and -o - both use standard output");
  }
}

lazy::BlockInfoOptions info_options(const BlockmapOptions& options) {
  lazy::BlockInfoOptions out;
  out.q_block = options.block->q;
  out.kv_block = options.block->k;
  out.is_dkv = options.dkv;
  out.downcast_smem_data = !options.no_downcast;
  out.head_shards = options.head_shards;
  out.q_seq_shards = options.q_shards;
  out.shrink_grid = !options.no_shrink;
  return out;
}

/// The cells of one batch as a dense tensor [H,Q,K], for --dynamic.
Tensor dense_heads(const Mask& mask, Index batch, Index max_bytes) {
  const Mask one =
      sliced(mask, {batch, batch + 1}, {0, mask.heads()}, {0, mask.queries()}, {0, mask.keys()});
  Tensor tensor = dense_from_mask(one, max_bytes);
  tensor.reshape({mask.heads(), mask.queries(), mask.keys()});
  return tensor;
}

std::vector<BlockCounts> count_blocks(const Mask& mask, const BlockmapOptions& options) {
  std::vector<BlockCounts> counts;
  for (Index h = 0; h < mask.heads(); ++h) {
    const TileMap tiles =
        tile_map(*mask.plane(options.batch, h), options.block->q, options.block->k);
    counts.push_back({tiles.empty(), tiles.partial(), tiles.full()});
  }
  return counts;
}

void write_arrays(const lazy::BlockInfo& info, const BlockmapOptions& options, Session& session) {
  Tensor partial;
  std::vector<ArrayRef> arrays{{"block_mask", &info.block_mask}, {"data_next", &info.data_next}};
  if (info.mask_next) arrays.push_back({"mask_next", &*info.mask_next});
  if (info.partial_mask_blocks) {
    partial = info.partial_mask_blocks->tensor(session.settings().max_bytes);
    arrays.push_back({"partial_mask_blocks", &partial});
  }
  if (info.q_sequence) arrays.push_back({"q_sequence", &*info.q_sequence});
  WriteOptions how;
  how.force = options.force;
  how.gzip = options.gzip;
  maskctl::write_arrays(options.dest, arrays, how);
}

ArrayReport array_report(std::string name_of, const Tensor* tensor) {
  if (!tensor) return {std::move(name_of), "", {}};
  return {std::move(name_of), std::string(name(tensor->dtype())), tensor->shape()};
}

BlockmapReport report_of(const Mask& mask, const BlockmapOptions& options,
                         const lazy::BlockInfo& info) {
  BlockmapReport report;
  report.source = options.name;
  report.mask = mask;
  report.block = *options.block;
  report.dkv = options.dkv;
  report.heads = count_blocks(mask, options);
  report.arrays.push_back(array_report("block_mask", &info.block_mask));
  report.arrays.push_back(array_report("data_next", &info.data_next));
  report.arrays.push_back(array_report("mask_next", info.mask_next ? &*info.mask_next : nullptr));
  report.arrays.push_back(info.partial_mask_blocks ? ArrayReport{"partial_mask_blocks", "bool",
                                                                 info.partial_mask_blocks->shape()}
                                                   : array_report("partial_mask_blocks", nullptr));
  return report;
}

}  // namespace

Answer blockmap(const BlockmapOptions& options, Session& session) {
  Loader loader(options.source, session);
  const Mask mask = loader.transformed(loader.read(options.name).mask);
  check_options(options, mask);
  const lazy::BlockInfoOptions how = info_options(options);
  const lazy::BlockInfo info =
      options.dynamic ? lazy::process_dynamic_mask(
                            dense_heads(mask, options.batch, session.settings().max_bytes), how)
                      : lazy::process_mask(mask, options.batch, how);
  if (!options.dest.empty()) write_arrays(info, options, session);
  if (options.dest == "-") return {};
  const BlockmapReport report = report_of(mask, options, info);
  const auto text = [&] {
    return blockmap_text(report) +
           "block_mask: 0 empty, 1 partial, 2 full; data_next: the block to load next; mask_next: "
           "the\npartial block to load next\n";
  };
  return answer_in(options.json, text, [=] { return blockmap_json(report); });
}

}  // namespace maskctl::app::ejkernel
