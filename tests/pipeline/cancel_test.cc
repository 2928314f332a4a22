// Operations on masks end soon after a stop request, and leave masks that can be used.
#include <atomic>
#include <functional>
#include <map>
#include <stop_token>
#include <string>

#include "maskctl/base/error.h"
#include "maskctl/base/work_scope.h"
#include "maskctl/inspect/check/expect.h"
#include "maskctl/inspect/check/lint.h"
#include "maskctl/inspect/count/cost.h"
#include "maskctl/inspect/count/stats.h"
#include "maskctl/inspect/diff/diff.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/mask/arrays/bits.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/arrays/nearest.h"
#include "maskctl/mask/blocks/block_map.h"
#include "maskctl/mask/planes/leaves.h"
#include "maskctl/pipeline/picture.h"
#include "maskctl/pipeline/steps/bind.h"
#include "maskctl/render/figure/density.h"
#include "maskctl/render/text/draw.h"
#include "pipeline/pipeline_support.h"
#include "support/catch_compat.h"

namespace {

using namespace maskctl;

/// A plane that requests a stop when the row in its middle is read.
class Stopping final : public Plane {
 public:
  Stopping(PlanePtr base, std::stop_source& source)
      : Plane(base->queries(), base->keys()), base_(std::move(base)), source_(source) {}

  void rows(Range q, const RowSink& sink) const override {
    base_->rows(q, [&](Range r, const Keys& keys) {
      if (r.begin <= queries() / 2 && queries() / 2 < r.end) source_.request_stop();
      if (source_.stop_requested()) ++late_;
      sink(r, keys);
    });
  }
  bool computed() const override { return true; }
  Index bytes() const override { return base_->bytes(); }
  Index rows_after_request() const { return late_; }

 private:
  PlanePtr base_;
  std::stop_source& source_;
  mutable std::atomic<Index> late_{0};
};

constexpr Index kSide = 4096;

using Operation = std::function<void(const Mask&)>;

Figure figure_of(const Mask& mask) {
  Figure out;
  out.panels.push_back({.plane = mask.distinct()[0]});
  return out;
}

const std::map<std::string, Operation>& operations() {
  static const std::map<std::string, Operation> table = {
      {"count", [](const Mask& m) { m.count(); }},
      {"transposed", [](const Mask& m) { transposed(m).count(); }},
      {"sliced",
       [](const Mask& m) {
         sliced(m, {0, 1}, {0, 1}, {5, kSide}, {3, kSide}).count();
       }},
      {"complement", [](const Mask& m) { transposed(complement(m)).count(); }},
      {"steps",
       [](const Mask& m) {
         maskctl::apply(m, maskctl::bind(parse("causal | window:keys=9"), {})).count();
       }},
      {"differing cells", [](const Mask& m) { differing_cells(m, full_like(m)); }},
      {"block map", [](const Mask& m) { BlockMap(m.distinct()[0], 64, 64); }},
      {"dense array", [](const Mask& m) { dense_from_mask(m, Index{1} << 30); }},
      {"bits", [](const Mask& m) { bits_from_mask(m, Index{1} << 30); }},
      {"runs", [](const Mask& m) { runs_from_mask(m, Index{1} << 30); }},
      {"nearest segments", [](const Mask& m) { nearest_segments(m); }},
      {"stats",
       [](const Mask& m) {
         mask_stats(m, std::array{BlockSize{64, 64}});
       }},
      {"cost", [](const Mask& m) { mask_cost(m); }},
      {"diff", [](const Mask& m) { diff(m, full_like(m)); }},
      {"recognise", [](const Mask& m) { recognise(m); }},
      {"check",
       [](const Mask& m) {
         check(m, {expect::Symmetric{}, "symmetric"});
       }},
      {"lint", [](const Mask& m) { lint_mask(m, nullptr); }},
      {"density", [](const Mask& m) { density(*m.distinct()[0], 64, 64); }},
      {"text",
       [](const Mask& m) {
         DrawOptions options;
         options.max_rows = 20, options.max_columns = 80;
         draw_text(figure_of(m), options);
       }},
      {"picture", [](const Mask& m) { picture_bytes(PictureFormat::kSvg, figure_of(m), {}); }},
  };
  return table;
}

TEST_CASE("cancel: operations on masks end soon after a stop request", "[cancel]") {
  const int threads = GENERATE(1, 2);
  for (const auto& [name, run] : operations()) {
    CAPTURE(name, threads);
    std::stop_source source;
    const auto plane = std::make_shared<Stopping>(dilated(kSide, kSide, 3, 0), source);
    const WorkScope scope({.threads = threads, .stop = source.get_token()});
    Errc code = Errc::kIo;
    try {
      run(Mask(plane));
    } catch (const Error& error) {
      code = error.code();
    }
    CHECK(code == Errc::kCancelled);
    CHECK(plane->rows_after_request() <= 4);  // ranges of rows, of thousands
  }
}

TEST_CASE("cancel: a stopped operation does not change later results", "[cancel]") {
  const Mask plain(dilated(kSide, kSide, 3, 0));
  const auto blocks = std::array{BlockSize{64, 64}};
  const Stats before = mask_stats(plain, blocks);
  const TileMap tiles = tile_map(*plain.distinct()[0], 64, 64);
  for (const auto& [name, run] : operations()) {
    std::stop_source source;
    const Mask stopping(std::make_shared<Stopping>(dilated(kSide, kSide, 3, 0), source));
    {
      const WorkScope scope({.stop = source.get_token()});
      CHECK_THROWS_AS(run(stopping), Error);
    }
    CAPTURE(name);
    CHECK(stopping.count() == before.total.open);  // outside of the scope no request counts
    CHECK(mask_stats(stopping, blocks).total.blocks[0].partial == before.total.blocks[0].partial);
    CHECK(tile_map(*stopping.distinct()[0], 64, 64).runs == tiles.runs);
  }
}

TEST_CASE("cancel: caches that planes share are intact after a stop", "[cancel]") {
  std::vector<std::int32_t> ids(20000);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i * 7919 % 300);
  const auto made = [&] {
    return maskctl::apply(Mask(equal_ids(ids, ids, -1, Side::kNone)),
                          maskctl::bind(parse("causal"), {}));
  };
  const TileMap expected = tile_map(*made().distinct()[0], 64, 64);
  const Mask mask = made();
  const auto stopped = [&] {
    std::stop_source source;
    source.request_stop();
    const WorkScope scope({.stop = source.get_token()});
    tile_map(*mask.distinct()[0], 64, 64);
  };
  CHECK_THROWS_AS(stopped(), Error);
  CHECK(tile_map(*mask.distinct()[0], 64, 64).runs == expected.runs);
}

}  // namespace
