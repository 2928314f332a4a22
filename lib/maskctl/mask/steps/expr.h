// What a rule says about one cell as a small tree: it can be evaluated, and written as code.
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

/// A whole number, or a truth value (0 or 1), for one cell. An immutable value, cheap to copy.
class Expr {
 public:
  enum class Kind : std::uint8_t {
    kQuery,
    kKey,
    kBatch,
    kHead,
    kDiagonal,  // the key beside the query: q, or q + K - Q with align bottom-right
    kKeys,      // K
    kNumber,
    kOfBatch,    // the number of this batch in an array [1] or [B]
    kElement,    // an element of an array, at the indices that the parts give
    kDocument,   // the number of the document, by lengths, that the part lies in; -1 past the last
    kIsIn,       // whether the part lies in one of some ranges
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
    kWhere,  // the second part where the first holds, else the third
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
  Tensor array = {};           // axes before those of the parts are the batch, then the head
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
/// The index of the key that is the query's own token. Unset: K = Q.
Expr diagonal(Align align);
/// The query's index in an array of tokens; if keys share the array, that of its own token's key.
Expr of_tokens(bool shared);
/// A single number, or the number of this batch; `absent` for an empty array.
Expr of_batch(std::string_view name, const NamedArray& array, Index absent = 0);
Expr element(std::string_view name, Tensor array, std::vector<Expr> at);
Expr document(std::string_view name, const std::vector<Index>& lengths, Expr token);
/// `name` is a table of the tokens in the ranges, which code may read instead.
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
Expr operator+(Expr a, Index b);  // a itself for 0
Expr operator-(Expr a, Expr b);
Expr operator==(Expr a, Expr b);
Expr operator!=(Expr a, Index b);
Expr operator<(Expr a, Expr b);
Expr operator<=(Expr a, Expr b);
Expr operator&&(Expr a, Expr b);
Expr operator||(Expr a, Expr b);
Expr operator!(Expr a);

/// The formula of a rule's cells, or why there is none.
struct CellFormula {
  std::optional<Expr> cells;
  std::string_view missing = {};

  CellFormula(Expr expr) : cells(std::move(expr)) {}  // NOLINT: a formula is an expression
  explicit CellFormula(std::string_view why) : missing(why) {}
};
inline CellFormula no_formula(std::string_view why) { return CellFormula(why); }

/// The expression with some nodes replaced; inside the new nodes nothing is replaced.
Expr replaced(const Expr& expr,
              const std::function<std::optional<Expr>(const ExprNode& node)>& replace);

/// The value for one cell of a mask of this shape.
Index evaluate(const Expr& expr, const MaskShape& shape, const Cell& cell);

}  // namespace maskctl
