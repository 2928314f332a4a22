// Draws questions to check(), and asks the claim of each finding (claims.h) whether it is true.
#include "inspect/claims/claims.h"

#include <fmt/format.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "inspect/claims/forms.h"
#include "inspect/sentences/draws_asked.h"
#include "maskctl/base/error.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/mask/steps/rule.h"
#include "support/catch_compat.h"
#include "support/random_step.h"
#include "support/rounds.h"

namespace maskctl::test {
namespace {

class Questions {
 public:
  explicit Questions(unsigned seed) : random_(seed) {}

  CheckedMask next() {
    const Index batch = pick(1, 3), n = pick(1, 14);
    const Index keys = pick(0, 3) == 0 ? n + pick(0, 4) : n;
    CheckedMask out;
    out.start = full_mask(batch, pick(1, 2), n, keys);
    Chain made = steps(pick(0, 2), n, keys);
    if (!made.empty()) out.start = maskctl::apply(*out.start, made);
    out.chain = steps(pick(0, 2), n, keys);
    switch (pick(0, 5)) {
      case 0:
        out.documents = ids(batch, n, keys);
        break;
      case 1:
        out.own_documents = ids(batch, n, keys);
        break;
      case 2:
        if (n == keys) out.documents = positions(n);
        break;
      case 3:
        if (n == keys) out.documents = ends(n);
        break;
      default:
        break;
    }
    if (pick(0, 3) == 0) out.bias = cells(batch, n, keys);
    out.reading = {pick(0, 4) == 0 ? pick(1, 3) : 0, pick(0, 1) == 0, pick(0, 2) == 0};
    return out;
  }

 private:
  Index pick(Index low, Index high) { return std::uniform_int_distribution(low, high)(random_); }
  Chain steps(Index count, Index queries, Index keys) {
    twin::StepMaker maker(random_, {1, 1, queries, keys});
    std::vector<const StepInfo*> known;
    for (const StepInfo& info : step_infos()) {
      if (info.make) known.push_back(&info);
    }
    Chain out;
    while (std::ssize(out) < count) {
      Step one = maker.step(*known[static_cast<std::size_t>(pick(0, std::ssize(known) - 1))]);
      // The twin of random steps does not draw numbers as numpy does.
      if (to_text(Chain{one}, "ids.npz").find("stream=numpy") == std::string::npos) {
        out.push_back(std::move(one));
      }
    }
    return out;
  }
  Mask cells(Index batch, Index queries, Index keys) {
    return Mask::make(batch, 1, queries, keys, [&](Index, Index) {
      return diagonal_band(queries, keys, -pick(0, 3), pick(-1, 3));
    });
  }
  Tensor numbers(Index rows, Index count) {
    Tensor out(DType::kInt32, {rows, count});
    std::int32_t id = static_cast<std::int32_t>(pick(0, 2));
    for (std::int32_t& one : out.as<std::int32_t>()) {
      if (pick(0, 3) == 0) id = static_cast<std::int32_t>(pick(-1, 3));
      one = id;
    }
    return out;
  }
  DocumentSource ids(Index batch, Index queries, Index keys) {
    DocumentSource out{
        DocumentForm::kSegments, numbers(pick(0, 1) ? batch : 1, queries), {}, -1, "ids"};
    if (queries != keys) out.kv = numbers(out.q.extent(0), keys);
    return out;
  }
  DocumentSource positions(Index n) {
    DocumentSource out{
        DocumentForm::kPositions, Tensor(DType::kInt32, {1, n}), {}, -1, "positions"};
    std::int32_t at = static_cast<std::int32_t>(pick(-1, 2));
    for (std::int32_t& one : out.q.as<std::int32_t>()) {
      one = at++;
      if (pick(0, 3) == 0) at = static_cast<std::int32_t>(pick(-1, 5));
    }
    return out;
  }
  DocumentSource ends(Index n) {
    DocumentSource out{DocumentForm::kCuSeqlens, Tensor(DType::kInt32, {4}), {}, -1, "cu"};
    const auto all = out.q.as<std::int32_t>();
    all[0] = pick(0, 5) == 0;
    for (std::size_t i = 1; i < 4; ++i) {
      all[i] = all[i - 1] + static_cast<std::int32_t>(pick(pick(0, 5) == 0 ? -1 : 0, n / 2));
    }
    if (pick(0, 1) == 0) all[3] = static_cast<std::int32_t>(n);
    return out;
  }

  std::mt19937_64 random_;
};

/// A drawing of the plane to which a finding leads, if it is small.
std::string drawn(const PlainCells& cells, const Location& where) {
  std::string out;
  if (cells.keys() > 80) return out;
  for (Index q = 0; q < cells.queries(); ++q) {
    out += "\n";
    for (Index k = 0; k < cells.keys(); ++k) {
      out += cells.open(where.batch.value_or(0), where.head.value_or(0), q, k) ? '#' : '.';
    }
  }
  return out;
}

/// Asks check(), and fails for each finding whose predicate is false.
void judge(const CheckedMask& question, const std::string& text, std::set<FindingId>& said) {
  CheckResult result;
  try {
    result = check(question);
  } catch (const Error&) {
    return;  // the steps, ids or bias do not fit the mask
  }
  const PlainCells cells(result.mask ? *result.mask : Mask());
  for (const Finding& finding : result.findings) {
    said.insert(finding.rule->key);
    std::string unfit;  // why the steps that the finding names fit no mask
    try {
      if (holds({question, result, finding, cells})) continue;
    } catch (const twin::Refused& refused) {
      unfit = refused.what();
    }
    FAIL_CHECK(unfit << ' ' << text << ": " << finding.rule->id << ": " << finding.message << " at "
                     << to_text(finding.where) << drawn(cells, finding.where));
  }
}

TEST_CASE("check: what a finding says of drawn masks, steps and arrays is true", "[claims]") {
  std::set<FindingId> said;
  // a stride that skips the last position was false once, and a rank by its offset ended the
  // program
  std::vector<unsigned> seeds{970013217, 1000000897};
  for (Index i = 0; i < draws_asked(4000); ++i) {
    seeds.push_back(static_cast<unsigned>(first_draw() + static_cast<std::uint64_t>(i)));
  }
  for (const unsigned seed : seeds) {
    CheckedMask question;
    try {
      question = Questions(seed).next();
    } catch (const Error&) {
      continue;  // the steps do not fit the mask
    }
    judge(question, fmt::format("seed {}, steps {}", seed, to_text(question.chain, "ids.npz")),
          said);
  }
  CHECK((asked_by_hand() || said.size() > 30));
  for (Index i = 0; i < draws_asked(1000); ++i) {
    const auto seed = static_cast<unsigned>(first_draw() + static_cast<std::uint64_t>(i));
    FormMaker forms(seed);
    const CheckedMask question{.start = forms.draw()};
    judge(question, fmt::format("seed {}, {}, {}", seed, shape_text(*question.start), forms.text()),
          said);
  }
  for (const LintRule& rule : lint_rules()) {
    if (const auto question = claim_of(rule.key).question) {
      judge(question(), "the question of its claim", said);
    }
    INFO("no question has " << rule.id << ": its claim needs a question()");
    CHECK((kSanitized || asked_by_hand() || said.contains(rule.key)));
  }
}

}  // namespace
}  // namespace maskctl::test
