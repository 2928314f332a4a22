// Each sample file is the mask that samples/README.md describes.
#include <string>
#include <vector>

#include "maskctl/io/array_io.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/dilated.h"
#include "maskctl/mask/steps/first_keys.h"
#include "maskctl/mask/steps/step.h"
#include "maskctl/mask/steps/window.h"
#include "support/catch_compat.h"

namespace {

using namespace maskctl;

Tensor sample(const std::string& name) { return read_array(MASKCTL_SOURCE_DIR "/samples/" + name); }

Mask full(Index batch, Index queries, Index keys) {
  return Mask(batch, 1, {full_plane(queries, keys)}, std::vector<std::uint32_t>(batch, 0));
}

Mask chained(const Mask& mask, const Chain& chain) { return maskctl::apply(mask, chain); }

step::Window keys(Index count) {
  return {.left = count - 1, .right = 0, .spelling = step::Window::Spelling::kKeys};
}

Index different_cells(const Mask& a, const Mask& b) { return zip(Op::kXor, a, b).count(); }

TEST_CASE("sample packed has five documents and two padding tokens", "[samples]") {
  const Tensor ids = sample("packed.npy");
  CHECK(ids.dtype() == DType::kInt32);
  CHECK(ids.shape() == std::vector<Index>{2, 24});
  const Mask mask = mask_from_segments(ids, ids, -1);
  CHECK(mask.plane(0, 0)->count() == 9 * 9 + 6 * 6 + 7 * 7);
  CHECK(mask.plane(1, 0)->count() == 12 * 12 + 12 * 12);
  CHECK(mask.plane(0, 0)->count({22, 24}, {0, 24}) == 0);
}

TEST_CASE("sample padded has 16, 11 and 5 real tokens, from the first on", "[samples]") {
  const Mask mask = mask_from_padding(sample("padded.npy"));
  REQUIRE(mask.batch() == 3);
  const Index lengths[] = {16, 11, 5};
  for (Index b = 0; b < 3; ++b) {
    CHECK(mask.plane(b, 0)->count() == lengths[b] * lengths[b]);
    CHECK(mask.plane(b, 0)->count({0, lengths[b]}, {0, lengths[b]}) == lengths[b] * lengths[b]);
  }
}

TEST_CASE("sample heads has four heads with different patterns", "[samples]") {
  const Mask mask = mask_from_dense(sample("heads.npy"));
  REQUIRE(mask.heads() == 4);
  const Mask all = full(1, 16, 16);
  const Mask first_or_own =
      zip(Op::kOr, chained(all, {keys(1)}), Mask(rectangle(16, 16, {0, 16}, {0, 1})));
  const Mask expected[] = {chained(all, {step::Causal{}}), chained(all, {keys(4)}),
                           chained(all, {step::Causal{}, step::Dilated{3}}), first_or_own};
  for (Index h = 0; h < 4; ++h) {
    CAPTURE(h);
    CHECK(different_cells(Mask(mask.plane(0, h)), expected[h]) == 0);
  }
}

TEST_CASE("sample cross opens the real keys of each batch entry to six queries", "[samples]") {
  const Mask mask = mask_from_dense(sample("cross.npy"));
  REQUIRE(shape_text(mask) == "[B 2, H 1, Q 6, K 10]");
  CHECK(mask.plane(0, 0)->count() == 60);
  CHECK(mask.plane(1, 0)->count() == 42);
  CHECK(mask.plane(1, 0)->count({0, 6}, {7, 10}) == 0);
}

TEST_CASE("sample window_sinks is a chain of window, sinks and causal", "[samples]") {
  const Mask mask = mask_from_dense(sample("window_sinks.npy"));
  const Mask expected = chained(full(1, 32, 32), {keys(8), step::Sinks{2}, step::Causal{}});
  CHECK(different_cells(mask, expected) == 0);
}

TEST_CASE("sample leaked has one open pair more than the packed row", "[samples]") {
  const Tensor ids = sample("packed.npy");
  const Mask documents = mask_from_segments(ids, ids, -1);
  const Mask row = sliced(documents, {0, 1}, {0, 1}, {0, 24}, {0, 24});
  const Mask honest = chained(row, {step::Causal{}});
  const Mask difference = zip(Op::kXor, mask_from_dense(sample("leaked.npy")), honest);
  CHECK(difference.count() == 1);
  CHECK(difference.plane(0, 0)->count({17, 18}, {3, 4}) == 1);
}

}  // namespace
