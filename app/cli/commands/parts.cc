// maskctl parts: whether what ranks, rollouts or a sampler's steps compute is the mask.
#include "maskctl/inspect/parts/parts.h"

#include <algorithm>
#include <array>
#include <memory>

#include "app/cli/commands/command.h"
#include "app/cli/parser/groups.h"
#include "app/reports/parts_report.h"
#include "app/session/loader.h"
#include "maskctl/base/error.h"
#include "maskctl/inspect/parts/deal.h"
#include "maskctl/pipeline/parse/grammar.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::app {
namespace {

struct PartsOptions {
  SourceOptions source;
  std::string name, parts;
  OtherSource other;  // how to read PARTS
  Index ranks = 0, sampler = 0;
  Split split = Split::kZigzag;
  bool split_given = false;
  std::string queries, keys, rollouts, tree;
  bool json = false;
};

void declare(OptionList& list, PartsOptions& parts) {
  list.operand("SOURCE", parts.name);
  list.operand("PARTS", parts.parts, false);
  declare_source(list, parts.source);
  parts.other.declare(list);
  list.integer("--ranks", 1,
               "ranks that share the tokens; PARTS has a batch entry per rank, or per "
               "rank and step",
               [&parts](Index n) { parts.ranks = n; });
  static constexpr std::string_view kSplits[] = {"contiguous", "zigzag", "striped"};
  list.choice("--assign", kSplits, "how --ranks share them (zigzag)", [&parts](std::size_t i) {
    parts.split = static_cast<Split>(i);
    parts.split_given = true;
  });
  list.text("--queries", "SOURCE", "the token of each query of each part, [P,S]; -1: none",
            parts.queries);
  list.text("--keys", "SOURCE", "the token of each key of each part (every token)", parts.keys);
  list.text("--rollouts", "SOURCE", "the tokens of each rollout, in order, [R,S]; -1: none",
            parts.rollouts);
  list.text("--tree", "STEP", "a tree step, whose rollouts they are", parts.tree);
  list.integer("--sampler", 1, "the block size of a sampler of block diffusion",
               [&parts](Index n) { parts.sampler = n; });
  list.json("maskctl.parts/1", parts.json);
}

void check_options(const PartsOptions& options) {
  const std::array given{options.ranks > 0, !options.queries.empty(), !options.rollouts.empty(),
                         !options.tree.empty(), options.sampler > 0};
  const auto refuse = [](const char* message) { throw Error(Errc::kInvalidArgument, message); };
  if (std::ranges::count(given, true) != 1) {
    refuse("parts are those of one of --ranks, --queries, --rollouts, --tree and --sampler");
  }
  if (options.split_given && options.ranks == 0) refuse("--assign needs --ranks");
  if (!options.keys.empty() && options.queries.empty()) refuse("--keys needs --queries");
  const bool own = options.ranks == 0 && options.queries.empty();
  if (own && !options.parts.empty()) {
    refuse("PARTS beside rollouts or a sampler, whose masks are known: leave it out");
  }
}

void check_square(const Mask& mask, const char* option) {
  if (mask.queries() == mask.keys()) return;
  throw Error(Errc::kShape, std::string(option) + ": " + shape_text(mask) +
                                " has other queries than keys, expected one token for both");
}

/// What the ranks or the given parts compute: PARTS, or the mask itself at their tokens.
std::vector<ComputedPart> dealt(const PartsOptions& options, const Mask& mask, Loader& loader,
                                Session& session) {
  std::optional<Mask> own;
  if (!options.parts.empty()) {
    SourceOptions before = options.source;
    before.transforms.clear();
    const SourceOptions how = options.other.after(before);
    Loader of_parts(how, session);
    own = of_parts.transformed(of_parts.read(options.parts).mask);
  }
  std::vector<ComputedPart> out;
  if (options.ranks > 0) {
    check_square(mask, "--ranks");
    const bool all_keys = own && own->batch() == options.ranks;
    out = ring_sides(options.split, mask.queries(), options.ranks, all_keys);
  } else {
    const Tensor queries = loader.array(options.queries);
    Tensor keys;
    if (options.keys.empty()) {
      const Index parts = queries.rank() == 2 ? queries.extent(0) : 1;
      keys = Tensor(DType::kInt32, {parts, mask.keys()});
      const auto all = keys.as<std::int32_t>();
      for (Index i = 0; i < std::ssize(all); ++i) {
        all[as_size(i)] = static_cast<std::int32_t>(i % mask.keys());
      }
    } else {
      keys = loader.array(options.keys);
    }
    out = given_sides(queries, keys);
  }
  own ? take_batches(out, *own) : take_declared(out, mask);
  return out;
}

std::vector<ComputedPart> parts_of(const PartsOptions& options, const Mask& mask, Loader& loader,
                                   Session& session) {
  if (options.sampler > 0) {
    check_square(mask, "--sampler");
    if (mask.queries() % 2 != 0) {
      throw Error(Errc::kShape, "--sampler: expected noised tokens and as many clean ones, got " +
                                    shape_text(mask));
    }
    return sampler_parts(mask.queries() / 2, options.sampler);
  }
  if (!options.rollouts.empty()) return rollouts_of(loader.array(options.rollouts));
  if (options.tree.empty()) return dealt(options, mask, loader, session);
  check_square(mask, "--tree");
  const Chain chain = bind(parse(options.tree), loader.context());
  return rollouts_of(apply(full_mask(1, 1, mask.queries(), mask.keys()), chain));
}

Answer run(const PartsOptions& options, Session& session) {
  check_options(options);
  Loader loader(options.source, session);
  const Mask mask = loader.transformed(loader.read(options.name).mask);
  const auto parts = parts_of(options, mask, loader, session);
  const bool once = options.rollouts.empty() && options.tree.empty();
  const PartsVerdict verdict = judge_parts(mask, parts, once);
  return answer_in(
      options.json, [&] { return parts_text(mask, parts, verdict, once); },
      [=] { return parts_json(options.name, mask, parts, verdict, once); },
      verdict.ok(once) ? 0 : 1);
}

}  // namespace

extern const Command kParts = command<PartsOptions, declare, run>({
    .name = "parts",
    .group = kAsk,
    .operands = "SOURCE [PARTS]",
    .summary = "whether what ranks, rollouts or a sampler compute is the mask, each pair once",
    .examples = "  maskctl parts gen:causal:n=1048576 --ranks 8 --assign striped\n"
                "  maskctl parts gen:causal:n=64 ring.npy --ranks 4\n"
                "  maskctl parts tree.npy --tree tree:parents=parents.npy\n"
                "  maskctl parts gen:block-diffusion:size=4,n=64 --sampler 4\n",
    .negative = "the parts are not the mask",
});

}  // namespace maskctl::app
