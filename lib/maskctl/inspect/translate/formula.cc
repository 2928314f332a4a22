#include "maskctl/inspect/translate/formula.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "maskctl/inspect/translate/code.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

constexpr Index kWrittenNumbers = 64;  // the most numbers that are written out

// transformers counts q_idx from the first cached token: its row.
constexpr const char* kRowOfCache = "(q_idx + Q_LEN - KV_LEN)";

/// "q_idx", "(q_idx + 3)".
std::string plus(const std::string& term, Index offset) {
  if (offset == 0) return term;
  return fmt::format("({} {} {})", term, offset < 0 ? '-' : '+', std::abs(offset));
}

bool opens(const Step& step) {
  return std::holds_alternative<step::Prefix>(step.rule) ||
         std::holds_alternative<step::Sinks>(step.rule) ||
         std::holds_alternative<step::Global>(step.rule);
}

/// What all writers of one formula share: the arrays that the formula reads.
class Arrays {
 public:
  explicit Arrays(Library library) : library_(library) {}

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
  /// An array of whole numbers [n] or [B, n], written out or in a file beside the code.
  std::string numbers(const std::string& stem, const Tensor& array) {
    const auto values = as_int64(array, stem.c_str());
    if (array.rank() > 1 && array.extent(0) > 1) note_batches(array.extent(0));
    if (array.elements() > kWrittenNumbers) {
      const std::string name = named(stem, load(fmt::format("np.load(\"{}.npy\")", stem)));
      Tensor copy(DType::kInt32, array.shape());
      std::ranges::transform(values, copy.as<std::int32_t>().begin(),
                             [](Index n) { return static_cast<std::int32_t>(n); });
      formula.arrays.push_back({name, std::move(copy)});
      return name;
    }
    std::string rows;
    const bool matrix = array.rank() > 1 && array.extent(0) > 1;
    const Index width = array.extent(array.rank() - 1);
    for (Index i = 0; i < array.elements(); i += width) {
      const std::string row = joined({values.begin() + i, values.begin() + i + width}, ", ");
      rows += rows.empty() ? "" : ", ";
      rows += matrix ? fmt::format("[{}]", row) : row;
    }
    return named(stem, load(fmt::format("[{}]", rows)));
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
    note(fmt::format("{} holds {} tokens: for Q_LEN = KV_LEN = {}", name, count, count));
    if (!formula.tokens) formula.tokens = count;
  }
  /// The module that has repeat_interleave, arange and isin.
  std::string_view module() const {
    if (library_ == Library::kJax) return "jnp";
    return library_ == Library::kFlashmask ? "paddle" : "torch";
  }
  std::string repeated(const std::vector<Index>& lengths) const {
    const std::string list = joined(lengths, ", ");
    if (library_ == Library::kJax) {
      return fmt::format("jnp.repeat(jnp.arange({}), jnp.array([{}]))", lengths.size(), list);
    }
    const char* device = library_ == Library::kHf ? ".to(device)" : ".to(q.device)";
    return fmt::format("torch.repeat_interleave(torch.arange({}), torch.tensor([{}])){}",
                       lengths.size(), list, device);
  }
  Library library() const { return library_; }

  Formula formula;

 private:
  std::string load(const std::string& values) const {
    std::string text(info_of(library_).array);
    text.replace(text.find("[{}]"), 4, values);
    return text;
  }

  struct Definition {
    std::string stem, value, name;
  };
  Library library_;
  std::vector<Definition> definitions_;
};

class Writer {
 public:
  Writer(Arrays& arrays, const StepName& name) : arrays_(arrays), name_(name) {
    if (arrays.library() == Library::kHf) row_ = kRowOfCache;
  }

  /// Appends the steps to the expression written so far; false when a step has no formula.
  bool write(const Chain& chain);
  std::string expression() const { return all_open_ ? "(kv_idx >= 0)" : expression_; }

 private:
  /// A term in q_idx and kv_idx, in parentheses; "" when a rule has no formula.
  std::string term(const step::Causal& rule);
  std::string term(const step::Window& rule);
  std::string term(const step::Chunk& rule);
  std::string term(const step::Document& rule);
  std::string term(const step::DocumentLengths& rule);
  std::string term(const step::Pad& rule);
  std::string term(const step::Dilated& rule);
  std::string term(const step::Block& rule);
  std::string term(const step::Prefix& rule) { return first_keys(rule.n, rule.each); }
  std::string term(const step::Sinks& rule) { return first_keys(rule.n, rule.each); }
  std::string term(const step::Global& rule);
  std::string term(const step::Tokens& rule);
  std::string term(const step::KvLengths& rule);
  std::string term(const auto&) { return ""; }

  bool scoped(const step::Scoped& rule);
  bool within(const step::Within& rule);
  void invert();
  void join(char op, const std::string& next);
  void set(std::string expression) {
    expression_ = std::move(expression);
    all_open_ = false;
    last_ = '&';
  }
  std::string first_keys(Index n, const NamedArray& each);
  std::string valid(const std::string& length, bool left, bool keys);
  /// "length[b]", or the one number.
  std::string per_batch(const char* stem, const NamedArray& array);
  std::string query_at(Align align, const std::string& offset);
  std::string query_at(Align align, Index offset) { return plus(place(align), offset); }
  /// Where a query lies among the keys. Without an alignment Q = K, except for chunks, which count
  /// rows then.
  std::string place(Align align) const {
    if (inside_) {
      return align == Align::kBottomRight ? fmt::format("({} + {} - {})", row_, keys_, queries_)
                                          : row_;
    }
    const bool absolute = row_ != "q_idx";
    if (align == Align::kTopLeft) return row_;
    if (align == Align::kUnset || absolute) return "q_idx";
    return "(q_idx + KV_LEN - Q_LEN)";
  }
  /// The index of a query in an array: with one array for both sides, that of the key beside it.
  std::string row_of(bool shared) const { return shared && !inside_ ? "q_idx" : row_; }
  std::string indexed(const std::string& name, const Tensor& array, const std::string& at) {
    const bool batched = array.rank() > 1 && array.extent(0) > 1;
    return batched ? fmt::format("{}[b, {}]", name, at) : fmt::format("{}[{}]", name, at);
  }

  Arrays& arrays_;
  const StepName& name_;
  // The row of the query, its place in its document once inside one.
  std::string row_ = "q_idx", k_ = "kv_idx", queries_ = "Q_LEN", keys_ = "KV_LEN";
  bool inside_ = false;
  std::string expression_;
  bool all_open_ = true;  // true while the expression is empty
  char last_ = '&';       // the outermost operator of the expression
};

std::string Writer::per_batch(const char* stem, const NamedArray& array) {
  const auto values = as_int64(array.array, stem);
  if (values.size() == 1) return std::to_string(values.front());
  arrays_.note_batches(static_cast<Index>(values.size()));
  return arrays_.numbers(stem, {values.begin(), values.end()}) + "[b]";
}

std::string Writer::query_at(Align align, const std::string& offset) {
  return fmt::format("({} + {})", place(align), offset);
}

std::string Writer::term(const step::Causal& rule) {
  if (rule.offsets.array.elements() > 1) {
    return fmt::format("({} <= {})", k_, query_at(rule.align, per_batch("offset", rule.offsets)));
  }
  Index offset = 0;
  if (rule.offsets.array.elements() == 1) offset = as_int64(rule.offsets.array, "offset").front();
  return fmt::format("({} <= {})", k_, query_at(rule.align, offset));
}

std::string Writer::term(const step::Window& rule) {
  const std::string q = rule.offsets.array.elements() > 0
                            ? query_at(rule.align, per_batch("offset", rule.offsets))
                            : query_at(rule.align, rule.offset);
  std::string out;
  if (rule.left) out += fmt::format("({} - {} <= {})", q, k_, *rule.left);
  if (rule.right) {
    out += fmt::format("{}({} - {} <= {})", out.empty() ? "" : " & ", k_, q, *rule.right);
  }
  return out.empty() ? fmt::format("({} >= 0)", k_) : out;
}

std::string Writer::term(const step::Chunk& rule) {
  const Align align = rule.align == Align::kUnset ? Align::kTopLeft : rule.align;
  const std::string q = query_at(align, rule.offset);
  if (rule.origins.array.elements() == 0) {
    return fmt::format("({0} // {2} == {1} // {2})", q, k_, rule.size);
  }
  const std::string origin = per_batch("origin", rule.origins);
  return fmt::format("(({0} - {3}) // {2} == ({1} - {3}) // {2})", q, k_, rule.size, origin);
}

std::string Writer::term(const step::Document& rule) {
  if (inside_) return "";
  const NamedArray& keys = rule.shared ? rule.q : rule.kv;
  const std::string q = arrays_.numbers("doc_id", rule.q.array);
  const std::string kv = rule.shared ? q : arrays_.numbers("kv_doc_id", rule.kv.array);
  if (rule.shared) arrays_.note_tokens(q, rule.q.array.extent(rule.q.array.rank() - 1));
  const std::string row = indexed(q, rule.q.array, row_of(rule.shared));
  return fmt::format("({} == {}) & ({} != {})", row, indexed(kv, keys.array, k_), row, rule.pad_id);
}

std::string Writer::term(const step::DocumentLengths& rule) {
  const std::string ids = arrays_.named("doc_id", arrays_.repeated(rule.lengths));
  arrays_.note_tokens(ids, std::accumulate(rule.lengths.begin(), rule.lengths.end(), Index{0}));
  return fmt::format("({0}[{1}] == {0}[{2}])", ids, row_of(true), k_);
}

/// The condition for a valid key or query, given the length of the valid part.
std::string Writer::valid(const std::string& length, bool left, bool keys) {
  const std::string at = keys ? k_ : row_of(true);
  return left ? fmt::format("({} >= {} - {})", at, keys_, length)
              : fmt::format("({} < {})", at, length);
}

std::string Writer::term(const step::Pad& rule) {
  if (inside_) return "";
  if (!rule.is_lengths) {
    Tensor flags = astype(rule.valid.array, DType::kInt32);
    const std::string name = arrays_.numbers("valid", flags);
    arrays_.note_tokens(name, flags.extent(flags.rank() - 1));
    std::string out = fmt::format("({} != 0)", indexed(name, flags, k_));
    if (rule.both) out += fmt::format(" & ({} != 0)", indexed(name, flags, row_of(true)));
    return out;
  }
  const std::string length = per_batch("length", rule.valid);
  const std::string keys = valid(length, rule.left, true);
  return rule.both ? fmt::format("{} & {}", keys, valid(length, rule.left, false)) : keys;
}

std::string Writer::term(const step::Dilated& rule) {
  return fmt::format("(({} - {}) % {} == 0)", k_, row_, rule.stride);
}

std::string Writer::term(const step::Block& rule) {
  const Tensor& map = rule.map.array;
  if (map.rank() != 2) return "";
  const std::string name = arrays_.numbers("block_map", astype(map, DType::kInt32));
  return fmt::format("({}[{} // {}, {} // {}] != 0)", name, row_, rule.q_size, k_, rule.k_size);
}

std::string Writer::first_keys(Index n, const NamedArray& each) {
  if (each.array.elements() == 0) return fmt::format("({} < {})", k_, n);
  return fmt::format("({} < {})", k_, per_batch("first", each));
}

std::string Writer::term(const step::Global& rule) {
  std::vector<Index> tokens;
  for (const Range& range : rule.tokens) {
    if (range.size() > kWrittenNumbers) return "";
    for (Index i = range.begin; i < range.end; ++i) tokens.push_back(i);
  }
  // A table with as many entries as indices are possible.
  const std::string_view module = arrays_.module();
  const char* device = module == "jnp"                     ? ""
                       : arrays_.library() == Library::kHf ? ", device=device"
                                                           : ", device=q.device";
  const std::string name = arrays_.named(
      "is_global", fmt::format("{0}.isin({0}.arange(max(Q_LEN, KV_LEN){1}), {2})", module, device,
                               fmt::format(fmt::runtime(info_of(arrays_.library()).array),
                                           joined(tokens, ", "))));
  return fmt::format("({0}[{1}] | {0}[{2}])", name, row_, k_);
}

std::string Writer::term(const step::Tokens& rule) {
  if (inside_) return "";
  using Zero = step::Tokens::Zero;
  const NamedArray& keys = rule.shared ? rule.q : rule.kv;
  const std::string q = arrays_.numbers("token_type", rule.q.array);
  const std::string kv = rule.shared ? q : arrays_.numbers("kv_token_type", rule.kv.array);
  if (rule.shared) arrays_.note_tokens(q, rule.q.array.extent(rule.q.array.rank() - 1));
  const std::string row = indexed(q, rule.q.array, row_of(rule.shared));
  const std::string equal = fmt::format("({} == {})", row, indexed(kv, keys.array, k_));
  return rule.zero == Zero::kNone ? equal : fmt::format("({} & ({} != 0))", equal, row);
}

std::string Writer::term(const step::KvLengths& rule) {
  if (rule.q_len || rule.window || inside_) return "";
  return valid(per_batch("length", rule.lengths), false, true);
}

void Writer::invert() {
  expression_ = all_open_ ? fmt::format("({} < 0)", k_) : fmt::format("~({})", expression_);
  all_open_ = false;
  last_ = '&';
}

void Writer::join(char op, const std::string& next) {
  if (all_open_ && op == '|') return;  // nothing left to open
  if (all_open_) {
    expression_ = next;
  } else {
    const bool plain = op == last_ || op == '|';
    expression_ = fmt::format("{} {} {}", plain ? expression_ : "(" + expression_ + ")", op, next);
  }
  last_ = op;
  all_open_ = false;
}

/// Applies the chain on some heads or batches and keeps the mask so far on the others.
bool Writer::scoped(const step::Scoped& rule) {
  Writer inner = *this;
  if (!inner.write(rule.chain)) return false;
  const bool heads = rule.axis == step::Scoped::Axis::kHeads;
  std::string which;
  for (const Range& range : rule.members) {
    which += fmt::format("{1}({0} >= {2}) & ({0} < {3})", heads ? "h" : "b",
                         which.empty() ? "" : " | ", range.begin, range.end);
  }
  if (rule.members.size() > 1) {
    which.clear();
    for (const Range& range : rule.members) {
      which += fmt::format("{1}(({0} >= {2}) & ({0} < {3}))", heads ? "h" : "b",
                           which.empty() ? "" : " | ", range.begin, range.end);
    }
  }
  (heads ? arrays_.formula.heads : arrays_.formula.batches) = true;
  set(fmt::format("{}.where({}, {}, {})", arrays_.module(), which, inner.expression(),
                  expression()));
  return true;
}

/// Applies the chain with positions and lengths relative to the document of each token.
bool Writer::within(const step::Within& rule) {
  if (rule.lengths.empty() || inside_) return false;
  const bool shared = rule.kv_lengths.empty() || rule.kv_lengths == rule.lengths;
  const std::vector<Index>& keys = shared ? rule.lengths : rule.kv_lengths;
  // Per token: its document, the place in it, and its lengths.
  struct Side {
    std::vector<Index> document, place, queries, keys;
  };
  const auto side = [&](const std::vector<Index>& lengths) {
    Side out;
    for (std::size_t d = 0; d < lengths.size(); ++d) {
      for (Index i = 0; i < lengths[d]; ++i) {
        out.document.push_back(static_cast<Index>(d));
        out.place.push_back(i);
        out.queries.push_back(rule.lengths[d]);
        out.keys.push_back(keys[d]);
      }
    }
    return out;
  };
  const Index most = Index{1} << 20;
  const Index total_q = std::accumulate(rule.lengths.begin(), rule.lengths.end(), Index{0});
  const Index total_k = std::accumulate(keys.begin(), keys.end(), Index{0});
  if (total_q > most || total_k > most) return false;
  const Side q = side(rule.lengths), k = side(keys);
  const std::string q_doc = arrays_.named("doc_id", arrays_.repeated(rule.lengths));
  const std::string k_doc = shared ? q_doc : arrays_.named("kv_doc_id", arrays_.repeated(keys));
  const std::string q_place = arrays_.numbers("q_pos", q.place);
  const std::string k_place = shared ? q_place : arrays_.numbers("kv_pos", k.place);
  if (shared) {
    arrays_.note_tokens(q_doc, total_q);
  } else {
    arrays_.note(
        fmt::format("the arrays hold {0} queries and {1} keys: for Q_LEN = {0}, "
                    "KV_LEN = {1}",
                    total_q, total_k));
  }
  Writer inner = *this;
  const std::string row = row_of(shared);
  inner.inside_ = true;
  inner.row_ = fmt::format("{}[{}]", q_place, row);
  inner.k_ = fmt::format("{}[kv_idx]", k_place);
  if (!shared) {
    inner.queries_ = fmt::format("{}[{}]", arrays_.numbers("q_len", q.queries), row);
    inner.keys_ = fmt::format("{}[{}]", arrays_.numbers("kv_len", q.keys), row);
  } else {
    inner.queries_ = inner.keys_ = "0";  // queries and keys are equally many
  }
  if (!inner.write(rule.chain)) return false;
  const std::string same = fmt::format("({}[{}] == {}[kv_idx])", q_doc, row, k_doc);
  const std::string own = inner.all_open_ ? "" : inner.expression_;
  set(own.empty() ? same : fmt::format("({}) & {}", own, same));
  return true;
}

bool Writer::write(const Chain& chain) {
  for (const Step& step : chain) {
    if (std::holds_alternative<step::Not>(step.rule)) {
      invert();
      continue;
    }
    if (std::holds_alternative<step::Slice>(step.rule)) {
      arrays_.formula.missing = fmt::format("{} has no formula", name_(step));
      return false;
    }
    const auto* scope = std::get_if<step::Scoped>(&step.rule);
    const auto* documents = std::get_if<step::Within>(&step.rule);
    if (scope || documents) {
      if (scope ? scoped(*scope) : within(*documents)) continue;
      if (arrays_.formula.missing.empty()) {
        arrays_.formula.missing = fmt::format("{} has no formula", name_(step));
      }
      return false;
    }
    const std::string next =
        std::visit([this](const auto& rule) -> std::string { return term(rule); }, step.rule);
    if (next.empty()) {
      arrays_.formula.missing = fmt::format("{} has no formula", name_(step));
      return false;
    }
    const auto* tokens = std::get_if<step::Tokens>(&step.rule);
    if (tokens && tokens->join == step::Tokens::Join::kReplace) {
      set(next);
    } else {
      const bool adds = opens(step) || (tokens && tokens->join == step::Tokens::Join::kUnion);
      join(adds ? '|' : '&', next);
    }
  }
  return true;
}

}  // namespace

Formula formula_of(const Chain& chain, const StepName& name, Library library) {
  Arrays arrays(library);
  Writer writer(arrays, name);
  if (writer.write(chain)) arrays.formula.expression = writer.expression();
  return std::move(arrays.formula);
}

}  // namespace maskctl
