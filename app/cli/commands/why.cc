// maskctl why: which step opened or closed one pair.
#include "maskctl/inspect/why/why.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/commands/command.h"
#include "app/cli/parser/groups.h"
#include "app/cli/parser/values.h"
#include "app/reports/json_explain.h"
#include "app/session/loader.h"
#include "maskctl/pipeline/parse/diagnostic.h"
#include "maskctl/pipeline/parse/values.h"
#include "maskctl/pipeline/steps/generate.h"
#include "maskctl/pipeline/why_ejkernel.h"

namespace maskctl::app {
namespace {

struct WhyOptions {
  SourceOptions source;
  std::string name;
  Index query = 0, key = 0;
  Index batch = 0, head = 0;
  bool json = false;
};

void declare(OptionList& list, WhyOptions& why) {
  list.operand("SOURCE", why.name);
  list.operand("QUERY", [&why](const std::string& text) {
    why.query = parse_integer(text, "why: query", 0, kMaxArgument);
  });
  list.operand("KEY", [&why](const std::string& text) {
    why.key = parse_integer(text, "why: key", 0, kMaxArgument);
  });
  declare_source(list, why.source);
  declare_semantics(list, why.source);
  list.integer("--batch", 0, "which batch (0)", [&why](Index n) { why.batch = n; });
  list.integer("--head", 0, "which head (0)", [&why](Index n) { why.head = n; });
  list.json("maskctl.why/1", why.json);
}

constexpr std::size_t kWidestStep = 60;

const char* state(bool open) { return open ? "open" : "closed"; }

std::string pair_text(const Cell& cell) {
  return fmt::format("query {}, key {} (batch {}, head {})", cell.query, cell.key, cell.batch,
                     cell.head);
}

std::string decided_text(const Why& why) {
  if (!why.decided_by) {
    return fmt::format("{} in the source, and no step changed it\n", state(why.open));
  }
  return fmt::format("{} by step {}: {}\n", why.open ? "opened" : "closed", *why.decided_by + 1,
                     shown(why.steps[*why.decided_by].text));
}

/// A generated mask begins before its own step.
std::string shown_start(const std::string& source) {
  const bool uniform = source.starts_with("gen:full") || source.starts_with("gen:empty");
  const bool stepped = is_generator(source) && !uniform && !source.starts_with("gen:segments");
  return (stepped ? "before " : "source ") + shown(source);
}

std::string why_text(const std::string& source, const Why& why) {
  std::string out = fmt::format("{}: {}\n\n", pair_text(why.cell), state(why.open));
  std::vector<std::string> names = {shown_start(source)};
  for (const WhyStep& step : why.steps) {
    names.push_back(std::string(static_cast<std::size_t>(2 * step.depth), ' ') + shown(step.text));
  }
  std::size_t width = 0;
  for (const std::string& name : names) width = std::max(width, std::min(name.size(), kWidestStep));
  const bool moved = why.source.query != why.cell.query || why.source.key != why.cell.key;
  out += fmt::format("    {:<{}}  {}{}\n", names.front(), width, state(why.source_open),
                     moved ? fmt::format("  at {}", pair_text(why.source)) : "");
  for (std::size_t i = 0; i < why.steps.size(); ++i) {
    out += fmt::format("{:>2}  {:<{}}  {:<6}  {}\n", i + 1, names[i + 1], width,
                       state(why.steps[i].after), why.steps[i].reason);
  }
  return out + "\n" + decided_text(why);
}

/// A generated mask is explained by its step too.
Why explained(const WhyOptions& options, Loader& loader, const Cell& cell) {
  const auto text = [](const Step& step) { return to_text(Chain{step}); };
  Chain chain = loader.chain();
  if (is_generator(options.name)) {
    if (auto parts = generate_parts(options.name, loader.context())) {
      chain.insert(chain.begin(), parts->chain.begin(), parts->chain.end());
      return maskctl::why(parts->start, chain, cell, text);
    }
  }
  return maskctl::why(loader.read(options.name).mask, chain, cell, text);
}

Answer run(const WhyOptions& options, Session& session) {
  Loader loader(options.source, session);
  const Cell cell{options.batch, options.head, options.query, options.key};
  Why found;
  if (options.source.ejkernel) {
    found = why_ejkernel(loader.mask_info(options.name), options.source.transforms,
                         loader.context(), cell);
  } else {
    found = explained(options, loader, cell);
  }
  return {options.json ? why_json(options.name, found) : why_text(options.name, found),
          found.open ? 0 : 1};
}

}  // namespace

const Command kWhy = command<WhyOptions, declare, run>({
    .name = "why",
    .group = kAsk,
    .operands = "SOURCE QUERY KEY",
    .summary = "which step opened or closed one pair, and with which numbers",
    .examples = "  maskctl why gen:full:n=1024 -t window:keys=128 -t causal 812 40\n"
                "  maskctl why seg.npy --as segments -t causal 17 3 --batch 1\n",
    .negative = "the pair is closed",
});

}  // namespace maskctl::app
