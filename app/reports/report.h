// The results of info, blockmap, diff and stats, and their forms.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/reports/documents_report.h"
#include "maskctl/inspect/count/cost.h"
#include "maskctl/inspect/count/stats.h"
#include "maskctl/inspect/diff/diff.h"
#include "maskctl/mask/mask.h"
#include "maskctl/pipeline/steps/step_infos.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::app {

/// An array as it is stored.
struct ArrayReport {
  std::string name;
  std::string dtype;
  std::vector<Index> shape;
};

/// A stored array on a mesh of devices.
struct ShardReport {
  std::string name;
  std::vector<Index> shape;
  std::string spec;                                      // what its axes are split over
  std::function<std::vector<Range>(Index device)> part;  // what each device holds of it
};

/// The stored arrays of a MaskInfo on a mesh.
struct MeshReport {
  std::vector<std::string> axis_names;
  std::vector<Index> axis_sizes;
  Index devices = 0;
  std::vector<ShardReport> arrays;
};

/// Which transforms have been applied to a MaskInfo.
struct BakedInReport {
  bool causal = false, sliding_window = false, chunked = false, token_type_ids = false;
};

/// ejkernel's properties.
struct MaskInfoReport {
  std::string repr;
  std::array<std::optional<Index>, 3> shape;  // batch, queries, keys
  bool self_attention = false;
  bool multi_sequence = false;
  BakedInReport baked_in;
  std::vector<ArrayReport> stored;
  std::vector<std::pair<std::string, std::shared_ptr<const Tensor>>> lengths;  // null: None
};

/// One SOURCE of `info`: a mask, or arrays that do not determine a mask.
struct InfoReport {
  std::string source;
  std::optional<Mask> mask;
  std::string kind;
  std::string polarity;  // "1" or "0": the value that may attend
  Index open = 0;
  std::string tier;
  Index bytes = 0;
  std::vector<ArrayReport> arrays;  // of the source
  std::string closed_by;            // the numbers that close cells of a bias
  std::vector<std::string> bias;    // what its other finite numbers are
  std::string reason;               // why it is not a mask
  std::string error;                // why nothing can be said about it
  std::vector<std::string> fits;    // kinds to choose from with --as
  std::vector<std::string> notes;
  std::optional<MaskInfoReport> mask_info;  // --semantics ejkernel
  std::optional<MeshReport> mesh;           // --mesh
};

struct BlockCounts {
  Index empty = 0, partial = 0, full = 0;
};

/// The result of `blockmap`; an array without a dtype is absent.
struct BlockmapReport {
  std::string source;
  Mask mask;
  BlockSize block;
  bool dkv = false;
  std::vector<BlockCounts> heads;  // of one batch, or those of all batches after each other
  std::vector<ArrayReport> arrays;
};

/// A cause, and the form in which it can be applied: its chains as text if all arrays that they
/// read are in files, else the edit.
struct CauseReport {
  DiffCause cause;
  bool by_pipelines = false;
  std::string pipeline_a, pipeline_b, edit;
  std::vector<std::string> arrays;  // SOURCEs that the pipelines read
};

/// The leaks of two masks between the same documents.
struct LeaksOfBoth {
  Leaks a, b;
};

/// The result of `diff`.
struct DiffReport {
  std::string a, b;  // SOURCEs with their pipelines
  std::array<Index, 4> shape{};
  MaskDiff diff;
  std::optional<CauseReport> cause;
  std::string no_cause;  // why the masks differ and no cause is given
  std::optional<LeaksOfBoth> leaks;
  std::optional<CellDocuments> documents;  // of the first cell that differs
};

/// One object and a newline: {"schema": "maskctl.info/1", ...}.
std::string info_json(std::span<const InfoReport> reports);
std::string stats_json(std::string_view source, const Mask& mask, const Stats& stats,
                       const std::optional<Leaks>& leaks);
std::string cost_json(std::string_view source, const Mask& mask, const Cost& cost);
std::string diff_json(const DiffReport& report);
std::string seq_json(std::string_view what, const Tensor& values);
std::string blockmap_json(const BlockmapReport& report);
std::string blockmap_text(const BlockmapReport& report);
std::string ops_json(std::span<const StepInfo* const> ops);

/// `leaks`: between documents that were given.
std::string stats_text(const Mask& mask, const Stats& stats,
                       const std::optional<Leaks>& leaks = {});
std::string cost_text(const Mask& mask, const Cost& cost);
/// Leaves out sizes of tiles that hold no more of the mask than a smaller one does.
void drop_larger_blocks(std::vector<BlockSize>& blocks, const Mask& mask);

/// How a mask is stored: "bands", "runs", "words", "computed"; several are joined by "+".
std::string tier(const Mask& mask);
/// The bytes of its distinct planes.
Index bytes_held(const Mask& mask);

}  // namespace maskctl::app
