// Measures how often verify names a mistake of a call of attention: mistakes_rate [--count N]
// [--seed N] [--show].
#include <fmt/format.h>

#include <map>
#include <string>

#include "../support/mistaken_call.h"
#include "maskctl/base/text.h"
#include "maskctl/pipeline/parse/values.h"

int main(int argc, char** argv) {
  using namespace maskctl;
  Index count = 200;
  std::uint64_t seed = 1;
  bool show = false;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    show |= name == "--show";
    if (i + 1 == argc) break;
    if (name == "--count") count = integer_from(argv[i + 1]).value_or(count);
    if (name == "--seed") seed = number_from<std::uint64_t>(argv[i + 1]).value_or(seed);
  }
  static constexpr const char* kAnswers[] = {"named", "not named", "misnamed", "accepted",
                                             "undecided"};
  std::map<std::string, std::map<int, Index>> table;
  Index refused = 0, draws = 0;
  for (Index n = 0; n < count; ++n) {
    twin::MistakeMaker made(seed * 1000003 + static_cast<std::uint64_t>(n));
    const std::vector<twin::Mistake> all = made.mistakes();
    const auto right = judge_results(made.judged(), made.given(made.right())).judgement;
    const bool is_right = right.verdict == attention::Verdict::kObeys ||
                          right.verdict == attention::Verdict::kUnclear;
    refused += !is_right;
    if (!is_right) fmt::print("REFUSED {}: {}\n", n, to_text(right));
    for (const twin::Mistake& mistake : all) {
      const auto judgement = judge_results(made.judged(), made.given(mistake.results)).judgement;
      const auto answer = twin::answer_to(made, mistake, all, judgement);
      ++table[mistake.words][static_cast<int>(answer)];
      ++draws;
      if (!show || answer == twin::Answer::kNamed || answer == twin::Answer::kUndecided) continue;
      const twin::MistakenCall& c = made.call();
      fmt::print("{} {} ({}, {} to {}, B {} Hq {} Hkv {} Tq {} Tk {} D {}{}{}{}): {}: {}\n", n,
                 mistake.words, made.family(), name(made.inputs()), name(made.outputs()), c.batch,
                 c.heads, c.kv_heads, c.queries, c.keys, c.dim, c.bias.empty() ? "" : ", bias",
                 c.sinks.empty() ? "" : ", sinks", c.cap > 0 ? ", cap" : "",
                 kAnswers[static_cast<int>(answer)], to_text(judgement));
    }
  }
  for (const auto& [words, answers] : table) {
    fmt::print("{:<34}", words);
    for (int answer = 0; answer < 5; ++answer) {
      const auto found = answers.find(answer);
      fmt::print(" {:>5} {}", found == answers.end() ? 0 : found->second, kAnswers[answer]);
    }
    fmt::print("\n");
  }
  fmt::print("{} draws; right results refused: {} of {}\n", draws, refused, count);
}
