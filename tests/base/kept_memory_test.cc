// Which memory comes back.
#include "maskctl/base/kept_memory.h"

#include <cstdint>
#include <new>
#include <vector>

#include "maskctl/base/work_scope.h"
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
  process_pool().limit(8 * kMiB);
  void* const old = take_memory(6 * kMiB);
  void* const young = take_memory(4 * kMiB);
  give_back_memory(old, 6 * kMiB);
  give_back_memory(young, 4 * kMiB);  // with it 10 MiB: the old one goes
  CHECK(take_memory(4 * kMiB) == young);
  give_back_memory(young, 4 * kMiB);
  process_pool().limit(std::size_t{64} << 20);
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

TEST_CASE("a scope's own pool is used and the process's is left alone") {
  void* const of_process = taken_and_given_back(5 * kMiB);
  MemoryPool own;
  {
    const WorkScope scope({.pool = &own});
    void* const data = take_memory(5 * kMiB);
    CHECK(data != of_process);
    give_back_memory(data, 5 * kMiB);
    CHECK(own.kept() == 6 * kMiB);  // whole huge pages
    CHECK(take_memory(5 * kMiB) == data);
    give_back_memory(data, 5 * kMiB);
  }
  void* const again = take_memory(5 * kMiB);
  CHECK(again == of_process);
  give_back_memory(again, 5 * kMiB);
}

TEST_CASE("a buffer may outlive its pool and go back to another") {
  void* data = nullptr;
  {
    MemoryPool own;
    data = own.take(7 * kMiB);
  }
  static_cast<char*>(data)[7 * kMiB - 1] = 'x';
  MemoryPool other;
  other.give_back(data, 7 * kMiB);
  CHECK(other.take(7 * kMiB) == data);
  other.give_back(data, 7 * kMiB);
}

TEST_CASE("a pool that keeps nothing gives all to the allocator") {
  MemoryPool none(0);
  none.give_back(none.take(3 * kMiB), 3 * kMiB);
  CHECK(none.kept() == 0);
}
