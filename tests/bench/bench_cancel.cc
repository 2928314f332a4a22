// Measures how soon operations on large masks end after a stop request: bench_cancel [--only TEXT]
// [--folder DIR] [--threads N] [--files yes|no]. Each operation is stopped at several moments of
// its run; the table has its time without a stop, and the longest time from a request to its end.
// Exits with 1 if that is above 50 ms.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "maskctl/base/error.h"
#include "maskctl/base/text.h"
#include "maskctl/base/threads.h"
#include "maskctl/base/work_scope.h"
#include "maskctl/inspect/check/expect.h"
#include "maskctl/inspect/check/leaks.h"
#include "maskctl/inspect/check/lint.h"
#include "maskctl/inspect/count/audit.h"
#include "maskctl/inspect/count/cost.h"
#include "maskctl/inspect/count/row_safety.h"
#include "maskctl/inspect/count/stats.h"
#include "maskctl/inspect/diff/diff.h"
#include "maskctl/inspect/recognise/neighbours.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/inspect/why/why.h"
#include "maskctl/io/array_io.h"
#include "maskctl/io/masks/mask_io.h"
#include "maskctl/mask/arrays/array_kinds.h"
#include "maskctl/mask/arrays/bits.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/arrays/nearest.h"
#include "maskctl/mask/arrays/varlen.h"
#include "maskctl/mask/blocks/block_map.h"
#include "maskctl/mask/mask.h"
#include "maskctl/mask/planes/leaves.h"
#include "maskctl/pipeline/picture.h"
#include "maskctl/pipeline/steps/bind.h"
#include "maskctl/pipeline/steps/generate.h"
#include "maskctl/render/figure/density.h"
#include "maskctl/render/text/draw.h"

namespace {

using namespace maskctl;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr double kBar = 0.050;
constexpr double kLongest = 2;  // seconds after which even the unstopped run is stopped
constexpr Index kTokens = 1 << 20;
constexpr Index kSide = 32768;

struct Operation {
  std::string name;
  std::function<void()> run;
};

struct Stopped {
  double total = 0;    // seconds from the start to the end
  double latency = 0;  // seconds from the request to the end; 0 if it ended before the request
};

/// Runs an operation that is asked to stop after `delay` seconds.
Stopped stopped_after(const std::function<void()>& run, double delay) {
  std::stop_source source;
  const auto start = Clock::now();
  Clock::time_point request = Clock::time_point::max();
  {
    std::jthread timer([&](std::stop_token over) {
      const auto due = start + std::chrono::duration_cast<Clock::duration>(Seconds(delay));
      while (!over.stop_requested() && Clock::now() < due) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      request = Clock::now();
      source.request_stop();
#ifdef TRACE
      for (int i = 0; i < 60; ++i) {
        if (over.stop_requested()) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      std::system(
          fmt::format(
              "gdb -batch -p {} -ex 'thread 1' -ex 'bt 14' 2>/dev/null | grep '^#' | cut -c1-150",
              ::getpid())
              .c_str());
#endif
    });
    const WorkScope scope({.stop = source.get_token()});
    try {
      run();
    } catch (const Error&) {  // stopped, or the operation refuses the mask
    }
    const auto end = Clock::now();
    timer.request_stop();
    timer.join();
    return {Seconds(end - start).count(), std::max(0.0, Seconds(end - request).count())};
  }
}

bool measure(const Operation& operation) {
  constexpr double kMoments[] = {0.003, 0.1, 0.4, 0.7, 0.95};
  const double whole = stopped_after(operation.run, kLongest).total;
  double worst = 0, when = 0;
  for (const double moment : kMoments) {
    const double delay = std::max(0.002, moment * whole);
    const Stopped stopped = stopped_after(operation.run, delay);
    if (stopped.latency > worst) worst = stopped.latency, when = delay;
  }
  fmt::print("{:<44} {:>9.1f} ms {:>9.2f} ms after {:.0f} ms{}\n", operation.name, whole * 1e3,
             worst * 1e3, when * 1e3, worst > kBar ? "  TOO LATE" : "");
  std::fflush(stdout);
  return worst <= kBar;
}

Tensor random_ids(Index tokens, int documents, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Tensor out(DType::kInt32, {1, tokens});
  for (std::int32_t& id : out.as<std::int32_t>()) {
    id = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(documents));
  }
  return out;
}

/// Document ids that grow by one every 3000 tokens.
Tensor packed_ids(Index tokens) {
  Tensor out(DType::kInt32, {1, tokens});
  std::int32_t at = 0;
  for (std::int32_t& id : out.as<std::int32_t>()) id = at++ / 3000;
  return out;
}

Mask random_mask(Index side) {
  std::mt19937_64 random(7);
  std::vector<std::uint64_t> words(static_cast<std::size_t>(side * side / 64));
  for (std::uint64_t& word : words) word = random() & random();
  return mask_from_bits(std::as_bytes(std::span(words)), std::array<Index, 4>{1, 1, side, side});
}

Mask with_steps(const Mask& mask, const std::string& text) {
  return maskctl::apply(mask, maskctl::bind(parse(text), {}));
}

struct Masks {
  Tensor ids = random_ids(kTokens, 1000, 1), packed = packed_ids(kTokens);
  Tensor ids32k = random_ids(kSide, 40, 2);
  Mask recurring = mask_from_segments(ids, ids, -1);  // stored as lists of keys that rows share
  Mask documents = mask_from_segments(packed, packed, -1);
  Mask window = with_steps(documents, "causal | window:keys=4096");
  Mask lists = with_steps(recurring, "causal");
  Mask words = random_mask(kSide);
  Mask words_causal = with_steps(words, "causal");
  Mask flipped = zip(Op::kXor, with_steps(full_mask(1, 1, kSide, kSide), "causal"),
                     Mask(random_plane(kSide, kSide, ThreefryKey{1, 2}, 0, 1e-6F)));
  Mask dilated_plane = Mask(dilated(kTokens, kTokens, 3, 0));
};

using Operations = std::vector<Operation>;

void add_mask_operations(Operations& out, const Masks& m) {
  const auto each = [&](const std::string& what, const std::function<void(const Mask&)>& f) {
    out.push_back({what + ": ids that recur, 1M", [&m, f] { f(m.recurring); }});
    out.push_back({what + ": the same, causal, 1M", [&m, f] { f(m.lists); }});
    out.push_back({what + ": documents and window, 1M", [&m, f] { f(m.window); }});
    out.push_back({what + ": random bits, 32k", [&m, f] { f(m.words); }});
    out.push_back({what + ": causal with flipped cells, 32k", [&m, f] { f(m.flipped); }});
    out.push_back({what + ": dilated formula, 1M", [&m, f] { f(m.dilated_plane); }});
  };
  out.push_back(
      {"mask_from_segments: ids that recur, 1M", [&m] { mask_from_segments(m.ids, m.ids, -1); }});
  each("count", [](const Mask& mask) { mask.count(); });
  each("complement", [](const Mask& mask) { complement(mask); });
  each("transposed", [](const Mask& mask) { transposed(mask).count(); });
  each("causal | window", [](const Mask& mask) { with_steps(mask, "causal | window:keys=100"); });
  each("sliced", [](const Mask& mask) {
    sliced(mask, {0, 1}, {0, 1}, {1000, mask.queries()}, {777, mask.keys()}).count();
  });
  each("differing_cells with its causal part",
       [](const Mask& mask) { differing_cells(mask, with_steps(mask, "causal")); });
  each("BlockMap 128", [](const Mask& mask) { BlockMap(mask.distinct()[0], 128, 128); });
  each("key_major of tiles 256", [](const Mask& mask) {
    key_major(tile_table(*mask.distinct()[0], 256, 256, BlockMap::kMaxBytes));
  });
  each("opened_blocks 64", [](const Mask& mask) { opened_blocks(mask, 64, 64); });
  each("nearest_segments", [](const Mask& mask) { nearest_segments(mask); });
  each("nearest_padding", [](const Mask& mask) { nearest_padding(mask); });
  each("nearest_key_padding", [](const Mask& mask) { nearest_key_padding(mask); });
  each("nearest_cu_seqlens", [](const Mask& mask) { nearest_cu_seqlens(mask); });
  each("nearest_pairs", [](const Mask& mask) { nearest_pairs(mask); });
  each("runs_from_mask", [](const Mask& mask) { runs_from_mask(mask, Index{1} << 32); });
  const auto small = [&](const std::string& what, const std::function<void(const Mask&)>& f) {
    out.push_back({what + ": random bits, 32k", [&m, f] { f(m.words); }});
    out.push_back({what + ": causal with flipped cells, 32k", [&m, f] { f(m.flipped); }});
  };
  small("dense_from_mask", [](const Mask& mask) { dense_from_mask(mask, Index{1} << 32); });
  small("bits_from_mask", [](const Mask& mask) { bits_from_mask(mask, Index{1} << 32); });
  small("zip xor", [&m](const Mask& mask) { zip(Op::kXor, mask, m.words_causal); });
}

void add_inspect_operations(Operations& out, const Masks& m) {
  const auto each = [&](const std::string& what, const std::function<void(const Mask&)>& f) {
    out.push_back({what + ": ids that recur, 1M", [&m, f] { f(m.recurring); }});
    out.push_back({what + ": the same, causal, 1M", [&m, f] { f(m.lists); }});
    out.push_back({what + ": documents and window, 1M", [&m, f] { f(m.window); }});
    out.push_back({what + ": random bits, 32k", [&m, f] { f(m.words); }});
    out.push_back({what + ": causal with flipped cells, 32k", [&m, f] { f(m.flipped); }});
    out.push_back({what + ": dilated formula, 1M", [&m, f] { f(m.dilated_plane); }});
  };
  each("stats", [](const Mask& mask) {
    mask_stats(mask, std::array{BlockSize{128, 128}, BlockSize{64, 32}});
  });
  each("cost", [](const Mask& mask) { mask_cost(mask); });
  each("recognise", [](const Mask& mask) { recognise(mask); });
  each("neighbours", [](const Mask& mask) { neighbours(mask); });
  each("diff and cause", [](const Mask& mask) {
    const Mask other = with_steps(mask, "window:left=1000");
    diff_cause(mask, other, diff(mask, other));
  });
  each("check symmetric", [](const Mask& mask) {
    check(mask, {expect::Symmetric{}, "symmetric"});
  });
  each("check row-safe", [](const Mask& mask) {
    check(mask, {expect::RowSafe{{128, 128}}, "row-safe"});
  });
  each("check block-aligned", [](const Mask& mask) {
    check(mask, {expect::BlockAligned{{128, 128}}, "block-aligned"});
  });
  each("lint_mask", [](const Mask& mask) { lint_mask(mask, nullptr); });
  each("leaks", [&m](const Mask& mask) {
    DocumentSource source;
    source.q = mask.queries() == kSide ? m.ids32k : m.ids;
    leaks(mask, documents_of(source, mask.queries(), mask.keys()));
  });
  each("leaks of packed documents", [](const Mask& mask) {
    DocumentSource source;
    source.q = packed_ids(mask.queries());
    leaks(mask, documents_of(source, mask.queries(), mask.keys()));
  });
  each("lint_chain", [](const Mask& mask) {
    lint_chain(mask, maskctl::bind(parse("causal | window:keys=100"), {}),
               std::vector<std::string>(2));
  });
  each("audit_blocks", [](const Mask& mask) {
    const Index blocks = ceil_div(mask.queries(), 1024);
    audit_blocks(mask, Tensor(DType::kInt32, {blocks, blocks}), {1024, 1024});
  });
}

Figure figure_of(const Mask& mask) {
  Figure out;
  out.panels.push_back({.plane = mask.distinct()[0]});
  return out;
}

void add_render_operations(Operations& out, const Masks& m) {
  const auto each = [&](const std::string& what, const std::function<void(const Mask&)>& f) {
    out.push_back({what + ": ids that recur, 1M", [&m, f] { f(m.recurring); }});
    out.push_back({what + ": random bits, 32k", [&m, f] { f(m.words); }});
    out.push_back({what + ": dilated formula, 1M", [&m, f] { f(m.dilated_plane); }});
  };
  each("draw_text", [](const Mask& mask) {
    DrawOptions options;
    options.max_rows = 40, options.max_columns = 100;
    draw_text(figure_of(mask), options);
  });
  each("density 4096 x 4096", [](const Mask& mask) {
    const Index step = ceil_div(mask.queries(), 4096);
    density(*mask.distinct()[0], step, step);
  });
  for (const auto& [name, format] : {std::pair{"png", PictureFormat::kPng},
                                     {"svg", PictureFormat::kSvg},
                                     {"html", PictureFormat::kHtml}}) {
    each(std::string(name) + " of 4096", [format = format](const Mask& mask) {
      PictureOptions options;
      options.max_size = 4096;
      picture_bytes(format, figure_of(mask), options);
    });
  }
  out.push_back(
      {"generate segments, 100M", [] { generate("segments:n=1000000,b=100,docs=1000", {}); }});
  out.push_back(
      {"generate random, 1M", [] {
         std::get<Mask>(generate("random:q=1000000,k=1000,sparsity=0.5,seed=1", {})).count();
       }});
}

void add_io_operations(Operations& out, const Masks& m, const std::string& folder) {
  const Tensor dense = dense_from_mask(m.words, Index{2} << 30);  // an array of 1 GiB
  const auto file = [&](const std::string& name) { return folder + "/" + name; };
  const WriteOptions force{.force = true};
  write_array(file("a.npy"), dense, force);
  write_array(file("a.safetensors"), dense, force);
  write_array(file("a.npz"), dense, force);
  write_array(file("a.h5"), dense, force);
  Tensor quarter = random_ids(Index{1} << 26, 1000, 3);  // an array of 256 MiB
  write_array(file("packed.npz"), quarter, {.force = true, .gzip = 1});
  write_array(file("packed.h5"), quarter, {.force = true, .gzip = 1});
  write_array(file("ids.npy"), quarter, force);
  for (const std::string name : {"a.npy", "a.safetensors", "a.npz", "a.h5"}) {
    out.push_back({"read_array 1 GiB " + name, [=] { read_array(file(name)); }});
    out.push_back({"read_mask 1 GiB " + name, [=] { read_mask(file(name)); }});
    const Mask words = m.words;
    out.push_back({"write_mask 1 GiB " + name,
                   [=] { write_mask(file("out_" + name), words, {.force = true}); }});
    out.push_back(
        {"write_array 256 MiB " + name, [=] { write_array(file("out_" + name), quarter, force); }});
  }
  for (const std::string name : {"packed.npz", "packed.h5", "ids.npy"}) {
    out.push_back({"read_array 256 MiB " + name, [=] { read_array(file(name)); }});
    out.push_back({"read_mask of ids, 64M " + name, [=] {
                     MaskReadOptions options;
                     options.as = ArrayKind::kSegments;
                     read_mask(file(name), options);
                   }});
    out.push_back({"write_array 256 MiB gzip " + name, [=] {
                     const int gzip = name == "ids.npy" ? 0 : 1;
                     write_array(file("out_" + name), quarter, {.force = true, .gzip = gzip});
                   }});
  }
  const Mask words = m.words;
  for (const ArrayKind kind : {ArrayKind::kBias, ArrayKind::kBits, ArrayKind::kRuns}) {
    out.push_back({fmt::format("convert and write {} 32k", name(kind)), [=] {
                     MaskWriteOptions options;
                     options.kind = kind;
                     options.force = true;
                     write_mask(file("out.npz"), convert_mask(words, options), options);
                   }});
  }
}

struct Arguments {
  std::string only, folder = std::filesystem::temp_directory_path() / "bench_cancel";
  bool files = true;
};

Arguments parsed(int argc, char** argv) {
  Arguments out;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    if (name == "--only") out.only = value;
    if (name == "--folder") out.folder = value;
    if (name == "--threads") set_threads(number_from<int>(value).value_or(0));
    if (name == "--files") out.files = value == "yes";
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = parsed(argc, argv);
  std::filesystem::create_directories(arguments.folder);
  const Masks masks;
  Operations operations;
  add_mask_operations(operations, masks);
  add_inspect_operations(operations, masks);
  add_render_operations(operations, masks);
  if (arguments.files) add_io_operations(operations, masks, arguments.folder);
  bool met = true;
  for (const Operation& operation : operations) {
    if (operation.name.find(arguments.only) != std::string::npos) met = measure(operation) && met;
  }
  std::filesystem::remove_all(arguments.folder);
  return met ? 0 : 1;
}
