// What the command line asked for, as plain data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "maskctl/inspect/stats.h"
#include "maskctl/io/kind.h"
#include "maskctl/mask/mask.h"
#include "maskctl/render/draw.h"
#include "maskctl/tensor/dtype.h"

namespace maskctl::app {

enum class When { kAuto, kAlways, kNever };

struct GlobalOptions {
  When color = When::kAuto;
  bool progress = true;
  bool quiet = false;
  bool verbose = false;
  bool strict = false;
  Index max_bytes = Index{4} << 30;
};

/// How SOURCEs are read, and the transforms that follow.
struct SourceOptions {
  std::optional<Kind> as;
  bool as_bf16 = false;
  bool keep_value_is_zero = false;
  std::int32_t pad_id = -1;
  std::optional<std::vector<Index>> shape;
  std::vector<std::string> transforms;
};

struct OutputOptions {
  std::string dest;
  bool runs = false;  // else dense
  std::optional<DType> dtype;
  bool force = false;
};

struct InfoOptions {
  SourceOptions source;
  std::vector<std::string> sources;
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
};

struct ApplyOptions {
  SourceOptions source;
  std::string name;
  OutputOptions output;
  bool print = false;
};

struct GenOptions {
  SourceOptions source;
  std::string step;
  OutputOptions output;
};

struct StatsOptions {
  SourceOptions source;
  std::string name;
  std::vector<BlockSize> blocks;
  bool json = false;
};

struct CombineOptions {
  SourceOptions source;
  std::vector<std::string> names;
  std::optional<Op> op;
  OutputOptions output;
};

struct OpsOptions {
  std::string name;
  bool json = false;
};

}  // namespace maskctl::app
