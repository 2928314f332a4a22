// Reads tile tables back from the GPU, and compares them cell by cell with dense masks.
#include <limits>
#include <vector>

#include "maskctl/attention/cuda/tiles/device_tiles.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/tensor/convert.h"
#include "support/catch_compat.h"
#include "support/leaf_maker.h"
#include "support/tensors.h"

namespace {

using namespace maskctl;
using namespace maskctl::attention::cuda;
using twin::Dense;

template <class T>
std::vector<T> read(const T* from, Index n, const OwnStream& stream) {
  std::vector<T> out(as_size(n));
  copy_to_host(std::as_writable_bytes(std::span(out)), from, stream.get());
  stream.synchronize();
  return out;
}

/// Reads the tile table of one mask plane of `rows` x `columns` cells from the GPU.
class TableReader {
 public:
  TableReader(const MaskView& mask, Index b, Index h, const OwnStream& stream) : stream_(stream) {
    const auto number = read(mask.table_of + b * mask.heads + h, 1, stream).front();
    table_ = read(mask.tables + number, 1, stream).front();
  }

  /// Compares the cells of the table with open(row, column). Returns what is wrong, or "".
  template <class Open>
  std::string check(Index rows, Index columns, const Open& open) const {
    const Index tile_rows = ceil_div(rows, kTile);
    const auto begins = read(table_.row_begins, tile_rows, stream_);
    const auto ends = read(table_.row_ends, tile_rows, stream_);
    const auto partial = read(table_.partial_offsets, tile_rows, stream_);
    for (Index t = 0; t < tile_rows; ++t) {
      std::vector<std::uint8_t> seen(as_size(kTile * ceil_div(columns, kTile) * kTile));
      Index next = partial[as_size(t)];
      for (const TileRun& run :
           read(table_.runs + begins[as_size(t)], ends[as_size(t)] - begins[as_size(t)], stream_)) {
        for (Index c = run.first; c < run.first + run.count; ++c) {
          if (run.fill == Fill::kEmpty) return "an empty tile";
          const bool full = run.fill == Fill::kFull;
          const PayloadId id = full ? 0 : read(table_.payloads + next++, 1, stream_).front();
          const std::vector<std::uint64_t> bits = tile_bits(full, id);
          bool all = true;
          for (Index r = 0; r < kTile; ++r) {
            for (Index k = 0; k < kTile; ++k) {
              if (t * kTile + r >= rows || c * kTile + k >= columns) continue;
              const bool is_open = bits[as_size(r)] >> k & 1;
              all &= is_open;
              seen[as_size((r * ceil_div(columns, kTile) + c) * kTile + k)] = is_open;
            }
          }
          if (all != full) return "the fill of a tile";
        }
      }
      for (Index r = 0; r < kTile && t * kTile + r < rows; ++r) {
        for (Index k = 0; k < columns; ++k) {
          const Index at = (r * ceil_div(columns, kTile) + k / kTile) * kTile + k % kTile;
          if ((seen[as_size(at)] != 0) != open(t * kTile + r, k)) return "a cell";
        }
      }
    }
    return "";
  }

 private:
  std::vector<std::uint64_t> tile_bits(bool full, PayloadId id) const {
    if (full) return std::vector<std::uint64_t>(kTile, ~std::uint64_t{0});
    std::vector<std::uint64_t> bits(kTile);
    const Index rows = table_.payload_rows;
    if (id < 0) {
      const auto words = read(table_.words + Index{~id} * rows, rows, stream_);
      std::ranges::copy(words, bits.begin());
      return bits;
    }
    const auto runs = read(table_.intervals + Index{id} * rows, rows, stream_);
    for (std::size_t r = 0; r < runs.size(); ++r) {
      for (int k = runs[r].begin; k < runs[r].end; ++k) bits[r] |= std::uint64_t{1} << k;
    }
    return bits;
  }

  const OwnStream& stream_;
  TileTableView table_;
};

std::string check(const DeviceTiles& tiles, Index b, Index h, const Dense& want,
                  const OwnStream& stream) {
  const std::string by_query =
      TableReader(tiles.view(TileOrder::kQueryMajor), b, h, stream)
          .check(want.q, want.k, [&](Index i, Index j) { return want.get(i, j); });
  if (!by_query.empty()) return "query-major: " + by_query;
  const std::string by_key =
      TableReader(tiles.view(TileOrder::kKeyMajor), b, h, stream)
          .check(want.k, want.q, [&](Index j, Index i) { return want.get(i, j); });
  return by_key.empty() ? "" : "key-major: " + by_key;
}

TEST_CASE("tile tables contain the cells of every kind of plane, in both orders") {
  std::mt19937 random(3);
  const twin::Pick pick = twin::pick_from(random);
  const OwnStream stream;
  for (int n = 0; n < 12 * twin::kLeaves; ++n) {
    const auto leaf = static_cast<twin::Leaf>(n % twin::kLeaves);
    const Index q = pick(1, 150), k = pick(1, 150);
    const twin::Pair pair = twin::make_leaf(leaf, pick, q, k);
    CAPTURE(n, q, k);
    const DeviceTiles tiles(Mask(pair.plane), nullptr, true, stream.get());
    CHECK(check(tiles, 0, 0, pair.dense, stream).empty());
  }
}

TEST_CASE("a block map that was compiled before is used without reading the mask") {
  const PlanePtr plane = diagonal_band(200, 150, -90, 3);
  const BlockMap map(plane, kTile, kTile);
  const OwnStream stream;
  const DeviceTiles tiles(Mask(plane), &map, true, stream.get());
  const Dense want =
      twin::matrix(200, 150, [](Index i, Index j) { return j >= i - 90 && j <= i + 3; });
  CHECK(check(tiles, 0, 0, want, stream).empty());
}

TEST_CASE("dense cells of every dtype, on the host or the GPU, become tile tables") {
  test::RandomTensors r(5);
  const OwnStream stream;
  for (const DType dtype : {DType::kBool, DType::kUInt8, DType::kInt32, DType::kInt64,
                            DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    const Index q = 1 + r.below(170), k = 1 + r.below(170);
    Tensor cells = r.uniform({2, 3, q, k}, 0, 2);
    for (float& x : cells.as<float>()) x = x < 1 ? 0 : 1;
    const auto want_of = [&](Index b, Index h) {
      return twin::matrix(q, k, [&, plane = b * 3 + h](Index i, Index j) {
        return cells.as<float>()[as_size((plane * q + i) * k + j)] != 0;
      });
    };
    std::vector<Dense> want;
    for (Index n = 0; n < 6; ++n) want.push_back(want_of(n / 3, n % 3));
    if (is_floating(dtype)) {
      for (float& x : cells.as<float>()) {
        x = x == 0 ? -std::numeric_limits<float>::infinity() : 0;
      }
    }
    const Tensor given = astype(cells, dtype);
    DeviceBuffer copy(given.bytes().size(), stream.get());
    copy_to_device(copy.data(), given.bytes(), stream.get());
    const TensorView there(copy.data(), dtype, given.shape(), {MemorySpace::kDevice, 0});
    for (const TensorView& view : {TensorView(given), there}) {
      const DeviceTiles tiles(view, true, stream.get());
      for (Index n = 0; n < 6; ++n) {
        CAPTURE(name(dtype), q, k, n);
        CHECK(check(tiles, n / 3, n % 3, want[as_size(n)], stream).empty());
      }
    }
  }
}

TEST_CASE("the tile tables of a million tokens in windowed documents take less than 64 MB") {
  constexpr Index kTokens = Index{1} << 20;
  std::vector<Slab> slabs;
  for (Index begin = 0, length = 700; begin < kTokens; begin += length) {
    length = 300 + (length * 7919) % 5000;
    slabs.push_back({{begin, std::min(begin + length, kTokens)}, {{begin, 1, 0, 1}}});
  }
  const PlanePtr plane =
      combine(Op::kAnd, bands(kTokens, kTokens, slabs), diagonal_band(kTokens, kTokens, -1023, 0));
  const OwnStream stream;
  const DeviceTiles tiles(Mask(plane), nullptr, true, stream.get());
  CHECK(tiles.bytes() < std::size_t{64} << 20);
  CHECK(tiles.bytes() > std::size_t{1} << 20);
}

}  // namespace
