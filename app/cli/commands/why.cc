// maskctl why: tells which step opened or closed one cell.
#include "maskctl/inspect/why/why.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/commands/command.h"
#include "app/cli/commands/ejkernel.h"
#include "app/cli/parser/groups.h"
#include "app/reports/documents_report.h"
#include "app/reports/json_explain.h"
#include "app/session/documents.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/pipeline/steps/generate.h"

namespace maskctl::app {
namespace {

struct WhyOptions {
  SourceOptions source;
  std::string name;
  std::vector<std::string> cell;  // the words that name a cell
  DocumentOptions documents;
  Index batch = 0, head = 0;
  bool json = false;
};

void declare(OptionList& list, WhyOptions& why) {
  list.operand("SOURCE", why.name);
  list.operands("CELL", why.cell);
  declare_source(list, why.source);
  declare_semantics(list, why.source);
  declare_documents(list, why.documents);
  list.integer("--batch", 0, "which batch, if CELL does not say (0)",
               [&why](Index n) { why.batch = n; });
  list.integer("--head", 0, "which head, if CELL does not say (0)",
               [&why](Index n) { why.head = n; });
  list.json("maskctl.why/1", why.json);
}

constexpr std::size_t kWidestStep = 60;

const char* state(bool open) { return open ? "open" : "closed"; }

/// Parses the operands that name a cell.
Cell cell_of(const WhyOptions& options) {
  const std::string text = joined(options.cell, " ");
  const auto parts = cell_from(text);
  if (!parts || !parts->query || !parts->key) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("why: cell '{}': expected a query and a key, as in 200 100, "
                            "q=200,k=100 or batch 0, head 0, query 200, key 100",
                            printable(text)));
  }
  return {parts->batch.value_or(options.batch), parts->head.value_or(options.head), *parts->query,
          *parts->key};
}

/// Why a cell is open or closed, and the documents of its query and key, if known.
struct Explained {
  Why why;
  std::optional<CellDocuments> documents;
  bool own = false;        // `documents` come from the SOURCE, whose mask is closed between them
  bool own_steps = false;  // of the SOURCE, which stand among those of `why`
};

std::string decided_text(const Explained& found) {
  const Why& why = found.why;
  if (!why.decided_by) {
    const bool differ = found.own && !why.open && found.documents->query != found.documents->key;
    return fmt::format("{} in the source{}, and no step changed it\n", state(why.open),
                       differ ? ", where the documents differ" : "");
  }
  return fmt::format("{} by step {}: {}\n", why.open ? "opened" : "closed", *why.decided_by + 1,
                     printable(why.steps[*why.decided_by].text, kWidestStep));
}

/// The label of the state before all steps, which is the first line of the list of states. For a
/// SOURCE with steps of its own it is "before gen:causal", because they are in the next lines.
std::string shown_start(const std::string& source, bool own_steps) {
  const bool uniform = source.starts_with("gen:full") || source.starts_with("gen:empty");
  const bool stepped = own_steps && !uniform && !source.starts_with("gen:segments");
  return (stepped ? "before " : "source ") + printable(source, kWidestStep);
}

std::string head_text(const Explained& found) {
  const bool leak = found.why.open && found.documents && found.documents->is_leak();
  std::string out = fmt::format("{}: {}{}\n", cell_text(found.why.cell), state(found.why.open),
                                leak ? ", a leak" : "");
  return found.documents ? out + to_text(*found.documents) + "\n" : out;
}

/// The state after a step: "open" or "closed". "stays open" if the step did not change the cell.
std::string state_text(const WhyStep& step) {
  return fmt::format("{}{}", step.before == step.after ? "stays " : "", state(step.after));
}

std::string why_text(const std::string& source, const Explained& found) {
  const Why& why = found.why;
  std::string out = head_text(found) + "\n";
  std::vector<std::string> names = {shown_start(source, found.own_steps)};
  for (const WhyStep& step : why.steps) {
    names.push_back(std::string(static_cast<std::size_t>(2 * step.depth), ' ') +
                    printable(step.text, kWidestStep));
  }
  std::size_t width = 0;
  for (const std::string& name : names) width = std::max(width, std::min(name.size(), kWidestStep));
  const bool moved = why.source.query != why.cell.query || why.source.key != why.cell.key;
  out += fmt::format("    {:<{}}  {}{}\n", names.front(), width, state(why.source_open),
                     moved ? fmt::format("  at {}", cell_text(why.source)) : "");
  std::size_t states = 0;
  for (const WhyStep& step : why.steps) states = std::max(states, state_text(step).size());
  for (std::size_t i = 0; i < why.steps.size(); ++i) {
    out += fmt::format("{:>2}  {:<{}}  {:<{}}  {}\n", i + 1, names[i + 1], width,
                       state_text(why.steps[i]), states, printable(why.steps[i].reason, kUncut));
  }
  return out + "\n" + decided_text(found);
}

/// A mask before its steps, the steps, and the mask after them.
struct Made {
  LoadedMask loaded;
  Chain chain;
  Mask mask;
  bool own_steps = false;  // the chain begins with those of the SOURCE
};

/// Reads and makes the mask. Where the SOURCE says the steps that make it, as a generator does, the
/// chain begins with them.
Made make_mask(const WhyOptions& options, Loader& loader) {
  Made out;
  out.chain = loader.chain();
  if (!loader.generates(options.name)) out.loaded = loader.read(options.name);
  if (auto parts = loader.own_steps(options.name)) {
    out.chain.insert(out.chain.begin(), parts->chain.begin(), parts->chain.end());
    out.loaded.mask = std::move(parts->start);
    out.own_steps = true;
  } else if (loader.generates(options.name)) {
    out.loaded = loader.read(options.name);
  }
  out.mask = maskctl::apply(out.loaded.mask, out.chain);
  return out;
}

/// Calls `why` for the cell of the options and adds its documents. If the mask has one batch and
/// the documents have several, the batch of the cell selects the documents only.
Explained explain(const WhyOptions& options, Loader& loader, const Mask& mask,
                  const LoadedMask& loaded, const std::function<Why(const Cell&)>& why) {
  const auto documents =
      documents_for(read_documents(options.documents, loader), loaded, mask, options.source.pad_id);
  const Mask shown = documents ? with_batches_of(mask, *documents) : mask;
  const Cell cell = cell_of(options);
  is_open(shown, cell);  // throws if the cell is outside the mask
  Explained out;
  out.why = why({mask.batch() == 1 ? 0 : cell.batch, cell.head, cell.query, cell.key});
  out.why.cell.batch = cell.batch;
  if (documents) out.documents = documents_at(*documents, cell);
  out.own = documents && !options.documents.given();
  return out;
}

Explained explained(const WhyOptions& options, Loader& loader) {
  if (options.source.ejkernel) {
    const ejkernel::Explained made = ejkernel::explained(loader, options.name);
    Explained out = explain(options, loader, made.mask, {}, made.why);
    out.own_steps = loader.generates(options.name);
    return out;
  }
  const Made made = make_mask(options, loader);
  Explained out = explain(options, loader, made.mask, made.loaded, [&](const Cell& cell) {
    return maskctl::why(made.loaded.mask, made.chain, cell,
                        [](const Step& step) { return to_text(Chain{step}); });
  });
  out.own_steps = made.own_steps;
  return out;
}

Answer run(const WhyOptions& options, Session& session) {
  Loader loader(options.source, session);
  const Explained found = explained(options, loader);
  return answer_in(
      options.json, [&] { return why_text(options.name, found); },
      [=] { return why_json(options.name, found.why, found.documents); }, found.why.open ? 0 : 1);
}

}  // namespace

extern const Command kWhy = command<WhyOptions, declare, run>({
    .name = "why",
    .group = kAsk,
    .operands = "SOURCE CELL",
    .summary = "which step opened or closed one pair, and with which numbers",
    .examples = "  maskctl why gen:full:n=1024 -t window:keys=128 -t causal 812 40\n"
                "  maskctl why seg.npy --as segments -t causal b=1,q=17,k=3\n"
                "  maskctl why mask.npy batch 0, head 3, query 17, key 3\n",
    .negative = "the pair is closed",
});

}  // namespace maskctl::app
