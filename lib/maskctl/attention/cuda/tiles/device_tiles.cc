#include "maskctl/attention/cuda/tiles/device_tiles.h"

#include <cstring>
#include <optional>
#include <utility>
#include <vector>

namespace maskctl::attention::cuda {
namespace {

constexpr Index kMaxBytes = Index{4} << 30;

/// Arrays back to back, which become one copy to the GPU. Places are known before their address is.
class Package {
 public:
  /// Returns how far behind the begin the array will be.
  template <class Array>
  std::size_t add(const Array& array) {
    const std::span<const std::byte> bytes = std::as_bytes(std::span(array));
    const std::size_t at = (bytes_.size() + kAlignment - 1) / kAlignment * kAlignment;
    bytes_.resize(at + bytes.size());
    if (!bytes.empty()) std::memcpy(bytes_.data() + at, bytes.data(), bytes.size());
    return at;
  }
  std::vector<std::byte>& bytes() { return bytes_; }

 private:
  static constexpr std::size_t kAlignment = 16;
  std::vector<std::byte> bytes_;
};

/// The place of an array in a package as the pointer that it will be.
template <class T>
void place(const T*& pointer, std::size_t at, const std::byte* begin) {
  pointer = reinterpret_cast<const T*>(begin + at);
}

/// Where the parts of a table are in the package.
struct PackedTable {
  std::size_t row_offsets, runs, partial_offsets, payloads, intervals, words;
  int payload_rows, words_per_row;

  PackedTable(Package& package, const TileTable& table)
      : row_offsets(package.add(table.tiles.row_offsets)),
        runs(package.add(table.tiles.runs)),
        partial_offsets(package.add(table.partial_offsets)),
        payloads(package.add(table.payloads)),
        intervals(package.add(table.pools.intervals)),
        words(package.add(table.pools.words)),
        payload_rows(static_cast<int>(table.pools.rows)),
        words_per_row(static_cast<int>(table.pools.words_per_row())) {}

  TileTableView view(const std::byte* begin) const {
    TileTableView out{};
    place(out.row_offsets, row_offsets, begin);
    place(out.runs, runs, begin);
    place(out.partial_offsets, partial_offsets, begin);
    place(out.payloads, payloads, begin);
    place(out.intervals, intervals, begin);
    place(out.words, words, begin);
    out.payload_rows = payload_rows, out.words_per_row = words_per_row;
    return out;
  }
};

TileTable table_of(const PlanePtr& plane, const BlockMap* compiled, Index tile) {
  const bool fits = compiled && compiled->plane() == plane && compiled->tiles().q_tile == tile &&
                    compiled->tiles().k_tile == tile;
  return fits ? compiled->table() : tile_table(*plane, tile, tile, kMaxBytes);
}

std::vector<std::uint32_t> table_numbers(const Mask& mask) {
  std::vector<std::uint32_t> numbers;
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index h = 0; h < mask.heads(); ++h) numbers.push_back(mask.index_of(b, h));
  }
  return numbers;
}

}  // namespace

DeviceTiles::DeviceTiles(const Mask& mask, const BlockMap* compiled, Index tile, bool both_orders,
                         Stream stream) {
  Package package;
  std::vector<PackedTable> by_query, by_key;
  for (const PlanePtr& plane : mask.distinct()) {
    const TileTable table = table_of(plane, compiled, tile);
    by_query.emplace_back(package, table);
    if (both_orders) by_key.emplace_back(package, key_major(table));
  }
  const std::size_t numbers = package.add(table_numbers(mask));
  const std::vector<TileTableView> unset(by_query.size() + by_key.size());
  const std::size_t views = package.add(unset);
  buffer_ = DeviceBuffer(package.bytes().size(), stream);
  std::byte* at = package.bytes().data() + views;
  for (const std::vector<PackedTable>* packed : {&by_query, &by_key}) {
    for (const PackedTable& table : *packed) {
      const TileTableView view = table.view(buffer_.data());
      std::memcpy(at, &view, sizeof(view));
      at += sizeof(view);
    }
  }
  copy_to_device(buffer_.data(), package.bytes(), stream);
  place(query_major_.tables, views, buffer_.data());
  place(query_major_.table_of, numbers, buffer_.data());
  query_major_.batch = mask.batch(), query_major_.heads = mask.heads();
  key_major_ = query_major_;
  key_major_.tables += by_query.size();
}

}  // namespace maskctl::attention::cuda
