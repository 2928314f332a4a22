// The JSON of reports.
#include "app/reports/json_parts.h"
#include "app/reports/report.h"
#include "maskctl/base/text.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::app {
namespace {

/// The integers of a tensor as arrays nested like its axes.
Json numbers(const Tensor& tensor) {
  const auto values = as_int64(tensor, "values");
  if (tensor.rank() < 2) return values;
  Json rows = Json::array();
  const auto columns = static_cast<std::ptrdiff_t>(tensor.extent(1));
  for (auto at = values.begin(); at != values.end(); at += columns) {
    rows.push_back(std::vector(at, at + columns));
  }
  return rows;
}

Json json_of(const ArrayReport& array) {
  return {{"name", array.name}, {"dtype", array.dtype}, {"shape", array.shape}};
}

Json or_null(const std::optional<Index>& value) { return value ? Json(*value) : Json(nullptr); }

Json or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json json_of(const MaskInfoReport& report) {
  Json out{{"repr", report.repr}};
  out["shape"] = {or_null(report.shape[0]), or_null(report.shape[1]), or_null(report.shape[2])};
  out["is_self_attention"] = report.self_attention;
  out["is_multi_sequence"] = report.multi_sequence;
  out["baked_in_masks"] = {{"causal", report.baked_in.causal},
                           {"sliding_window", report.baked_in.sliding_window},
                           {"chunked", report.baked_in.chunked},
                           {"token_type_ids", report.baked_in.token_type_ids}};
  out["stored"] = Json::array();
  for (const ArrayReport& array : report.stored) out["stored"].push_back(json_of(array));
  for (const auto& [key, array] : report.lengths) {
    out[key] = array ? numbers(*array) : Json(nullptr);
  }
  return out;
}

Json json_of(const MeshReport& report) {
  Json out{{"axis_names", report.axis_names}, {"axis_sizes", report.axis_sizes}};
  out["arrays"] = Json::array();
  for (const ShardReport& array : report.arrays) {
    out["arrays"].push_back({{"name", array.name}, {"shape", array.shape}, {"spec", array.spec}});
  }
  out["devices"] = Json::array();  // [device] -> {array: [[begin, end] per axis]}
  for (Index device = 0; device < report.devices; ++device) {
    Json parts = Json::object();
    for (const ShardReport& array : report.arrays) {
      Json& ranges = parts[array.name] = Json::array();
      for (const Range& range : array.part(device)) {
        ranges.push_back({range.begin, range.end});
      }
    }
    out["devices"].push_back(std::move(parts));
  }
  return out;
}

Json json_of(const InfoReport& report) {
  Json out{{"source", report.source}};
  if (report.mask) {
    out["kind"] = report.kind;
    if (report.pipeline) out["pipeline"] = *report.pipeline;
    out["keep_value"] = report.polarity == "0" ? 0 : 1;
    out["shape"] = extents(*report.mask);
    out["distinct_planes"] = report.distinct;
    out["cells"] = report.mask->cells();
    out["open"] = report.open;
    out["density"] = ratio(report.open, report.mask->cells());
    out["tier"] = report.tier;
    out["bytes"] = report.bytes;
  } else {
    out["kind"] = nullptr;
    out["fits"] = report.fits;
  }
  out["closed_by"] = or_null(report.closed_by);
  out["adds"] = report.bias;
  out["unseen"] = report.unseen ? Json::array() : Json();
  for (const UnseenKeys& one : report.unseen.value_or(std::vector<UnseenKeys>{})) {
    Json keys = Json::array();
    for (const Range& range : one.keys) keys.push_back({range.begin, range.end});
    out["unseen"].push_back({{"batch", one.batch}, {"keys", std::move(keys)}});
  }
  out["reason"] = or_null(report.reason);
  out["error"] = or_null(report.error);
  out["arrays"] = Json::array();
  for (const ArrayReport& array : report.arrays) out["arrays"].push_back(json_of(array));
  out["notes"] = report.notes;
  if (report.mask_info) out["mask_info"] = json_of(*report.mask_info);
  if (report.mesh) out["mesh"] = json_of(*report.mesh);
  return out;
}

Json json_of(const BlockStats& block, Index open) {
  return {{"q", block.size.q},
          {"k", block.size.k},
          {"empty", block.empty},
          {"partial", block.partial},
          {"full", block.full},
          {"executed", block.executed},
          {"waste", ratio(block.executed, open)}};
}

Json json_of(const PlaneStats& stats, Index keys) {
  Json out{{"open", stats.open},
           {"density", ratio(stats.open, stats.rows * keys)},
           {"rows", stats.rows},
           {"empty_rows", stats.empty_rows},
           {"full_rows", stats.full_rows},
           {"keys_per_row",
            {{"min", stats.min_keys}, {"median", stats.median_keys}, {"max", stats.max_keys}}}};
  out["empty_columns"] = stats.empty_columns ? Json(*stats.empty_columns) : Json(nullptr);
  out["blocks"] = Json::array();
  for (const BlockStats& block : stats.blocks) out["blocks"].push_back(json_of(block, stats.open));
  return out;
}

Json json_of(const Field& arg) {
  Json out{{"name", arg.name},         {"value", placeholder(arg.type)}, {"help", arg.help},
           {"required", arg.required}, {"positional", arg.positional},   {"group", arg.group}};
  out["default"] = arg.fallback.empty() ? Json(nullptr) : Json(arg.fallback);
  if (!arg.choices.empty()) out["choices"] = arg.choices;
  return out;
}

Json json_of(const StepInfo& info) {
  Json out{{"name", info.name},       {"kind", name(info.kind)}, {"meaning", info.meaning},
           {"formula", info.formula}, {"usage", usage(info)},    {"example", info.example}};
  out["arguments"] = Json::array();
  for (const Field& arg : info.args) out["arguments"].push_back(json_of(arg));
  out["synonyms"] =
      info.synonyms.empty() ? std::vector<std::string_view>() : split(info.synonyms, ' ');
  return out;
}

}  // namespace

Json info_json(std::span<const InfoReport> reports) {
  Json out{{"schema", "maskctl.info/1"}};
  out["sources"] = Json::array();
  for (const InfoReport& report : reports) out["sources"].push_back(json_of(report));
  return out;
}

Json stats_json(std::string_view source, const Mask& mask, const Stats& stats,
                const std::optional<Leaks>& leaks) {
  Json out{{"schema", "maskctl.stats/1"}, {"source", source}, {"shape", extents(mask)}};
  out["total"] = json_of(stats.total, mask.keys());
  out["planes"] = Json::array();
  for (const PlaneStats& plane : stats.planes) out["planes"].push_back(json_of(plane, mask.keys()));
  out["plane_of"] = plane_numbers(mask);
  out["leaks"] = leak_counts_json(leaks);
  return out;
}

/// The part of a cause that a user can apply: two pipelines if all arrays that they read were
/// written to a file, else an edit (steps that turn A into B).
Json cause_json(const CauseReport& report) {
  const DiffCause& cause = report.cause;
  Json out{{"kind", cause.kind}, {"text", cause.text}};
  const Residue& residue = report.by_pipelines ? cause.residue_b : cause.edit_residue;
  const Residue none;
  const Residue& residue_a = report.by_pipelines ? cause.residue_a : none;
  if (report.by_pipelines) {
    out["pipeline_a"] = report.pipeline_a;
    out["pipeline_b"] = report.pipeline_b;
  } else {
    out["edit"] = report.edit;
  }
  out["arrays"] = report.arrays;
  out["residue_cells"] = residue.cells;
  out["residue"] = json_of(residue);
  out["residue_a_cells"] = residue_a.cells;
  out["residue_a"] = json_of(residue_a);
  out["exact"] = residue.cells == 0 && residue_a.cells == 0;
  out["unexplained"] = residue.cells;
  return out;
}

Json diff_json(const DiffReport& report) {
  const MaskDiff& diff = report.diff;
  Json out{{"schema", "maskctl.diff/1"},
           {"a", report.a},
           {"b", report.b},
           {"shape", report.shape},
           {"broadcast", report.broadcast.empty() ? Json(nullptr) : Json(report.broadcast)},
           {"equal", diff.equal()},
           {"only_a", diff.only_a},
           {"only_b", diff.only_b},
           {"both", diff.both},
           {"rows", diff.rows},
           {"block", diff.block.q},
           {"block_keys", diff.block.k},
           {"blocks", diff.blocks}};
  out["first"] = first_difference(diff, "a", "b");
  out["planes"] = Json::array();
  for (const PlaneDiff& plane : diff.planes) {
    out["planes"].push_back({{"batch", plane.batch},
                             {"head", plane.head},
                             {"only_a", plane.only_a},
                             {"only_b", plane.only_b}});
  }
  out["cause"] = nullptr;
  if (report.cause) out["cause"] = cause_json(*report.cause);
  out["forms_a"] = report.forms_a;
  out["forms_b"] = report.forms_b;
  out["no_cause"] = nullptr;
  if (!report.no_cause.empty()) out["no_cause"] = report.no_cause;
  out["leaks"] = nullptr;
  if (report.leaks) {
    out["leaks"] = {{"a", leak_counts_json(report.leaks->a)},
                    {"b", leak_counts_json(report.leaks->b)}};
  }
  out["documents"] = json_of(report.documents);
  out["closed_rows"] = nullptr;
  if (report.closing) {
    const auto& [rows, a, b] = *report.closing;
    out["closed_rows"] = {{"rows", rows}, {"finite_in", nullptr}};
    if (a != ClosedBy::kBoth && b != ClosedBy::kBoth) {
      out["closed_rows"]["finite_in"] = a == ClosedBy::kFinite ? "a" : "b";
    }
  }
  return out;
}

Json seq_json(std::string_view what, const Tensor& values) {
  Json out{{"schema", "maskctl.seq/1"}, {"function", what}, {"dtype", name(values.dtype())}};
  out["shape"] = values.shape();
  out["values"] = numbers(values);
  return out;
}

Json blockmap_json(const BlockmapReport& report) {
  Json out{{"schema", "maskctl.blockmap/1"},
           {"source", report.source},
           {"shape", extents(report.mask)},
           {"block", {{"q", report.block.q}, {"k", report.block.k}}},
           {"dkv", report.dkv}};
  out["heads"] = Json::array();
  for (const BlockCounts& head : report.heads) {
    out["heads"].push_back({{"empty", head.empty}, {"partial", head.partial}, {"full", head.full}});
  }
  out["arrays"] = Json::array();
  for (const ArrayReport& array : report.arrays) {
    if (!array.dtype.empty()) out["arrays"].push_back(json_of(array));
  }
  return out;
}

Json ops_json(std::span<const StepInfo* const> ops) {
  Json out{{"schema", "maskctl.ops/1"}};
  out["steps"] = Json::array();
  for (const StepInfo* info : ops) out["steps"].push_back(json_of(*info));
  return out;
}

}  // namespace maskctl::app
