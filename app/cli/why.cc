// maskctl why: which step opened or closed one pair.
#include "maskctl/inspect/why/why.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/commands.h"
#include "app/cli/json_explain.h"
#include "app/cli/load.h"
#include "app/cli/output.h"
#include "maskctl/pipeline/parse/diagnostic.h"
#include "maskctl/pipeline/why_ejkernel.h"

namespace maskctl::app {
namespace {

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

std::string why_text(const std::string& source, const Why& why) {
  std::string out = fmt::format("{}: {}\n\n", pair_text(why.cell), state(why.open));
  std::vector<std::string> names = {"source " + shown(source)};
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

}  // namespace

int why(const WhyOptions& options, const GlobalOptions& globals) {
  Loader loader(options.source, globals);
  const Cell cell{options.batch, options.head, options.query, options.key};
  Why found;
  if (options.source.ejkernel) {
    found = why_ejkernel(loader.mask_info(options.name), options.source.transforms,
                         loader.context(), cell);
  } else {
    const Mask source = loader.read(options.name).mask;
    found = maskctl::why(source, loader.chain(), cell,
                         [](const Step& step) { return to_text(Chain{step}); });
  }
  write_stdout(options.json ? why_json(options.name, found) : why_text(options.name, found));
  return found.open ? 0 : 1;
}

}  // namespace maskctl::app
