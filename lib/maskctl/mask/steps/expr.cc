#include "maskctl/mask/steps/expr.h"

#include <algorithm>

#include "maskctl/mask/steps/rule.h"

namespace maskctl {

Expr::Expr(ExprNode node) : node_(std::make_shared<const ExprNode>(std::move(node))) {}

namespace expr {
namespace {

using Kind = Expr::Kind;

Expr leaf(Kind kind) { return Expr({.kind = kind}); }
Expr joined(Kind kind, Expr a, Expr b) {
  return Expr({.kind = kind, .parts = {std::move(a), std::move(b)}});
}

}  // namespace

Expr query() { return leaf(Kind::kQuery); }
Expr key() { return leaf(Kind::kKey); }
Expr batch() { return leaf(Kind::kBatch); }
Expr head() { return leaf(Kind::kHead); }
Expr keys() { return leaf(Kind::kKeys); }
Expr number(Index value) { return Expr({.kind = Kind::kNumber, .number = value}); }
Expr diagonal(Align align) { return Expr({.kind = Kind::kDiagonal, .align = align}); }
Expr of_tokens(bool shared) { return shared ? diagonal(Align::kUnset) : query(); }
Expr truth(bool value) { return number(value ? 1 : 0); }

Expr of_batch(std::string_view name, const NamedArray& array, Index absent) {
  if (array.empty()) return number(absent);
  if (array.array.elements() == 1) return number(maskctl::element(array.array, 0));
  return Expr({.kind = Kind::kOfBatch, .name = name, .array = array.array});
}

Expr element(std::string_view name, Tensor array, std::vector<Expr> at) {
  return Expr(
      {.kind = Kind::kElement, .parts = std::move(at), .name = name, .array = std::move(array)});
}

Expr document(std::string_view name, const std::vector<Index>& lengths, Expr token) {
  return Expr(
      {.kind = Kind::kDocument, .parts = {std::move(token)}, .name = name, .lengths = lengths});
}

Expr is_in(const std::vector<Range>& ranges, Expr index, std::string_view name) {
  return Expr({.kind = Kind::kIsIn, .parts = {std::move(index)}, .name = name, .ranges = ranges});
}

Expr other_mask(std::string_view name, const Mask& mask) {
  return Expr({.kind = Kind::kOtherMask, .parts = {query(), key()}, .name = name, .mask = mask});
}

Expr floor_divide(Expr a, Expr b) { return joined(Kind::kFloorDivide, std::move(a), std::move(b)); }
Expr floor_divide(Expr a, Index b) { return floor_divide(std::move(a), number(b)); }
Expr modulo(Expr a, Expr b) { return joined(Kind::kModulo, std::move(a), std::move(b)); }
Expr modulo(Expr a, Index b) { return modulo(std::move(a), number(b)); }
Expr where(Expr condition, Expr yes, Expr no) {
  return Expr(
      {.kind = Kind::kWhere, .parts = {std::move(condition), std::move(yes), std::move(no)}});
}

}  // namespace expr

Expr operator+(Expr a, Expr b) {
  if (b->kind == Expr::Kind::kNumber) return std::move(a) + b->number;
  return expr::joined(Expr::Kind::kAdd, std::move(a), std::move(b));
}
Expr operator+(Expr a, Index b) {
  return b == 0 ? a : expr::joined(Expr::Kind::kAdd, std::move(a), expr::number(b));
}
Expr operator-(Expr a, Expr b) {
  if (b->kind == Expr::Kind::kNumber && b->number == 0) return a;
  return expr::joined(Expr::Kind::kSubtract, std::move(a), std::move(b));
}
Expr operator==(Expr a, Expr b) {
  return expr::joined(Expr::Kind::kEqual, std::move(a), std::move(b));
}
Expr operator!=(Expr a, Index b) {
  return expr::joined(Expr::Kind::kUnequal, std::move(a), expr::number(b));
}
Expr operator<(Expr a, Expr b) {
  return expr::joined(Expr::Kind::kLess, std::move(a), std::move(b));
}
Expr operator<=(Expr a, Expr b) {
  return expr::joined(Expr::Kind::kLessEqual, std::move(a), std::move(b));
}
Expr operator&&(Expr a, Expr b) {
  if (a->kind == Expr::Kind::kNumber) return a->number != 0 ? b : a;
  if (b->kind == Expr::Kind::kNumber) return b->number != 0 ? a : b;
  return expr::joined(Expr::Kind::kAnd, std::move(a), std::move(b));
}
Expr operator||(Expr a, Expr b) {
  if (a->kind == Expr::Kind::kNumber) return a->number != 0 ? a : b;
  if (b->kind == Expr::Kind::kNumber) return b->number != 0 ? b : a;
  return expr::joined(Expr::Kind::kOr, std::move(a), std::move(b));
}
Expr operator!(Expr a) {
  if (a->kind == Expr::Kind::kNumber) return expr::truth(a->number == 0);
  if (a->kind == Expr::Kind::kNot) return a->parts.front();
  return Expr({.kind = Expr::Kind::kNot, .parts = {std::move(a)}});
}
namespace {

Index document_of(std::span<const Index> lengths, Index token) {
  Index end = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    end += lengths[i];
    if (token < end) return static_cast<Index>(i);
  }
  return -1;
}

class Evaluation {
 public:
  Evaluation(const MaskShape& shape, const Cell& cell) : shape_(shape), cell_(cell) {}

  Index of(const Expr& expr) const {
    using Kind = Expr::Kind;
    const ExprNode& node = *expr;
    const auto part = [&](std::size_t i) { return of(node.parts[i]); };
    switch (node.kind) {
      case Kind::kQuery:
        return cell_.query;
      case Kind::kKey:
        return cell_.key;
      case Kind::kBatch:
        return cell_.batch;
      case Kind::kHead:
        return cell_.head;
      case Kind::kDiagonal:
        return cell_.query + shift_of(shape_, node.align);
      case Kind::kKeys:
        return shape_.keys;
      case Kind::kNumber:
        return node.number;
      case Kind::kOfBatch:
        return element(node.array, cell_.batch);
      case Kind::kElement:
        return element(node.array, place_in(node));
      case Kind::kDocument:
        return document_of(node.lengths, part(0));
      case Kind::kIsIn:
        return any_contains(node.ranges, part(0)) ? 1 : 0;
      case Kind::kOtherMask:
        return is_open(node.mask, part(0), part(1)) ? 1 : 0;
      case Kind::kAdd:
        return part(0) + part(1);
      case Kind::kSubtract:
        return part(0) - part(1);
      case Kind::kFloorDivide:
        return floor_div(part(0), part(1));
      case Kind::kModulo:
        return part(0) - floor_div(part(0), part(1)) * part(1);
      case Kind::kEqual:
        return part(0) == part(1) ? 1 : 0;
      case Kind::kUnequal:
        return part(0) != part(1) ? 1 : 0;
      case Kind::kLess:
        return part(0) < part(1) ? 1 : 0;
      case Kind::kLessEqual:
        return part(0) <= part(1) ? 1 : 0;
      case Kind::kAnd:
        return part(0) != 0 && part(1) != 0 ? 1 : 0;
      case Kind::kOr:
        return part(0) != 0 || part(1) != 0 ? 1 : 0;
      case Kind::kNot:
        return part(0) == 0 ? 1 : 0;
      case Kind::kWhere:
        return part(0) != 0 ? part(1) : part(2);
    }
    return 0;
  }

 private:
  bool is_open(const Mask& mask, Index q, Index k) const {
    return mask.plane(cell_.batch, cell_.head)->count({q, q + 1}, {k, k + 1}) > 0;
  }
  /// The flat index of an element whose last indices are the values of the node's parts. The axes
  /// in front of them are batch and head; an axis of extent 1 is broadcast.
  Index place_in(const ExprNode& node) const {
    const Tensor& array = node.array;
    const auto parts = static_cast<Index>(node.parts.size());
    const Index before = array.rank() - parts;
    Index at = 0;
    if (before > 0 && array.extent(0) > 1) at = cell_.batch;
    if (before > 1) at = at * array.extent(1) + (array.extent(1) > 1 ? cell_.head : 0);
    for (Index i = 0; i < parts; ++i) {
      at = at * array.extent(before + i) + of(node.parts[as_size(i)]);
    }
    return at;
  }

  const MaskShape& shape_;
  const Cell& cell_;
};

}  // namespace

Expr replaced(const Expr& expr,
              const std::function<std::optional<Expr>(const ExprNode& node)>& replace) {
  if (const auto other = replace(*expr)) return *other;
  if (expr->parts.empty()) return expr;
  ExprNode node = *expr;
  for (Expr& part : node.parts) part = replaced(part, replace);
  return Expr(std::move(node));
}

Index evaluate(const Expr& expr, const MaskShape& shape, const Cell& cell) {
  return Evaluation(shape, cell).of(expr);
}

}  // namespace maskctl
