// Tests the remedies that errors and findings name: each kind of remedy is provoked by a command,
// and the command with the remedy as worded must succeed.
#include "app/reports/remedies.h"

#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "app/process.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

/// Python that writes config.json, and arrays that commands refuse or report findings about.
constexpr const char* kMakeInputs = R"PY(
import json
import numpy as np
inf = np.inf
np.save("ids.npy", np.array([[0, 0, 1, 1, 2, 2]], np.int32))
np.save("zero_tail.npy", np.array([[1, 1, 1, 2, 2, 0, 0]], np.int32))
np.save("slopes.npy", np.array([[0, -3, -3.5], [0, 0, -4], [0, 0, 0]], np.float32))
np.save("penalty.npy", np.array([[0, -1e4, -3.5], [0, 0, -1e4], [0, 0, 0]], np.float32))
np.save("mixed.npy", np.array([[0, -inf, -inf], [0, 0, np.finfo("f4").min], [0, 0, 0]], np.float32))
np.save("key_bias.npy", np.array([[0, 0, 0, -inf]], np.float32))
np.save("inverted.npy", ~np.tril(np.ones((16, 16), bool)))
np.save("closed.npy", np.zeros((8, 8), bool))
np.save("one_closed.npy", np.stack([np.tril(np.ones((9, 9), bool)), np.zeros((9, 9), bool)])[:, None])
json.dump({"model_type": "zork", "num_hidden_layers": 2}, open("config.json", "w"))
)PY";

struct RemedyCase {
  std::string kind;   // name in Remedy::Kind
  std::string words;  // the remedy as printed
  // A command that prints the remedy: with an error on stderr, or with a finding on stdout.
  std::string refused;
  std::string applied;  // the command with the remedy
  bool on_terminal = false;
};

std::vector<RemedyCase> remedy_cases() {
  return {
      {"kRaiseMemoryLimit", "raise --max-bytes",
       "maskctl gen full:n=4096 -o a.npy --max-bytes 1000",
       "maskctl gen full:n=4096 -o a.npy --max-bytes 16M"},
      {"kRaiseMemoryLimit", "raise --max-bytes",
       "maskctl convert mask.npy --to bits -o b.npy --max-bytes 99",
       "maskctl convert mask.npy --to bits -o b.npy --max-bytes 1M"},
      {"kRaiseMemoryLimit", "raise --max-bytes",
       "maskctl gen segments:lens=9000 -o c.npy --max-bytes 1000",
       "maskctl gen segments:lens=9000 -o c.npy --max-bytes 1M"},
      {"kSliceMask", "slice the mask",
       "maskctl blockmap gen:causal:n=4096 --block 128 --dynamic --max-bytes 1M",
       "maskctl blockmap gen:causal:n=4096 -t slice:q=0:256,k=0:256 --block 128 --dynamic "
       "--max-bytes 1M"},
      {"kSliceMask", "slice the mask", "maskctl gen full:n=4096 -o d.npy --max-bytes 1000",
       "maskctl apply gen:full:n=4096 -t slice:q=0:16,k=0:16 -o d.npy --max-bytes 1000"},
      {"kReadFromFile", "pass a file", "cat mask.npz | maskctl stats - --max-bytes 100",
       "maskctl stats mask.npz"},
      {"kReadFromFile", "pass a file", "cat mask.h5 | maskctl stats - --max-bytes 100",
       "maskctl stats mask.h5"},
      {"kNameOutput", "use -o FILE or pipe it", "maskctl gen causal:n=4 -o -",
       "maskctl gen causal:n=4 -o e.npy", true},
      {"kNameOutput", "use -o FILE or pipe it", "maskctl gen causal:n=4 -o -",
       "maskctl gen causal:n=4 -o - | cat > f.npy && maskctl stats f.npy", true},
      {"kOverwrite", "use --force to overwrite", "maskctl gen causal:n=4 -o mask.npy",
       "maskctl gen causal:n=64 -o mask.npy --force"},
      {"kOverwrite", "use --force to overwrite", "maskctl gen causal:n=4 -o mask.h5",
       "maskctl gen causal:n=64 -o mask.h5 --force"},
      {"kOverwrite", "use --force to overwrite",
       "maskctl gen causal:n=4 -o m.npz:a && maskctl gen causal:n=5 -o m.npz:a",
       "maskctl gen causal:n=5 -o m.npz:a --force"},
      {"kReplaceFile", "use --replace-file to replace the whole file",
       "cp mask.npy n.npz && maskctl gen causal:n=4 -o n.npz:a",
       "maskctl gen causal:n=4 -o n.npz:a --replace-file"},
      {"kReadAs", "give --as segments", "maskctl stats ids.npy --as dense",
       "maskctl stats ids.npy --as segments"},
      {"kReadAs", "give --as bias", "maskctl stats mixed.npy --as dense",
       "maskctl stats mixed.npy --as bias"},
      {"kReadAs", "give --as bias", "maskctl stats slopes.npy --as dense --closed-below -3.2",
       "maskctl stats slopes.npy --as bias --closed-below -3.2"},
      {"kReadAs", "give --as blockmap:QxK", "maskctl stats blocks.npy --as blockmap",
       "maskctl stats blocks.npy --as blockmap:8x8"},
      {"kReadAs", "give --as blockmap:QxK", "maskctl check blocks.npy --as blockmap",
       "maskctl check blocks.npy --as blockmap:8x8"},
      {"kReadZeroAsOpen", "read it with --keep-value 0", "maskctl check inverted.npy",
       "maskctl check inverted.npy --keep-value 0"},
      {"kReadZeroAsOpen", "read it with --keep-value 0", "maskctl check closed.npy",
       "maskctl check closed.npy --keep-value 0"},
      {"kReadZeroAsClosed", "drop --keep-value",
       "maskctl stats key_bias.npy --as key-padding --keep-value 0",
       "maskctl stats key_bias.npy --as key-padding"},
      {"kSetClosedBelow", "--closed-below X says which numbers close",
       "maskctl stats slopes.npy --as bias",
       "maskctl stats slopes.npy --as bias --closed-below -3.2"},
      {"kSetClosedBelow", "--closed-below X says which numbers close", "maskctl stats penalty.npy",
       "maskctl stats penalty.npy --closed-below -9984"},
      {"kSetPadIdToZero", "give --pad-id 0", "maskctl check zero_tail.npy --as segments",
       "maskctl check zero_tail.npy --as segments --pad-id 0"},
      {"kGiveShape", "give --shape B+H+Q+K", "maskctl stats bits.npy --as bits",
       "maskctl stats bits.npy --as bits --shape 1+1+64+64"},
      {"kGiveBlockSize", "give --block QxK", "maskctl convert gen:full:n=64 --to blockmap -o g.npy",
       "maskctl convert gen:full:n=64 --to blockmap --block 8x8 -o g.npy"},
      {"kGiveDocuments", "give --segments, --positions or --cu-seqlens",
       "maskctl check gen:causal:n=6 -e no-leak",
       "maskctl check gen:full:n=6 -t doc:ids.npy -e no-leak "
       "--segments ids.npy"},
      {"kWriteAs", "write the mask with --to runs", "maskctl gen causal:n=1000000 -o h.npy",
       "maskctl gen causal:n=1000000 --to runs -o h.npz"},
      {"kWriteAs", "write the mask with --to dense",
       "maskctl gen random:n=512,sparsity=0.5 --to runs -o i.npz --max-bytes 300K",
       "maskctl gen random:n=512,sparsity=0.5 --to dense -o i.npy --max-bytes 300K"},
      {"kWriteAs", "write the mask with --to bias", "maskctl check mixed.npy --as bias",
       "maskctl convert mixed.npy --as bias --to bias -o j.npy && maskctl check j.npy --as bias"},
      {"kAssumeCausal", "--assume causal goes on",
       "maskctl gen --hf-config config.json --layer 0 n=16 -o k.npy",
       "maskctl gen --hf-config config.json --layer 0 n=16 -o k.npy --assume causal"},
      {"kChooseArray", "choose one", "maskctl why samples/batch.npz 3 2",
       "maskctl why samples/batch.npz:attention_mask 3 2"},
      {"kUseSemantics", "it goes with --semantics ejkernel",
       "maskctl apply samples/packed.npy --as segments -t window:both=4,mode=decode,index=3 -o "
       "l.npy",
       "maskctl apply samples/packed.npy --as segments -t window:both=4,mode=decode,index=3 -o "
       "l.npy "
       "--semantics ejkernel"},
  };
}

/// Returns the kinds of remedies that the source files of the library use.
std::set<std::string> raised_kinds() {
  std::set<std::string> kinds;
  const std::regex use(R"(Remedy::(k[A-Z]\w*))");
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(MASKCTL_SOURCE_DIR) / "lib")) {
    if (entry.path().extension() != ".cc") continue;
    const std::string text = slurp(entry.path());
    for (std::sregex_iterator at(text.begin(), text.end(), use), end; at != end; ++at) {
      kinds.insert((*at)[1]);
    }
  }
  return kinds;
}

void make_inputs(const Sandbox& sandbox) {
  spit(sandbox.work() / "make.py", kMakeInputs);
  REQUIRE(sandbox.run("/usr/bin/python3 make.py").status == 0);
  for (const char* const line :
       {"maskctl gen full:n=64 -o mask.npy", "maskctl convert mask.npy -o mask.npz",
        "maskctl convert mask.npy -o mask.h5", "maskctl convert mask.npy --to bits -o bits.npy",
        "maskctl convert mask.npy --to blockmap --block 8x8 -o blocks.npy"}) {
    INFO(line);
    REQUIRE(sandbox.run(line).status == 0);
  }
}

TEST_CASE("remedies: each is named by the refused command, which succeeds with it") {
  const Sandbox sandbox;
  make_inputs(sandbox);
  for (const RemedyCase& row : remedy_cases()) {
    INFO(row.refused);
    const bool needs_it =
        contains(row.applied, "maskctl blockmap") || contains(row.applied, "--semantics ejkernel");
    if (needs_it && without_ejkernel()) continue;
    const Outcome refused =
        row.on_terminal ? sandbox.run_on_terminal(row.refused) : sandbox.run(row.refused);
    // A message may join two remedies, as in "raise --max-bytes or slice the mask".
    const std::string text = refused.out + refused.err;
    INFO(text);
    CHECK(contains(text, row.words));
    INFO(row.applied);
    const Outcome applied = sandbox.run(row.applied);
    INFO(applied.out << applied.err);
    CHECK(applied.status == 0);
    CHECK_FALSE(contains(applied.out + applied.err, row.words));
  }
}

TEST_CASE("remedies: the options that convert names for reading a file back are needed") {
  const Sandbox sandbox;
  int noted = 0;
  for (const std::string kind : {"cu_seqlens", "pairs", "bits", "runs", "segments", "padding"}) {
    INFO(kind);
    const std::string file = kind + ".npz";
    const Outcome written = sandbox.run(
        "maskctl convert samples/packed.npy --as segments -t "
        "slice:b=0 --lossy --to " +
        kind + " -o " + file);
    REQUIRE(written.status == 0);
    const std::string start = "reading it back needs ";
    const std::size_t at = written.err.find(start);
    if (at == std::string::npos) continue;
    ++noted;
    const std::size_t begin = at + start.size();
    const std::string needs = written.err.substr(begin, written.err.find('\n', begin) - begin);
    INFO(needs);
    REQUIRE(
        sandbox.run("maskctl convert " + file + " " + needs + " --to dense -o a.npy -f").status ==
        0);
    const std::string copy =
        "maskctl convert " + file + " " + needs + " --to " + kind + " -f -o b.npz";
    CHECK(sandbox.run(copy + " && cmp " + file + " b.npz").status == 0);
  }
  CHECK(noted >= 3);
}

TEST_CASE("remedies: an unknown backend gives an error that suggests the closest name") {
  const Sandbox sandbox;
  const Outcome refused = sandbox.run("maskctl attend mean_pooling --backend gpu");
  CHECK(refused.status == 2);
  CHECK(contains(refused.err, "did you mean 'cuda'?"));
  const Outcome meant = sandbox.run("maskctl attend mean_pooling --backend cuda");
  const bool runs_or_says_why = meant.status == 0 || contains(meant.err, "use --backend cpu");
  CHECK(runs_or_says_why);
  CHECK(sandbox.run("maskctl attend mean_pooling --backend cpu").status == 0);
}

/// Checks every "--word" in a string of the source files.
TEST_CASE("remedies: every option that a message names is an option") {
  const std::string known = Sandbox().run("maskctl __markdown").out;
  const std::regex text(R"re("((?:[^"\\\n]|\\.)*)")re"), option(R"((^|[^\w-])(--[a-z][a-z0-9-]+))");
  int seen = 0;
  for (const char* const folder : {"lib", "app"}) {
    for (const auto& entry :
         fs::recursive_directory_iterator(fs::path(MASKCTL_SOURCE_DIR) / folder)) {
      // The helper program for HDF5, and functions that only Python calls, have options of their
      // own.
      const std::string path = entry.path().string();
      const bool is_other = contains(path, "hdf5") || contains(path, "audit_flex.cc");
      if (entry.path().extension() != ".cc" || is_other) continue;
      const std::string source = slurp(entry.path());
      for (std::sregex_iterator at(source.begin(), source.end(), text), end; at != end; ++at) {
        const std::string words = (*at)[1];
        for (std::sregex_iterator o(words.begin(), words.end(), option); o != end; ++o) {
          INFO(entry.path() << ": " << words);
          ++seen;
          const std::string name = (*o)[2];
          const bool is_known = contains(known, name + " ") || contains(known, name + "`");
          CHECK(is_known);
        }
      }
    }
  }
  CHECK(seen > 100);
}

TEST_CASE("remedies: each kind that the library gives has a test case here") {
  std::set<std::string> covered;
  for (const RemedyCase& row : remedy_cases()) covered.insert(row.kind);
  covered.insert("kBuildWith");  // no option of a command: without_parts_test.cc
  CHECK(raised_kinds() == covered);
}

}  // namespace
}  // namespace maskctl::test
