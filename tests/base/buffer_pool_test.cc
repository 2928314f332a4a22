// Tests of buffer pools: which buffers are reused, and when they are freed instead.
#include "maskctl/base/buffer_pool.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <new>
#include <thread>
#include <vector>

#include "maskctl/base/work_scope.h"
#include "support/catch_compat.h"

namespace {

using namespace maskctl;

constexpr std::size_t kMiB = std::size_t{1} << 20;

void* taken_and_given_back(std::size_t bytes) {
  void* data = take_buffer(bytes);
  return_buffer(data, bytes);
  return data;
}

}  // namespace

TEST_CASE("a large buffer that was returned is used for the next request of its size") {
  void* const first = taken_and_given_back(3 * kMiB);
  void* const other = take_buffer(9 * kMiB);
  CHECK(other != first);
  void* const again = take_buffer(3 * kMiB);
  CHECK(again == first);
  return_buffer(again, 3 * kMiB);
  return_buffer(other, 9 * kMiB);
}

TEST_CASE("a buffer in use is never handed out twice") {
  std::vector<void*> blocks;
  for (int i = 0; i < 8; ++i) {
    void* const block = take_buffer(2 * kMiB);
    for (void* other : blocks) CHECK(other != block);
    static_cast<char*>(block)[2 * kMiB - 1] = 'x';
    blocks.push_back(block);
  }
  for (void* block : blocks) return_buffer(block, 2 * kMiB);
}

TEST_CASE("the pool keeps the buffers that were returned last, up to its limit") {
  process_pool().limit(8 * kMiB);
  void* const old = take_buffer(6 * kMiB);
  void* const young = take_buffer(4 * kMiB);
  return_buffer(old, 6 * kMiB);
  // Both buffers together are 10 MiB, 2 more than the limit: the older one is freed.
  return_buffer(young, 4 * kMiB);
  CHECK(take_buffer(4 * kMiB) == young);
  return_buffer(young, 4 * kMiB);
  process_pool().limit(std::size_t{64} << 20);
}

TEST_CASE("a size beyond the address space throws bad_alloc") {
  CHECK_THROWS_AS(take_buffer(SIZE_MAX - 8), std::bad_alloc);
}

TEST_CASE("buffers of any size are aligned to a cache line") {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, 63 * kMiB / 64, kMiB, kMiB + 1}) {
    void* const data = take_buffer(bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(data) % 64 == 0);
    return_buffer(data, bytes);
  }
}

TEST_CASE("a scope with a pool of its own does not use the pool of the process") {
  void* const of_process = taken_and_given_back(5 * kMiB);
  BufferPool own;
  {
    const WorkScope scope({.pool = &own});
    void* const data = take_buffer(5 * kMiB);
    CHECK(data != of_process);
    return_buffer(data, 5 * kMiB);
    CHECK(own.kept() == 6 * kMiB);  // 5 MiB rounded up to whole huge pages
    CHECK(take_buffer(5 * kMiB) == data);
    return_buffer(data, 5 * kMiB);
  }
  void* const again = take_buffer(5 * kMiB);
  CHECK(again == of_process);
  return_buffer(again, 5 * kMiB);
}

TEST_CASE("a buffer may outlive its pool and go back to another") {
  void* data = nullptr;
  {
    BufferPool own;
    data = own.take(7 * kMiB);
  }
  static_cast<char*>(data)[7 * kMiB - 1] = 'x';
  BufferPool other;
  other.give_back(data, 7 * kMiB);
  CHECK(other.take(7 * kMiB) == data);
  other.give_back(data, 7 * kMiB);
}

TEST_CASE("a pool with limit 0 keeps no buffer") {
  BufferPool none(0);
  none.give_back(none.take(3 * kMiB), 3 * kMiB);
  CHECK(none.kept() == 0);
}

// The locks of the address sanitizer itself are not ready for a fork.
#ifndef __SANITIZE_ADDRESS__
TEST_CASE("a forked child can take buffers, whatever other threads did at the fork") {
  std::atomic<bool> done = false;
  std::jthread other([&] {
    while (!done) taken_and_given_back(2 * kMiB);
  });
  int well = 0;
  for (int i = 0; i < 50; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(10);  // ends a child that hangs
      taken_and_given_back(2 * kMiB);
      _exit(0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    well += status == 0;
    if (status != 0) break;
  }
  done = true;
  CHECK(well == 50);
}
#endif
