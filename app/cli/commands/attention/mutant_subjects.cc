#include "app/cli/commands/attention/mutant_subjects.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "app/cli/parser/groups.h"
#include "app/cli/parser/values.h"
#include "app/session/loader.h"
#include "maskctl/base/error.h"

namespace maskctl::app {
namespace {

using attention::MutantCall;

constexpr std::string_view kDtypes[] = {"bf16", "f16", "f32"};
constexpr DType kDtypeOf[] = {DType::kBFloat16, DType::kFloat16, DType::kFloat32};

double above_zero(const std::string& text, std::string_view option) {
  const double number = parse_number(text, option);
  if (number > 0) return number;
  throw Error(Errc::kInvalidArgument,
              fmt::format("{} {}: expected a number above 0", option, text));
}

/// One of the masks and calls of --usual.
struct UsualCall {
  std::string_view size, steps;  // "n=256", "causal"
  Index heads = 2, kv_heads = 2;
  double soft_cap = 0;
  Index sinks = 0;
  bool bias = false;
};
constexpr UsualCall kUsual[] = {
    {"n=256", "causal"},
    {"n=320", "window:left=64,right=64"},
    {"n=384", "window:keys=64 | causal", 4, 2},
    {"n=512", "doc:lens=130+126+200+56 | causal"},
    {"n=512", "causal | prefix:n=100"},
    {"n=512,b=2", "pad:lens=400+512,side=left | causal"},
    {"n=512", "causal", 2, 2, 3},
    {"n=640", "window:keys=128 | sinks:n=4 | causal", 2, 2, 0, 1},
    {"n=768", "chunk:size=256 | causal", 2, 2, 0, 0, true},
    {"q=256,k=1024", "causal:align=bottom-right", 4, 2},
    {"n=1024", "window:keys=256 | causal"},
    {"n=1024", "doc:lens=300+17+450+257 | causal"},
};

MutantCall call_of(const MutantOptions& options, const std::string& source, Loader& loader) {
  MutantCall call = options.call;
  const Chain steps = loader.chain();
  const Mask read = loader.read(source).mask;
  const auto own = loader.own_steps(source);
  const auto whole = loader.whole_chain(source, steps);
  // A SOURCE with steps begins as an all-open one, so that its own steps can be varied too.
  call.base = whole ? full_like(own->start) : read;
  call.steps = whole ? *whole : steps;
  const Mask mask = maskctl::apply(call.base, call.steps);
  call.batch = options.batch.value_or(mask.batch());
  call.heads = options.heads.value_or(mask.heads() > 1 ? mask.heads() : 2);
  call.kv_heads = options.kv_heads.value_or(call.heads);
  return call;
}

void check_size(const MutantCall& call, Index max_bytes) {
  // A generous count of the arrays that one mutant needs: those of the call and of the changed
  // call, the results with and without rounding, and copies.
  constexpr double kArrays = 20;
  const Index tokens = std::max(call.base.queries(), call.base.keys());
  const double bytes = kArrays * sizeof(float) * static_cast<double>(tokens) *
                       static_cast<double>(call.batch) * static_cast<double>(call.heads) *
                       static_cast<double>(call.dim);
  if (bytes <= static_cast<double>(max_bytes)) return;
  throw Error(Errc::kLimit,
              fmt::format("mutants of {} tokens, {} batch entries, {} heads and D {} need {:.1f} "
                          "GiB, more than the limit of {:.1f} GiB",
                          tokens, call.batch, call.heads, call.dim, bytes / 0x1p30,
                          static_cast<double>(max_bytes) / 0x1p30),
              {{Remedy::kRaiseMemoryLimit}});
}

}  // namespace

void declare_mutants(OptionList& list, MutantOptions& options) {
  list.integer("--seed", 0, "other mutants (0)", [&options](Index n) { options.seed = n; });
  list.repeated("--only", "MUTANT", "make this kind only; may be repeated", options.kinds.only);
  list.repeated("--without", "MUTANT", "leave this kind out; may be repeated",
                options.kinds.without);
  list.integer("--batch", 1, "batch entries (those of the mask)",
               [&options](Index n) { options.batch = n; });
  list.integer("--heads", 1, "query heads (those of the mask, or 2)",
               [&options](Index n) { options.heads = n; });
  list.integer("--kv-heads", 1, "key heads (as many as query heads)",
               [&options](Index n) { options.kv_heads = n; });
  list.integer("--dim", 1, "D, the numbers of a query (64)",
               [&options](Index n) { options.call.dim = n; });
  list.choice("--dtype", kDtypes, "the precision of the kernels (bf16)",
              [&options](std::size_t i) { options.call.dtype = kDtypeOf[i]; });
  list.value("--scale", "X", "softmax scale (1 / sqrt(D))", [&options](const std::string& text) {
    options.call.scale = above_zero(text, "--scale");
  });
  list.value("--cap", "X", "soft cap of the logits", [&options](const std::string& text) {
    options.call.soft_cap = above_zero(text, "--cap");
  });
  list.integer("--sinks", 0, "learnable sinks of each head (0)",
               [&options](Index n) { options.call.sinks = n; });
  list.flag("--bias", "with a bias for each head and key", options.call.bias);
  declare_source(list, options.source);
}

Subject subject_of(const MutantOptions& options, const std::string& source, Session& session) {
  Loader loader(options.source, session);
  MutantCall call = call_of(options, source, loader);
  check_size(call, loader.max_bytes());
  return {
      with_pipeline(source, options.source), options.seed,
      attention::Mutants(std::move(call), static_cast<std::uint64_t>(options.seed), options.kinds)};
}

MutatedMask described(const Subject& subject) {
  const Mask& mask = subject.mutants.mask();
  return {subject.source,
          subject.seed,
          subject.mutants.call(),
          {mask.batch(), mask.heads(), mask.queries(), mask.keys()},
          subject.mutants.left_out()};
}

std::vector<Subject> usual_subjects(const MutantOptions& options, Session& session) {
  const MutantCall& call = options.call;
  const bool describes = options.batch || options.heads || options.kv_heads || call.scale ||
                         call.soft_cap || call.sinks > 0 || call.bias ||
                         !(options.source == SourceOptions());
  if (describes) {
    throw Error(Errc::kInvalidArgument,
                "--usual has masks and calls of its own; of the options about these it takes "
                "--dim and --dtype only");
  }
  std::vector<Subject> out;
  for (const UsualCall& usual : kUsual) {
    MutantOptions one = options;
    one.seed += static_cast<Index>(out.size());  // begins with another kind
    one.source.transforms = {std::string(usual.steps)};
    one.heads = usual.heads;
    one.kv_heads = usual.kv_heads;
    if (usual.soft_cap > 0) one.call.soft_cap = usual.soft_cap;
    one.call.sinks = usual.sinks;
    one.call.bias = usual.bias;
    out.push_back(subject_of(one, fmt::format("gen:full:{}", usual.size), session));
  }
  return out;
}

}  // namespace maskctl::app
