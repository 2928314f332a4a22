// How sources are read and results written, as plain data that each front end fills.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "maskctl/inspect/check/leaks.h"
#include "maskctl/io/kinds/kind.h"
#include "maskctl/mask/block_size.h"
#include "maskctl/tensor/dtype.h"

namespace maskctl::app {

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

  friend bool operator==(const SourceOptions&, const SourceOptions&) = default;
};

/// The SOURCE that says which tokens belong to one document, if one was given.
struct DocumentOptions {
  std::optional<DocumentForm> form;
  std::string source;
};

struct OutputOptions {
  enum class Form { kDense, kRuns, kMaskInfo, kBias };  // the last two: of a MaskInfo

  std::string dest;
  Form form = Form::kDense;
  std::optional<DType> dtype;
  bool force = false;   // replace an existing file
  bool append = false;  // add to an existing container
  int gzip = 0;         // compression level for the arrays of a container
};

}  // namespace maskctl::app
