// Files of masks: what is written is read back, and what is wrong is refused in one line.
#include "maskctl/pipeline/mask_file.h"

#include <filesystem>
#include <random>

#include "base/scratch.h"
#include "maskctl/inspect/count/digest.h"
#include "maskctl/io/formats/safetensors/safetensors.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/window.h"
#include "support/catch_compat.h"
#include "support/contains.h"
#include "support/error_of.h"
#include "support/random_step.h"
#include "support/rounds.h"

namespace maskctl {
namespace {

using test::contains;
using test::error_of;
using test::Scratch;
using test::slurp;

Mask random_start(std::mt19937_64& random, const MaskShape& shape) {
  const std::uint64_t look = random() % 4;
  if (look == 0) return full_mask(shape.batch, shape.heads, shape.queries, shape.keys);
  if (look == 1) return closed_mask(shape);
  const Index batch = random() % 2 == 0 ? 1 : shape.batch;
  const Index heads = random() % 2 == 0 ? 1 : shape.heads;
  Tensor dense(DType::kBool, {batch, heads, shape.queries, shape.keys});
  for (std::uint8_t& cell : dense.as<std::uint8_t>()) cell = random() % 2;
  const Mask one = mask_from_dense(dense);
  return Mask::make(shape.batch, shape.heads, shape.queries, shape.keys,
                    [&](Index b, Index h) { return one.plane(b, h); });
}

/// Random steps that fit a random mask, each a step of the whole list or in turn this one.
std::optional<MaskSteps> drawn(std::mt19937_64& random, const StepInfo& info) {
  const auto extent = [&](std::uint64_t most) { return static_cast<Index>(1 + random() % most); };
  MaskShape shape{extent(3), extent(2), extent(9), extent(9)};
  if (random() % 2 == 0) shape.keys = shape.queries;
  twin::StepMaker maker(random, shape);
  MaskSteps out{random_start(random, shape), {maker.step(info)}};
  const auto infos = step_infos();
  for (std::uint64_t more = random() % 3; more > 0; --more) {
    out.chain.push_back(maker.step(infos[random() % infos.size()]));
  }
  try {
    maskctl::apply(out.start, out.chain);
  } catch (const Error&) {
    return std::nullopt;
  }
  return out;
}

TEST_CASE("a mask that is written to a file is read back, with its steps and digest", "[laws]") {
  const Scratch folder;
  const std::string path = folder / "m.safetensors";
  std::mt19937_64 random(20261130);
  for (const StepInfo& info : step_infos()) {
    CAPTURE(info.name);
    int held = 0;
    const int draws = test::rounds(25);
    for (int i = 0; i < 60 * draws && held < draws; ++i) {
      const auto made = drawn(random, info);
      if (!made) continue;
      const Mask mask = maskctl::apply(made->start, made->chain);
      CAPTURE(shape_text(made->start), shape_text(mask), to_text(made->chain));
      write_mask_file(path, *made, {.force = true});
      const MaskFile read = read_mask_file(path, {.max_bytes = twin::StepMaker::kMaxBytes});
      REQUIRE(same_shape(read.mask, mask));
      CHECK(differing_cells(read.mask, mask) == 0);
      CHECK(read.digest == content_digest(mask));
      CHECK(read.steps.chain == named_steps(*made, Index{1} << 30).steps.chain);
      CHECK(read.pipeline == to_text(read.steps.chain));
      CHECK(differing_cells(maskctl::apply(read.steps.start, read.steps.chain), mask) == 0);
      if (held++ % 5 > 0) continue;
      const std::string written = slurp(path);
      write_mask_file(path, read.steps, {.force = true});
      CHECK(slurp(path) == written);
    }
    CHECK(held == draws);
  }
}

TEST_CASE("a file of a mask has no more than its steps need") {
  const Scratch folder;
  const std::string path = folder / "m.safetensors";
  constexpr Index kMillion = 1'000'000;
  const auto pipeline_of = [&](const MaskSteps& steps) {
    write_mask_file(path, steps, {.force = true});
    return read_mask_steps(path).pipeline;
  };
  const Mask open = full_mask(1, 1, kMillion, kMillion);
  CHECK(pipeline_of({open, {step::Causal(), step::Window{.left = 4095}}}) ==
        "causal | window:left=4095");
  CHECK(std::filesystem::file_size(path) < 512);
  CHECK(pipeline_of({open, {}}) == "");
  CHECK(pipeline_of({closed_mask({1, 1, 3, 4}), {}}) == "not");
  // A start with cells of its own: documents by their ids, others as runs or bits.
  Tensor ids(DType::kInt32, {kMillion});
  for (Index i = 0; i < kMillion; ++i) {
    ids.as<std::int32_t>()[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i / 1000);
  }
  CHECK(pipeline_of({mask_from_segments(ids, ids, -1), {step::Causal()}}) == "doc:ids1 | causal");
  CHECK(std::filesystem::file_size(path) < 4 * kMillion + 512);
  CHECK(pipeline_of({Mask(diagonal_band(2000, 2000, -10, 0)), {}}) == "and:mask1");
  CHECK(contains(slurp(path), "mask1/indptr"));
  Tensor dense(DType::kBool, {1, 1, 24, 24});
  for (Index i = 0; i < dense.elements(); ++i) {
    dense.as<std::uint8_t>()[static_cast<std::size_t>(i)] = i * i % 7 < 3;
  }
  CHECK(pipeline_of({mask_from_dense(dense), {}}) == "and:mask1");
  CHECK(contains(slurp(path), "mask1/bits"));
}

/// A file of the mask [1, 1, 4, 4] of ids 0 0 1 1 and causal, with changes.
class WrongFile {
 public:
  WrongFile() {
    Tensor ids(DType::kInt32, {4});
    ids.as<std::int32_t>()[2] = ids.as<std::int32_t>()[3] = 1;
    step::Document documents;
    documents.q = {ids, ""};
    documents.shared = true;
    write_mask_file(path_, {full_mask(1, 1, 4, 4), {documents, step::Causal()}});
    SafetensorsFile file{ByteSource(path_)};
    metadata_ = file.header().metadata;
    for (const std::string& key : file.keys()) arrays_.push_back({key, file.read(key)});
  }

  WrongFile& set(const std::string& key, const std::string& value) {
    std::ranges::find(metadata_, key, &Metadata::first)->second = value;
    return *this;
  }
  WrongFile& without(const std::string& key) {
    std::erase_if(metadata_, [&](const Metadata& one) { return one.first == key; });
    return *this;
  }
  WrongFile& add(const std::string& key, const std::string& value) {
    metadata_.emplace_back(key, value);
    return *this;
  }
  std::vector<NamedTensor>& arrays() { return arrays_; }

  /// What reading says, without the name of the file.
  std::string refusal() const {
    std::vector<ArrayRef> refs;
    for (const NamedTensor& array : arrays_) refs.push_back({array.name, &array.tensor});
    write_safetensors(path_, refs, metadata_, true);
    const std::string message = error_of([&] { read_mask_file(path_); });
    return message.starts_with(path_ + ": ") ? message.substr(path_.size() + 2) : message;
  }

 private:
  Scratch folder_;
  std::string path_ = folder_ / "m.safetensors";
  std::vector<Metadata> metadata_;
  std::vector<NamedTensor> arrays_;
};

TEST_CASE("a file of a mask is refused where it contradicts itself, in one line") {
  const std::string digest(64, '0');
  CHECK(WrongFile().refusal() == "no error");
  CHECK(WrongFile().add("step", "17").refusal() == "no error");
  CHECK(WrongFile().set("format", "maskctl.mask/2").refusal() ==
        "its format is maskctl.mask/2; this version reads maskctl.mask/1");
  CHECK(WrongFile().set("format", "pt").refusal() == "no format maskctl.mask/1 in its metadata");
  for (const char* key : {"shape", "pipeline", "digest"}) {
    CHECK(WrongFile().without(key).refusal() ==
          "no '" + std::string(key) +
              "' in the metadata; expected format, shape, pipeline and digest");
  }
  CHECK(WrongFile().without("writer").refusal() == "no error");
  for (const char* shape : {"", "[1, 1, 4]", "[1, 1, 4, -4]", "1, 1, 4, 4", "[1, 1, 4, 4.0]",
                            "[1, 1, 4, 2147483648]"}) {
    CHECK(WrongFile().set("shape", shape).refusal() ==
          "'shape' is '" + std::string(shape) + "'; expected [batch, heads, queries, keys]");
  }
  CHECK(contains(WrongFile().set("shape", "[2147483647, 2147483647, 4, 4]").refusal(),
                 "queries and 4 keys is too large"));
  CHECK(WrongFile().set("shape", "[1, 1, 4, 5]").add("start", "[1, 1, 4, 4]").refusal() ==
        "the pipeline makes [B 1, H 1, Q 4, K 4], the file says [1, 1, 4, 5]");
  CHECK(contains(WrongFile().set("shape", "[1, 1, 6, 6]").refusal(), "step doc: "));
  CHECK(WrongFile().set("digest", "00").refusal() ==
        "the digest is '00'; expected 64 hexadecimal digits in lower case");
  const std::string wrong = WrongFile().set("digest", digest).refusal();
  CHECK(wrong.starts_with("the cells have the digest "));
  CHECK(wrong.ends_with(", the file says " + digest));
  CHECK(WrongFile().set("pipeline", "doc:ids.npy | causal").refusal() ==
        "the pipeline reads 'ids.npy'; the file has ids1");
  CHECK(WrongFile().set("pipeline", "and:'gen:causal:n=4'").refusal() ==
        "the pipeline reads 'gen:causal:n=4'; the file has ids1");
  CHECK(contains(WrongFile().set("pipeline", "caussal").refusal(), "did you mean 'causal'?"));
  WrongFile changed;
  changed.arrays()[0].tensor.as<std::int32_t>()[1] = 1;
  CHECK(changed.refusal().starts_with("the cells have the digest "));
  WrongFile missing;
  missing.arrays().clear();
  CHECK(missing.refusal() == "the pipeline reads 'ids1'; the file has no arrays");
  CHECK_FALSE(contains(WrongFile().set("pipeline", "caussal").refusal(), "\n"));
}

TEST_CASE("the cells of a file of a mask may be bits, runs or a dense array") {
  const Scratch folder;
  const std::string path = folder / "m.safetensors";
  Tensor dense(DType::kBool, {3, 5});
  for (Index i = 0; i < 15; i += 2) dense.as<std::uint8_t>()[static_cast<std::size_t>(i)] = 1;
  const Mask mask = mask_from_dense(dense);
  const std::vector<Metadata> metadata = {{"format", std::string(kMaskFormat)},
                                          {"shape", "[1,1,3,5]"},
                                          {"pipeline", "and:x"},
                                          {"digest", content_digest(mask)}};
  const ArrayRef as_dense{"x", &dense};
  write_safetensors(path, {&as_dense, 1}, metadata, true);
  CHECK(differing_cells(read_mask_file(path).mask, mask) == 0);
  Tensor shape(DType::kInt64, {4}), bits(DType::kUInt8, {2});
  std::ranges::copy(std::array{1, 1, 3, 5}, shape.as<std::int64_t>().begin());
  bits.as<std::uint8_t>()[0] = bits.as<std::uint8_t>()[1] = 0x55;
  const ArrayRef as_bits[] = {{"x/bits", &bits}, {"x/shape", &shape}};
  write_safetensors(path, as_bits, metadata, true);
  CHECK(differing_cells(read_mask_file(path).mask, mask) == 0);
  const ArrayRef no_shape{"x/bits", &bits};
  write_safetensors(path, {&no_shape, 1}, metadata, true);
  CHECK(contains(error_of([&] { read_mask_file(path); }), "'x/shape'"));
}

TEST_CASE("reading arrays refuses a file of a mask, whose arrays are another mask") {
  const Scratch folder;
  const std::string path = folder / "m.safetensors";
  write_mask_file(path, full_mask(1, 1, 4, 4));
  CHECK(error_of([&] { read_mask(path); }) ==
        path + ": holds a mask as steps (maskctl.mask/1), which read_mask_file() reads");
  const LoadedMask loaded = read_mask(path, {.objects = {&kMaskFile}});
  CHECK(loaded.kind == ArrayKind::kMaskFile);
  CHECK(loaded.mask.count() == 16);
  REQUIRE(loaded.steps);
  CHECK(loaded.steps->chain.empty());
  CHECK_FALSE(
      read_mask(path, {.shape = std::vector<Index>{2, 1, 4, 4}, .objects = {&kMaskFile}}).steps);
}

TEST_CASE("a file of a mask is kept unless it may be replaced, and limits hold") {
  const Scratch folder;
  const std::string path = folder / "m.safetensors";
  const Mask mask = full_mask(1, 1, 4, 4);
  write_mask_file(path, mask);
  CHECK(contains(error_of([&] { write_mask_file(path, mask); }), "exists"));
  CHECK(contains(error_of([&] {
                   write_mask_file(folder / "n.safetensors", full_mask(1, 1, 1000, 1000),
                                   {.max_bytes = 4000});
                 }),
                 "the digest of the cells goes over more than 4000 bytes of runs"));
  CHECK_FALSE(std::filesystem::exists(folder / "n.safetensors"));
  const PlanePtr planes[] = {diagonal_band(200, 200, -9, 0), diagonal_band(200, 200, -8, 0)};
  const Mask two = Mask::make(2, 1, 200, 200, [&](Index b, Index) { return planes[b]; });
  CHECK(content_digest(two, 4800) == content_digest(two));  // 200 rows of a run each, twice
  CHECK(contains(error_of([&] { content_digest(two, 4799); }), "more than 4799 bytes"));
}

}  // namespace
}  // namespace maskctl
