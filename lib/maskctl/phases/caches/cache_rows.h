// The caches of libraries as rows: what each keeps and masks, and the source that says so.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/mask/steps/step.h"
#include "maskctl/phases/cache.h"

namespace maskctl {

/// What a layer sees, by which libraries choose its cache.
enum class LayerKind : std::uint8_t { kFull, kSliding, kChunked };

/// The sizes that a row makes a cache of.
struct CacheSizes {
  std::optional<Index> window;  // keys that a query sees, its own included
  std::optional<Index> chunk;   // tokens in a chunk of chunked attention
  Index sinks = 0;
  Index page = 16;
  Index slots = 0;  // that always exist; 0: as many as the library allocates
};

/// The sizes that the steps of a mask state: window, chunk and sinks.
CacheSizes sizes_of(const Chain& chain);
LayerKind kind_of(const CacheSizes& sizes);

struct CacheRow {
  std::string_view name;    // the class, or a word for caches of no library
  std::string_view family;  // what --cache calls all caches of a library together; "" for none
  std::string_view holder =
      {};                    // the class of caches that holds such layers, or another name of it
  std::string_view library;  // with its version, or its commit; "" for caches of no library
  std::string_view source;   // the files and functions that were read
  std::string_view note = {};
  bool full = false, sliding = false, chunked = false;  // layers that it serves
  /// Null if the source was not read: `note` says so.
  Cache (*make)(const CacheSizes& sizes) = nullptr;

  bool serves(LayerKind kind) const {
    return kind == LayerKind::kFull ? full : kind == LayerKind::kSliding ? sliding : chunked;
  }
};

/// All rows, those of no library first.
std::vector<const CacheRow*> cache_rows();
/// The rows that a name stands for: one by its name, or those of a family or holder that serve a
/// kind of layer. Throws Error(kInvalidArgument), which names all, for an unknown name.
std::vector<const CacheRow*> rows_named(std::string_view name, LayerKind kind);

/// The cache of a row. Throws Error(kInvalidArgument) where a size is missing, and for a row that
/// was not read.
Cache cache_of(const CacheRow& row, const CacheSizes& sizes);

/// Reads "NAME[:KEY=VALUE,...]": the caches of rows_named(), with the sizes window, chunk, sinks,
/// page and slots, and last, reads, order, mask, one, rollback and drafts in place of what the rows
/// say. Throws Error(kInvalidArgument).
std::vector<Cache> read_caches(std::string_view text, CacheSizes sizes);

}  // namespace maskctl
