// The options of each command.
#include "app/cli/declare.h"
#include "app/cli/parse.h"
#include "maskctl/pipeline/parse/values.h"

namespace maskctl::app {
namespace {

void info_options(OptionList& list, Request& request) {
  InfoOptions& info = request.info;
  list.operands("SOURCE", info.sources);
  declare_source(list, info.source);
  declare_semantics(list, info.source);
  list.text("--mesh", "dp=2+tp=4", "how MaskInfo's arrays are split over a mesh of devices",
            info.mesh);
  list.text("--axes", "batch=dp,heads=tp", "mesh axes of batch, heads and sequence, + joins two",
            info.axes);
  list.flag("--sequence-parallel", "split the query axis too (--mesh)", info.sequence_parallel);
  list.flag("--json", "print JSON (maskctl.info/1)", info.json);
}

void show_style_options(OptionList& list, ShowOptions& show) {
  static constexpr std::string_view kStyles[] = {"auto",     "shade", "half",    "braille",
                                                 "quadrant", "ascii", "ejkernel"};
  list.choice("--style", kStyles, "characters to draw with; ejkernel: the text of its visualize()",
              [&show](std::size_t i) {
                show.ejkernel = i == 6;
                if (i < 6) show.style = static_cast<Style>(i);
              });
  static constexpr std::string_view kAggs[] = {"any", "all", "majority"};
  list.choice("--agg", kAggs, "when a cell of half, quadrant or braille is on (any)",
              [&show](std::size_t i) { show.agg = static_cast<Agg>(i); });
  static constexpr std::string_view kPalettes[] = {"cividis", "viridis", "grey"};
  list.choice("--palette", kPalettes, "colours of densities",
              [&show](std::size_t i) { show.palette = static_cast<Palette>(i); });
  list.flag("--grid", "a dot where nothing is open", show.grid);
  list.flag("--ascii", "ASCII only (ejkernel: its ascii charset)", show.ascii);
  list.flag("--no-fit", "ejkernel: draw every block", show.no_fit);
}

void show_options(OptionList& list, Request& request) {
  ShowOptions& show = request.show;
  list.operand("SOURCE", show.name);
  declare_source(list, show.source);
  declare_semantics(list, show.source);
  list.integer("--batch", -kMaxArgument, "which batch to draw (0)",
               [&show](Index n) { show.batch = n; });
  list.integer("--head", -kMaxArgument, "which head to draw (0)",
               [&show](Index n) { show.head = n; });
  list.text("--segments", "SOURCE", "segment ids that label the axes", show.segments);
  list.flag("--no-segments", "no ids along the axes", show.no_segments);
  list.integer("--max-rows", 0, "lines the drawing may take; 0: any (ejkernel: block rows, 32)",
               [&show](Index n) { show.max_rows = n; });
  list.integer("--max-columns", 0, "columns it may take; 0: any (ejkernel: block columns, 64)",
               [&show](Index n) { show.max_columns = n; });
  list.value("--block", "QxK", "elements for each cell of the drawing",
             [&show](const std::string& text) { show.block = parse_block(text, "--block"); });
  list.text("-o,--output", "FILE", "write a picture: FILE.png, FILE.svg or FILE.html", show.output);
  list.flag("-f,--force", "replace an existing file", show.force);
  list.integer("--scale", 1, "pixels of a cell (-o)", [&show](Index n) { show.scale = n; });
  list.text("--overlay", "SOURCE", "a second mask laid over the first (-o)", show.overlay);
  list.value("--tiles", "QxK", "draw the tiles of a kernel: empty, partial, full (-o)",
             [&show](const std::string& text) { show.tiles = parse_block(text, "--tiles"); });
  show_style_options(list, show);
}

void apply_options(OptionList& list, Request& request) {
  list.operand("SOURCE", request.apply.name);
  declare_source(list, request.apply.source);
  declare_semantics(list, request.apply.source);
  declare_output(list, request.apply.output, true);
  list.flag("--print", "print the pipeline in canonical form", request.apply.print);
}

void combine_options(OptionList& list, Request& request) {
  CombineOptions& combine = request.combine;
  list.operands("SOURCE", combine.names);
  static constexpr std::string_view kOps[] = {"and", "or", "xor", "sub"};
  list.choice("--op", kOps, "sub: open in the first, closed in the others",
              [&combine](std::size_t i) { combine.op = static_cast<Op>(i); });
  declare_source(list, combine.source);
  declare_output(list, combine.output);
}

void convert_options(OptionList& list, Request& request) {
  ConvertOptions& convert = request.convert;
  list.operand("SOURCE", convert.name);
  declare_source(list, convert.source);
  declare_destination(list, convert.output,
                      "FILE.npy, FILE.npz:KEY, FILE.h5:/NAME, FILE.safetensors:NAME, or -");
  list.value("--to", "KIND", "what to write; absent: what was read",
             [&convert](const std::string& text) { convert.to = parse_kind(text, "--to"); });
  list.value("--block", "QxK", "block of --to blockmap, queries x keys",
             [&convert](const std::string& text) { convert.block = parse_block(text, "--block"); });
  static constexpr std::string_view kFills[] = {"inf", "min"};
  list.choice("--fill", kFills, "closed cells of --to bias: -inf, or the smallest finite number",
              [&convert](std::size_t i) {
                convert.fill = i == 0 ? ConvertOptions::Fill::kInf : ConvertOptions::Fill::kMin;
              });
  static constexpr std::string_view kKeep[] = {"0", "1"};
  list.choice("--write-keep-value", kKeep, "the value that may attend in what is written (1)",
              [&convert](std::size_t i) { convert.write_zero_as_keep = i == 0; });
  static constexpr std::string_view kPadding[] = {"segments", "drop"};
  list.choice("--padding", kPadding,
              "tokens outside documents in the cu_seqlens of a batch: segments of their own, or "
              "left out",
              [&convert](std::size_t i) { convert.padding = static_cast<PaddingTokens>(i); });
  list.flag("--lossy", "write the nearest array if the kind cannot hold the mask", convert.lossy);
  list.flag("--roundtrip", "say whether the array holds the mask; exit 1 when cells changed",
            convert.roundtrip);
}

void declare_config(OptionList& list, ModelConfigOptions& config, const std::string& help) {
  list.text("--hf-config", "FILE", help, config.file);
  list.value("--assume", "causal", "what to assume for an unknown model type",
             [&config](const std::string& text) {
               static constexpr std::string_view kWords[] = {"causal"};
               parse_choice(text, "--assume", kWords);
               config.assume_causal = true;
             });
}

void gen_options(OptionList& list, Request& request) {
  list.operand("STEP", request.gen.step);
  declare_config(list, request.gen.config,
                 "the mask of a layer of this Hugging Face config.json; STEP is then the size, as "
                 "in n=4096");
  list.text("--layer", "N", "which layer, from 0 on; encoder:N, decoder:N, cross:N",
            request.gen.layer);
  declare_transforms(list, request.gen.source);
  declare_output(list, request.gen.output);
}

void stats_options(OptionList& list, Request& request) {
  StatsOptions& stats = request.stats;
  list.operand("SOURCE", stats.name);
  stats.blocks = {{64, 64}, {128, 128}};
  declare_source(list, stats.source);
  list.value("--block", "QxK+QxK", "tile sizes to count, 64 = 64x64 (64+128)",
             [&stats](const std::string& text) { stats.blocks = parse_blocks(text, "--block"); });
  list.flag("--json", "print JSON (maskctl.stats/1)", stats.json);
}

void cost_options(OptionList& list, Request& request) {
  CostOptions& cost = request.cost;
  CostQuery& query = cost.query;
  list.operand("SOURCE", cost.name);
  declare_source(list, cost.source);
  list.value("--block", "QxK+QxK", "tile sizes to count, 64 = 64x64 (16+32+64+128+256+512)",
             [&query](const std::string& text) { query.blocks = parse_blocks(text, "--block"); });
  list.integer("--heads", 1, "heads that share a mask of one head (those of the mask)",
               [&query](Index n) { query.heads = n; });
  list.integer("--head-dim", 1, "numbers in a query, key or value (128)",
               [&query](Index n) { query.head_dim = n; });
  list.integer("--ranks", 1, "devices that share the queries (8)",
               [&query](Index n) { query.ranks = n; });
  list.flag("--json", "print JSON (maskctl.cost/1)", cost.json);
}

void diff_options(OptionList& list, Request& request) {
  DiffOptions& diff = request.diff;
  list.operand("A", diff.a);
  list.operand("B", diff.b);
  declare_source(list, diff.source);
  list.value("--as-b", "KIND", "how to read B (as A)",
             [&diff](const std::string& text) { diff.as_b = parse_kind(text, "--as-b"); });
  list.integer("--block", 1, "size of the blocks that are counted (128)",
               [&diff](Index n) { diff.block = n; });
  list.flag("--show", "draw both masks over each other, at the first difference", diff.show);
  static constexpr std::string_view kStyles[] = {"shade", "ascii"};
  list.choice("--style", kStyles, "characters of --show",
              [&diff](std::size_t i) { diff.style = i == 0 ? Style::kShade : Style::kAscii; });
  list.text("-o,--output", "FILE.png", "a picture of both: .png, .svg or .html", diff.output);
  list.text("--write", "FILE", "write the arrays that the pipelines of the cause read", diff.dest);
  list.flag("-f,--force", "replace an existing file", diff.force);
  list.flag("--json", "print JSON (maskctl.diff/1)", diff.json);
}

void golden_options(OptionList& list, Request& request) {
  GoldenOptions& golden = request.golden;
  list.operand("ACTION", golden.action);
  list.operand("MANIFEST", golden.manifest);
  list.operands("NAME", golden.names);
  list.value("--as", "KIND", "how init reads its SOURCEs",
             [&golden](const std::string& text) { golden.as = name(parse_kind(text, "--as")); });
  list.text("--junit", "FILE.xml", "write the results as JUnit XML too (check)", golden.junit);
  list.flag("-f,--force", "update even where CI is set", golden.force);
  list.flag("--json", "print JSON (maskctl.golden/1, golden-update/1, golden-list/1)", golden.json);
}

void blockmap_options(OptionList& list, Request& request) {
  BlockmapOptions& map = request.blockmap;
  list.operand("SOURCE", map.name);
  declare_source(list, map.source);
  list.value("--block", "QxK", "block of the kernel; must divide the mask (required)",
             [&map](const std::string& text) { map.block = parse_block(text, "--block"); });
  list.integer("--batch", 0, "which batch (0)", [&map](Index n) { map.batch = n; });
  list.integer("--head-shards", 1, "parts that the heads are split into (1)",
               [&map](Index n) { map.head_shards = n; });
  list.integer("--q-shards", 1, "parts that the queries are split into (1)",
               [&map](Index n) { map.q_shards = n; });
  list.flag("--no-shrink", "keep the columns that no row needs", map.no_shrink);
  list.flag("--no-downcast", "int32 indices, however small they are", map.no_downcast);
  list.flag("--dkv", "in the order of the backward pass: by key blocks", map.dkv);
  list.flag("--dynamic", "the form for masks known only at run time: keeps every block",
            map.dynamic);
  list.text("-o,--output", "DEST", "FILE.npz for the arrays, or -", map.dest);
  list.flag("-f,--force", "replace an existing file", map.force);
  declare_gzip(list, map.gzip);
  list.flag("--json", "print JSON (maskctl.blockmap/1)", map.json);
}

void why_options(OptionList& list, Request& request) {
  WhyOptions& why = request.why;
  list.operand("SOURCE", why.name);
  list.operand("QUERY", why.query_text);
  list.operand("KEY", why.key_text);
  declare_source(list, why.source);
  declare_semantics(list, why.source);
  list.integer("--batch", 0, "which batch (0)", [&why](Index n) { why.batch = n; });
  list.integer("--head", 0, "which head (0)", [&why](Index n) { why.head = n; });
  list.flag("--json", "print JSON (maskctl.why/1)", why.json);
}

void check_options(OptionList& list, Request& request) {
  CheckOptions& check = request.check;
  list.operand("SOURCE", check.name);
  declare_source(list, check.source);
  list.repeated("-e,--expect", "EXPECTATION",
                "what must hold, may be repeated: causal, window:keys=N or any step that closes "
                "cells; no-empty-rows, no-leak:SRC, symmetric, block-aligned:N, row-safe:block=N, "
                "density:MIN..MAX, subset-of:SRC, equals:PIPELINE; without it, check looks for "
                "mistakes",
                check.expectations);
  list.text("--segments", "SOURCE", "segment ids: no open cell may join two documents",
            check.segments);
  list.text("--positions", "SOURCE", "position ids, another way to give the documents",
            check.positions);
  list.text("--cu-seqlens", "SOURCE", "cumulative lengths, another way to give the documents",
            check.cu_seqlens);
  list.text("--bias", "SOURCE", "an additive bias that is used together with the mask", check.bias);
  static constexpr std::string_view kFormats[] = {"text", "json", "junit", "sarif"};
  const auto choose = [&check](std::size_t i) {
    check.format = static_cast<CheckOptions::Format>(i);
  };
  list.choice("--format", kFormats, "how to report (text); json: maskctl.check/1", choose);
  list.flag("--json", "the same as --format json", check.json);
  list.flag("--exit-zero", "exit 0 whatever is found", check.exit_zero);
}

void translate_options(OptionList& list, Request& request) {
  TranslateOptions& translate = request.translate;
  list.operand("ARGUMENTS", translate.arguments);
  declare_transforms(list, translate.source);
  list.text("--from", "LIBRARY",
            "the library of ARGUMENTS: ejkernel, ejkernel-flash, ejkernel-ragged, hf, fa, te, "
            "cudnn, xformers, flashinfer, flex, splash, vllm, ck_tile, flashmask, sdpa, mha, jax",
            translate.from);
  list.text("--to", "LIBRARY+...", "the libraries to write for (all)", translate.to);
  declare_config(list, translate.config, "the masks of the layers of a Hugging Face config.json");
  list.text("--table", "W",
            "how many keys a window of W is, for each library; all: every argument of every "
            "library",
            translate.table);
  list.text("--write", "DIR", "where to write arrays that are too long for the code",
            translate.write);
  list.flag("--json", "print JSON (maskctl.translate/1)", translate.json);
}

void audit_options(OptionList& list, Request& request) {
  AuditOptions& audit = request.audit;
  list.operand("SOURCE", audit.name);
  list.operand("MAP", audit.map);
  declare_source(list, audit.source);
  list.value("--block", "QxK", "block of the map, queries x keys (128)",
             [&audit](const std::string& text) { audit.block = parse_block(text, "--block"); });
  list.flag("--json", "print JSON (maskctl.audit/1)", audit.json);
}

void seq_options(OptionList& list, Request& request) {
  SeqOptions& seq = request.seq;
  list.operand("WHAT", seq.what);
  list.operand("SOURCE", seq.name);
  static constexpr std::string_view kForms[] = {"cu_seqlens", "padding"};
  list.choice("--as", kForms, "SOURCE holds cumulative lengths (default), or is a mask [B,S]",
              [&seq](std::size_t i) { seq.from_mask = i == 1; });
  list.integer("--chunk", 1, "tokens in a chunk, for chunk-indices and chunk-offsets",
               [&seq](Index n) { seq.chunk = n; });
  list.flag("--keep-empty", "number sequences without tokens too", seq.keep_empty);
  declare_destination(list, seq.output, "FILE.npy, FILE.npz:KEY, or - instead of text");
  list.flag("--json", "print JSON (maskctl.seq/1)", seq.json);
}

void recognise_options(OptionList& list, Request& request) {
  RecogniseCommand& recognise = request.recognise;
  list.operand("SOURCE", recognise.name);
  declare_source(list, recognise.source);
  list.integer("--max-steps", 1, "longest pipeline to look for (4)",
               [&recognise](Index n) { recognise.max_steps = n; });
  list.text("--write", "FILE", "where the arrays of the pipeline go: FILE.npz, or FILE.npy for one",
            recognise.dest);
  list.flag("-f,--force", "replace an existing file", recognise.force);
  declare_gzip(list, recognise.gzip);
  list.flag("--json", "print JSON (maskctl.recognise/1)", recognise.json);
}

void ops_options(OptionList& list, Request& request) {
  list.operand("NAME", request.ops.name);
  list.flag("--json", "print JSON (maskctl.ops/1)", request.ops.json);
}

struct Declaration {
  std::string_view command;
  void (*declare)(OptionList& list, Request& request);
};
constexpr Declaration kDeclarations[] = {
    {"info", info_options},
    {"show", show_options},
    {"apply", apply_options},
    {"convert", convert_options},
    {"combine", combine_options},
    {"gen", gen_options},
    {"stats", stats_options},
    {"cost", cost_options},
    {"diff", diff_options},
    {"golden", golden_options},
    {"why", why_options},
    {"check", check_options},
    {"translate", translate_options},
    {"audit", audit_options},
    {"seq", seq_options},
    {"blockmap", blockmap_options},
    {"recognise", recognise_options},
    {"ops", ops_options},
    {"attend", [](OptionList& list, Request& r) { declare_attend(list, r.attend); }},
    {"verify", [](OptionList& list, Request& r) { declare_verify(list, r.verify); }},
    {"probe", [](OptionList& list, Request& r) { declare_probe(list, r.probe); }},
    {"bench", [](OptionList& list, Request& r) { declare_bench(list, r.bench); }},
    {"backends", [](OptionList& list, Request& r) { declare_backends(list, r.backends); }},
};

}  // namespace

void declare_command(std::string_view command, OptionList& list, Request& request) {
  for (const Declaration& entry : kDeclarations) {
    if (entry.command == command) entry.declare(list, request);
  }
}

}  // namespace maskctl::app
