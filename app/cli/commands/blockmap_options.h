// The options of `blockmap`.
#pragma once

#include <optional>
#include <string>

#include "app/session/options.h"
#include "maskctl/base/index.h"
#include "maskctl/io/kinds/kind.h"
#include "maskctl/mask/block_size.h"

namespace maskctl::app {

struct BlockmapOptions {
  SourceOptions source;
  std::string name;
  std::optional<ArrayKind> to;  // a kind of block lists; absent: ejkernel's arrays
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

}  // namespace maskctl::app
