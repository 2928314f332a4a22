// Reads rows in pieces that fit a cache.
#include "maskctl/io/masks/element_rows.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "maskctl/tensor/lines.h"

namespace maskctl {
namespace {

// A piece of this size stays in the second-level cache until it is packed. Packing takes a quarter
// of the time of reading, so a thread that reads ahead from a pipe would cost more than it gains.
constexpr Index kPieceBytes = Index{256} << 10;

using Buffer = std::vector<std::byte, UnwrittenAllocator<std::byte>>;

/// Divides rows into pieces: several whole rows, or a part of one row that starts at a multiple of
/// 64 columns.
struct Pieces {
  Index columns, element_bytes;

  Index row_bytes() const { return columns * element_bytes; }
  Index rows_at_once() const {
    return std::max<Index>(1, kPieceBytes / std::max<Index>(1, row_bytes()));
  }
  Index columns_at_once() const {
    return std::max<Index>(64, kPieceBytes / element_bytes / 64 * 64);
  }

  /// Calls piece(rows, columns) for each piece of these rows, in ascending order.
  template <typename F>
  void visit(Range rows, const F& piece) const {
    if (columns == 0) return;
    const Index step = rows_at_once();
    const Index width = step > 1 ? columns : columns_at_once();
    for (Index row = rows.begin; row < rows.end; row += step) {
      const Range part{row, std::min(row + step, rows.end)};
      for (Index column = 0; column < columns; column += width) {
        piece(part, Range{column, std::min(column + width, columns)});
      }
    }
  }

  Index bytes(Range rows, Range part) const { return rows.size() * part.size() * element_bytes; }

  /// Passes a piece (several rows, or a part of one) to `sink`, one row at a time.
  void hand_out(Range rows, Range part, std::span<const std::byte> data,
                const ElementRows::Part& sink) const {
    const auto size = static_cast<std::size_t>(part.size() * element_bytes);
    for (Index row = rows.begin; row < rows.end; ++row) {
      sink(row, part.begin, data.subspan(static_cast<std::size_t>(row - rows.begin) * size, size));
    }
  }
};

class ViewRows : public ElementRows {
 public:
  explicit ViewRows(const TensorView& array) : lines_(array) {}

  void read(Range rows, const Part& part) override {
    thread_local Lines::Buffer buffer;
    for (Index row = rows.begin; row < rows.end; ++row) {
      part(row, 0, lines_.read(row, {0, lines_.length()}, buffer));
    }
  }
  bool in_order() const override { return false; }

 private:
  Lines lines_;
};

class NpyRows : public ElementRows {
 public:
  NpyRows(std::shared_ptr<NpyReader> reader, Pieces pieces)
      : reader_(std::move(reader)), pieces_(pieces) {}

  void read(Range rows, const Part& sink) override {
    thread_local Buffer buffer;
    pieces_.visit(rows, [&](Range piece, Range part) {
      const auto bytes = static_cast<std::size_t>(pieces_.bytes(piece, part));
      if (buffer.size() < bytes) buffer.resize(bytes);
      const std::span data = std::span(buffer).first(bytes);
      reader_->read_rows(piece.begin * pieces_.columns + part.begin, data);
      pieces_.hand_out(piece, part, data, sink);
    });
  }
  bool in_order() const override { return !reader_->seekable(); }

 private:
  std::shared_ptr<NpyReader> reader_;
  Pieces pieces_;
};

}  // namespace

std::unique_ptr<ElementRows> view_rows(const TensorView& array) {
  return std::make_unique<ViewRows>(array);
}

std::unique_ptr<ElementRows> npy_rows(std::shared_ptr<NpyReader> reader, Index columns) {
  const Pieces pieces{columns, size_bytes(reader->header().dtype)};
  return std::make_unique<NpyRows>(std::move(reader), pieces);
}

Progress::Progress(std::function<void(double)> callback, Index total)
    : callback_(std::move(callback)), total_(total) {}

void Progress::add(Index amount) {
  if (!callback_ || total_ == 0) return;
  constexpr Index kCalls = 200;
  const std::lock_guard lock(mutex_);
  done_ += amount;
  const auto now = static_cast<Index>(static_cast<double>(done_) / static_cast<double>(total_) *
                                      static_cast<double>(kCalls));
  if (now <= told_) return;
  told_ = now;
  callback_(static_cast<double>(now) / static_cast<double>(kCalls));
}

}  // namespace maskctl
