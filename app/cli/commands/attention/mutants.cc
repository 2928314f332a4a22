// maskctl mutants: makes the outputs of wrong kernels of a mask, and tries rules that accept or
// refuse kernels against them.
#include "maskctl/verify/mutants/mutants.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "app/cli/commands/attention/mutant_files.h"
#include "app/cli/commands/attention/mutant_subjects.h"
#include "app/cli/commands/attention/outside_judge.h"
#include "app/cli/commands/attention/scratch_folder.h"
#include "app/cli/commands/command.h"
#include "app/reports/mutants_report.h"
#include "app/session/named_sources.h"
#include "maskctl/base/error.h"
#include "maskctl/base/stopwatch.h"
#include "maskctl/verify/mutants/rules.h"
#include "maskctl/verify/mutants/score.h"

namespace maskctl::app {
namespace {

using attention::AcceptanceRule;
using attention::Mutant;
using attention::Mutants;
using attention::RuleScore;
using attention::RuleVerdict;

struct MutantsOptions {
  MutantOptions mutants;
  std::vector<std::string> sources;
  Index count = 100;
  bool usual = false;
  std::vector<std::string> rules, judges;
  std::string folder;
  bool lists = false, json = false;
};

void declare(OptionList& list, MutantsOptions& options) {
  list.operands("SOURCE", options.sources, false);
  list.flag("--usual", "mutants of usual masks of 256 to 1024 tokens, instead of SOURCEs",
            options.usual);
  list.integer("--count", 1, "mutants in all, the masks in turn (100); one in five is right",
               [&options](Index n) { options.count = n; });
  list.repeated("--rule", "kernelbench|flashinfer-bench|fa|allclose:R,A|verify",
                "try this rule; may be repeated (all but allclose)", options.rules);
  list.repeated("--judge", "COMMAND",
                "try a command: {} in it is the .npz of a mutant, exit 0 accepts it and 1 refuses "
                "it; may be repeated",
                options.judges);
  list.text("--out", "DIR", "write an .npz for each mutant, and their truths to mutants.json",
            options.folder);
  list.flag("--list", "list the kinds of mutants", options.lists);
  declare_mutants(list, options.mutants);
  list.json("maskctl.mutants/1", options.json);
}

std::vector<Subject> subjects_of(const MutantsOptions& options, Session& session) {
  if (options.usual != options.sources.empty()) {
    throw Error(Errc::kInvalidArgument,
                options.usual ? "mutants: --usual cannot be combined with a SOURCE"
                              : "mutants: no SOURCE; name a file, - for standard input, or "
                                "gen:STEP, or give --usual");
  }
  if (options.usual) return usual_subjects(options.mutants, session);
  std::vector<Subject> out;
  MutantOptions one = options.mutants;
  for (const std::string& source : all_named(options.sources, session)) {
    out.push_back(subject_of(one, source, session));
    ++one.seed;  // the next mask begins with another kind
  }
  return out;
}

std::vector<AcceptanceRule> rules_of(const MutantsOptions& options) {
  std::vector<AcceptanceRule> out;
  for (const std::string& text : options.rules) out.push_back(attention::rule_named(text));
  const bool usual = options.rules.empty() && options.judges.empty() && options.folder.empty();
  for (const char* const name : {"kernelbench", "flashinfer-bench", "fa", "verify"}) {
    if (usual) out.push_back(attention::rule_named(name));
  }
  return out;
}

/// Asks all rules, and then the commands of --judge, about each mutant, and keeps the score of
/// each.
class Panel {
 public:
  explicit Panel(const MutantsOptions& options) : rules_(rules_of(options)) {
    for (const std::string& command : options.judges) {
      check_judge(command);
      AcceptanceRule rule;
      rule.name = command;
      rule.meaning = "exit status 0 of a command";
      rule.reads_lse = true;
      rule.judge = [this, command](const Mutants&, const Mutant&) {
        return ask_judge(command, path_, scratch_->file("log"));
      };
      rules_.push_back(std::move(rule));
    }
    if (!options.judges.empty()) scratch_.emplace();
    for (const AcceptanceRule& rule : rules_) {
      RuleScore& score = scores_.emplace_back();
      score.rule = rule.name;
      score.meaning = rule.meaning;
      score.source = rule.source;
    }
  }
  Panel(const Panel&) = delete;
  Panel& operator=(const Panel&) = delete;

  /// `path` is the file of the mutant. If it is empty and a command needs the file, it is written.
  void judge(const Subject& subject, const Mutant& mutant, std::string path) {
    if (scratch_ && path.empty()) {
      path = scratch_->file("mutant.npz");
      write_mutant(path, mutant);
    }
    path_ = std::move(path);
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      const Stopwatch watch;
      const RuleVerdict verdict = rules_[i].judge(subject.mutants, mutant);
      scores_[i].seconds += watch.seconds();
      scores_[i].add(subject.source, mutant, verdict, rules_[i].reads_lse);
    }
  }

  const std::vector<RuleScore>& scores() const { return scores_; }

 private:
  std::vector<AcceptanceRule> rules_;
  std::optional<ScratchFolder> scratch_;
  std::string path_;
  std::vector<RuleScore> scores_;
};

int status_of_scores(const std::vector<RuleScore>& scores) {
  int status = 0;
  for (const RuleScore& score : scores) {
    if (score.fails()) return 1;
    if (score.errors() > 0) status = 2;
  }
  return status;
}

Answer run(const MutantsOptions& options, Session& session) {
  if (options.lists) return {mutant_kinds_text()};
  Panel panel(options);
  const std::vector<Subject> subjects = subjects_of(options, session);
  MutantsReport report;
  report.seed = static_cast<std::uint64_t>(options.mutants.seed);
  report.folder = options.folder;
  for (const Subject& subject : subjects) report.masks.push_back(described(subject));
  std::optional<MutantFolder> folder;
  if (!options.folder.empty()) folder.emplace(options.folder);
  const Progress progress = session.progress("mutants");
  const auto masks = static_cast<Index>(subjects.size());
  for (Index i = 0; i < options.count; ++i) {
    const Subject& subject = subjects[as_size(i % masks)];
    const Stopwatch watch;
    const Mutant mutant = subject.mutants.make(i / masks);
    report.seconds += watch.seconds();
    report.count(mutant.truth.group);
    std::string path;
    if (folder) path = folder->add(mutant, truth_json(subject.source, mutant.number, mutant.truth));
    panel.judge(subject, mutant, std::move(path));
    if (progress) progress(static_cast<double>(i + 1) / static_cast<double>(options.count));
  }
  report.rules = panel.scores();
  if (folder) folder->write_manifest(mutants_json(report));
  const int status = status_of_scores(report.rules);
  return answer_in(
      options.json, [&] { return mutants_text(report); }, [=] { return mutants_json(report); },
      status);
}

}  // namespace

extern const Command kMutants = command<MutantsOptions, declare, run>({
    .name = "mutants",
    .group = kJudge,
    .operands = "SOURCE...|--usual",
    .summary = "wrong kernels of a mask, and how many of them a rule accepts",
    .examples = "  maskctl mutants gen:causal:n=1024 --count 200\n"
                "  maskctl mutants --usual --count 1000\n"
                "  maskctl mutants mask.npy -t window:keys=128 --judge 'python3 judge.py {}'\n"
                "  maskctl mutants gen:causal:n=512 gen:window:keys=128,n=512 --rule "
                "allclose:0.05,0.05\n"
                "  maskctl mutants gen:causal:n=512 --count 50 --out mutants/\n",
    .negative = "a rule accepted a wrong kernel whose weight it does not say it may miss, or "
                "refused a right one",
});

}  // namespace maskctl::app
