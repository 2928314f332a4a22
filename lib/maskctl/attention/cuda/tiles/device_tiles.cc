#include "maskctl/attention/cuda/tiles/device_tiles.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "maskctl/attention/cuda/tiles/dense_tables.h"

namespace maskctl::attention::cuda {
namespace {

constexpr Index kMaxBytes = Index{4} << 30;

/// Arrays back to back, which become one copy to the GPU.
class Package {
 public:
  /// Returns the offset of the array in the package.
  template <class Array>
  std::size_t add(const Array& array) {
    const std::span<const std::byte> bytes = std::as_bytes(std::span(array));
    const std::size_t at = (bytes_.size() + kAlignment - 1) / kAlignment * kAlignment;
    bytes_.resize(at + bytes.size());
    if (!bytes.empty()) std::memcpy(bytes_.data() + at, bytes.data(), bytes.size());
    return at;
  }
  DeviceBuffer send(Stream stream) const {
    DeviceBuffer buffer(bytes_.size(), stream);
    copy_to_device(buffer.data(), bytes_, stream);
    return buffer;
  }

 private:
  static constexpr std::size_t kAlignment = 16;
  std::vector<std::byte> bytes_;
};

/// Sets a pointer to the array at offset `at`.
template <class T>
void set_pointer(const T*& pointer, const std::byte* begin, std::size_t at) {
  pointer = reinterpret_cast<const T*>(begin + at);
}

std::uint64_t columns_of(Run open) { return bits_between(open.begin, open.end); }
std::uint64_t columns_of(std::uint64_t word) { return word; }

/// The columns that some row opens, for each payload of `height` rows.
template <class Row>
std::vector<std::uint64_t> used_by(const std::vector<Row>& rows, Index height) {
  std::vector<std::uint64_t> used;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i % as_size(height) == 0) used.push_back(0);
    used.back() |= columns_of(rows[i]);
  }
  return used;
}

/// Payloads of an even number of rows, so that each begins at a multiple of 16 bytes.
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

/// The offsets of a host table's arrays in a package.
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

TileTable table_of(const PlanePtr& plane, const BlockMap* compiled) {
  const bool fits = compiled && compiled->plane() == plane && compiled->tiles().q_tile == kTile &&
                    compiled->tiles().k_tile == kTile;
  return fits ? compiled->table() : tile_table(*plane, kTile, kTile, kMaxBytes);
}

/// Whether a plane is stored in no less than a bit for each cell.
bool is_dense(const Plane& plane) {
  return !plane.computed() && plane.bytes() >= plane.queries() * ceil_div(plane.keys(), 64) * 8;
}

/// The rows of a plane as words that follow each other.
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

/// The tables of both orders on their way to the GPU, and what owns their memory.
struct DeviceTiles::Tables {
  bool both_orders;
  Stream stream;
  std::vector<TileTableView> by_query = {}, by_key = {};

  /// Adds the tables of a plane of bits on the GPU.
  void add(const BitPlanes& plane, std::vector<DeviceBuffer>& buffers) {
    by_query.push_back(classified(plane, buffers));
    if (!both_orders) return;
    BitPlanes transposed{1, plane.keys, plane.queries, nullptr};
    const DeviceBuffer words(as_size(transposed.size()) * sizeof(std::uint64_t), stream);
    transposed.words = reinterpret_cast<std::uint64_t*>(words.data());
    transpose_bits(plane, transposed, stream);
    by_key.push_back(classified(transposed, buffers));
  }

 private:
  TileTableView classified(const BitPlanes& plane, std::vector<DeviceBuffer>& buffers) const {
    buffers.emplace_back(table_bytes(plane.queries, plane.keys), stream);
    const TileTableView table = place_table(plane.queries, plane.keys, buffers.back().data());
    classify_plane(plane, table, stream);
    return table;
  }
};

void DeviceTiles::finish(Tables& tables, const std::vector<std::uint32_t>& table_of, Index batch,
                         Index heads, Stream stream) {
  Package package;
  const std::size_t numbers = package.add(table_of), by_query = package.add(tables.by_query),
                    by_key = package.add(tables.by_key);
  buffers_.push_back(package.send(stream));
  const std::byte* const begin = buffers_.back().data();
  for (auto& [view, at] : {std::pair(&query_major_, by_query), std::pair(&key_major_, by_key)}) {
    set_pointer(view->tables, begin, at);
    set_pointer(view->table_of, begin, numbers);
    view->batch = batch, view->heads = heads;
    view->count = static_cast<Index>(tables.by_query.size());
  }
}

DeviceTiles::DeviceTiles(const Mask& mask, const BlockMap* compiled, bool both_orders,
                         Stream stream) {
  Tables tables{both_orders, stream};
  for (const PlanePtr& plane : mask.distinct()) {
    if (is_dense(*plane)) {
      const DeviceArray<std::uint64_t> words(words_of(*plane), stream);
      tables.add({1, plane->queries(), plane->keys(), const_cast<std::uint64_t*>(words.data())},
                 buffers_);
      continue;
    }
    Package package;
    const TileTable table = table_of(plane, compiled);
    const PackedTable by_query(package, table);
    std::optional<PackedTable> by_key;
    if (both_orders) by_key.emplace(package, key_major(table));
    buffers_.push_back(package.send(stream));
    tables.by_query.push_back(by_query.view(buffers_.back().data()));
    if (by_key) tables.by_key.push_back(by_key->view(buffers_.back().data()));
  }
  std::vector<std::uint32_t> numbers;
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index h = 0; h < mask.heads(); ++h) numbers.push_back(mask.index_of(b, h));
  }
  finish(tables, numbers, mask.batch(), mask.heads(), stream);
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
  Tables tables{both_orders, stream};
  std::vector<std::uint32_t> numbers;
  for (Index n = 0; n < planes; ++n) {
    numbers.push_back(static_cast<std::uint32_t>(n));
    const Index first = n * bits.queries * bits.words_per_row();
    tables.add({1, bits.queries, bits.keys, bits.words + first}, buffers_);
  }
  finish(tables, numbers, batch, heads, stream);
}

std::size_t DeviceTiles::bytes() const {
  std::size_t sum = 0;
  for (const DeviceBuffer& buffer : buffers_) sum += buffer.bytes();
  return sum;
}

}  // namespace maskctl::attention::cuda
