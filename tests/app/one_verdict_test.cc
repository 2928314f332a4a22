// Front ends ask the library what is wrong with a mask, what differs, and what a kernel applied;
// here the library, the command in text and JSON, the inspector and golden files are held to each
// other on drawn masks, steps, documents and biases. tests/python/test_one_verdict.py does so for
// Python. A golden case has expectations and no findings (docs/decisions/0029), so it has no part
// in check.
#include <fmt/format.h>

#include <limits>
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

 private:
  Index pick(Index low, Index high) { return std::uniform_int_distribution(low, high)(random_); }
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

TEST_CASE("check: the library, the command and the inspector say the same", "[verdicts]") {
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
      // Here a finding may share the line of another about the same cell.
      const std::string list = joined_lines(tui::report_row(tui::Report::kFindings).lines(*scene));
      for (const std::string& message : messages) CHECK(test::contains(list, message));
    } catch (const Error& error) {
      INFO(error.what());
      CHECK(said.status == 2);
    }
  }
}

TEST_CASE("diff: the inspector says what the command says", "[verdicts]") {
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

/// Writes run.npz: q, k, v and out of a causal kernel with a window of 8 keys over 32 tokens.
constexpr std::string_view kMakeRun = R"(cat >run.py <<'END'
import numpy as np
rng = np.random.default_rng(1)
q, k, v = (rng.standard_normal((1, 32, 2, 16)).astype(np.float32) for _ in range(3))
i = np.arange(32)
s = np.einsum('bqhd,bkhd->bhqk', q, k) / 4
s = np.where((i[None] <= i[:, None]) & (i[:, None] - i[None] < 8), s, -np.inf)
p = np.exp(s - s.max(-1, keepdims=True))
out = np.einsum('bhqk,bkhd->bqhd', p / p.sum(-1, keepdims=True), v).astype(np.float32)
np.savez('run.npz', q=q, k=k, v=v, out=out)
END
python3 run.py
)";

TEST_CASE("verify: golden files say of a kernel what the command says", "[verdicts]") {
  const test::Sandbox box;
  REQUIRE(box.run(std::string(kMakeRun)).status == 0);
  std::vector<std::string> steps;
  std::string manifest;
  for (unsigned seed = 0; seed < test::rounds(40U); ++seed) {
    steps.push_back(seed == 0 ? "window:keys=8" : Draws(seed).step(32));
    if (steps.back().starts_with("slice")) steps.back() = "window:keys=9";
    manifest += fmt::format(
        "[[golden]]\nname = \"k{}\"\nsource = \"gen:causal:n=32\"\ntransforms = [\"{}\"]\n"
        "kernel = {{ q = \"run.npz:q\", k = \"run.npz:k\", v = \"run.npz:v\", out = "
        "\"run.npz:out\" }}\nexpect = {{ verdict = \"obeys\" }}\n",
        seed, steps.back());
  }
  test::spit(box.work() / "m.toml", manifest);
  const std::string golden = box.run("maskctl golden check m.toml").out;
  Index obeyed = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    INFO(steps[i]);
    const test::Outcome said =
        box.run("maskctl verify gen:causal:n=32 -t '" + steps[i] + "' run.npz");
    obeyed += said.status == 0;
    CHECK(test::contains(golden, fmt::format("ok      k{}\n", i)) == (said.status == 0));
    const std::string before = "verdict           ";
    const std::size_t at = said.out.find(before) + before.size();
    const std::string verdict = said.out.substr(at, said.out.find('\n', at) - at);
    if (said.status != 0) CHECK(test::contains(golden, verdict));
  }
  CHECK(obeyed > 0);
}

}  // namespace
}  // namespace maskctl::app
