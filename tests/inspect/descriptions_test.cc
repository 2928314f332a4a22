// Arrays that describe one batch in several forms: those made of the same documents agree, and a
// contradiction that is named is one.
#include "maskctl/inspect/diff/descriptions.h"

#include <random>
#include <vector>

#include "support/catch_compat.h"
#include "support/contains.h"
#include "support/error_of.h"
#include "support/rounds.h"

namespace maskctl::test {
namespace {

using Numbers = std::vector<std::int32_t>;

TokenArray array(TokenForm form, const Numbers& numbers, const char* name, Index rows = 1) {
  const Index length = std::ssize(numbers) / rows;
  TokenArray out{form, Tensor(DType::kInt32, {length}), -1, name};
  if (rows > 1) out.array = Tensor(DType::kInt32, {rows, length});
  std::ranges::copy(numbers, out.array.as<std::int32_t>().begin());
  return out;
}

/// A row of documents and padding on the right, in every form.
struct Batch {
  Numbers ids, cu{0}, positions, valid;
};
Batch drawn(std::mt19937& random) {
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution(low, high)(random);
  };
  Batch out;
  std::int32_t id = 0;
  for (int documents = pick(1, 4); documents > 0; --documents, ++id) {
    const int length = pick(1, 6);
    for (int i = 0; i < length; ++i) {
      out.ids.push_back(id), out.positions.push_back(i), out.valid.push_back(1);
    }
    out.cu.push_back(out.cu.back() + length);
  }
  for (int padding = pick(0, 3); padding > 0; --padding) {
    out.ids.push_back(-1), out.positions.push_back(0), out.valid.push_back(0);
  }
  return out;
}
/// The first contradiction, if there is one.
std::optional<Contradiction> contradiction(const std::vector<TokenArray>& arrays) {
  const auto all = contradictions(arrays);
  return all.empty() ? std::nullopt : std::optional(all.front());
}
std::vector<TokenArray> forms(const Batch& batch) {
  return {array(TokenForm::kSegments, batch.ids, "ids"),
          array(TokenForm::kCuSeqlens, batch.cu, "cu"),
          array(TokenForm::kPositions, batch.positions, "positions"),
          array(TokenForm::kPadding, batch.valid, "valid")};
}

/// Whether token `i` is real, or (the next function) starts a document, according to an array: 1 or
/// 0; -1 if the array does not say.
int is_real(const Batch& batch, TokenForm form, std::size_t i) {
  if (form == TokenForm::kSegments) return batch.ids[i] != -1;
  if (form == TokenForm::kPadding) return batch.valid[i] != 0;
  if (form == TokenForm::kCuSeqlens) return static_cast<int>(i) < batch.cu.back();
  return -1;
}
int is_start(const Batch& batch, TokenForm form, std::size_t i) {
  if (form == TokenForm::kSegments) return i == 0 || batch.ids[i] != batch.ids[i - 1];
  if (form == TokenForm::kPositions) {
    return i == 0 || batch.positions[i] != batch.positions[i - 1] + 1;
  }
  if (form != TokenForm::kCuSeqlens) return -1;
  return std::ranges::find(batch.cu, static_cast<std::int32_t>(i)) != batch.cu.end();
}

TEST_CASE("arrays that describe the same documents have no contradiction") {
  std::mt19937 random(3);
  for (int i = 0; i < rounds(500); ++i) CHECK(contradictions(forms(drawn(random))).empty());
}

TEST_CASE("each contradiction that is named is real, and a moved border is found") {
  std::mt19937 random(4);
  int found_padding = 0, found_starts = 0;
  for (int i = 0; i < rounds(2000); ++i) {
    Batch batch = drawn(random);
    const std::size_t at = random() % batch.ids.size();
    switch (random() % 4) {
      case 0:
        batch.ids[at] = static_cast<std::int32_t>(random() % 4) - 1;
        break;
      case 1:
        batch.positions[at] += 1;
        break;
      case 2:
        batch.valid[at] ^= 1;
        break;
      default:
        batch.cu.erase(batch.cu.begin() + 1);
        if (batch.cu.size() == 1) batch.cu.push_back(1);
    }
    const auto arrays = forms(batch);
    const auto found = contradiction(arrays);
    if (!found) continue;
    INFO(contradiction_words(*found, arrays));
    const auto token = static_cast<std::size_t>(found->token);
    const TokenForm first = arrays[found->first].form, second = arrays[found->second].form;
    REQUIRE(found->what != Contradiction::What::kTokens);
    const bool padding = found->what != Contradiction::What::kStart;
    ++(padding ? found_padding : found_starts);
    CHECK((padding ? is_real(batch, first, token) : is_start(batch, first, token)) == 1);
    CHECK((padding ? is_real(batch, second, token) : is_start(batch, second, token)) == 0);
    CHECK(found->count >= 1);
  }
  CHECK(found_padding > rounds(200));
  CHECK(found_starts > rounds(200));
}

TEST_CASE("contradictions about tokens, borders and lengths are described in words") {
  const auto words = [](const std::vector<TokenArray>& arrays) {
    const auto found = contradiction(arrays);
    return found ? contradiction_words(*found, arrays) : "";
  };
  const TokenArray cu = array(TokenForm::kCuSeqlens, {0, 3, 6}, "cu.npy");
  CHECK(words({cu, array(TokenForm::kPadding, {1, 1, 1, 1, 1, 0}, "mask.npy")}) ==
        "cu.npy counts token 5 as one of a document, at whose end mask.npy has padding");
  CHECK(words({cu, array(TokenForm::kPadding, {1, 0, 1, 1, 1, 1}, "mask.npy")}) ==
        "cu.npy says that token 1 is real, mask.npy that it is padding");
  CHECK(words({cu, array(TokenForm::kPositions, {0, 1, 2, 3, 4, 5}, "positions.npy")}) ==
        "cu.npy starts a document at token 3, where one of positions.npy goes on");
  CHECK(words({cu, array(TokenForm::kSegments, {0, 0, 0, 1, 1}, "ids.npy")}) ==
        "cu.npy has 1 token more than ids.npy, which has 5");
  // Lengths of tokens that padding is cut out of.
  CHECK(words({array(TokenForm::kCuSeqlens, {0, 4}, "cu"),
               array(TokenForm::kPadding, {0, 0, 1, 1, 1, 1}, "mask")}) == "");
  const TokenArray rows = array(TokenForm::kPadding, {1, 1, 1, 0, 0, 1, 1, 1}, "mask", 2);
  CHECK(words({array(TokenForm::kCuSeqlens, {0, 3, 6}, "cu"), rows}) == "");
  CHECK(words({array(TokenForm::kCuSeqlens, {0, 3, 7}, "cu"), rows}) ==
        "document 1 of cu has 4 tokens, row 1 of mask has 3 that are real");
  CHECK(contains(error_of([] {
                   const std::vector<TokenArray> bad{array(TokenForm::kCuSeqlens, {1, 2}, "cu")};
                   contradictions(bad);
                 }),
                 "entry 0 is 1; cumulative lengths start with 0"));
}

}  // namespace
}  // namespace maskctl::test
