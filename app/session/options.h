// Options for reading SOURCEs and writing results, as plain structs that each front end fills.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "maskctl/inspect/check/leaks.h"
#include "maskctl/io/kinds/kind.h"
#include "maskctl/mask/block_size.h"
#include "maskctl/tensor/dtype.h"

namespace maskctl::app {

/// How to read a SOURCE, and the steps to apply to it.
struct SourceOptions {
  std::optional<ArrayKind> as;
  bool keep_value_is_zero = false;
  std::int32_t pad_id = -1;
  std::optional<double> closed_below;  // --as bias: elements <= this are closed
  std::optional<std::vector<Index>> shape;
  std::optional<BlockSize> block;  // tile size of --as blockmap:QxK
  std::vector<std::string> transforms;
  bool ejkernel = false;  // --semantics ejkernel: read and transform as a MaskInfo

  friend bool operator==(const SourceOptions&, const SourceOptions&) = default;
};

/// The SOURCE that says which tokens belong to the same document, and its form; and the one that
/// says which tokens are padding. Empty if not given.
struct DocumentOptions {
  std::optional<DocumentForm> form = {};
  std::string source = {};
  std::string padding = {};
  /// Further arrays that describe the same tokens, for commands that compare them.
  std::vector<std::pair<DocumentForm, std::string>> also = {};

  bool given() const { return form || !padding.empty(); }
};

struct OutputOptions {
  // The form of the mask that is written. kMaskInfo and kBias need --semantics ejkernel; kMask is
  // the file of a mask.
  enum class Form { kDense, kRuns, kMaskInfo, kBias, kMask };

  std::string dest;
  Form form = Form::kDense;
  std::optional<DType> dtype;
  bool force = false;  // these four as in WriteOptions
  bool append = false;
  bool replace_file = false;
  int gzip = 0;

  friend bool operator==(const OutputOptions&, const OutputOptions&) = default;
};

}  // namespace maskctl::app
