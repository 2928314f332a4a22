// Which memory comes back.
#include "maskctl/base/kept_memory.h"

#include <cstdint>
#include <new>
#include <vector>

#include "support/catch_compat.h"

namespace {

using namespace maskctl;

constexpr std::size_t kMiB = std::size_t{1} << 20;

void* taken_and_given_back(std::size_t bytes) {
  void* data = take_memory(bytes);
  give_back_memory(data, bytes);
  return data;
}

}  // namespace

TEST_CASE("large memory given back serves the next of its size") {
  void* const first = taken_and_given_back(3 * kMiB);
  void* const other = take_memory(9 * kMiB);
  CHECK(other != first);
  void* const again = take_memory(3 * kMiB);
  CHECK(again == first);
  give_back_memory(again, 3 * kMiB);
  give_back_memory(other, 9 * kMiB);
}

TEST_CASE("memory in use is never handed out twice") {
  std::vector<void*> blocks;
  for (int i = 0; i < 8; ++i) {
    void* const block = take_memory(2 * kMiB);
    for (void* other : blocks) CHECK(other != block);
    static_cast<char*>(block)[2 * kMiB - 1] = 'x';
    blocks.push_back(block);
  }
  for (void* block : blocks) give_back_memory(block, 2 * kMiB);
}

TEST_CASE("the newest memory is kept, up to a limit") {
  set_kept_memory(8 * kMiB);
  void* const old = take_memory(6 * kMiB);
  void* const young = take_memory(4 * kMiB);
  give_back_memory(old, 6 * kMiB);
  give_back_memory(young, 4 * kMiB);  // with it 10 MiB: the old one goes
  CHECK(take_memory(4 * kMiB) == young);
  give_back_memory(young, 4 * kMiB);
  set_kept_memory(std::size_t{64} << 20);
}

TEST_CASE("sizes that no memory has are refused") {
  CHECK_THROWS_AS(take_memory(SIZE_MAX - 8), std::bad_alloc);
}

TEST_CASE("memory of any size is aligned to a cache line") {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, 63 * kMiB / 64, kMiB, kMiB + 1}) {
    void* const data = take_memory(bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(data) % 64 == 0);
    give_back_memory(data, bytes);
  }
}
