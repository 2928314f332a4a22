#include "maskctl/io/stream.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace maskctl {
namespace {

constexpr Index kPieceBytes = Index{256} << 10;   // stays in the second-level cache until packed
constexpr std::size_t kPiecesAhead = 8;

using Buffer = std::vector<std::byte, AlignedAllocator<std::byte>>;

/// How rows are cut into pieces: several whole rows, or a part of one row that starts at a multiple
/// of 64 columns.
struct Pieces {
  Index columns, element_bytes;

  Index row_bytes() const { return columns * element_bytes; }
  Index rows_at_once() const {
    return std::max<Index>(1, kPieceBytes / std::max<Index>(1, row_bytes()));
  }
  Index columns_at_once() const { return std::max<Index>(64, kPieceBytes / element_bytes / 64 * 64); }

  /// piece(rows, columns) of these rows, in ascending order.
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

  /// Hands a piece to its reader, row by row.
  void hand_out(Range rows, Range part, std::span<const std::byte> data,
                const ElementRows::Part& sink) const {
    const auto size = static_cast<std::size_t>(part.size() * element_bytes);
    for (Index row = rows.begin; row < rows.end; ++row) {
      sink(row, part.begin, data.subspan(static_cast<std::size_t>(row - rows.begin) * size, size));
    }
  }
};

class TensorRows : public ElementRows {
 public:
  TensorRows(const Tensor& tensor, Index columns)
      : data_(tensor.bytes()),
        row_bytes_(static_cast<std::size_t>(columns * size_bytes(tensor.dtype()))) {}

  void read(Range rows, const Part& part) override {
    for (Index row = rows.begin; row < rows.end; ++row) {
      part(row, 0, data_.subspan(static_cast<std::size_t>(row) * row_bytes_, row_bytes_));
    }
  }
  bool in_order() const override { return false; }

 private:
  std::span<const std::byte> data_;
  std::size_t row_bytes_;
};

class FileRows : public ElementRows {
 public:
  FileRows(std::shared_ptr<NpyReader> reader, Pieces pieces)
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
  bool in_order() const override { return false; }

 private:
  std::shared_ptr<NpyReader> reader_;
  Pieces pieces_;
};

/// What the thread that reads ahead shares with its consumer. It may outlive the consumer: one that
/// gives up must not wait for a pipe that nobody writes to.
struct Ahead {
  std::shared_ptr<NpyReader> reader;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Buffer> full, spare;
  std::exception_ptr failure;
  bool abandoned = false;

  /// An empty buffer, or nothing when nobody will read it.
  std::optional<Buffer> take_spare() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return abandoned || !spare.empty(); });
    if (abandoned) return std::nullopt;
    Buffer buffer = std::move(spare.front());
    spare.pop_front();
    return buffer;
  }

  void read_all(Pieces pieces, Index rows) try {
    bool stop = false;
    pieces.visit({0, rows}, [&](Range piece, Range part) {
      if (stop) return;
      std::optional<Buffer> buffer = take_spare();
      if (!buffer) {
        stop = true;
        return;
      }
      buffer->resize(static_cast<std::size_t>(pieces.bytes(piece, part)));
      reader->read_rows(piece.begin * pieces.columns + part.begin, *buffer);
      const std::lock_guard lock(mutex);
      full.push_back(std::move(*buffer));
      changed.notify_all();
    });
  } catch (...) {
    const std::lock_guard lock(mutex);
    failure = std::current_exception();
    changed.notify_all();
  }
};

class PipeRows : public ElementRows {
 public:
  PipeRows(std::shared_ptr<NpyReader> reader, Pieces pieces)
      : pieces_(pieces), ahead_(std::make_shared<Ahead>()) {
    const Index row_bytes = std::max<Index>(1, pieces.row_bytes());
    const Index rows = reader->header().data_bytes / row_bytes;
    ahead_->reader = std::move(reader);
    ahead_->spare.resize(kPiecesAhead);
    if (rows > 0) thread_ = std::thread([a = ahead_, pieces, rows] { a->read_all(pieces, rows); });
  }

  ~PipeRows() override {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(ahead_->mutex);
      ahead_->abandoned = true;
    }
    ahead_->changed.notify_all();
    done_ ? thread_.join() : thread_.detach();
  }

  /// Pieces are cut from row 0 on, while a call may end in the middle of one.
  void read(Range rows, const Part& part) override {
    if (pieces_.columns == 0) return;
    const Index width = pieces_.rows_at_once() > 1 ? pieces_.columns : pieces_.columns_at_once();
    for (Index row = rows.begin; row < rows.end; ++row) {
      for (Index column = 0; column < pieces_.columns; column += width) {
        const Index n = std::min(width, pieces_.columns - column);
        part(row, column, next(static_cast<std::size_t>(n * pieces_.element_bytes)));
      }
    }
    done_ = rows.end * pieces_.row_bytes() == ahead_->reader->header().data_bytes;
  }
  bool in_order() const override { return true; }

 private:
  std::span<const std::byte> next(std::size_t bytes) {
    if (used_ == current_.size()) refill();
    const auto out = std::span<const std::byte>(current_).subspan(used_, bytes);
    used_ += bytes;
    return out;
  }

  void refill() {
    std::unique_lock lock(ahead_->mutex);
    if (!current_.empty()) ahead_->spare.push_back(std::move(current_));
    ahead_->changed.notify_all();
    ahead_->changed.wait(lock, [&] { return ahead_->failure || !ahead_->full.empty(); });
    if (ahead_->full.empty()) {
      done_ = true;
      std::rethrow_exception(ahead_->failure);
    }
    current_ = std::move(ahead_->full.front());
    ahead_->full.pop_front();
    used_ = 0;
  }

  Pieces pieces_;
  std::shared_ptr<Ahead> ahead_;
  std::thread thread_;
  Buffer current_;
  std::size_t used_ = 0;
  bool done_ = false;   // the thread reads no more
};

}  // namespace

std::unique_ptr<ElementRows> tensor_rows(const Tensor& tensor, Index columns) {
  return std::make_unique<TensorRows>(tensor, columns);
}

std::unique_ptr<ElementRows> npy_rows(std::shared_ptr<NpyReader> reader, Index columns) {
  const Pieces pieces{columns, size_bytes(reader->header().dtype)};
  if (reader->seekable()) return std::make_unique<FileRows>(std::move(reader), pieces);
  return std::make_unique<PipeRows>(std::move(reader), pieces);
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
