// maskctl phases: whether prefill, chunks, decoding, drafts and ranks have the rows of one mask.
#include "maskctl/phases/phases.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "app/cli/commands/command.h"
#include "app/cli/commands/diff_configs.h"
#include "app/cli/parser/groups.h"
#include "app/cli/parser/values.h"
#include "app/reports/phases_report.h"
#include "app/session/loader.h"
#include "maskctl/base/error.h"
#include "maskctl/base/text.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/phases/given_steps.h"
#include "maskctl/pipeline/parse/grammar.h"
#include "maskctl/tensor/convert.h"
#include "maskctl/translate/models/hf_config.h"

namespace maskctl::app {
namespace {

struct PhasesOptions {
  SourceOptions source;
  std::string mask;
  std::vector<std::string> caches;
  Index length = 0;
  PhasesQuery query;
  bool split_given = false, chunks_given = false, taken_back_given = false;
  std::string tree, positions, queries, open;
  bool assume_causal = false;
  bool list = false, json = false;
};

constexpr Index kLength = 131072;

void declare(OptionList& list, PhasesOptions& phases) {
  PhasesQuery& query = phases.query;
  query.chunks = {64, 2048, 8192};
  query.taken_back = 8;
  list.operand("MASK", phases.mask, false);
  declare_source(list, phases.source);
  list.repeated("--cache", "NAME[:KEY=VALUE,...]",
                "the cache, or all of a library (those of all libraries)", phases.caches);
  list.integer("--length", 1, "tokens of a CHAIN or a model (131072)",
               [&phases](Index n) { phases.length = n; });
  list.value("--chunk", "N+N",
             "chunks of a prompt, for caches that are not proven for all "
             "(64+2048+8192)",
             [&phases](const std::string& text) {
               phases.chunks_given = true;
               phases.query.chunks.clear();
               for (const std::string& one : parse_list(text)) {
                 phases.query.chunks.push_back(parse_integer(one, "--chunk", 2, Index{1} << 30));
               }
             });
  list.integer("--taken-back", 0, "drafts that may be taken back (8)", [&phases](Index n) {
    phases.query.taken_back = n;
    phases.taken_back_given = true;
  });
  list.text("--tree", "SOURCE", "the parent of each draft of a tree, -1 for a root; or -1+0+0",
            phases.tree);
  list.integer("--ranks", 1, "ranks that share the tokens", [&query](Index n) { query.ranks = n; });
  static constexpr std::string_view kSplits[] = {"contiguous", "zigzag", "striped"};
  list.choice("--assign", kSplits, "how --ranks share them (zigzag)", [&phases](std::size_t i) {
    phases.query.split = static_cast<Split>(i);
    phases.split_given = true;
  });
  list.text("--positions", "SOURCE",
            "the token in each slot of each step of your cache, [S,L]; -1: none", phases.positions);
  list.text("--queries", "SOURCE", "the position of each query of each step, [S,Q] (the newest)",
            phases.queries);
  list.text("--open", "SOURCE", "what each step opens, [S,H,Q,L] (what the mask opens)",
            phases.open);
  list.value("--assume", "causal", "what to assume for an unknown model type",
             [&phases](const std::string& text) {
               static constexpr std::string_view kWords[] = {"causal"};
               parse_choice(text, "--assume", kWords);
               phases.assume_causal = true;
             });
  list.flag("--caches", "list the caches: what each keeps, and what was read", phases.list);
  list.json("maskctl.phases/1", phases.json);
}

[[noreturn]] void refuse_phases(const std::string& why) {
  throw Error(Errc::kInvalidArgument, why);
}

void check_options(const PhasesOptions& options) {
  if (options.list) {
    if (!options.mask.empty()) refuse_phases("--caches lists all caches: give no MASK");
    return;
  }
  if (options.mask.empty()) {
    refuse_phases("phases of which mask? give a CHAIN, a SOURCE or a config.json, or --caches");
  }
  if (options.split_given && options.query.ranks == 0) refuse_phases("--assign needs --ranks");
  if (options.positions.empty()) {
    if (!options.queries.empty()) refuse_phases("--queries needs --positions");
    if (!options.open.empty()) refuse_phases("--open needs --positions");
    return;
  }
  const bool other = !options.caches.empty() || !options.tree.empty() || options.query.ranks > 0 ||
                     options.chunks_given || options.taken_back_given;
  if (other)
    refuse_phases("--positions are all that is judged: leave out caches, chunks and ranks");
}

/// Whether the operand is a chain: it is no file, and begins as the name of a step does.
bool is_chain(const std::string& text, const Loader& loader, const Session& session) {
  std::error_code ignored;
  if (session.given(text) != nullptr || loader.generates(text) ||
      std::filesystem::exists(text, ignored)) {
    return false;
  }
  const auto end = std::ranges::find_if_not(text, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
  });
  const std::string_view rest(end, text.end());
  return rest.empty() || std::string_view(":|{ ").find(rest.front()) != std::string_view::npos;
}

/// A mask that is asked about, and what its steps say.
struct Subject {
  std::string layers, pipeline;
  CacheSizes sizes;
  Mask mask;
};

std::vector<Subject> of_config(const PhasesOptions& options, Index length, PhasesReport& report) {
  if (!options.source.transforms.empty())
    refuse_phases("-t beside a config, which has the masks itself");
  HfConfigOptions how;
  how.assume_causal = options.assume_causal;
  const HfConfig config = load_hf_config(options.mask, how);
  std::vector<Subject> out;
  for (const HfLayerGroup& group : layer_groups(config)) {
    const HfLayer& layer = group.layer;
    const bool decoder = layer.part.empty() || layer.part == "decoder";
    const bool causal = layer.chunk || layer.right == Index{0};
    if (!layer.has_mask || !decoder || !causal) {
      report.notes.push_back(fmt::format("layers {} ({}) are not judged: {}", group.layers,
                                         layer.type,
                                         !layer.has_mask ? "they have no mask that is known"
                                         : !decoder      ? "they have no cache that grows"
                                                         : "they are not causal"));
      continue;
    }
    const Chain chain = chain_of(layer);
    out.push_back({group.layers, to_text(chain), sizes_of(chain),
                   apply(full_mask(1, 1, length, length), chain)});
  }
  if (out.empty()) {
    refuse_phases(fmt::format("{}: no layer has a mask and a cache that grows; {}", options.mask,
                              report.notes.empty() ? "" : report.notes.front()));
  }
  for (const std::string& note : config.notes) report.notes.push_back(note);
  return out;
}

Subject of_source(const PhasesOptions& options, Loader& loader, Session& session, Index length) {
  if (is_chain(options.mask, loader, session)) {
    Chain chain = bind(parse(options.mask), loader.context());
    const Chain more = loader.chain();
    chain.insert(chain.end(), more.begin(), more.end());
    return {"", to_text(chain), sizes_of(chain), apply(full_mask(1, 1, length, length), chain)};
  }
  if (options.length > 0) refuse_phases("--length beside a SOURCE, which has its own");
  const Mask mask = loader.transformed(loader.read(options.mask).mask);
  const auto chain = loader.whole_chain(options.mask, loader.chain());
  if (!chain) return {"", "", sizes_of(loader.chain()), mask};
  return {"", to_text(*chain), sizes_of(*chain), mask};
}

std::vector<Index> tree_of(const std::string& text, Loader& loader) {
  if (text.empty()) return {};
  std::vector<Index> out;
  const bool list = text.find_first_not_of("-+0123456789") == std::string::npos;
  if (!list) {
    const Tensor parents = loader.array(text);
    const auto numbers = as_int64(parents, "parents");
    return {numbers.begin(), numbers.end()};
  }
  for (const std::string_view one : split(text, '+')) {
    const auto number = number_from<Index>(one);
    if (!number) refuse_phases("--tree " + text + ": expected parents, as -1+0+0+1");
    out.push_back(*number);
  }
  return out;
}

/// The caches to judge for a mask; those of no library are asked for by name.
std::vector<Cache> caches_for(const PhasesOptions& options, const Subject& subject,
                              PhasesReport& report) {
  const LayerKind kind = kind_of(subject.sizes);
  std::vector<Cache> out;
  for (const std::string& text : options.caches) {
    std::ranges::move(read_caches(text, subject.sizes), std::back_inserter(out));
  }
  if (!options.caches.empty()) return out;
  for (const CacheRow* row : cache_rows()) {
    if (row->family.empty() || !row->serves(kind)) continue;
    if (row->make == nullptr) {
      report.notes.push_back(fmt::format("{} is not judged: {}", row->name, row->note));
    } else {
      out.push_back(cache_of(*row, subject.sizes));
    }
  }
  return out;
}

std::string titled(const Cache& cache) {
  for (const CacheRow* row : cache_rows()) {
    if (row->name == cache.name && !row->library.empty()) {
      return fmt::format("{} ({})", cache.name, row->library);
    }
  }
  return cache.name;
}

void judge(const PhasesOptions& options, const PhasesQuery& query, const Subject& subject,
           PhasesReport& report) {
  for (const Cache& cache : caches_for(options, subject, report)) {
    report.entries.push_back({subject.layers, subject.pipeline, titled(cache), cache_text(cache),
                              judge_phases(subject.mask, cache, query)});
  }
}

/// The steps that were given, read in the ways that the options say.
GivenSteps given_of(const PhasesOptions& options, Loader& loader, Session& session) {
  GivenSteps steps;
  steps.positions = loader.array(options.positions);
  if (!options.queries.empty()) steps.queries = loader.array(options.queries);
  if (!options.open.empty()) {
    SourceOptions before = options.source;
    before.transforms.clear();
    Loader of_steps(before, session);
    steps.open = of_steps.read(options.open).mask;
  }
  return steps;
}

Answer run(const PhasesOptions& options, Session& session) {
  check_options(options);
  if (options.list) return answer_in(options.json, caches_text, caches_json);
  Loader loader(options.source, session);
  PhasesReport report;
  report.source = options.mask;
  const Index length = options.length > 0 ? options.length : kLength;
  const bool config = session.given(options.mask) == nullptr && is_config(options.mask);
  std::vector<Subject> subjects;
  if (config) {
    subjects = of_config(options, length, report);
  } else {
    subjects.push_back(of_source(options, loader, session, length));
  }
  PhasesQuery query = options.query;
  query.tree = tree_of(options.tree, loader);
  for (const Subject& subject : subjects) {
    report.tokens = subject.mask.queries();
    if (options.positions.empty()) {
      judge(options, query, subject, report);
    } else {
      report.entries.push_back({subject.layers, subject.pipeline, "", "",
                                judge_given(subject.mask, given_of(options, loader, session))});
    }
  }
  return answer_in(
      options.json, [&] { return phases_text(report); }, [=] { return phases_json(report); },
      report.holds() ? 0 : 1);
}

}  // namespace

extern const Command kPhases = command<PhasesOptions, declare, run>({
    .name = "phases",
    .group = kAsk,
    .operands = "[MASK]",
    .summary = "whether prefill, chunks, decoding, drafts and ranks see what a mask says",
    .examples = "  maskctl phases 'causal | window:keys=4096' --cache vllm --length 1Mi\n"
                "  maskctl phases samples/hf_config.json --cache transformers-static\n"
                "  maskctl phases 'causal | window:keys=8' --length 64 --positions slots.npy\n"
                "  maskctl phases --caches\n",
    .negative = "a phase has other rows than the mask",
});

}  // namespace maskctl::app
