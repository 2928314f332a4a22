#include "maskctl/translate/write/formula.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/mask/steps/scoped.h"
#include "maskctl/mask/steps/slice.h"
#include "maskctl/mask/steps/within.h"
#include "maskctl/tensor/convert.h"
#include "maskctl/translate/write/array_module.h"
#include "maskctl/translate/write/code.h"

namespace maskctl {
namespace {

/// The most tokens of documents that have numbers of their own, and cells of another mask that goes
/// into a file.
constexpr Index kMostTokens = Index{1} << 20, kMostCells = Index{1} << 26;

/// What all writers of one formula share: the arrays that the formula reads.
class Arrays {
 public:
  explicit Arrays(const Library& library) : library_(library) {}

  /// The name of an array with this value: the stem, plus a number if the stem is taken.
  std::string named(const std::string& stem, const std::string& value) {
    std::size_t same = 1;
    for (const Definition& other : definitions_) {
      if (other.stem != stem) continue;
      if (other.value == value) return other.name;
      ++same;
    }
    const std::string name = same == 1 ? stem : fmt::format("{}{}", stem, same);
    definitions_.push_back({stem, value, name});
    formula.tensors.push_back(fmt::format("{} = {}", name, value));
    return name;
  }
  /// An array of whole numbers, written out or in a file beside the code. Its leading axes of 1 are
  /// left out; `inner` axes stay.
  std::string numbers(const std::string& stem, const Tensor& array, Index inner = 1) {
    const auto values = as_int64(array, stem.c_str());
    std::vector<Index> shape = array.shape();
    while (std::ssize(shape) > inner && shape.front() == 1) shape.erase(shape.begin());
    if (std::ssize(shape) > inner && array.extent(0) > 1) note_batches(array.extent(0));
    if (array.elements() > Index{kListedNumbers}) {
      const std::string name = named(stem, load(fmt::format("np.load(\"{}.npy\")", stem)));
      Tensor copy(DType::kInt32, shape);
      std::ranges::transform(values, copy.as<std::int32_t>().begin(),
                             [](Index n) { return static_cast<std::int32_t>(n); });
      formula.arrays.push_back({name, std::move(copy)});
      return name;
    }
    return named(stem, load(nested(values, shape)));
  }
  std::string numbers(const std::string& stem, const std::vector<Index>& values) {
    Tensor array(DType::kInt64, {static_cast<Index>(values.size())});
    std::ranges::copy(values, array.as<std::int64_t>().begin());
    return numbers(stem, array);
  }
  /// The formula reads an array with one entry for each of `count` batches.
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
    if (formula.tokens == count) return;  // already noted for another array
    note(fmt::format("{} holds {} tokens: for Q_LEN = KV_LEN = {}", name, count, count));
    if (!formula.tokens) formula.tokens = count;
  }
  std::string_view module() const { return library_.module->name; }
  std::string repeated(const std::vector<Index>& lengths) const {
    return fmt::format(fmt::runtime(library_.module->repeated), lengths.size(),
                       joined(lengths, ", "));
  }
  /// True for the tokens in the ranges, with as many entries as indices are possible. Nothing
  /// without a name, or for many tokens.
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
  /// "[[1, 2], [3, 4]]".
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

/// Writes expressions in Python. Comparisons stand in parentheses, as & and | bind closer there.
class Printer {
 public:
  explicit Printer(Arrays& arrays) : arrays_(arrays) {}

  std::string of(const Expr& expr) { return text(expr, kOr); }
  std::string condition(const Expr& expr) { return truth(expr); }

  std::string missing;  // why an expression cannot be written

 private:
  enum Level { kOr, kAnd, kSum, kProduct, kAtom };

  /// The text, in parentheses where it binds less than it must.
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
    const std::string first = text(node.parts[0], level);  // its arrays are defined first
    const std::string second = text(node.parts[1], either ? level : static_cast<Level>(level + 1));
    return {fmt::format("{} {} {}", first, sign, second), level};
  }
  Written compared(const ExprNode& node, std::string_view sign) {
    const std::string first = text(node.parts[0], kOr);
    const std::string second = text(node.parts[1], kOr);
    return {fmt::format("({} {} {})", first, sign, second)};
  }
  /// The key stands first: kv_idx >= KV_LEN - 3.
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
  /// A constant must have the shape of the others.
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

/// a + 3, a - 3, a + b.
Printer::Written Printer::sum(const ExprNode& node) {
  const ExprNode& second = *node.parts[1];
  if (second.kind != Expr::Kind::kNumber || second.number > 0) return infix(node, "+", kSum);
  return {fmt::format("{} - {}", text(node.parts[0], kSum), -second.number), kSum};
}

/// Arrays of documents end with the last document, so no token is past it.
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

/// Folds the steps of a chain into one expression for an all-open mask.
class Composer {
 public:
  explicit Composer(const StepName& name) : name_(name) {}

  /// False when a step has no formula; `missing` says which, and why.
  bool add(const Chain& chain) {
    return std::ranges::all_of(chain, [this](const Step& step) { return add(step); });
  }

  Expr mask = expr::truth(true);
  std::string missing;
  std::vector<std::string> notes;

 private:
  using Mapping = std::function<Expr(const Expr&)>;

  bool add(const Step& step);
  bool add_scope(const Step& step, const step::Scoped& scope);
  bool add_documents(const Step& step, const step::Within& within);
  bool slice(const Step& step, const step::Slice& part);
  bool refuse(const Step& step, std::string_view why) {
    missing = fmt::format("{} has no formula: {}", name_(step), why);
    return false;
  }

  const StepName& name_;
  Mapping to_mask_ = [](const Expr& expr) { return expr; };  // maps a rule's indices to the mask's
};

Expr met(Meets how, const Expr& mask, const Expr& cells) {
  switch (how) {
    case Meets::kKeeps:
      return mask && cells;
    case Meets::kOpens:
      return mask || cells;
    case Meets::kCloses:
      return mask && !cells;
    case Meets::kFlips:
      return cells->kind == Expr::Kind::kNumber ? !mask : (mask && !cells) || (!mask && cells);
    case Meets::kReplaces:
    case Meets::kOwn:
      break;
  }
  return cells;
}

bool Composer::add(const Step& step) {
  if (const auto* scope = step.get_if<step::Scoped>()) return add_scope(step, *scope);
  if (const auto* within = step.get_if<step::Within>()) {
    return add_documents(step, *within);
  }
  if (const auto* part = step.get_if<step::Slice>()) return slice(step, *part);
  const RuleInfo& rule = step.row();
  const CellFormula formula = rule.formula(step);
  if (!formula.cells) return refuse(step, formula.missing);
  mask = met(rule.meets(step), mask, to_mask_(*formula.cells));
  return true;
}

/// True when an array of the expression has a number for each batch, or head.
bool differs_along(const Expr& expr, step::Scoped::Axis axis) {
  const ExprNode& node = *expr;
  const bool heads = axis == step::Scoped::Axis::kHeads;
  const Index outer = node.array.rank() - std::ssize(node.parts);
  const Index along = heads ? 1 : 0;
  const bool array =
      node.kind == Expr::Kind::kElement && outer > along && node.array.extent(along) > 1;
  const bool other =
      node.kind == Expr::Kind::kOtherMask && (heads ? node.mask.heads() : node.mask.batch()) > 1;
  return array || other || (!heads && node.kind == Expr::Kind::kOfBatch) ||
         std::ranges::any_of(node.parts,
                             [&](const Expr& part) { return differs_along(part, axis); });
}

/// Applies the chain on some heads or batches and keeps the mask so far on the others.
bool Composer::add_scope(const Step& step, const step::Scoped& scope) {
  Composer inner(*this);
  inner.mask = expr::truth(true);
  if (!inner.add(scope.chain)) {
    missing = inner.missing;
    return false;
  }
  const bool from_first = scope.members.size() == 1 && scope.members.front().begin == 0;
  if (!from_first && differs_along(inner.mask, scope.axis)) {
    return refuse(step, "its arrays count the members only");
  }
  inner.mask = mask;
  inner.add(scope.chain);
  const Expr member = scope.axis == step::Scoped::Axis::kHeads ? expr::head() : expr::batch();
  mask = expr::where(expr::is_in(scope.members, member), inner.mask, mask);
  notes = std::move(inner.notes);
  return true;
}

/// Per token: its position in its document, and the document's lengths.
struct DocumentSide {
  std::vector<Index> position, queries, keys;
};

DocumentSide document_side(const std::vector<Index>& own, const std::vector<Index>& queries,
                           const std::vector<Index>& keys) {
  DocumentSide out;
  for (std::size_t d = 0; d < own.size(); ++d) {
    for (Index i = 0; i < own[d]; ++i) out.position.push_back(i);
    out.queries.insert(out.queries.end(), as_size(own[d]), queries[d]);
    out.keys.insert(out.keys.end(), as_size(own[d]), keys[d]);
  }
  return out;
}

/// Applies the chain with positions and lengths relative to the document of each token.
bool Composer::add_documents(const Step& step, const step::Within& within) {
  if (within.lengths.empty()) return refuse(step, "it has ids that are not lengths");
  const bool shared = within.kv_lengths.empty() || within.kv_lengths == within.lengths;
  const std::vector<Index>& queries = within.lengths;
  const std::vector<Index>& keys = shared ? within.lengths : within.kv_lengths;
  const Index total_q = std::accumulate(queries.begin(), queries.end(), Index{0});
  const Index total_k = std::accumulate(keys.begin(), keys.end(), Index{0});
  if (std::max(total_q, total_k) > kMostTokens) return refuse(step, "it has too many tokens");
  const Expr row = expr::of_tokens(shared);
  const auto numbers = [](std::string_view stem, const std::vector<Index>& values, const Expr& at) {
    return expr::element(stem, fields::numbers(values).array, {at});
  };
  const DocumentSide q = document_side(queries, queries, keys);
  const DocumentSide k = document_side(keys, queries, keys);
  const Expr query = numbers("q_pos", q.position, row);
  const Expr key = numbers(shared ? "q_pos" : "kv_pos", k.position, expr::key());
  const Expr all_keys = numbers(shared ? "q_len" : "kv_len", q.keys, row);
  const Expr last = shared ? query : query + all_keys - numbers("q_len", q.queries, row);
  Composer inner(*this);
  inner.to_mask_ = [&](const Expr& own) {
    return to_mask_(replaced(own, [&](const ExprNode& leaf) -> std::optional<Expr> {
      if (leaf.kind == Expr::Kind::kQuery) return query;
      if (leaf.kind == Expr::Kind::kKey) return key;
      if (leaf.kind == Expr::Kind::kKeys) return all_keys;
      if (leaf.kind != Expr::Kind::kDiagonal) return std::nullopt;
      return leaf.align == Align::kBottomRight ? last : query;
    }));
  };
  const Expr same = to_mask_(expr::document("doc_id", queries, row) ==
                             expr::document(shared ? "doc_id" : "kv_doc_id", keys, expr::key()));
  if (!inner.add(within.chain)) {
    missing = inner.missing;
    return false;
  }
  mask = inner.mask && same;
  notes = std::move(inner.notes);
  if (!shared) {
    notes.push_back(
        fmt::format("the arrays hold {0} queries and {1} keys: for Q_LEN = {0}, KV_LEN = {1}",
                    total_q, total_k));
  }
  return true;
}

/// Slices the mask: indices start at 0 again, so the formulas so far get larger ones.
bool Composer::slice(const Step& step, const step::Slice& part) {
  using Kind = Expr::Kind;
  const auto begin = [](const std::optional<Range>& range) { return range ? range->begin : 0; };
  bool sized = false;  // reads the size of the mask before, which the code does not have
  mask = replaced(mask, [&](const ExprNode& leaf) -> std::optional<Expr> {
    sized = sized || leaf.kind == Kind::kKeys || leaf.kind == Kind::kOfBatch ||
            leaf.kind == Kind::kElement || leaf.kind == Kind::kDocument ||
            leaf.kind == Kind::kOtherMask ||
            (leaf.kind == Kind::kDiagonal && leaf.align == Align::kBottomRight);
    if (leaf.kind == Kind::kQuery || leaf.kind == Kind::kDiagonal) {
      return expr::query() + begin(part.q);
    }
    if (leaf.kind == Kind::kKey) return expr::key() + begin(part.k);
    if (leaf.kind == Kind::kBatch) return expr::batch() + begin(part.b);
    if (leaf.kind == Kind::kHead) return expr::head() + begin(part.h);
    return std::nullopt;
  });
  return sized ? refuse(step, "the mask before it has other sizes") : true;
}

}  // namespace

bool Formula::reads_lengths() const {
  const auto reads = [](const std::string& text) {
    return text.find("Q_LEN") != text.npos || text.find("KV_LEN") != text.npos;
  };
  return reads(expression) || std::ranges::any_of(tensors, reads);
}

Formula formula_of(const Chain& chain, const StepName& name, const Library& library) {
  Arrays arrays(library);
  Composer composer(name);
  if (!composer.add(chain)) {
    arrays.formula.missing = composer.missing;
    return std::move(arrays.formula);
  }
  Printer printer(arrays);
  arrays.formula.expression = printer.condition(composer.mask);
  for (const std::string& note : composer.notes) arrays.note(note);
  arrays.formula.missing = printer.missing;
  return std::move(arrays.formula);
}

}  // namespace maskctl
