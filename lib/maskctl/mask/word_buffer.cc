// Storage of bit matrices, kept for the next one.
#include "maskctl/mask/word_buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>

namespace maskctl {
namespace {

using Word = std::uint64_t;

constexpr std::size_t kHugePage = std::size_t{2} << 20;

struct Spare {
  void* data;
  std::size_t bytes;
};

/// Large buffers that were given back, of any sizes, newest last.
class Spares {
 public:
  void* take(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(spares_.rbegin(), spares_.rend(),
                                    [bytes](const Spare& spare) { return spare.bytes == bytes; });
    if (found == spares_.rend()) return nullptr;
    void* data = found->data;
    held_ -= bytes;
    spares_.erase(std::next(found).base());
    return data;
  }
  bool keep(void* data, std::size_t bytes) {
    constexpr std::size_t kMost = std::size_t{64} << 20;
    const std::lock_guard lock(mutex_);
    if (held_ + bytes > kMost) return false;
    spares_.push_back({data, bytes});
    held_ += bytes;
    return true;
  }

 private:
  std::mutex mutex_;
  std::vector<Spare> spares_;
  std::size_t held_ = 0;
};

/// Never destroyed: planes in static storage may outlive it.
Spares& spares() {
  static Spares* const instance = new Spares;
  return *instance;
}

bool is_large(std::size_t bytes) { return bytes >= kHugePage / 2; }

void* allocate(std::size_t bytes) {
  if (is_large(bytes)) {
    if (void* spare = spares().take(bytes)) return spare;
  }
  void* data = std::aligned_alloc(is_large(bytes) ? kHugePage : 64, bytes);
  if (!data) throw std::bad_alloc();
  // Advice only: where it is refused the buffer works with small pages.
  if (is_large(bytes)) madvise(data, bytes, MADV_HUGEPAGE);
  return data;
}

std::size_t rounded(std::size_t bytes) {
  const std::size_t unit = is_large(bytes) ? kHugePage : 64;
  return std::max((bytes + unit - 1) / unit * unit, unit);
}

}  // namespace

WordBuffer::WordBuffer(Index words)
    : size_(static_cast<std::size_t>(words)), data_(nullptr, {rounded(size_ * sizeof(Word))}) {
  data_.reset(static_cast<Word*>(allocate(data_.get_deleter().bytes)));
}

void WordBuffer::GiveBack::operator()(Word* p) const {
  if (!is_large(bytes) || !spares().keep(p, bytes)) std::free(p);
}

}  // namespace maskctl
