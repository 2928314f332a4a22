// Front ends ask the library what is wrong with a mask, what differs, and what a kernel applied;
// here the library, the command in text and JSON, the inspector and golden files are held to each
// other on drawn masks, steps, documents and biases. tests/python/test_one_verdict.py does so for
// Python. A golden case has expectations and no findings (docs/decisions/0029), so it has no part
// in check.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "app/process.h"
#include "app/tui/beside/report_rows.h"
#include "maskctl/base/error.h"
#include "maskctl/base/text.h"
#include "maskctl/io/array_io.h"
#include "maskctl/io/masks/mask_io.h"
#include "maskctl/mask/steps/slice.h"
#include "maskctl/pipeline/load.h"
#include "maskctl/tensor/convert.h"
#include "maskctl/verify/solve/explain.h"
#include "support/catch_compat.h"
#include "support/rounds.h"

namespace maskctl::app {
namespace {

/// A question: a SOURCE with the options that say how to read it.
struct Question {
  std::string line;  // what follows `maskctl check`
  tui::Subject subject;
};

class Draws {
 public:
  explicit Draws(unsigned seed) : random_(seed) {}

  /// Writes the files of a question into `folder`.
  Question question(const std::filesystem::path& folder) {
    const Index n = pick(2, 40), batch = pick(1, 3);
    Question out;
    out.subject.name = source(folder, batch, n, out);
    out.line = out.subject.name + out.line;
    for (Index steps = pick(0, 2); steps > 0; --steps) {
      out.subject.source.transforms.push_back(step(n));
      out.line += fmt::format(" -t '{}'", out.subject.source.transforms.back());
    }
    if (pick(0, 2) == 0) {
      write_array((folder / "given.npy").string(), ids(pick(0, 1) ? batch : 1, n), {.force = true});
      out.subject.documents = {DocumentForm::kSegments, (folder / "given.npy").string()};
      out.line += " --segments " + out.subject.documents.source;
    }
    if (pick(0, 5) == 0) {
      Tensor flags(DType::kBool, {batch, n});
      for (std::uint8_t& flag : flags.as<std::uint8_t>()) flag = pick(0, 4) > 0;
      out.subject.documents.padding = (folder / "flags.npy").string();
      write_array(out.subject.documents.padding, flags, {.force = true});
      out.line += " --padding " + out.subject.documents.padding;
    }
    return out;
  }

  /// Two SOURCEs of one shape: generators, or files in `folder`.
  std::pair<std::string, std::string> two(const std::filesystem::path& folder) {
    const Index n = pick(4, 40);
    const auto source = [&](const char* name) {
      const std::string step = one_of(
          {fmt::format("window:keys={}", pick(1, n)), fmt::format("close:k={}", pick(0, n - 1))});
      if (pick(0, 1) == 0) return fmt::format("gen:{},n={}", step, n);
      const std::string cut = fmt::format("close:q={}", pick(0, n - 1));
      const Mask mask =
          maskctl::apply(full_mask(1, 1, n, n), load_chain(std::array{step, cut}, {}));
      const std::string path = (folder / name).string();
      write_mask(path, mask, {.force = true});
      return path;
    };
    std::string a = source("a.npy");
    return {std::move(a), source("b.npy")};
  }

  /// A step for a mask of n tokens.
  std::string step(Index n) {
    return one_of({"causal", fmt::format("window:keys={}", pick(1, n)), "not",
                   fmt::format("open:q={},k={}", pick(0, n - 1), pick(0, n - 1)),
                   fmt::format("close:k={}", pick(0, n - 1)),
                   fmt::format("prefix:n={}", pick(1, n)), fmt::format("chunk:size={}", pick(1, n)),
                   fmt::format("pad:lens={}", pick(1, n)), fmt::format("doc:lens={}", n),
                   fmt::format("slice:q=0:{}", pick(1, n))});
  }

  Index pick(Index low, Index high) { return std::uniform_int_distribution(low, high)(random_); }

 private:
  const std::string& one_of(const std::vector<std::string>& texts) {
    return texts[as_size(pick(0, std::ssize(texts) - 1))];
  }

  Tensor ids(Index batch, Index n) {
    Tensor out(DType::kInt32, {batch, n});
    std::int32_t id = 0;
    for (std::int32_t& one : out.as<std::int32_t>()) {
      if (pick(0, 5) == 0) id = static_cast<std::int32_t>(pick(-1, 4));
      one = id;
    }
    return out;
  }

  std::string source(const std::filesystem::path& folder, Index batch, Index n, Question& out) {
    const std::string path = (folder / "mask.npy").string();
    switch (pick(0, 3)) {
      case 0:
        return fmt::format("gen:{}:n={}", one_of({"causal", "full", "window:keys=3", "close:k=0"}),
                           n);
      case 1: {
        write_array(path, ids(batch, n), {.force = true});
        out.subject.source.as = pick(0, 1) ? ArrayKind::kSegments : ArrayKind::kPositions;
        out.line = fmt::format(" --as {}", name(*out.subject.source.as));
        return path;
      }
      default: {
        Mask mask = full_mask(batch, pick(1, 2), n, n);
        for (Index steps = pick(1, 3); steps > 0; --steps) {
          const Chain chain = load_chain(std::array{step(n)}, {});
          if (!chain.front().is<step::Slice>()) mask = maskctl::apply(mask, chain);
        }
        const bool bias = pick(0, 2) == 0;
        MaskWriteOptions how{.kind = ArrayKind::kDense, .force = true};
        if (bias) {
          how.kind = ArrayKind::kBias;
          how.fill = pick(0, 1) ? BiasFill::kInf : BiasFill::kMin;
        }
        write_mask(path, mask, how);
        if (bias) {
          out.subject.source.as = ArrayKind::kBias;
          out.line = " --as bias";
        }
        return path;
      }
    }
  }

  std::mt19937_64 random_;
};

std::string joined_lines(const std::vector<tui::ReportLine>& lines) {
  std::string out;
  for (const tui::ReportLine& line : lines) out += line.text + "\n";
  return out;
}

/// The texts of a key in JSON of the command, in their order.
std::vector<std::string> texts_of(const std::string& json, const std::string& key) {
  std::vector<std::string> out;
  const std::string before = "\"" + key + "\": \"";
  for (std::size_t at = json.find(before); at != std::string::npos; at = json.find(before, at)) {
    at += before.size();
    std::string& text = out.emplace_back();
    for (; json[at] != '"'; ++at) {
      if (json[at] == '\\') ++at;
      text += json[at];
    }
  }
  return out;
}

TEST_CASE("check: the library, the command and the inspector report the same findings",
          "[verdicts]") {
  const test::Sandbox box;
  for (unsigned seed = 0; seed < test::rounds(500U); ++seed) {
    const Question question = Draws(seed).question(box.work());
    INFO("maskctl check " << question.line);
    const test::Outcome said = box.run("maskctl check " + question.line);
    try {
      tui::Workbench bench(question.subject, {});
      const tui::ScenePtr scene = bench.first();
      REQUIRE(said.status != 2);
      CHECK(joined_lines(tui::report_row(tui::Report::kCheck).lines(*scene)) == said.out);
      const Findings findings = check(scene->checked).findings;
      std::vector<std::string> ids, messages;
      for (const Finding& finding : findings) {
        ids.emplace_back(finding.rule->id);
        messages.push_back(finding.message);
      }
      const std::string json = box.run("maskctl check --json " + question.line).out;
      CHECK(texts_of(json, "id") == ids);
      CHECK(texts_of(json, "message") == messages);
      // The inspector may print two findings about one cell in one line.
      const std::string list = joined_lines(tui::report_row(tui::Report::kFindings).lines(*scene));
      for (const std::string& message : messages) CHECK(test::contains(list, message));
    } catch (const Error& error) {
      INFO(error.what());
      CHECK(said.status == 2);
    }
  }
}

TEST_CASE("diff: the inspector reports what the command reports", "[verdicts]") {
  const test::Sandbox box;
  for (unsigned seed = 0; seed < test::rounds(500U); ++seed) {
    const auto [a, b] = Draws(seed).two(box.work());
    INFO("maskctl diff " << a << " " << b);
    const test::Outcome said = box.run("maskctl diff '" + a + "' '" + b + "'");
    tui::Subject subject;
    subject.name = a;
    subject.other = b;
    tui::Workbench bench(subject, {});
    const std::string cause =
        joined_lines(tui::report_row(tui::Report::kCause).lines(*bench.first()));
    CHECK((said.status == 0 ? cause == "A and B are equal\n"
                            : test::contains(said.out, "cause   " + cause)));
  }
}

/// A call of a few tokens and the output of a kernel, which applied the declared mask or another
/// one, another scale, left out its last row, rounded, or got equal values.
struct KernelRun {
  std::string step;  // makes the declared mask, after causal
  attention::JudgedCall call;
  attention::NamedResults given;
};

Mask after_causal(Index n, const std::string& step) {
  return maskctl::apply(full_mask(1, 1, n, n),
                        load_chain(std::array<std::string, 2>{"causal", step}, {}));
}

KernelRun drawn_run(unsigned seed) {
  Draws draws(seed);
  const Index n = draws.pick(4, 12), heads = draws.pick(1, 2);
  const auto step = [&] {
    std::string out = draws.step(n);
    return out.starts_with("slice") ? fmt::format("close:q=0,k=0-{}", n - 1) : out;
  };
  KernelRun out;
  out.step = step();
  attention::VerifyRequest& request = out.call.request;
  request.operation = attention::find_operation("flash_attention");
  attention::NamedArguments& arguments = request.arguments;
  for (const auto& [name, stream] : {std::pair{"query", 0U}, {"key", 1U}, {"value", 2U}}) {
    arguments.arrays[name] = attention::random_normal({1, n, heads, 8}, 3 * seed + stream);
  }
  arguments.mask = request.declared = after_causal(n, out.step);
  out.call.steps = load_chain(std::array<std::string, 2>{"causal", out.step}, {});
  attention::NamedArguments other = arguments;
  const Index mistake = draws.pick(0, 5);
  if (mistake == 5) {  // values that tell no key from another
    std::ranges::fill(arguments.arrays["value"].as<float>(), 1.0F);
    other = arguments;
  }
  if (mistake == 1) other.mask = after_causal(n, step());
  if (mistake == 2) other.options["softmax_scale"] = "0.5";
  Tensor made = attention::run(*request.operation, other).at("out");
  if (mistake == 3) std::ranges::fill(made.as<float>().last(as_size(heads * 8)), 0.0F);
  if (mistake == 4) made = astype(made, DType::kFloat16);
  out.given.emplace("out", std::move(made));
  return out;
}

void write_run(const std::filesystem::path& path, const KernelRun& run) {
  std::vector<ArrayRef> arrays;
  for (const auto& [name, array] : run.call.request.arguments.arrays) {
    arrays.push_back({name, &array});
  }
  arrays.push_back({"out", &run.given.at("out")});
  write_arrays(path.string(), arrays, {.force = true});
}

TEST_CASE("verify: the library, the command and golden files give the same verdict", "[verdicts]") {
  const test::Sandbox box;
  std::vector<std::string> told;  // by the library
  std::string manifest;
  std::map<std::string_view, Index> verdicts;
  for (unsigned seed = 0; seed < test::rounds(500U); ++seed) {
    const KernelRun run = drawn_run(seed);
    const std::string file = fmt::format("run{}.npz", seed);
    const Index n = run.call.request.declared->queries();
    write_run(box.work() / file, run);
    const std::string line = fmt::format("gen:causal:n={} -t '{}' {}", n, run.step, file);
    INFO("maskctl verify " << line);
    const attention::Judgement judgement = judge_fully(run.call, run.given).report.judgement;
    told.push_back(to_text(judgement));
    ++verdicts[name(judgement.verdict)];
    const test::Outcome said = box.run("maskctl verify " + line);
    CHECK(test::contains(said.out, fmt::format("verdict           {}\n", told.back())));
    CHECK(said.status == (judgement.verdict == attention::Verdict::kObeys     ? 0
                          : judgement.verdict == attention::Verdict::kUnclear ? 2
                                                                              : 1));
    manifest += fmt::format(
        "[[golden]]\nname = \"k{0}\"\nsource = \"gen:causal:n={1}\"\n"
        "transforms = [\"{2}\"]\nkernel = {{ ",
        seed, n, run.step);
    for (const char* const array : {"query", "key", "value", "out"}) {
      manifest += fmt::format("{0}{1} = \"{2}:{1}\"", array == std::string("query") ? "" : ", ",
                              array, file);
    }
    manifest += " }\nexpect = { verdict = \"obeys\" }\n";
  }
  test::spit(box.work() / "m.toml", manifest);
  const std::string golden = box.run("maskctl golden check m.toml --json").out;
  const std::vector<std::string> details = texts_of(golden, "detail");
  const std::vector<std::string> states = texts_of(golden, "status");
  REQUIRE(details.size() == told.size());
  Index passed = 0, errors = 0;
  for (std::size_t i = 0; i < told.size(); ++i) {
    INFO("k" << i << ": " << told[i]);
    CHECK(test::contains(details[i], "verdict: " + told[i]));
    passed += states[i] == "passed";
    errors += states[i] == "error";
  }
  CHECK(passed == verdicts["obeys"]);
  CHECK(errors == verdicts["unclear"]);
  for (const char* const verdict : {"obeys", "another", "other-call", "partly", "unclear"}) {
    INFO(verdict);
    CHECK(verdicts[verdict] > 0);
  }
}

}  // namespace
}  // namespace maskctl::app
