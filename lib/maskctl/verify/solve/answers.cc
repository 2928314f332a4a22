#include "maskctl/verify/solve/answers.h"

#include <algorithm>
#include <utility>

namespace maskctl::attention::solving {
namespace {

/// Searching stops after this many failed rows if hardly any row was explained.
constexpr Index kAttempts = 24;

}  // namespace

Answers::Answers(const Dims& d, double most_work)
    : row_work_(1e3 * static_cast<double>(d.q_heads * d.value_dim * d.keys)),
      most_work_(most_work) {}

void Answers::keep(const Unit& unit, Index row, std::vector<Head> heads, const OpenKeys& supposed,
                   const std::optional<RowAnswer>& answer) {
  RowPart part{unit.b, unit.h, row, std::move(heads)};
  part.take(supposed, answer);
  const std::scoped_lock lock(mutex_);
  if (answer) margin_ = std::min(margin_, answer->margin);
  if (!part.says_nothing()) parts_.push_back(std::move(part));
}

bool Answers::given_up() const {
  if (static_cast<double>(failed_) * row_work_ > most_work_) return true;
  return failed_ >= kAttempts && solved_ < failed_ / 8;
}

bool Answers::hopeless() const { return failed_ >= kAttempts / 3 && solved_ < failed_ / 8; }

}  // namespace maskctl::attention::solving
