// The formula of a rule's cells as an expression tree, which can be evaluated or written as code.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/mask/cell.h"
#include "maskctl/mask/mask.h"
#include "maskctl/mask/steps/named_array.h"

namespace maskctl {

/// The extents of the mask to which a step is applied.
struct MaskShape {
  Index batch = 0, heads = 0, queries = 0, keys = 0;
};

struct ExprNode;

/// An expression that has a value for each cell: a whole number, or a truth value (0 or 1).
/// Immutable and cheap to copy.
class Expr {
 public:
  enum class Kind : std::uint8_t {
    kQuery,
    kKey,
    kBatch,
    kHead,
    kDiagonal,  // q, or q + K - Q with align bottom-right
    kKeys,      // K, the number of keys
    kNumber,
    kOfBatch,  // this batch's number in an array [1] or [B]
    kElement,  // the element of an array at the indices that `parts` give
    // number of the document (by lengths) that contains token parts[0]; -1 past the last
    kDocument,
    kIsIn,       // whether parts[0] is in one of the ranges
    kOtherMask,  // whether the cell is open in another mask
    kAdd,
    kSubtract,
    kFloorDivide,
    kModulo,
    kEqual,
    kUnequal,
    kLess,
    kLessEqual,
    kAnd,
    kOr,
    kNot,
    kWhere,  // parts[0] ? parts[1] : parts[2]
  };

  explicit Expr(ExprNode node);
  const ExprNode* operator->() const { return node_.get(); }
  const ExprNode& operator*() const { return *node_; }

 private:
  std::shared_ptr<const ExprNode> node_;
};

struct ExprNode {
  Expr::Kind kind;
  std::vector<Expr> parts = {};
  Index number = 0;
  Align align = Align::kUnset;
  std::string_view name = {};  // what the array holds: "doc_id"
  Tensor array = {};           // axes in front of those that `parts` index: batch, then head
  std::vector<Index> lengths = {};
  std::vector<Range> ranges = {};
  Mask mask = {};
};

namespace expr {

Expr query();
Expr key();
Expr batch();
Expr head();
Expr keys();
Expr number(Index value);
/// The key of the query's own token: q, or q + K - Q for kBottomRight. kUnset requires K = Q.
Expr diagonal(Align align);
/// The index of the query in an array with one entry per token: diagonal(kUnset) if queries and
/// keys share the array, else q.
Expr of_tokens(bool shared);
/// The number for this batch in an array [1] or [B]; `absent` for an empty array.
Expr of_batch(std::string_view name, const NamedArray& array, Index absent = 0);
Expr element(std::string_view name, Tensor array, std::vector<Expr> at);
Expr document(std::string_view name, const std::vector<Index>& lengths, Expr token);
/// Whether `index` is in one of the ranges. Code may read this from a table called `name` instead.
Expr is_in(const std::vector<Range>& ranges, Expr index, std::string_view name = {});
Expr other_mask(std::string_view name, const Mask& mask);
Expr truth(bool value);

Expr floor_divide(Expr a, Expr b);
Expr floor_divide(Expr a, Index b);
Expr modulo(Expr a, Expr b);
Expr modulo(Expr a, Index b);
Expr where(Expr condition, Expr yes, Expr no);

}  // namespace expr

Expr operator+(Expr a, Expr b);
Expr operator+(Expr a, Index b);  // returns a if b is 0
Expr operator-(Expr a, Expr b);
Expr operator==(Expr a, Expr b);
Expr operator!=(Expr a, Index b);
Expr operator<(Expr a, Expr b);
Expr operator<=(Expr a, Expr b);
Expr operator&&(Expr a, Expr b);
Expr operator||(Expr a, Expr b);
Expr operator!(Expr a);

/// The formula of a rule's cells, or the reason why it has none.
struct CellFormula {
  std::optional<Expr> cells;
  std::string_view missing = {};

  CellFormula(Expr expr) : cells(std::move(expr)) {}  // NOLINT: a formula is an expression
  explicit CellFormula(std::string_view why) : missing(why) {}
};
inline CellFormula no_formula(std::string_view why) { return CellFormula(why); }

/// The expression with those nodes replaced for which `replace` returns a value; does not replace
/// anything inside the new nodes.
Expr replaced(const Expr& expr,
              const std::function<std::optional<Expr>(const ExprNode& node)>& replace);

/// The value of the expression for one cell of a mask of this shape.
Index evaluate(const Expr& expr, const MaskShape& shape, const Cell& cell);

}  // namespace maskctl
