#include "maskctl/attention/cuda/tiles/device_tiles.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "maskctl/attention/cuda/tiles/dense_tables.h"
#include "maskctl/mask/planes/bands.h"

namespace maskctl::attention::cuda {
namespace {

constexpr Index kMaxBytes = Index{4} << 30;

/// Packs arrays one after the other, so that they are copied to the GPU in one go.
class Package {
 public:
  /// Adds an array. Returns its offset in the package, in bytes.
  template <class Array>
  std::size_t add(const Array& array) {
    const std::span<const std::byte> bytes = std::as_bytes(std::span(array));
    const std::size_t at = make_room(bytes.size());
    put(at, bytes);
    return at;
  }
  std::size_t make_room(std::size_t bytes) {
    const std::size_t at = (bytes_.size() + kAlignment - 1) / kAlignment * kAlignment;
    bytes_.resize(at + bytes);
    return at;
  }
  void put(std::size_t at, std::span<const std::byte> bytes) {
    if (!bytes.empty()) std::memcpy(bytes_.data() + at, bytes.data(), bytes.size());
  }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kAlignment = 16;
  std::vector<std::byte> bytes_;
};

/// Sets a pointer to the array at offset `at`, in bytes.
template <class T>
void set_pointer(const T*& pointer, const std::byte* begin, std::size_t at) {
  pointer = reinterpret_cast<const T*>(begin + at);
}

std::uint64_t columns_of(Run open) { return bits_between(open.begin, open.end); }
std::uint64_t columns_of(std::uint64_t word) { return word; }

/// Returns, for each payload (the open cells of one tile) of `height` rows, the columns that at
/// least one row opens, as bits.
template <class Row>
std::vector<std::uint64_t> used_by(const std::vector<Row>& rows, Index height) {
  std::vector<std::uint64_t> used;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i % as_size(height) == 0) used.push_back(0);
    used.back() |= columns_of(rows[i]);
  }
  return used;
}

/// Pads payloads to an even number of rows, so that each begins at a multiple of 16 bytes.
template <class Row>
std::vector<Row> even(const std::vector<Row>& rows, Index height) {
  if (height % 2 == 0) return rows;
  std::vector<Row> out;
  for (auto row = rows.begin(); row != rows.end(); row += height) {
    out.insert(out.end(), row, row + height);
    out.emplace_back();
  }
  return out;
}

/// The offsets, in a package, of the arrays of a table made on the host.
struct PackedTable {
  std::size_t row_offsets, runs, partial_offsets, payloads, intervals, words;
  std::size_t used_by_intervals, used_by_words;
  int payload_rows, words_per_row;

  PackedTable(Package& package, const TileTable& table)
      : row_offsets(package.add(table.tiles.row_offsets)),
        runs(package.add(table.tiles.runs)),
        partial_offsets(package.add(table.partial_offsets)),
        payloads(package.add(table.payloads)),
        intervals(package.add(even(table.pools.intervals, table.pools.rows))),
        words(package.add(even(table.pools.words, table.pools.rows))),
        used_by_intervals(package.add(used_by(table.pools.intervals, table.pools.rows))),
        used_by_words(package.add(used_by(table.pools.words, table.pools.rows))),
        payload_rows(static_cast<int>(table.pools.rows + table.pools.rows % 2)),
        words_per_row(static_cast<int>(table.pools.words_per_row())) {}

  TileTableView view(const std::byte* begin) const {
    TileTableView out{};
    set_pointer(out.row_begins, begin, row_offsets);
    out.row_ends = out.row_begins + 1;
    set_pointer(out.runs, begin, runs);
    set_pointer(out.partial_offsets, begin, partial_offsets);
    set_pointer(out.payloads, begin, payloads);
    set_pointer(out.intervals, begin, intervals);
    set_pointer(out.words, begin, words);
    set_pointer(out.used_by_intervals, begin, used_by_intervals);
    set_pointer(out.used_by_words, begin, used_by_words);
    out.payload_rows = payload_rows, out.words_per_row = words_per_row;
    return out;
  }
};

TileTable table_of_plane(const PlanePtr& plane, const BlockMap* compiled) {
  const bool fits = compiled && compiled->plane() == plane && compiled->tiles().q_tile == kTile &&
                    compiled->tiles().k_tile == kTile;
  return fits ? compiled->table() : tile_table(*plane, kTile, kTile, kMaxBytes);
}

/// Returns the key-major table of a plane. A plane of bands is itself transposed, which is faster
/// than transposing its table `query_major`.
TileTable key_major_table(const PlanePtr& plane, const TileTable& query_major) {
  return slabs_of(*plane) ? tile_table(*plane->transposed(), kTile, kTile, kMaxBytes)
                          : key_major(query_major);
}

/// Whether a plane takes at least one bit of memory per cell.
bool is_dense(const Plane& plane) {
  return !plane.computed() && plane.bytes() >= plane.queries() * ceil_div(plane.keys(), 64) * 8;
}

/// The rows of a plane as bits, one row after the other.
std::vector<std::uint64_t> words_of(const Plane& plane) {
  const std::size_t width = as_size(ceil_div(plane.keys(), 64));
  std::vector<std::uint64_t> words(as_size(plane.queries()) * width);
  plane.rows({0, plane.queries()}, [&](Range rows, const Keys& keys) {
    for (Index q = rows.begin; q < rows.end; ++q) {
      const auto row = std::span(words).subspan(as_size(q) * width, width);
      std::ranges::copy(keys.words, row.begin());
      for (const Run& run : keys.runs) {
        for (Index k = run.begin; k < run.end; ++k) {
          row[as_size(k / 64)] |= std::uint64_t{1} << k % 64;
        }
      }
    }
  });
  return words;
}

}  // namespace

/// Makes the tile tables of all planes of a mask, query-major and, if the backward pass needs them,
/// also key-major; then copies them to the GPU.
class DeviceTiles::Tables {
 public:
  Tables(DeviceTiles& out, bool both_orders, Stream stream)
      : out_(out), both_orders_(both_orders), stream_(stream) {}

  /// Adds the tables of a plane whose bits are on the GPU.
  void add(const BitPlanes& plane) {
    by_query_.push_back({{}, classified(plane)});
    is_measured_ = false;
    if (!both_orders_) return;
    BitPlanes transposed{1, plane.keys, plane.queries, nullptr};
    const DeviceBuffer words(as_size(transposed.size()) * sizeof(std::uint64_t), stream_);
    transposed.words = reinterpret_cast<std::uint64_t*>(words.data());
    transpose_bits(plane, transposed, stream_);
    by_key_.push_back({{}, classified(transposed)});
  }
  /// Adds the tables of a plane, made on the host.
  void add(const PlanePtr& plane, const BlockMap* compiled) {
    const TileTable table = table_of_plane(plane, compiled);
    pack(table, by_query_, out_.query_major_sizes_);
    if (both_orders_) {
      pack(key_major_table(plane, table), by_key_, out_.key_major_sizes_);
    }
    if (package_.bytes().size() > kMostPacked) send();
  }
  /// Copies to the GPU the tables that are not there yet, and fills in the members of `out`, of
  /// which table_of_ must already be complete.
  void finish(Index batch, Index heads, Index queries, Index keys) {
    const std::size_t numbers = package_.add(out_.table_of_);
    const auto room = [&](const std::vector<Table>& tables) {
      return package_.make_room(tables.size() * sizeof(TileTableView));
    };
    const std::size_t by_query = room(by_query_), by_key = room(by_key_);
    const std::byte* const begin = send([&] {
      put_views(by_query_, by_query);
      put_views(by_key_, by_key);
    });
    for (auto& [view, at] :
         {std::pair(&out_.query_major_, by_query), std::pair(&out_.key_major_, by_key)}) {
      set_pointer(view->tables, begin, at);
      set_pointer(view->table_of, begin, numbers);
      view->batch = batch, view->heads = heads;
      view->count = std::ssize(by_query_);
    }
    if (!is_measured_) out_.measure(queries, both_orders_ ? keys : 0, stream_);
  }

 private:
  static constexpr std::size_t kMostPacked = std::size_t{64} << 20;
  /// The place of a table in the package, until the package is sent; then its view.
  struct Table {
    std::optional<PackedTable> packed;
    TileTableView view;
  };

  TileTableView classified(const BitPlanes& plane) {
    out_.buffers_.emplace_back(table_bytes(plane.queries, plane.keys), stream_);
    const TileTableView table = place_table(plane.queries, plane.keys, out_.buffers_.back().data());
    classify_plane(plane, table, stream_);
    return table;
  }
  void pack(const TileTable& table, std::vector<Table>& tables, std::vector<TileRowSize>& sizes) {
    tables.push_back({PackedTable(package_, table), {}});
    for (Index t = 0; t < table.tiles.tile_rows(); ++t) {
      TileRowSize size;
      for (const TileRun& run : table.tiles.row(t)) size.add(run);
      sizes.push_back(size);
    }
  }
  void put_views(const std::vector<Table>& tables, std::size_t at) {
    for (const Table& table : tables) {
      package_.put(at, std::as_bytes(std::span(&table.view, 1)));
      at += sizeof table.view;
    }
  }
  /// Copies the package to the GPU and begins another. Before the copy, when the views of all its
  /// tables are known, calls `complete`, which may still change the package.
  template <class F>
  const std::byte* send(F&& complete) {
    out_.buffers_.emplace_back(package_.bytes().size(), stream_);
    std::byte* const begin = out_.buffers_.back().data();
    for (std::vector<Table>* const tables : {&by_query_, &by_key_}) {
      for (Table& table : *tables) {
        if (table.packed) table = {{}, table.packed->view(begin)};
      }
    }
    complete();
    copy_to_device(begin, package_.bytes(), stream_);
    package_ = {};
    return begin;
  }
  void send() {
    send([] {});
  }

  DeviceTiles& out_;
  bool both_orders_;
  Stream stream_;
  Package package_;
  std::vector<Table> by_query_, by_key_;
  bool is_measured_ = true;  // whether the host knows the sizes of all tile rows
};

/// Finds the sizes of all tile rows on the GPU and copies them to the host. If `keys` is 0, there
/// are no key-major tables.
void DeviceTiles::measure(Index queries, Index keys, Stream stream) {
  const auto measured = [&](const MaskView& mask, Index extent, std::vector<TileRowSize>& sizes) {
    const Index rows = ceil_div(extent, kTile);
    sizes.resize(as_size(mask.count * rows));
    DeviceBuffer there(sizes.size() * sizeof(TileRowSize), stream);
    measure_rows(mask, rows, reinterpret_cast<TileRowSize*>(there.data()), stream);
    copy_to_host(std::as_writable_bytes(std::span(sizes)), there.data(), stream);
  };
  measured(query_major_, queries, query_major_sizes_);
  measured(key_major_, keys, key_major_sizes_);
  synchronize(stream);
}

DeviceTiles::DeviceTiles(const Mask& mask, const BlockMap* compiled, bool both_orders,
                         Stream stream) {
  Tables tables(*this, both_orders, stream);
  for (const PlanePtr& plane : mask.distinct()) {
    if (is_dense(*plane)) {
      const DeviceArray<std::uint64_t> words(words_of(*plane), stream);
      tables.add({1, plane->queries(), plane->keys(), const_cast<std::uint64_t*>(words.data())});
    } else {
      tables.add(plane, compiled);
    }
  }
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index h = 0; h < mask.heads(); ++h) table_of_.push_back(mask.index_of(b, h));
  }
  tables.finish(mask.batch(), mask.heads(), mask.queries(), mask.keys());
}

DeviceTiles::DeviceTiles(const TensorView& cells, bool both_orders, Stream stream,
                         double closed_below) {
  const Index batch = cells.extent(0), heads = cells.extent(1), planes = batch * heads;
  BitPlanes bits{planes, cells.extent(2), cells.extent(3), nullptr};
  const DeviceBuffer words(as_size(bits.size()) * sizeof(std::uint64_t), stream);
  bits.words = reinterpret_cast<std::uint64_t*>(words.data());
  const std::size_t bytes = as_size(cells.elements() * size_bytes(cells.dtype()));
  DeviceBuffer copy;
  TensorView there = cells;
  if (cells.place().space == MemorySpace::kHost) {
    copy = DeviceBuffer(bytes, stream);
    copy_to_device(copy.data(), {cells.data(), bytes}, stream);
    there = {copy.data(), cells.dtype(), cells.shape(), {MemorySpace::kDevice, 0}};
  }
  pack_cells(there, closed_below, bits, stream);
  Tables tables(*this, both_orders, stream);
  for (Index n = 0; n < planes; ++n) {
    table_of_.push_back(static_cast<std::uint32_t>(n));
    const Index first = n * bits.queries * bits.words_per_row();
    tables.add(BitPlanes{1, bits.queries, bits.keys, bits.words + first});
  }
  tables.finish(batch, heads, bits.queries, bits.keys);
}

std::size_t DeviceTiles::bytes() const {
  std::size_t sum = 0;
  for (const DeviceBuffer& buffer : buffers_) sum += buffer.bytes();
  return sum;
}

}  // namespace maskctl::attention::cuda
