// Tests that no operation of the dense family allocates memory of the size queries x keys, forward
// or backward.
#include <atomic>
#include <cstdlib>
#include <new>

#include "attention/arrays.h"
#include "maskctl/attention/operations/blocksparse/blocksparse.h"
#include "maskctl/attention/operations/flash/flash.h"
#include "maskctl/attention/operations/mla/mla.h"
#include "maskctl/attention/operations/ring/ring.h"
#include "maskctl/attention/operations/sdpa/sdpa.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/chunk.h"
#include "maskctl/mask/steps/step.h"

namespace {

std::atomic<std::size_t> requested = 0;  // bytes requested from operator new so far

void* counted(std::size_t size, std::size_t alignment) {
  requested += size;
  const std::size_t whole =
      (std::max<std::size_t>(size, 1) + alignment - 1) / alignment * alignment;
  if (void* p = std::aligned_alloc(alignment, whole)) return p;
  throw std::bad_alloc();
}

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t size) {
  return counted(size, alignof(std::max_align_t));
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  requested += size;
  return std::malloc(std::max<std::size_t>(size, 1));
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  std::free(p);
}

namespace {

using namespace maskctl::attention_test;

template <class F>
std::size_t bytes_of(F&& f) {
  const std::size_t before = requested;
  f();
  return requested - before;
}

/// Runs forward and backward of the operations under masks of few cells for each query; returns the
/// bytes that each allocated.
std::vector<std::pair<const char*, std::size_t>> bytes_of_all(Index tokens) {
  Random r(1);
  const Tensor x = r.normal({1, tokens, 1, 8}), turned = r.normal({1, 1, tokens, 8});
  const Tensor latent = r.normal({1, tokens, 4}), w = r.normal({4, 1, 8});
  const Tensor ids = r.integers({1, tokens}, 1);
  std::vector<std::pair<const char*, std::size_t>> out;
  const auto note = [&out](const char* what, auto&& f) { out.emplace_back(what, bytes_of(f)); };
  note("sdpa", [&] {
    ScaledDotProductAttentionOptions o;
    o.mask.window = 64, o.mask.causal = true;
    const auto result = scaled_dot_product_attention(x, x, x, o);
    scaled_dot_product_attention_backward(x, x, x, result, x, o);
  });
  note("flash", [&] {
    FlashAttentionOptions o;
    o.mask.window = 64, o.mask.q_segment_ids = &ids;
    flash_attention_backward(x, x, x, flash_attention(x, x, x, o), x, o);
  });
  note("blocksparse", [&] {
    BlocksparseAttentionOptions o;
    o.mask.window = 64, o.mask.q_positions = &ids, o.mask.kv_positions = &ids,
    o.mask.causal = false;
    const Chain chunks = {step::Chunk{128}, step::Causal{Align::kTopLeft, {}}};
    o.static_mask = std::make_shared<const Mask>(
        maskctl::apply(full_mask(1, 1, tokens, tokens), std::span<const Step>(chunks)));
    blocksparse_attention_backward(turned, turned, turned,
                                   blocksparse_attention(turned, turned, turned, o), turned, o);
  });
  note("ring", [&] {
    RingAttentionOptions o;
    o.mask.window = 64, o.mask.causal = true, o.ring_size = 4;
    ring_attention_backward(x, x, x, ring_attention(x, x, x, o), x, o);
  });
  note("latent", [&] {
    MlaAttentionOptions o;
    const Tensor cum = i32({0, 100, static_cast<std::int32_t>(tokens)});
    o.mask.causal = true, o.cu_seqlens = &cum;
    const auto result = mla_attention(x, latent, w, w, o);
    mla_attention_backward(x, latent, w, w, result, x, o);
  });
  return out;
}

}  // namespace

TEST_CASE("memory of the dense operations grows with the tokens, not with their square") {
  bytes_of_all(512);  // the first call allocates what later calls reuse
  const auto small = bytes_of_all(2048), large = bytes_of_all(8192);
  for (std::size_t n = 0; n < small.size(); ++n) {
    INFO(small[n].first << " " << small[n].second << " " << large[n].second);
    CHECK(large[n].second < 5 * small[n].second);
  }
}
