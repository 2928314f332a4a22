// Reads comparisons of blocks of queries and keys: q_idx // N with kv_idx // N.
#include "maskctl/mask/steps/block_causal.h"
#include "maskctl/mask/steps/chunk.h"
#include "maskctl/mask/steps/field.h"
#include "maskctl/translate/read/comparison.h"

namespace maskctl {

/// The sum q * (rows // size) + k * (columns // size) + number.
struct Comparisons::Blocks {
  Index size = 0;
  Linear rows = {}, columns = {};
  Index q = 0, k = 0, number = 0;
};

std::optional<Comparisons::Blocks> Comparisons::blocks_of(const Python& given) const {
  if (const auto number = number_in(source_.text, given)) return Blocks{.number = *number};
  const Python& value = named_value(source_.text, given);
  if (&value != &given) source_.count(given.position);
  Blocks out;
  if (const auto whole = scaled(value, "//", out.size)) {
    const bool keys = whole->k == 1 && whole->q == 0 && whole->keys == 0 && whole->queries == 0;
    if (!keys && (whole->q != 1 || whole->k != 0 || whole->keys != -whole->queries)) {
      return std::nullopt;
    }
    (keys ? out.columns : out.rows) = *whole;
    (keys ? out.k : out.q) = 1;
    return out;
  }
  if (!value.is_binary("+") && !value.is_binary("-")) return std::nullopt;
  const auto first = blocks_of(value.items[0]), second = blocks_of(value.items[1]);
  if (!first || !second) return std::nullopt;
  const bool twice = (first->q != 0 && second->q != 0) || (first->k != 0 && second->k != 0);
  const bool differ = first->size != 0 && second->size != 0 && first->size != second->size;
  if (twice || differ) return std::nullopt;
  const Index sign = value.text == "-" ? -1 : 1;
  return Blocks{std::max(first->size, second->size),
                first->q != 0 ? first->rows : second->rows,
                first->k != 0 ? first->columns : second->columns,
                first->q + sign * second->q,
                first->k + sign * second->k,
                first->number + sign * second->number};
}

/// The condition columns // size <= rows // size + number.
Condition Comparisons::blocks_at_most(const Blocks& sum, Index number, Index position) const {
  step::BlockCausal rule;
  rule.size = sum.size;
  rule.offset = sum.rows.number - sum.columns.number + number * sum.size;
  rule.align = aligned(sum.rows.keys, position);
  if (rule.align == Align::kTopLeft) rule.align = Align::kUnset;
  return condition({{{std::move(rule)}}});
}

std::optional<Condition> Comparisons::blocks(const Python& left, std::string_view sign,
                                             const Python& right, Index position) const {
  const auto a = blocks_of(left), b = blocks_of(right);
  if (!a || !b) return std::nullopt;
  // The sum columns // size - rows // size + number, compared with 0.
  Blocks sum = a->size == 0 ? *b : *a;
  const bool both = a->size != 0 && b->size != 0;
  if (sum.size == 0 || (both && a->size != b->size)) return std::nullopt;
  sum.q = a->q - b->q;
  sum.k = a->k - b->k;
  sum.number = a->number - b->number;
  sum.rows = a->q != 0 ? a->rows : b->rows;
  sum.columns = a->k != 0 ? a->columns : b->columns;
  if (std::abs(sum.q) != 1 || sum.k != -sum.q) return std::nullopt;
  if (sum.q == 1) {
    sum.number = -sum.number;
    sign = exchanged(sign);
  }
  if (sum.number == 0 && (sign == "==" || sign == "!=")) {
    step::Chunk rule{sum.size, sum.rows.number - sum.columns.number,
                     aligned(sum.rows.keys, position)};
    if (sum.columns.number % sum.size != 0) rule.origins = fields::numbers({-sum.columns.number});
    if (rule.align == Align::kTopLeft) rule.align = Align::kUnset;
    const Condition same = condition({{{std::move(rule)}}});
    return sign == "==" ? same : negated(same);
  }
  if (sum.columns.number % sum.size != 0) {
    source_.fail(position, "blocks of keys that begin at other tokens than those of queries");
  }
  const Condition most = blocks_at_most(sum, -sum.number, position);
  const Condition less = blocks_at_most(sum, -sum.number - 1, position);
  if (sign == "<=") return most;
  if (sign == "<") return less;
  if (sign == ">=") return negated(less);
  if (sign == ">") return negated(most);
  const Condition equal = all_of({most, negated(less)});
  return sign == "==" ? equal : negated(equal);
}

}  // namespace maskctl
