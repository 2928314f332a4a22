// The options of the command line, as plain data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "maskctl/inspect/count/cost.h"
#include "maskctl/io/containers/kind.h"
#include "maskctl/mask/arrays/varlen.h"
#include "maskctl/mask/block_size.h"
#include "maskctl/mask/mask.h"
#include "maskctl/render/text/draw.h"
#include "maskctl/tensor/dtype.h"

namespace maskctl::app {

enum class When { kAuto, kAlways, kNever };

struct GlobalOptions {
  When color = When::kAuto;
  bool progress = true;
  bool quiet = false;
  bool verbose = false;
  bool strict = false;
  bool trace = false;
  Index max_bytes = Index{4} << 30;
};

/// How SOURCEs are read, and the transforms that follow.
struct SourceOptions {
  std::optional<ArrayKind> as;
  bool keep_value_is_zero = false;
  std::int32_t pad_id = -1;
  std::optional<double> closed_below;  // threshold for a bias
  std::optional<std::vector<Index>> shape;
  std::optional<BlockSize> block;  // tile of --as blockmap:QxK
  std::vector<std::string> transforms;
  bool ejkernel = false;  // --semantics ejkernel: through MaskInfo
};

struct OutputOptions {
  enum class Form { kDense, kRuns, kMaskInfo };

  std::string dest;
  Form form = Form::kDense;
  std::optional<DType> dtype;
  bool force = false;   // replace an existing file
  bool append = false;  // add to an existing container
  int gzip = 0;         // compression level for the arrays of a container
};

struct InfoOptions {
  SourceOptions source;
  std::vector<std::string> sources;
  std::string mesh, axes;
  bool sequence_parallel = false;
  bool json = false;
};

struct ShowOptions {
  SourceOptions source;
  std::string name;
  std::string segments;
  Index batch = 0;
  Index head = 0;
  bool ejkernel = false;
  Style style = Style::kAuto;
  std::optional<Index> max_rows, max_columns;
  std::optional<BlockSize> block;
  Agg agg = Agg::kAny;
  Palette palette = Palette::kCividis;
  bool grid = false;
  bool ascii = false;
  bool no_segments = false;
  bool no_fit = false;
  std::string output;  // file of a picture
  bool force = false;
  Index scale = 0;  // 0: automatic
  std::string overlay;
  std::optional<BlockSize> tiles;
};

struct ApplyOptions {
  SourceOptions source;
  std::string name;
  OutputOptions output;
  bool print = false;
};

/// The config.json of a model, and what to assume if its type is unknown.
struct ModelConfigOptions {
  std::string file;
  bool assume_causal = false;
};

struct GenOptions {
  SourceOptions source;
  std::string step;  // with a model config, only the size
  ModelConfigOptions config;
  std::string layer;  // layer of the config: "5", "decoder:5"
  OutputOptions output;
};

/// Its --strict is GlobalOptions::strict; its --pad-id (for both sides) is that of `source`.
struct ConvertOptions {
  SourceOptions source;
  std::string name;
  std::optional<ArrayKind> to;                                     // absent: the kind of the source
  OutputOptions output;                                            // `form` is not used
  std::optional<BlockSize> block;                                  // for --to blockmap
  enum class Fill { kDefault, kInf, kMin } fill = Fill::kDefault;  // for --to bias
  bool write_zero_as_keep = false;                   // --write-keep-value 0: write 0 for open
  PaddingTokens padding = PaddingTokens::kSegments;  // for the cu_seqlens of a batch
  bool roundtrip = false;
  bool lossy = false;  // write the nearest if the kind cannot hold the mask
};

struct StatsOptions {
  SourceOptions source;
  std::string name;
  std::vector<BlockSize> blocks;
  bool json = false;
};

struct CostOptions {
  SourceOptions source;
  std::string name;
  CostQuery query;
  bool json = false;
};

struct CombineOptions {
  SourceOptions source;
  std::vector<std::string> names;
  std::optional<Op> op;
  OutputOptions output;
};

struct GoldenOptions {
  std::string action;  // init, check, update or list
  std::string manifest;
  std::vector<std::string> names;  // entries (empty: all); for init, SOURCEs
  std::string as;                  // how init reads them
  std::string junit;               // file to write
  bool force = false;
  bool json = false;
  bool ci = false;      // CI is set: golden files are not updated
  bool github = false;  // GITHUB_ACTIONS is set: print annotations
};

struct DiffOptions {
  SourceOptions source;
  std::string a, b;
  std::optional<ArrayKind> as_b;  // how to read b, if not like a
  Index block = 128;
  bool show = false;
  Style style = Style::kAuto;
  std::string output;  // file of a picture
  std::string dest;    // file for the arrays of the cause
  bool force = false;
  bool json = false;
};

struct WhyOptions {
  SourceOptions source;
  std::string name;
  std::string query_text, key_text;  // operands
  Index query = 0, key = 0;
  Index batch = 0, head = 0;
  bool json = false;
};

struct CheckOptions {
  enum class Format { kText, kJson, kJunit, kSarif };

  SourceOptions source;
  std::string name;
  std::vector<std::string> expectations;
  std::string segments, positions, cu_seqlens;  // SOURCEs of documents
  std::string bias;
  Format format = Format::kText;
  bool json = false;
  bool exit_zero = false;
};

struct TranslateOptions {
  SourceOptions source;
  std::string arguments;  // arguments for the library `from`
  std::string from, to;
  ModelConfigOptions config;
  std::string table;  // --table W: what a window of W means; --table all: all conventions
  std::string write;  // folder for the arrays that the code reads
  bool json = false;
};

struct AuditOptions {
  SourceOptions source;
  std::string name;
  std::string map;
  BlockSize block{128, 128};
  bool json = false;
};

struct SeqOptions {
  std::string what;  // "lens", "position-ids", ...
  std::string name;
  bool from_mask = false;
  std::optional<Index> chunk;
  bool keep_empty = false;
  OutputOptions output;
  bool json = false;
};

struct BlockmapOptions {
  SourceOptions source;
  std::string name;
  std::optional<BlockSize> block;
  Index batch = 0;
  Index head_shards = 1;
  Index q_shards = 1;
  bool no_shrink = false;
  bool no_downcast = false;
  bool dkv = false;
  bool dynamic = false;
  std::string dest;
  bool force = false;
  int gzip = 0;
  bool json = false;
};

struct RecogniseCommand {
  SourceOptions source;
  std::string name;
  Index max_steps = 4;
  std::string dest;  // file for the arrays that the pipeline reads
  bool force = false;
  int gzip = 0;
  bool json = false;
};

struct OpsOptions {
  std::string name;
  bool json = false;
};

}  // namespace maskctl::app
