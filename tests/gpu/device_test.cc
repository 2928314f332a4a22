// Tests memory of the GPU: what happens when there is too little, and what a workspace keeps.
#include "maskctl/attention/cuda/device.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "maskctl/attention/cuda/pinned.h"
#include "maskctl/attention/cuda/staging.h"
#include "maskctl/base/error.h"
#include "support/catch_compat.h"
#include "support/contains.h"

namespace {

using namespace maskctl;
using namespace maskctl::attention::cuda;

TEST_CASE("gpu: this machine can run the kernels") { CHECK(unavailable().empty()); }

TEST_CASE("gpu: too little memory is an error that says how much was needed; later calls work") {
  const OwnStream stream;
  try {
    const DeviceBuffer all(std::size_t{1} << 50, stream.get());
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.code() == Errc::kLimit);
    CHECK(test::contains(error.what(), "1073741825 MiB of GPU memory are needed"));
  }
  const DeviceBuffer some(1 << 20, stream.get());
  CHECK(some.data());
  stream.synchronize();
}

TEST_CASE("gpu: a pinned buffer is reused once its copy is done") {
  const OwnStream stream;
  const DeviceBuffer there(100, stream.get());
  const std::byte* first = nullptr;
  {
    PinnedBuffer buffer(100);
    const PinnedBuffer other(100);
    CHECK(buffer.data() != other.data());
    first = buffer.data();
    std::fill_n(buffer.data(), 100, std::byte{7});
    buffer.send(there.data(), stream.get());
    stream.synchronize();
  }
  const PinnedBuffer a(50), b(100), large(std::size_t{1} << 20);
  CHECK((a.data() == first || b.data() == first));
  std::vector<std::byte> seen(100);
  copy_to_host(seen, there.data(), stream.get());
  stream.synchronize();
  CHECK(seen == std::vector<std::byte>(100, std::byte{7}));
}

TEST_CASE("gpu: a workspace allocates memory once, and reuses it after a scope ends") {
  const OwnStream stream;
  Workspace workspace(stream.get());
  float* first = nullptr;
  {
    const Workspace::Scope scope(workspace);
    first = workspace.take<float>(1000);
    CHECK(workspace.take<char>(3) >= reinterpret_cast<char*>(first + 1000));
    CHECK(workspace.take<float>(8 << 20));  // more than a chunk of the workspace holds
  }
  CHECK(workspace.take<float>(1000) == first);
}

TEST_CASE("gpu: elements copied to the GPU and back are unchanged") {
  const OwnStream stream;
  const std::vector<int> sent{3, 1, 4, 1, 5};
  const DeviceArray<int> there(sent, stream.get());
  std::vector<int> back(sent.size());
  copy_to_host(std::as_writable_bytes(std::span(back)), there.data(), stream.get());
  stream.synchronize();
  CHECK(back == sent);
  const DeviceArray<int> none(std::vector<int>{}, stream.get());
  CHECK(none.bytes() == 0);
}

TEST_CASE("gpu: a large array that is copied in pieces to the GPU and back is unchanged") {
  const OwnStream stream;
  std::vector<std::uint32_t> sent((std::size_t{70} << 20) / sizeof(std::uint32_t) + 5);
  std::iota(sent.begin(), sent.end(), 0U);
  const std::size_t bytes = sent.size() * sizeof(std::uint32_t);
  const DeviceBuffer there(bytes, stream.get());
  std::vector<std::uint32_t> back(sent.size());
  for (int n = 0; n < 2; ++n) {
    stage_to_device(there.data(), std::as_bytes(std::span(sent)), stream.get());
    stage_to_host(std::as_writable_bytes(std::span(back)), there.data(), stream.get());
    stream.synchronize();
    CHECK(back == sent);
    std::ranges::reverse(sent);
  }
}

}  // namespace
