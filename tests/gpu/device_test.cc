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

TEST_CASE("gpu: too little memory is an error that says how much was needed, and is over then") {
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

TEST_CASE("gpu: pinned memory is used again when its copy is done") {
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

TEST_CASE("gpu: a workspace takes memory once and gives it out again after a scope") {
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

TEST_CASE("gpu: elements come back as they were sent") {
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

TEST_CASE("gpu: a large array comes back as it was sent, in pieces") {
  const OwnStream stream;
  Tensor sent(DType::kUInt32, {(Index{70} << 18) + 5});
  std::iota(sent.as<std::uint32_t>().begin(), sent.as<std::uint32_t>().end(), 0U);
  const DeviceBuffer there(sent.bytes().size(), stream.get());
  Tensor back(sent.dtype(), sent.shape());
  for (int n = 0; n < 2; ++n) {
    stage_to_device(there.data(), sent, stream.get());
    stage_to_host(back, there.data(), stream.get());
    stream.synchronize();
    CHECK(std::ranges::equal(back.bytes(), sent.bytes()));
    std::ranges::reverse(sent.as<std::uint32_t>());
  }
}

/// x[..., 1 : extent - 1, ...] along an axis.
MutableTensorView inner(Tensor& x, Index axis) {
  const MutableTensorView whole = x;
  std::vector<Index> shape = x.shape();
  shape[as_size(axis)] -= 2;
  return {whole.data() + whole.stride(axis) * size_bytes(x.dtype()), x.dtype(), shape,
          whole.strides()};
}

TEST_CASE("gpu: a slice of a host array is copied without its gaps, and back to its place") {
  const OwnStream stream;
  const std::vector<std::vector<Index>> shapes{{3, 4, 5, 6}, {2, 300, 5, 1000}, {3, 3, 4, 300'000}};
  for (const std::vector<Index>& shape : shapes) {
    Tensor sent(DType::kUInt32, shape);
    std::iota(sent.as<std::uint32_t>().begin(), sent.as<std::uint32_t>().end(), 1U);
    for (Index axis = 0; axis < 4; ++axis) {
      if (shape[as_size(axis)] == 2) continue;
      const MutableTensorView part = inner(sent, axis);
      const DeviceBuffer there(as_size(part.elements()) * sizeof(std::uint32_t), stream.get());
      stage_to_device(there.data(), part, stream.get());
      std::vector<std::uint32_t> packed(as_size(part.elements()));
      Tensor back(DType::kUInt32, shape);
      copy_to_host(std::as_writable_bytes(std::span(packed)), there.data(), stream.get());
      stage_to_host(inner(back, axis), there.data(), stream.get());
      stream.synchronize();
      std::vector<std::uint32_t> inside;
      Index wrong = 0, at = 0, step = 1;
      for (Index n = axis + 1; n < 4; ++n) step *= shape[as_size(n)];
      for (const std::uint32_t element : sent.as<std::uint32_t>()) {
        const Index along = at / step % shape[as_size(axis)];
        const bool is_inside = along > 0 && along + 1 < shape[as_size(axis)];
        if (is_inside) inside.push_back(element);
        wrong += back.as<std::uint32_t>()[as_size(at++)] != (is_inside ? element : 0);
      }
      CHECK(packed == inside);
      CHECK(wrong == 0);
    }
  }
  Tensor x(DType::kUInt32, {4, 4, 4});
  const MutableTensorView column = inner(x, 1);
  const std::vector<Index> shape{2, 2, 2};
  const TensorView gaps(column.data(), x.dtype(), shape, column.strides());
  CHECK_THROWS_AS(stage_to_device(nullptr, gaps, stream.get()), Error);
}

}  // namespace
