// Tests config classes: ejkernel's defaults, equality, hashes and text form.
#include <random>

#include "maskctl/base/error.h"
#include "maskctl/ejkernel/runtime/config_rows.h"
#include "maskctl/ejkernel/runtime/config_text.h"
#include "maskctl/ejkernel/runtime/configs.h"
#include "support/catch_compat.h"

namespace runtime_config_cases {

namespace {

using namespace maskctl;
using namespace maskctl::attention;

/// Sets every field of a config to a random value, and leaves half of the optional fields empty.
class Scramble {
 public:
  explicit Scramble(unsigned seed) : engine_(seed) {}
  void operator()(AnyConfig& config) { fields(row_of(config).fields, object_of(config)); }

 private:
  void fields(std::span<const ConfigField> fields, void* object) {
    for (const ConfigField& field : fields) {
      std::visit([this](auto* value) { set(*value); }, field.value(object));
    }
  }
  void set(Platform& x) { x = static_cast<Platform>(engine_() % 5); }
  void set(DeviceKind& x) { x = static_cast<DeviceKind>(engine_() % 4); }
  void set(bool& x) { x = engine_() % 2 == 0; }
  void set(Index& x) { x = 1 + static_cast<Index>(engine_() % 1000); }
  template <class T>
  void set(std::optional<T>& x) {
    x.reset();
    if (engine_() % 2 == 0) set(x.emplace());
  }
  template <class Params>
  requires requires(Params x) { fields_of(x); }
  void set(Params& x) { fields(fields_of(x), &x); }

  std::mt19937 engine_;
};

TEST_CASE("configs: default values are ejkernel's", "[attention]") {
  CHECK(to_text(FlashAttentionConfig{}) == "FlashAttentionConfig platform=auto backend=any");
  CHECK(to_text(NativeSparseAttentionConfig{}) ==
        "NativeSparseAttentionConfig platform=auto backend=any block_q=64 block_k=64 block_d=64 "
        "block_size=64 num_warps=4 num_stages=1");
  CHECK(to_text(RingAttentionConfig{}) ==
        "RingAttentionConfig platform=auto backend=any block_q=128 block_k=128 "
        "query_chunk_size=512 key_chunk_size=512 num_warps=4 num_stages=2");
  CHECK(to_text(PageAttentionConfig{}) ==
        "PageAttentionConfig platform=auto backend=any num_splits=0 num_warps=4 num_stages=1");
  CHECK(to_text(GroupedMatmulConfig{}) ==
        "GroupedMatmulConfig platform=auto backend=any block_m=128 block_n=128 block_k=128 "
        "num_warps=4 num_stages=2 bypass_xla_tiling=false");
  CHECK(to_text(MeanPoolingConfig{}) ==
        "MeanPoolingConfig platform=auto backend=any block_size=64 num_warps=4 num_stages=1");
  CHECK(to_text(GLAttentionConfig{}) ==
        "GLAttentionConfig platform=auto backend=any block_q=64 block_k=64 block_d=64 num_warps=4 "
        "num_stages=1");
}

TEST_CASE("configs: the custom configuration of ejkernel's documentation can be written",
          "[attention]") {
  const FlashAttentionConfig config{
      .platform = Platform::kTriton,
      .backend = DeviceKind::kGpu,
      .fwd_params =
          FwdParams{.q_blocksize = 128, .kv_blocksize = 256, .num_warps = 4, .num_stages = 2},
      .bwd_params = BwdParams{.q_blocksize = 64, .kv_blocksize = 128},
  };
  CHECK(to_text(config) ==
        "FlashAttentionConfig platform=triton backend=gpu fwd_params.q_blocksize=128 "
        "fwd_params.kv_blocksize=256 fwd_params.num_warps=4 fwd_params.num_stages=2 "
        "bwd_params.q_blocksize=64 bwd_params.kv_blocksize=128");
}

TEST_CASE("configs: the text of every class is read back as an equal config", "[attention]") {
  unsigned seed = 0;
  for (const ConfigRow& row : config_rows()) {
    for (int i = 0; i < 50; ++i) {
      AnyConfig config = row.defaults();
      Scramble{++seed}(config);
      const std::string text = to_text(config);
      CAPTURE(text);
      const auto read = config_from_text(text);
      REQUIRE(read);
      CHECK(*read == config);
    }
  }
}

TEST_CASE("configs: text in any other form is refused", "[attention]") {
  const std::string good = "PageAttentionConfig platform=auto backend=any num_splits=3";
  CHECK(config_from_text(good));
  for (const char* bad :
       {"", "X", "PageAttentionConfig ", "PageAttentionConfig num_splits",
        "PageAttentionConfig x=1", "PageAttentionConfig num_splits=1 num_splits=1",
        "PageAttentionConfig num_splits=-1", "PageAttentionConfig num_splits=1x",
        "PageAttentionConfig num_splits=", "PageAttentionConfig  num_splits=1",
        "PageAttentionConfig platform=metal", "PageAttentionConfig num_splits=99999999999999999999",
        "FlashAttentionConfig fwd_params.x=1", "FlashAttentionConfig fwd_params=1",
        "FlashAttentionConfig bwd_params.num_key_splits=1",
        "GroupedMatmulConfig bypass_xla_tiling=1"}) {
    CAPTURE(bad);
    CHECK_FALSE(config_from_text(bad));
  }
}

TEST_CASE("configs: reading a truncated or changed text never crashes", "[attention]") {
  const std::string text = to_text(FlashAttentionConfig{.fwd_params = FwdParams{.q_blocksize = 128},
                                                        .bwd_params = BwdParams{.num_warps = 2}});
  std::mt19937 engine(7);
  for (std::size_t i = 0; i < text.size(); ++i) {
    config_from_text(std::string_view(text).substr(0, i));
    std::string changed = text;
    changed[i] = static_cast<char>(engine() % 256);
    const auto read = config_from_text(changed);
    if (read && changed != text) CHECK(config_from_text(to_text(*read)) == read);
  }
}

TEST_CASE("configs: params that set the same number in different fields differ", "[attention]") {
  const FwdParams q{.q_blocksize = 64}, kv{.kv_blocksize = 64};
  CHECK(q != kv);
  CHECK(std::hash<FwdParams>()(q) != std::hash<FwdParams>()(kv));
  CHECK(std::hash<FwdParams>()(q) == std::hash<FwdParams>()(FwdParams{.q_blocksize = 64}));
  CHECK(std::hash<BwdParams>()({.num_warps = 2}) != std::hash<BwdParams>()({.num_stages = 2}));
  CHECK(BwdParams{.num_warps = 2} == BwdParams{.num_warps = 2});
}

TEST_CASE("configs: sizes must be positive", "[attention]") {
  for (const ConfigRow& row : config_rows()) CHECK_NOTHROW(check_config(row.defaults()));
  CHECK_THROWS_WITH(
      check_config(FlashAttentionConfig{.fwd_params = FwdParams{.q_blocksize = 0}}),
      "FlashAttentionConfig: fwd_params.q_blocksize is 0, expected a positive number");
  CHECK_THROWS_AS(check_config(PageAttentionConfig{.num_splits = -1}), Error);
  CHECK_THROWS_AS(check_config(RingAttentionConfig{.block_q = -8}), Error);
}

}  // namespace

}  // namespace runtime_config_cases
