// Tests that Python itself can parse the code that translate writes, for every rule and library.
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <random>
#include <set>
#include <string>

#include "maskctl/base/error.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/mask/steps/expr.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/translate/translate.h"
#include "maskctl/translate/write/formula.h"
#include "support/catch_compat.h"
#include "support/random_step.h"
#include "support/rounds.h"
#include "support/tensors.h"
#include "translate/libraries.h"

namespace maskctl {
namespace {

using test::i32;
using test::lib;

constexpr char kCheck[] = R"(
import ast, shlex, sys
for text in sys.stdin.read().split("\0")[:-1]:
    library, code = text.split("\n", 1)
    try:
        shlex.split(code) if library == "ck_tile" else ast.parse(code)
    except (SyntaxError, ValueError) as error:
        print(f"{library}: {error}\n{code}")
)";

/// The errors of Python about pieces of code, each of which is the name of a library, a line end
/// and the code; "" if there is none.
std::string python_errors(const std::set<std::string>& pieces) {
  std::FILE* file = std::tmpfile();
  REQUIRE(file);
  for (const std::string& piece : pieces) std::fwrite(piece.c_str(), 1, piece.size() + 1, file);
  std::fflush(file);
  const std::string command = "/usr/bin/python3 -c '" + std::string(kCheck) + "' </dev/fd/" +
                              std::to_string(fileno(file)) + " 2>&1";
  std::FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe);
  std::string out;
  std::array<char, 4096> part = {};
  while (const std::size_t n = std::fread(part.data(), 1, part.size(), pipe)) {
    out.append(part.data(), n);
  }
  CHECK(pclose(pipe) == 0);
  std::fclose(file);
  return out;
}

/// True if the step can be applied to a mask of this shape, which its arrays may not fit.
bool fits(const Step& step, const MaskShape& shape) {
  try {
    maskctl::apply(full_mask(shape.batch, shape.heads, shape.queries, shape.keys), step);
  } catch (const Error&) {
    return false;
  }
  return true;
}

Translation written(const Chain& chain, const Library& library) {
  return translate(chain, library, [](const Step& step) { return to_text(Chain{step}); });
}

std::string piece_of(const Translation& made) {
  std::string out = std::string(made.library->name) + "\n";
  for (const std::string& line : made.code) out += line + "\n";
  return out;
}

TEST_CASE("the written code is valid Python for each rule and library") {
  std::mt19937_64 random(20261129);
  std::set<std::string> pieces, writers;
  for (const auto& infos : {step_infos(), call_step_infos()}) {
    for (const StepInfo& info : infos) {
      CAPTURE(info.name);
      for (int i = 0; i < test::rounds(40); ++i) {
        const MaskShape shape{2, 2, 7, 7};
        twin::StepMaker maker(random, shape);
        const Step step = maker.step(info);
        if (!fits(step, shape)) continue;
        for (const Library* library : libraries()) {
          for (const Chain& chain : {Chain{step}, Chain{step::Causal{Align::kTopLeft}, step}}) {
            const Translation made = written(chain, *library);
            if (!made.ok()) continue;
            pieces.insert(piece_of(made));
            writers.emplace(library->name);
          }
        }
      }
    }
  }
  CHECK(writers.size() == libraries().size());
  CHECK(pieces.size() > 500);
  CHECK(python_errors(pieces).empty());
}

TEST_CASE("invalid Python is found by this test") {
  CHECK(python_errors({"flex\nfrom = torch.tensor([0, 1])\n"}).find("invalid syntax") !=
        std::string::npos);
}

/// The code for an expression that a rule outside of this project might have.
Formula formula(const Expr& cells, const char* library) {
  return formula_of(ChainFormula{cells, "", {}}, lib(library));
}

TEST_CASE("an array with the name of a Python keyword or of a variable is renamed") {
  const NamedArray numbers{i32({1, 2}), "1+2"};
  const Expr cells = expr::of_batch("from", numbers) <= expr::query() &&
                     expr::key() < expr::of_batch("lambda", numbers) &&
                     expr::key() < expr::of_batch("b", numbers);
  std::set<std::string> pieces;
  for (const char* name : {"flex", "hf", "sdpa", "mha", "jax"}) {
    INFO(name);
    const Formula made = formula(cells, name);
    REQUIRE(made.tensors.size() == 3);
    CHECK(made.tensors[0].starts_with("from_ = "));
    CHECK(made.tensors[1].starts_with("lambda_ = "));
    CHECK(made.tensors[2].starts_with("b_ = "));
    CHECK(made.expression.find("from_[b]") != std::string::npos);
    std::string piece = std::string(name) + "\n";
    for (const std::string& line : made.tensors) piece += line + "\n";
    pieces.insert(piece + made.expression);
  }
  CHECK(python_errors(pieces).empty());
}

TEST_CASE("two different long arrays of one name get two files, equal ones share a file") {
  const auto element = [](std::int32_t one) {
    Tensor ids(DType::kInt32, {100});
    ids.as<std::int32_t>()[7] = one;
    return expr::element("class", std::move(ids), {expr::key()});
  };
  const Formula made = formula(element(1) == element(2) && element(1) == expr::number(3), "flex");
  REQUIRE(made.arrays.size() == 2);
  CHECK(made.arrays[0].name == "class_");
  CHECK(made.arrays[1].name == "class_2");
  CHECK(made.tensors[1].find("class_2 = ") == 0);
  CHECK(made.tensors[1].find("np.load(\"class_2.npy\")") != std::string::npos);
  CHECK(made.expression.find("class_[kv_idx] == class_2[kv_idx]") != std::string::npos);
}

}  // namespace
}  // namespace maskctl
