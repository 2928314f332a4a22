// Compares ring attention on several ranks with the same call on one device, and tests the ring
// itself.
#include "maskctl/attention/operations/ring/ring.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "attention/arrays.h"
#include "maskctl/base/error.h"
#include "support/backends.h"
#include "support/error_of.h"
#include "support/little_memory.h"

namespace ring_cases {

namespace {

using namespace maskctl::attention_test;

/// Checks that rings of 1, 2, 3 and 6 ranks give the results and gradients of one device in
/// float64.
void check_ring(unsigned seed, const RingAttentionOptions& options, Index keys = 24) {
  Random r(seed);
  const Tensor query = r.normal({2, 12, 4, 8}), key = r.normal({2, keys, 2, 8}),
               value = r.normal({2, keys, 2, 5}), d_out = r.normal({2, 12, 4, 5}),
               d_lse = r.normal({2, 4, 12});
  RingAttentionOptions one = options;
  one.softmax.context.backend = Backend::kReference;
  const SoftmaxResult expected = ring_attention(query, key, value, one);
  const SoftmaxGradients gradients =
      ring_attention_backward(query, key, value, expected, d_out, one, &d_lse);
  for (const Index ranks : {1, 2, 3, 6}) {
    INFO(ranks << " ranks");
    RingAttentionOptions o = options;
    o.ring_size = ranks;
    for (const Backend backend : maskctl::test::judged_backends()) {
      INFO(name(backend));
      o.softmax.context.backend = backend;
      const SoftmaxResult seen = ring_attention(query, key, value, o);
      check_close(seen.out, expected.out, 1e-5, "out");
      check_close(seen.lse, expected.lse, 1e-5, "lse");
      check_gradients(ring_attention_backward(query, key, value, seen, d_out, o, &d_lse), gradients,
                      3e-5);
    }
    // The reference backend gives the same bits on a ring as on one device, except for gradients of
    // keys and values, which are summed over the ranks.
    o.softmax.context.backend = Backend::kReference;
    const SoftmaxResult again = ring_attention(query, key, value, o);
    check_close(again.out, expected.out, 0, "reference out");
    check_close(again.lse, expected.lse, 0, "reference lse");
    check_gradients(ring_attention_backward(query, key, value, again, d_out, o, &d_lse), gradients,
                    2e-6);
  }
}

}  // namespace

TEST_CASE(
    "a ring gives the results of one device: no mask, causal, windows, chunks, blocks, sink "
    "tokens") {
  const auto with = [](auto&& set) {
    RingAttentionOptions o;
    set(o);
    return o;
  };
  check_ring(1, {});
  check_ring(2, with([](auto& o) { o.mask.causal = true; }));
  check_ring(3, with([](auto& o) { o.mask.causal = true, o.mask.window = {3, 0}; }), 12);
  check_ring(
      4, with([](auto& o) { o.mask.causal = true, o.mask.window = 2, o.mask.sink_tokens = 2; }));
  check_ring(5, with([](auto& o) { o.mask.chunk_size = 5; }), 12);
  check_ring(6, with([](auto& o) { o.mask.causal_block_size = 4; }), 12);
  check_ring(7, with([](auto& o) { o.mask.causal = true, o.mask.causal_block_size = 4; }), 12);
}

TEST_CASE(
    "a ring gives the results of one device: bias of any broadcast shape, sinks, cap, dropout") {
  Random r(1);
  for (const std::vector<Index>& shape :
       {std::vector<Index>{2, 4, 12, 24}, {1, 1, 12, 1}, {1, 4, 1, 24}, {2, 1, 1, 1}}) {
    const Tensor bias = r.normal(shape), sinks = r.normal({4, 2});
    RingAttentionOptions o;
    o.bias = &bias, o.softmax_aux = &sinks, o.softmax.soft_cap = 2.5, o.softmax.scale = 0.4;
    o.deterministic = false, o.softmax.dropout = 0.3, o.softmax.dropout_seed = 5;
    check_ring(2, o);
  }
  const Tensor shared = r.normal({3});
  RingAttentionOptions o;
  o.softmax_aux = &shared, o.mask.causal = true;
  check_ring(3, o);
}

TEST_CASE(
    "a ring gives the results of one device: masks, segments of either padding, rows without "
    "keys") {
  Random r(2);
  const Tensor mask = r.flags({2, 1, 12, 24}, 0.2);  // some queries see no key
  const Tensor q_ids = r.integers({2, 12}, 3), kv_ids = r.integers({2, 24}, 3);
  RingAttentionOptions o;
  o.mask.attention_mask = &mask;
  check_ring(4, o);
  o = {};
  o.mask.q_segment_ids = &q_ids, o.mask.kv_segment_ids = &kv_ids,
  o.mask.segment_padding = SegmentPadding::kZero;
  check_ring(5, o);
  o = {};
  o.mask.attention_mask = &mask, o.softmax.empty_row = EmptyRow::kMean;
  check_ring(7, o);
  const Tensor sinks = r.normal({2});
  o.softmax_aux = &sinks;  // with sinks no row is empty
  check_ring(8, o);
  o = {};
  o.mask.attention_mask = &mask, o.softmax.empty_row = EmptyRow::kNan;
  Random again(4);
  const Tensor query = again.normal({2, 12, 4, 8}), key = again.normal({2, 24, 2, 8});
  const Tensor alone = ring_attention(query, key, key, o).out;
  o.ring_size = 4;
  check_close(ring_attention(query, key, key, o).out, alone, 1e-5, "out");
}

TEST_CASE(
    "a ring gives the results of one device after balanced queries were moved between ranks") {
  const Mask mask = uneven_documents();
  Random r(12);
  const std::vector<Index> shape{1, mask.queries(), 2, 4};
  const Tensor query = r.normal(shape), key = r.normal(shape), value = r.normal(shape),
               d_out = r.normal(shape);
  RingAttentionOptions o;
  o.mask.mask = &mask;
  o.assign = Assign::kBalanced;
  REQUIRE(assigned_queries(o.assign, mask, 2)[1].size() == 2);
  const SoftmaxResult expected = ring_attention(query, key, value, o);
  const SoftmaxGradients gradients = ring_attention_backward(query, key, value, expected, d_out, o);
  o.ring_size = 2;
  const SoftmaxResult seen = ring_attention(query, key, value, o);
  check_close(seen.out, expected.out, 1e-5, "out");
  check_close(seen.lse, expected.lse, 1e-5, "lse");
  check_gradients(ring_attention_backward(query, key, value, seen, d_out, o), gradients, 3e-5);
}

TEST_CASE("a ring in half precision rounds its results only once") {
  Random r(3);
  const Tensor query = r.normal({1, 12, 2, 8}, DType::kBFloat16),
               key = r.normal({1, 12, 2, 8}, DType::kBFloat16);
  for (const Backend backend : maskctl::test::judged_backends()) {
    RingAttentionOptions o;
    o.softmax.context.backend = backend;
    const SoftmaxResult one = ring_attention(query, key, key, o);
    o.ring_size = 4;
    const SoftmaxResult many = ring_attention(query, key, key, o);
    check_close(many.lse, one.lse, 1e-5, "lse");
    check_close(many.out, one.out, 8e-3, "out");
  }
}

namespace {

std::span<const std::byte> bytes_of(const Index& n) { return std::as_bytes(std::span(&n, 1)); }
std::span<std::byte> room_of(Index& n) { return std::as_writable_bytes(std::span(&n, 1)); }

}  // namespace

TEST_CASE("any rank can send to any other, and messages between two ranks keep their order") {
  constexpr Index kRanks = 5;
  std::atomic<int> right = 0;
  run_ring(kRanks, [&](Communicator& ring) {
    for (Index t = 0; t < kRanks; ++t) {
      const Index to = (ring.rank() + t) % kRanks, from = (ring.rank() - t + kRanks) % kRanks;
      const Index first = 100 * ring.rank() + t, second = first + 10;
      Index a = -1, b = -1;
      ring.send(to, bytes_of(first)), ring.send(to, bytes_of(second));
      ring.receive(from, room_of(a)), ring.receive(from, room_of(b));
      ring.finish();
      right += a == 100 * from + t && b == a + 10;
    }
  });
  CHECK(right == kRanks * kRanks);
}

TEST_CASE("messages of unequal sizes are refused") {
  CHECK_THROWS_WITH(run_ring(2,
                             [](Communicator& ring) {
                               Index one = 1;
                               std::array<std::byte, 4> four{};
                               if (ring.rank() == 0) return ring.send(1, bytes_of(one));
                               ring.receive(0, four);
                               ring.finish();
                             }),
                    "rank 1 receives 8 bytes from rank 0 where it expects 4");
}

TEST_CASE("if one rank fails, the other ranks stop, and the caller gets its error") {
  std::atomic<int> released = 0;
  const std::string seen = maskctl::test::error_of([&] {
    run_ring(4, [&](Communicator& ring) {
      if (ring.rank() == 2) throw Error(Errc::kInvalidArgument, "the first to fail");
      Index out = 1, in = 0;
      try {
        for (int step = 0; step < 8; ++step) {
          ring.send((ring.rank() + 1) % 4, bytes_of(out));
          ring.receive((ring.rank() + 3) % 4, room_of(in));
          ring.finish();
        }
      } catch (const Error& error) {
        ++released;
        throw;
      }
    });
  });
  CHECK(seen == "the first to fail");
  CHECK(released == 3);
}

TEST_CASE("a ring accepts a lazy mask, and drops the weights that the larger call would drop") {
  Random r(6);
  const Mask mask = r.mask(2, 4, 12, 24, 0.5);
  RingAttentionOptions o;
  o.mask.mask = &mask, o.mask.causal = true;
  check_ring(9, o);
  o.deterministic = false, o.softmax.dropout = 0.4, o.softmax.dropout_seed = 3;
  o.softmax.first_batch = 5, o.softmax.first_head = 8;
  check_ring(10, o);
}

TEST_CASE("a ring refuses lengths that its ranks cannot share evenly") {
  using maskctl::test::error_of;
  const Tensor x(DType::kFloat32, {1, 10, 2, 4});
  RingAttentionOptions o;
  o.ring_size = 4;
  CHECK(error_of([&] { ring_attention(x, x, x, o); }) ==
        "query is (1, 10, 2, 4), expected 4 axes and a length that 4 ranks share evenly");
  o.ring_size = 0;
  CHECK(error_of([&] { ring_attention(x, x, x, o); }) == "ring_size 0 is below 1");
}

TEST_CASE("a ring: a neighbour receives intact bytes from a rank that then fails") {
  std::vector<std::byte> sent(64, std::byte{1});
  std::vector<std::byte> received(64, std::byte{0});
  std::atomic<bool> gone{false};
  // Stands for the buffer of a failing rank: it is overwritten when the rank unwinds, perhaps while
  // a neighbour is copying from it.
  struct Buffer {
    std::vector<std::byte>& bytes;
    std::atomic<bool>& is_gone;
    ~Buffer() {
      std::ranges::fill(bytes, std::byte{0x55});
      is_gone = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  };
  CHECK_THROWS_AS(run_ring(2,
                           [&](Communicator& self) {
                             if (self.rank() == 0) {
                               const Buffer buffer{sent, gone};
                               self.send(1, sent);
                               throw std::runtime_error("rank 0 fails");
                             }
                             self.receive(0, received);
                             while (!gone) std::this_thread::yield();
                             self.finish();
                           }),
                  std::runtime_error);
  CHECK(std::ranges::count(received, std::byte{0x55}) == 0);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("a ring: ranks do not wait for a rank whose thread could not start") {
  CHECK(maskctl::test::holds_where_threads_fail([] {
    try {
      run_ring(64, [](Communicator& self) {
        std::vector<std::byte> out(8), in(8);
        self.send((self.rank() + 1) % 64, out);
        self.receive((self.rank() + 63) % 64, in);
        self.finish();
      });
    } catch (const std::system_error&) {
      return true;
    }
    return false;
  }));
}
#endif

}  // namespace ring_cases
