// The results of info, blockmap, diff and stats, and their output formats.
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
#include "app/reports/json_value.h"
#include "maskctl/inspect/count/cost.h"
#include "maskctl/inspect/count/stats.h"
#include "maskctl/inspect/diff/closing.h"
#include "maskctl/inspect/diff/diff.h"
#include "maskctl/inspect/find/unseen.h"
#include "maskctl/mask/mask.h"
#include "maskctl/pipeline/steps/step_infos.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::app {

/// Name, dtype and shape of a stored array.
struct ArrayReport {
  std::string name;
  std::string dtype;
  std::vector<Index> shape;
};

/// How a stored array is split over a mesh of devices.
struct ShardReport {
  std::string name;
  std::vector<Index> shape;
  // Which axes of the mesh split which axes of the array, as text.
  std::string spec;
  std::function<std::vector<Range>(Index device)> part;  // index range of each axis on a device
};

/// How the stored arrays of a MaskInfo are split over a mesh of devices.
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

/// The properties of a MaskInfo, named as in ejkernel.
struct MaskInfoReport {
  std::string repr;
  std::array<std::optional<Index>, 3> shape;  // batch, queries, keys
  bool self_attention = false;
  bool multi_sequence = false;
  BakedInReport baked_in;
  std::vector<ArrayReport> stored;
  // Null: the property is None in ejkernel.
  std::vector<std::pair<std::string, std::shared_ptr<const Tensor>>> lengths;
};

/// One SOURCE of `info`: a mask, or arrays that do not determine a mask.
struct InfoReport {
  std::string source;
  std::optional<Mask> mask;
  std::string kind;
  std::optional<std::string> pipeline;  // the steps that the SOURCE says it is made by
  std::string polarity;                 // "1" or "0": the value that may attend
  Index open = 0;
  std::optional<std::vector<UnseenKeys>> unseen{std::in_place};  // absent: not looked for
  Index distinct = 0;  // planes that differ from each other
  std::string tier;
  Index bytes = 0;
  std::vector<ArrayReport> arrays;  // the arrays in the SOURCE
  std::string closed_by;            // the numbers that close cells of a bias
  std::vector<std::string> bias;    // describes the finite numbers of a bias that close no cell
  std::string reason;               // why the arrays are not a mask
  std::string error;                // why the SOURCE could not be read
  std::vector<std::string> fits;    // values of --as to choose from
  std::vector<std::string> notes;
  std::optional<MaskInfoReport> mask_info;  // set with --semantics ejkernel
  std::optional<MeshReport> mesh;           // set with --mesh
};

struct BlockCounts {
  Index empty = 0, partial = 0, full = 0;
};

/// The result of `blockmap`. Arrays with an empty dtype are absent.
struct BlockmapReport {
  std::string source;
  Mask mask;
  BlockSize block;
  bool dkv = false;
  std::vector<BlockCounts> heads;  // the heads of one batch, or of all batches one after another
  std::vector<ArrayReport> arrays;
};

/// A cause, and how to reproduce it: two pipelines as text if all arrays that they read are in
/// files, else an edit (steps that turn A into B).
struct CauseReport {
  DiffCause cause;
  bool by_pipelines = false;
  std::string pipeline_a, pipeline_b, edit;
  std::vector<std::string> arrays;  // SOURCEs of the arrays that the pipelines read
};

/// The leaks of two masks, counted with the same documents.
struct LeaksOfBoth {
  Leaks a, b;
};

/// The result of `diff`.
struct DiffReport {
  std::string a, b;  // SOURCEs with their steps
  std::array<Index, 4> shape{};
  MaskDiff diff;
  std::optional<CauseReport> cause;
  std::string no_cause;  // why no cause is known, if the masks differ
  std::optional<LeaksOfBoth> leaks;
  std::optional<CellDocuments> documents;  // documents of the first cell that differs
  std::optional<ClosingChange>
      closing;  // rows closed by finite numbers in one, by -inf in the other
  std::vector<std::string> forms_a = {}, forms_b = {};  // what they are, if no pipeline says it
  std::string broadcast = {};  // what is compared where they differ in batches or heads
};

/// The JSON form of `info`, {"schema": "maskctl.info/1", ...}, and a newline.
Json info_json(std::span<const InfoReport> reports);
Json stats_json(std::string_view source, const Mask& mask, const Stats& stats,
                const std::optional<Leaks>& leaks);
Json cost_json(std::string_view source, const Mask& mask, const Cost& cost);
Json diff_json(const DiffReport& report);
Json seq_json(std::string_view what, const Tensor& values);
Json blockmap_json(const BlockmapReport& report);
std::string blockmap_text(const BlockmapReport& report);
Json ops_json(std::span<const StepInfo* const> ops);

/// `leaks` are those between documents that the user gave.
std::string stats_text(const Mask& mask, const Stats& stats,
                       const std::optional<Leaks>& leaks = {});
std::string cost_text(const Mask& mask, const Cost& cost);
/// Drops all tile sizes after the first that covers the whole mask.
void drop_larger_blocks(std::vector<BlockSize>& blocks, const Mask& mask);

/// How a mask is stored: "bands", "runs", "words" or "computed"; several are joined by "+".
std::string tier(const Mask& mask);
/// The bytes in memory of the distinct planes of a mask.
Index bytes_held(const Mask& mask);

}  // namespace maskctl::app
