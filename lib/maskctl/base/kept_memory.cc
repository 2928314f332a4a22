#include "maskctl/base/kept_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>

#include "maskctl/base/huge_pages.h"

namespace maskctl {
namespace {

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

/// Never destroyed: users in static storage may outlive it.
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

KeptMemory::KeptMemory(std::size_t bytes) : data_(nullptr, {rounded(bytes)}) {
  data_.reset(allocate(data_.get_deleter().bytes));
}

void KeptMemory::GiveBack::operator()(void* data) const {
  if (!is_large(bytes) || !spares().keep(data, bytes)) std::free(data);
}

}  // namespace maskctl
