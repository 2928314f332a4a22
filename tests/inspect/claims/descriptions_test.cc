// Draws arrays of one batch, those that agree and those with a planted mistake, and asks check().
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "inspect/claims/claims.h"
#include "inspect/sentences/draws_asked.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

using Numbers = std::vector<std::int32_t>;

/// A batch in which each row has documents, and padding in front, behind, or at the end of each.
class DrawnBatch {
 public:
  explicit DrawnBatch(unsigned seed) : random_(seed), rows_(pick(1, 3)), length_(pick(1, 16)) {
    const Index side = pick(0, 3);  // 0: none
    padded_ends_ = side == 3;
    std::int32_t id = 0;
    for (Index b = 0; b < rows_; ++b) add_row(side, id);
    packed_ = side != 3 && (rows_ > 1 || side == 1 || pick(0, 1) == 0);
  }

  CheckedMask question() {
    CheckedMask out;
    out.own_documents = source(DocumentForm::kSegments, array(ids_), "ids.npy");
    out.documents = source(DocumentForm::kPositions, array(positions_), "positions.npy");
    out.documents->real = array(flags_);
    out.documents->real_text = "flags.npy";
    out.also = {source(DocumentForm::kCuSeqlens, ends(), "ends.npy")};
    return out;
  }
  /// Changes one number of one array.
  void plant() {
    Numbers* const all[] = {&ids_, &positions_, &flags_, &lengths_};
    Numbers& one = *all[pick(0, 3)];
    std::int32_t& number = one[static_cast<std::size_t>(pick(0, std::ssize(one) - 1))];
    if (&one == &flags_) {
      number ^= 1;
    } else {
      number = std::max(&one == &lengths_ ? 0 : -1, number + (pick(0, 1) == 0 ? 1 : -1));
    }
  }
  std::string text() const {
    return fmt::format("{} rows: ids {}; positions {}; flags {}; lengths {}", rows_,
                       fmt::join(ids_, " "), fmt::join(positions_, " "), fmt::join(flags_, " "),
                       fmt::join(lengths_, " "));
  }
  bool padded_ends() const { return padded_ends_; }

 private:
  Index pick(Index low, Index high) { return std::uniform_int_distribution(low, high)(random_); }
  static DocumentSource source(DocumentForm form, Tensor ids, const char* name) {
    return {form, std::move(ids), {}, -1, name};
  }
  Tensor array(const Numbers& numbers) const {
    Tensor out(DType::kInt32, {rows_, length_});
    std::ranges::copy(numbers, out.as<std::int32_t>().begin());
    return out;
  }
  Tensor ends() const {
    Tensor out(DType::kInt32, {std::ssize(lengths_) + 1});
    std::int32_t end = 0;
    out.as<std::int32_t>()[0] = 0;
    for (std::size_t i = 0; i < lengths_.size(); ++i) {
      out.as<std::int32_t>()[i + 1] = end += lengths_[i];
    }
    return out;
  }
  void add(bool real, std::int32_t id, Index position) {
    ids_.push_back(real ? id : -1);
    positions_.push_back(real ? static_cast<std::int32_t>(position) : -1);
    flags_.push_back(real);
  }
  void add_row(Index side, std::int32_t& id) {
    const Index padding = side == 1 || side == 2 ? pick(0, length_ - 1) : 0;
    for (Index i = 0; side == 1 && i < padding; ++i) add(false, 0, 0);
    for (Index left = length_ - padding; left > 0; ++id) {
      const Index document = pick(1, left), real = side == 3 ? pick(1, document) : document;
      for (Index i = 0; i < document; ++i) add(i < real, id, i);
      lengths_.push_back(static_cast<std::int32_t>(document));
      left -= document;
    }
    for (Index i = 0; side == 2 && i < padding; ++i) add(false, 0, 0);
  }

  std::mt19937_64 random_;
  Index rows_, length_;
  bool padded_ends_ = false, packed_ = false;
  Numbers ids_, positions_, flags_, lengths_;
};

constexpr FindingId kOfBatches[] = {FindingId::kDescriptionsDiffer, FindingId::kPositionsSegments,
                                    FindingId::kLengthsPadded};

TEST_CASE("check: what a finding says of arrays of one batch is true", "[claims]") {
  std::map<FindingId, Index> said;
  const Index draws = draws_asked(4000);
  for (Index i = 0; i < draws; ++i) {
    const auto seed = static_cast<unsigned>(first_draw() + static_cast<std::uint64_t>(i));
    DrawnBatch batch(seed);
    const bool sound = seed % 4 == 0;
    if (!sound) batch.plant();
    const CheckedMask question = batch.question();
    const CheckResult result = check(question);
    for (const Finding& finding : result.findings) {
      if (!std::ranges::count(kOfBatches, finding.rule->key)) continue;
      ++said[finding.rule->key];
      INFO("seed " << seed << ", " << batch.text() << ": " << finding.message << " at "
                   << to_text(finding.where));
      CHECK(holds({question, result, finding, PlainCells(Mask())}));
      const bool padded = finding.rule->key == FindingId::kLengthsPadded;
      if (sound) CHECK((padded && batch.padded_ends()));
    }
  }
  CHECK(said[FindingId::kDescriptionsDiffer] > draws / 8);
  CHECK(said[FindingId::kPositionsSegments] > draws / 80);
  CHECK(said[FindingId::kLengthsPadded] > draws / 20);
}

}  // namespace
}  // namespace maskctl::test
