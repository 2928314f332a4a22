#include "maskctl/translate/write/formula.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "maskctl/base/text.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/tensor/convert.h"
#include "maskctl/translate/write/array_module.h"
#include "maskctl/translate/write/chain_formula.h"
#include "maskctl/translate/write/code.h"

namespace maskctl {
namespace {

/// The most cells of another mask (and:FILE, ...) that are put into a file beside the code.
constexpr Index kMostCells = Index{1} << 26;

/// The arrays that a formula reads, and the notes about them.
class Arrays {
 public:
  explicit Arrays(const Library& library) : library_(library) {}

  /// Defines an array with this value and returns its name: `stem`, with a number if the name is
  /// taken. An array with the same stem and value is reused.
  std::string named(const std::string& stem, const std::string& value) {
    for (const Definition& other : definitions_) {
      if (other.stem == stem && other.value == value) return other.name;
    }
    const std::string name = fresh_name(stem);
    define(stem, value, name);
    return name;
  }
  /// An array of whole numbers, written into the code or into a file beside it. Leading axes of
  /// length 1 are removed, but `inner` axes are kept.
  std::string numbers(const std::string& stem, const Tensor& array, Index inner = 1) {
    const auto values = as_int64(array, stem.c_str());
    std::vector<Index> shape = array.shape();
    while (std::ssize(shape) > inner && shape.front() == 1) shape.erase(shape.begin());
    if (std::ssize(shape) > inner && array.extent(0) > 1) note_batches(array.extent(0));
    if (array.elements() <= Index{kListedNumbers}) return named(stem, load(nested(values, shape)));
    Tensor copy(DType::kInt32, shape);
    std::ranges::transform(values, copy.as<std::int32_t>().begin(),
                           [](Index n) { return static_cast<std::int32_t>(n); });
    return in_file(stem, std::move(copy));
  }
  std::string numbers(const std::string& stem, const std::vector<Index>& values) {
    Tensor array(DType::kInt64, {static_cast<Index>(values.size())});
    std::ranges::copy(values, array.as<std::int64_t>().begin());
    return numbers(stem, array);
  }
  /// Records that the formula reads an array with one entry for each of `count` batches.
  void note_batches(Index count) {
    formula.batches = true;
    note(fmt::format("the arrays hold {0} batch entries: for a batch of {0}", count));
  }
  void note(const std::string& text) {
    if (std::ranges::find(formula.notes, text) == formula.notes.end()) {
      formula.notes.push_back(text);
    }
  }
  void note_tokens(const std::string& name, Index count) {
    if (formula.tokens == count) return;  // noted for another array of this length
    note(fmt::format("{} holds {} tokens: for Q_LEN = KV_LEN = {}", name, count, count));
    if (!formula.tokens) formula.tokens = count;
  }
  std::string_view module() const { return library_.module->name; }
  std::string repeated(const std::vector<Index>& lengths) const {
    return fmt::format(fmt::runtime(library_.module->repeated), lengths.size(),
                       joined(lengths, ", "));
  }
  /// An array that is True for the tokens in the ranges, with an entry for every possible index.
  /// Nothing if `stem` is empty or a range has more than kListedNumbers tokens.
  std::optional<std::string> table(const std::string& stem, const std::vector<Range>& ranges) {
    std::vector<Index> tokens;
    for (const Range& range : ranges) {
      if (stem.empty() || range.size() > Index{kListedNumbers}) return std::nullopt;
      for (Index i = range.begin; i < range.end; ++i) tokens.push_back(i);
    }
    return named(stem, fmt::format("{0}.isin({0}.arange(max(Q_LEN, KV_LEN){1}), {2})", module(),
                                   library_.module->device,
                                   load(fmt::format("[{}]", joined(tokens, ", ")))));
  }
  bool counts_from_cache() const { return library_.counts_from_cache; }

  Formula formula;

 private:
  /// The numbers as nested lists: "[[1, 2], [3, 4]]".
  static std::string nested(std::span<const std::int64_t> values, std::span<const Index> shape) {
    if (shape.empty()) return std::to_string(values.front());
    std::string out;
    const std::size_t size = shape.front() == 0 ? 0 : values.size() / as_size(shape.front());
    for (std::size_t i = 0; i < as_size(shape.front()); ++i) {
      out += fmt::format("{}{}", i == 0 ? "" : ", ",
                         nested(values.subspan(i * size, size), shape.subspan(1)));
    }
    return fmt::format("[{}]", out);
  }
  /// `stem` as a name that Python takes, with a number if it is that of another array.
  std::string fresh_name(const std::string& stem) const {
    const std::string plain = python_name(stem);
    const auto same = std::ranges::count(definitions_, stem, &Definition::stem);
    return same == 0 ? plain : fmt::format("{}{}", plain, same + 1);
  }
  void define(const std::string& stem, const std::string& value, const std::string& name) {
    definitions_.push_back({stem, value, name});
    formula.tensors.push_back(fmt::format("{} = {}", name, value));
  }
  /// An array that the code reads from a file of its name; an equal one is reused.
  std::string in_file(const std::string& stem, Tensor array) {
    for (const Translation::Array& other : formula.arrays) {
      const bool same = other.array.shape() == array.shape() &&
                        std::ranges::equal(other.array.bytes(), array.bytes());
      if (same) return other.name;
    }
    const std::string name = fresh_name(stem);
    define(stem, load(fmt::format("np.load(\"{}.npy\")", name)), name);
    formula.arrays.push_back({name, std::move(array)});
    return name;
  }
  std::string load(const std::string& values) const {
    std::string text(library_.array);
    text.replace(text.find("[{}]"), 4, values);
    return text;
  }

  struct Definition {
    std::string stem, value, name;
  };
  const Library& library_;
  std::vector<Definition> definitions_;
};

/// Writes expressions in Python. Comparisons are put in parentheses, because & and | bind tighter
/// in Python.
class Printer {
 public:
  explicit Printer(Arrays& arrays) : arrays_(arrays) {}

  std::string of(const Expr& expr) { return text(expr, kOr); }
  std::string condition(const Expr& expr) { return truth(expr); }

  std::string missing;  // why some expression cannot be written

 private:
  enum Level { kOr, kAnd, kSum, kProduct, kAtom };

  /// The text of an expression, in parentheses if its operator has lower precedence than `least`.
  std::string text(const Expr& expr, Level least) {
    const auto [words, level] = written(*expr);
    return level < least ? fmt::format("({})", words) : words;
  }
  struct Written {
    std::string words;
    Level level = kAtom;
  };
  Written written(const ExprNode& node);
  Written infix(const ExprNode& node, std::string_view sign, Level level) {
    const bool either = level == kOr || level == kAnd;
    // Separate statements, so that the arrays of the left operand are defined first.
    const std::string first = text(node.parts[0], level);
    const std::string second = text(node.parts[1], either ? level : static_cast<Level>(level + 1));
    return {fmt::format("{} {} {}", first, sign, second), level};
  }
  Written compared(const ExprNode& node, std::string_view sign) {
    const std::string first = text(node.parts[0], kOr);
    const std::string second = text(node.parts[1], kOr);
    return {fmt::format("({} {} {})", first, sign, second)};
  }
  /// Writes a comparison <=; a key is put on the left: kv_idx >= KV_LEN - 3.
  Written at_most(const ExprNode& node) {
    if (node.parts[1]->kind != Expr::Kind::kKey) return compared(node, "<=");
    return {fmt::format("({} >= {})", of(node.parts[1]), of(node.parts[0]))};
  }
  Written sum(const ExprNode& node);
  Written choice(const ExprNode& node);
  Written conjunction(const ExprNode& node);
  Written query() const {
    return arrays_.counts_from_cache() ? Written{"q_idx + Q_LEN - KV_LEN", kSum} : Written{"q_idx"};
  }
  Written diagonal(Align align) const {
    if (align == Align::kTopLeft) return query();
    if (align == Align::kUnset || arrays_.counts_from_cache()) return {"q_idx"};
    return {"q_idx + KV_LEN - Q_LEN", kSum};
  }
  Written of_batch(const ExprNode& node) {
    arrays_.note_batches(node.array.elements());
    return {arrays_.numbers(std::string(node.name), node.array) + "[b]"};
  }
  Written element(const ExprNode& node);
  Written other(const ExprNode& node);
  Written document(const ExprNode& node);
  Written is_in(const ExprNode& node);
  /// A condition as an array. A constant is written as a comparison so that it has the shape of an
  /// array.
  std::string truth(const Expr& expr) {
    if (expr->kind != Expr::Kind::kNumber) return of(expr);
    return expr->number != 0 ? "(kv_idx >= 0)" : "(kv_idx < 0)";
  }
  static bool at_tokens(const Expr& index) {
    return index->kind == Expr::Kind::kDiagonal && index->align == Align::kUnset;
  }

  Arrays& arrays_;
};

Printer::Written Printer::written(const ExprNode& node) {
  using Kind = Expr::Kind;
  switch (node.kind) {
    case Kind::kQuery:
      return query();
    case Kind::kKey:
      return {"kv_idx"};
    case Kind::kBatch:
      arrays_.formula.batches = true;
      return {"b"};
    case Kind::kHead:
      arrays_.formula.heads = true;
      return {"h"};
    case Kind::kDiagonal:
      return diagonal(node.align);
    case Kind::kKeys:
      return {"KV_LEN"};
    case Kind::kNumber:
      return {std::to_string(node.number)};
    case Kind::kOfBatch:
      return of_batch(node);
    case Kind::kElement:
      return element(node);
    case Kind::kDocument:
      return document(node);
    case Kind::kIsIn:
      return is_in(node);
    case Kind::kOtherMask:
      return other(node);
    case Kind::kAdd:
      return sum(node);
    case Kind::kSubtract:
      return infix(node, "-", kSum);
    case Kind::kFloorDivide:
      return infix(node, "//", kProduct);
    case Kind::kModulo:
      return infix(node, "%", kProduct);
    case Kind::kEqual:
      return compared(node, "==");
    case Kind::kUnequal:
      return compared(node, "!=");
    case Kind::kLess:
      return compared(node, "<");
    case Kind::kLessEqual:
      return at_most(node);
    case Kind::kAnd:
      return conjunction(node);
    case Kind::kOr:
      return infix(node, "|", kOr);
    case Kind::kNot:
      return {"~" + text(node.parts[0], kAtom)};
    case Kind::kWhere:
      return choice(node);
  }
  return {};
}

Printer::Written Printer::choice(const ExprNode& node) {
  const std::string condition = of(node.parts[0]);
  const std::string yes = truth(node.parts[1]), no = truth(node.parts[2]);
  return {fmt::format("{}.where({}, {}, {})", arrays_.module(), condition, yes, no)};
}

/// Writes a sum: a + 3, a - 3 or a + b.
Printer::Written Printer::sum(const ExprNode& node) {
  const ExprNode& second = *node.parts[1];
  if (second.kind != Expr::Kind::kNumber || second.number > 0) return infix(node, "+", kSum);
  return {fmt::format("{} - {}", text(node.parts[0], kSum), -second.number), kSum};
}

/// Writes "and". A test that a token is in some document is left out: the arrays written here have
/// no tokens after the last document.
Printer::Written Printer::conjunction(const ExprNode& node) {
  const ExprNode& second = *node.parts[1];
  if (second.kind == Expr::Kind::kUnequal && second.parts[0]->kind == Expr::Kind::kDocument) {
    return written(*node.parts[0]);
  }
  return infix(node, "&", kAnd);
}

Printer::Written Printer::element(const ExprNode& node) {
  const Tensor array =
      node.array.dtype() == DType::kBool ? astype(node.array, DType::kInt32) : node.array;
  const auto inner = std::ssize(node.parts);
  const std::string name = arrays_.numbers(std::string(node.name), array, inner);
  std::string at;
  const Index outer = array.rank() - inner;
  const bool heads = outer > 1 && array.extent(1) > 1;
  if (outer > 0 && (array.extent(0) > 1 || heads)) at += array.extent(0) > 1 ? "b, " : "0, ";
  if (heads) at += "h, ";
  if (heads) arrays_.formula.heads = true;
  if (!heads && outer > 1 && array.extent(0) > 1) at += "0, ";
  for (const Expr& index : node.parts) {
    if (at_tokens(index)) arrays_.note_tokens(name, array.extent(array.rank() - 1));
    at += of(index) + ", ";
  }
  at.resize(at.size() - 2);
  return {fmt::format("{}[{}]", name, at)};
}

Printer::Written Printer::other(const ExprNode& node) {
  if (node.mask.cells() > kMostCells) {
    missing = fmt::format("the other mask has {} cells", node.mask.cells());
    return {"other"};
  }
  ExprNode array = node;
  array.array = dense_from_mask(node.mask, kMostCells);
  return {fmt::format("({} != 0)", element(array).words)};
}

Printer::Written Printer::document(const ExprNode& node) {
  const std::string name = arrays_.named(std::string(node.name), arrays_.repeated(node.lengths));
  if (at_tokens(node.parts[0])) {
    arrays_.note_tokens(name, std::accumulate(node.lengths.begin(), node.lengths.end(), Index{0}));
  }
  return {fmt::format("{}[{}]", name, of(node.parts[0]))};
}

Printer::Written Printer::is_in(const ExprNode& node) {
  const std::string index = of(node.parts[0]);
  if (const auto table = arrays_.table(std::string(node.name), node.ranges)) {
    return {fmt::format("{}[{}]", *table, index)};
  }
  std::string out;
  for (const Range& range : node.ranges) {
    if (!out.empty()) out += " | ";
    if (range.size() == 1) {
      out += fmt::format("({} == {})", index, range.begin);
    } else if (range.begin == 0) {
      out += fmt::format("({} < {})", index, range.end);
    } else {
      out += fmt::format("({0} >= {1}) & ({0} < {2})", index, range.begin, range.end);
    }
  }
  const bool is_one = node.ranges.size() == 1;
  return {out, is_one && node.ranges.front().size() == 1 ? kAtom : is_one ? kAnd : kOr};
}

bool names_lengths(const std::string& text) {
  return text.find("Q_LEN") != text.npos || text.find("KV_LEN") != text.npos;
}

}  // namespace

bool Formula::reads_lengths() const { return names_lengths(expression) || arrays_read_lengths(); }

bool Formula::arrays_read_lengths() const { return std::ranges::any_of(tensors, names_lengths); }

Formula formula_of(const ChainFormula& cells, const Library& library) {
  Arrays arrays(library);
  if (!cells.missing.empty()) {
    arrays.formula.missing = cells.missing;
    return std::move(arrays.formula);
  }
  Printer printer(arrays);
  arrays.formula.expression = printer.condition(cells.mask);
  for (const std::string& note : cells.notes) arrays.note(note);
  arrays.formula.missing = printer.missing;
  return std::move(arrays.formula);
}

Formula formula_of(const Chain& chain, const StepName& name, const Library& library) {
  return formula_of(chain_formula(chain, name), library);
}

}  // namespace maskctl
