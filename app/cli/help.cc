// The summaries and examples of commands, and their layout.
#include "app/cli/help.h"

#include <fmt/format.h>

#include <vector>

#include "maskctl/pipeline/parse/diagnostic.h"

namespace maskctl::app {
namespace {

constexpr CommandHelp kCommands[] = {
    {"info", "SOURCE...", "shape, type, kind, density and size of masks",
     "  maskctl info mask.npy\n"
     "  maskctl info run/*.npy\n"
     "  maskctl info seg.npy --as segments --json\n"
     "  maskctl info seg.npy --as segments --semantics ejkernel --mesh dp=2+tp=4\n"},
    {"show", "SOURCE", "draw a mask",
     "  maskctl show mask.npy --head 3\n"
     "  maskctl show seg.npy --as segments -t causal -t window:keys=128\n"
     "  maskctl show mask.npy --style ejkernel --block 64\n"
     "  maskctl show have.npy --overlay want.npy -o both.png\n"},
    {"apply", "SOURCE", "run a pipeline on a mask and write the result",
     "  maskctl apply mask.npy -t causal -t window:keys=128 -o out.npy\n"
     "  maskctl apply seg.npy --as segments -t causal -o - --to runs | maskctl stats -\n"
     "  maskctl apply seg.npy --as segments --semantics ejkernel "
     "-t window:both=4,mode=decode,index=9 -o out.npy\n"},
    {"convert", "SOURCE", "write a mask in another form, exactly or with the loss counted",
     "  maskctl convert seg.npy --as segments --to cu_seqlens -o cu.npz\n"
     "  maskctl convert mask.npy --to blockmap --block 128 -o map.npz\n"
     "  maskctl convert mask.npy --to bias --dtype float16 --fill min -o bias.npy\n"
     "  maskctl convert mask.npy --to segments --roundtrip -o seg.npy\n"},
    {"combine", "SOURCE SOURCE...", "join masks by and, or, xor or sub",
     "  maskctl combine --op and causal.npy doc.npy -o both.npy\n"
     "  maskctl combine --op sub have.npy want.npy -o extra.npy\n"},
    {"gen", "STEP", "make a mask or segment ids from nothing",
     "  maskctl gen causal:n=1024 -o causal.npy\n"
     "  maskctl gen segments:n=4096,docs=7,seed=1 -o seg.npy\n"
     "  maskctl gen full:n=512 -t doc:lens=300+212 -t causal -o -\n"
     "  maskctl gen --hf-config config.json --layer 5 n=4096 -o layer5.npy\n"},
    {"stats", "SOURCE", "count open cells, keys per row, empty rows and columns, tiles",
     "  maskctl stats mask.npy\n"
     "  maskctl stats seg.npy --as segments -t causal --block 64+128x64 --json\n"},
    {"cost", "SOURCE", "what attention under a mask costs: FLOPs, tiles, bytes, balance of ranks",
     "  maskctl cost seg.npy --as segments -t causal --heads 32 --head-dim 128\n"
     "  maskctl cost gen:causal:n=131072 -t window:keys=4096 --block 64+128+256 --ranks 16\n"},
    {"diff", "A B", "compare two masks: how many cells differ, where, and why",
     "  maskctl diff have.npy want.npy\n"
     "  maskctl diff seg.npy mask.npy --as segments --as-b dense -t causal --show\n"
     "  maskctl diff have.npy want.npy -o both.png\n"},
    {"golden", "check|update|list|init MANIFEST [NAME...]",
     "test that masks are still what they were",
     "  maskctl golden check samples/golden.toml\n"
     "  maskctl golden check golden.toml --junit golden.xml\n"
     "  maskctl golden update golden.toml packed\n"
     "  maskctl golden init ci/golden.toml masks/*.npy\n"},
    {"why", "SOURCE QUERY KEY", "which step opened or closed one pair, and with which numbers",
     "  maskctl why gen:full:n=1024 -t window:keys=128 -t causal 812 40\n"
     "  maskctl why seg.npy --as segments -t causal 17 3 --batch 1\n"},
    {"check", "SOURCE", "test what a mask should be, or look for mistakes in it",
     "  maskctl check mask.npy\n"
     "  maskctl check mask.npy --expect causal --expect no-empty-rows\n"
     "  maskctl check mask.npy --segments seg.npy --format sarif\n"
     "  maskctl lint cu.npy --as cu_seqlens --shape 1+1+4096+4096\n",
     "lint"},
    {"recognise", "SOURCE", "the short pipeline that a mask would have come from",
     "  maskctl recognise mask.npy\n"
     "  maskctl recognise mask.npy --write ids.npz --json\n"
     "  maskctl recognise bias.npy --as bias --max-steps 2\n",
     "recognize"},
    {"translate", "[ARGUMENTS]", "one mask in the arguments of other libraries",
     "  maskctl translate --from hf 'sliding_window=4096' --to fa+te+cudnn+xformers\n"
     "  maskctl translate -t 'window:keys=128' --to flex\n"
     "  maskctl translate --hf-config config.json\n"
     "  maskctl translate --table 4\n"
     "  maskctl translate --table all\n"},
    {"audit", "SOURCE MAP", "a kernel's map of blocks against the mask: what it drops and leaks",
     "  maskctl audit gen:window:keys=101,n=512 map.npy --block 64\n"
     "  maskctl audit seg.npy kept.npy --as segments -t causal --block 128x64\n"},
    {"seq", "WHAT SOURCE", "lengths, positions and chunks of packed sequences",
     "  maskctl seq lens cu.npy\n"
     "  maskctl seq cu-seqlens valid.npy --as padding -o cu.npy\n"
     "  maskctl seq chunk-indices cu.npy --chunk 64\n"},
    {"blockmap", "SOURCE", "what a block-sparse kernel loads: block classes, prefetch order",
     "  maskctl blockmap mask.npy --block 128\n"
     "  maskctl blockmap seg.npy --as segments -t causal --block 128x256 -o map.npz\n"},
    {"ops", "[NAME]", "list the steps of pipelines, or explain one",
     "  maskctl ops\n"
     "  maskctl ops window\n"},
    {"attend", "OPERATION [NAME=VALUE...]", "attention by name: outputs, lse, weights, gradients",
     "  maskctl attend flash_attention query=q.npy key=k.npy value=v.npy causal=true -o out.npz\n"
     "  maskctl attend flash_attention --mask seg.npy --as segments -t causal --gradients\n"
     "  maskctl attend --list\n"
     "  maskctl attend flash_attention --list\n"},
    {"verify", "SOURCE|none [NAME=VALUE...]", "proof that a backend or an output obeys a mask",
     "  maskctl verify gen:causal:n=128\n"
     "  maskctl verify seg.npy --as segments -t causal --op ring_attention ring_size=4\n"
     "  maskctl verify mask.npy query=q.npy key=k.npy value=v.npy --given out.npy\n"},
    {"probe", "make|read SOURCE [OUT]", "find out which mask a kernel really applies",
     "  maskctl probe make mask.npy --head-dim 64 -o probe.npz\n"
     "  maskctl probe read mask.npy out.npy\n"
     "  maskctl probe read mask.npy weights.npy --weights -o applied.npy\n"},
    {"bench", "[OPERATION...]", "time operations over sizes, masks and backends",
     "  maskctl bench\n"
     "  maskctl bench flash_attention --size 1024+4096 --mask causal --axes D=128 --backward\n"},
    {"backends", "[OPERATION]", "the kernels of each operation, and which one is used",
     "  maskctl backends\n"
     "  maskctl backends flash_attention --json\n"},
};

constexpr std::string_view kTitle =
    "maskctl: look at, transform and convert transformer attention masks\n";
constexpr std::string_view kExamples =
    "  maskctl show mask.npy\n"
    "  maskctl show seg.npy --as segments -t causal -t window:keys=128\n"
    "  maskctl gen causal:n=1024 -o causal.npy\n";
constexpr std::string_view kConcepts =
    "SOURCE is FILE.npy, FILE.npz:KEY, FILE.h5:/DATASET, FILE.safetensors:NAME, - (standard\n"
    "input), gen:STEP (generated), or q=SOURCE,kv=SOURCE for two arrays.\n"
    "PIPELINE is STEP | STEP ...; a STEP is NAME:VALUE,KEY=VALUE. -t may be repeated instead of\n"
    "writing '|', and -t @FILE reads a file. `maskctl ops` lists the steps.\n";

std::string command_lines() {
  std::string out;
  for (const CommandHelp& help : kCommands) {
    out += fmt::format("  {:<10}{}\n", help.name, help.summary);
  }
  return out;
}

}  // namespace

std::span<const CommandHelp> command_helps() { return kCommands; }

const CommandHelp& help_of(std::string_view name) {
  const CommandHelp* found = kCommands;
  while (found->name != name) ++found;
  return *found;
}

std::string option_help(const std::string& label, std::string_view words) {
  constexpr std::size_t kColumn = 28;
  constexpr std::size_t kWidth = 80;
  const bool beside = label.size() + 4 <= kColumn;
  std::string out = fmt::format("  {:<{}}", label, beside ? kColumn - 2 : 0);
  std::size_t column = kColumn;
  if (!beside) out += fmt::format("\n{:{}}", "", kColumn);
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(' '));
    words.remove_prefix(std::min(word.size() + 1, words.size()));
    if (column > kColumn && column + 1 + word.size() > kWidth) {
      out += fmt::format("\n{:{}}", "", kColumn);
      column = kColumn;
    }
    if (column > kColumn) out += ' ';
    column += word.size() + (column > kColumn ? 1 : 0);
    out += word;
  }
  return out + "\n";
}

std::string program_help(std::string_view options) {
  return fmt::format(
      "{}\n{}\nUsage: maskctl COMMAND [OPTIONS]\n\nCommands:\n{}\n{}\nOptions of every "
      "command:\n{}",
      kTitle, kExamples, command_lines(), kConcepts, options);
}

std::string command_help(std::string_view name, std::string_view options) {
  const CommandHelp& help = help_of(name);
  return fmt::format(
      "maskctl {}: {}\n\n{}\nUsage: maskctl {} {} [OPTIONS]\n\nOptions:\n{}\n`maskctl --help` "
      "lists the options of every command and says what a SOURCE is.\n",
      name, help.summary, help.examples, name, help.operands, options);
}

std::string short_help() {
  return fmt::format(
      "{}\n{}\nUsage: maskctl COMMAND [OPTIONS]\n\nCommands:\n{}\n`maskctl --help` and `maskctl "
      "COMMAND --help` say more.\n",
      kTitle, kExamples, command_lines());
}

std::string unknown_word(std::string_view word, std::string_view command,
                         std::span<const std::string> options) {
  word = word.substr(0, word.find('='));
  const bool is_option = word.starts_with('-');
  std::vector<std::string_view> names;
  if (is_option) {
    names.assign(options.begin(), options.end());
  } else if (command.empty()) {
    for (const CommandHelp& help : kCommands) names.push_back(help.name);
  }
  const char* what = is_option         ? "unknown option"
                     : command.empty() ? "unknown command"
                                       : "unexpected argument";
  auto near = nearest(word, names);
  const bool is_short = word.size() < 6;  // two edits turn "--jsn" into nearly anything
  if (is_option && is_short && near && near->substr(0, 3) != word.substr(0, 3)) near.reset();
  const char* gap = command.empty() ? "" : " ";
  return fmt::format("{}{}{} '{}'; {}", command, command.empty() ? "" : ": ", what, shown(word),
                     near ? fmt::format("did you mean '{}'?", *near)
                          : fmt::format("see maskctl{}{} --help", gap, command));
}

}  // namespace maskctl::app
