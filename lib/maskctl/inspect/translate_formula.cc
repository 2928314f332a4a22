#include "maskctl/inspect/translate_formula.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "maskctl/inspect/translate_code.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

constexpr std::size_t kListed = 64;  // numbers that are still written out

/// "q_idx", "(q_idx + 3)".
std::string plus(const std::string& term, Index offset) {
  if (offset == 0) return term;
  return fmt::format("({} {} {})", term, offset < 0 ? '-' : '+', std::abs(offset));
}

/// The query's place on the keys' axis.
std::string query_at(Align align, Index offset) {
  const bool bottom = align == Align::kBottomRight;
  return plus(bottom ? "(q_idx + KV_LEN - Q_LEN)" : "q_idx", offset);
}

bool opens(const Step& step) {
  return std::holds_alternative<step::Prefix>(step.rule) ||
         std::holds_alternative<step::Sinks>(step.rule) ||
         std::holds_alternative<step::Global>(step.rule);
}

class Writer {
 public:
  Formula write(const Chain& chain, const StepName& name);

 private:
  /// A term in q_idx and kv_idx, in parentheses; "" when a rule has no formula.
  std::string term(const step::Causal& rule);
  std::string term(const step::Window& rule);
  std::string term(const step::Chunk& rule);
  std::string term(const step::Document& rule);
  std::string term(const step::DocumentLengths& rule);
  std::string term(const step::Pad& rule);
  std::string term(const step::Dilated& rule);
  std::string term(const step::Prefix& rule) { return fmt::format("(kv_idx < {})", rule.n); }
  std::string term(const step::Sinks& rule) { return fmt::format("(kv_idx < {})", rule.n); }
  std::string term(const step::Global& rule);
  std::string term(const auto&) { return ""; }

  void invert();
  void join(char op, const std::string& next);
  std::string tensor(const std::string& stem, const std::string& value);

  struct Definition {
    std::string stem, value, name;
  };
  std::vector<Definition> definitions_;
  Formula out_;
  bool all_open_ = true;  // so far: the expression is empty
  char last_ = '&';       // operator of the expression
};

/// The name of a tensor that has the value: the stem, with a number when it is another's.
std::string Writer::tensor(const std::string& stem, const std::string& value) {
  std::size_t same = 1;
  for (const Definition& other : definitions_) {
    if (other.stem != stem) continue;
    if (other.value == value) return other.name;
    ++same;
  }
  const std::string name = same == 1 ? stem : fmt::format("{}{}", stem, same);
  definitions_.push_back({stem, value, name});
  out_.tensors.push_back(fmt::format("{} = {}", name, value));
  return name;
}

std::string Writer::term(const step::Causal& rule) {
  if (rule.offsets.array.elements() > 1) return "";
  Index offset = 0;
  if (rule.offsets.array.elements() == 1) offset = as_int64(rule.offsets.array, "offset").front();
  return fmt::format("(kv_idx <= {})", query_at(rule.align, offset));
}

std::string Writer::term(const step::Window& rule) {
  const std::string q = query_at(rule.align, rule.offset);
  std::string out;
  if (rule.left) out += fmt::format("({} - kv_idx <= {})", q, *rule.left);
  if (rule.right) {
    out += fmt::format("{}(kv_idx - {} <= {})", out.empty() ? "" : " & ", q, *rule.right);
  }
  return out.empty() ? "(kv_idx >= 0)" : out;
}

std::string Writer::term(const step::Chunk& rule) {
  return fmt::format("({} // {} == kv_idx // {})", plus("q_idx", rule.offset), rule.size,
                     rule.size);
}

std::string Writer::term(const step::Document& rule) {
  const std::string q = tensor("doc_id", fmt::format("...  # {}", rule.q.text));
  const std::string kv =
      rule.shared ? q : tensor("kv_doc_id", fmt::format("...  # {}", rule.kv.text));
  return fmt::format("({0}[q_idx] == {1}[kv_idx]) & ({0}[q_idx] != {2})", q, kv, rule.pad_id);
}

std::string Writer::term(const step::DocumentLengths& rule) {
  const std::string ids =
      tensor("doc_id",
             fmt::format("torch.repeat_interleave(torch.arange({}), torch.tensor([{}])).to(device)",
                         rule.lengths.size(), joined(rule.lengths, ", ")));
  const Index total = std::accumulate(rule.lengths.begin(), rule.lengths.end(), Index{0});
  const std::string note =
      fmt::format("{} holds {} tokens: for Q_LEN = KV_LEN = {}", ids, total, total);
  if (std::ranges::find(out_.notes, note) == out_.notes.end()) out_.notes.push_back(note);
  return fmt::format("({0}[q_idx] == {0}[kv_idx])", ids);
}

std::string Writer::term(const step::Pad& rule) {
  if (rule.both || !rule.is_lengths) return "";
  const auto lengths = as_int64(rule.valid.array, "lengths");
  std::string length;
  if (lengths.size() == 1) {
    length = std::to_string(lengths.front());
  } else if (lengths.size() <= kListed) {
    const std::string list = joined({lengths.begin(), lengths.end()}, ", ");
    length = tensor("length", fmt::format("torch.tensor([{}]).to(device)", list)) + "[b]";
  } else {
    length = tensor("length", fmt::format("...  # {}", rule.valid.text)) + "[b]";
  }
  return rule.left ? fmt::format("(kv_idx >= KV_LEN - {})", length)
                   : fmt::format("(kv_idx < {})", length);
}

std::string Writer::term(const step::Dilated& rule) {
  return fmt::format("((kv_idx - q_idx) % {} == 0)", rule.stride);
}

std::string Writer::term(const step::Global& rule) {
  std::string out;
  for (const Range& range : rule.tokens) {
    for (const char* axis : {"q_idx", "kv_idx"}) {
      out += fmt::format("{}(({} >= {}) & ({} < {}))", out.empty() ? "" : " | ", axis, range.begin,
                         axis, range.end);
    }
  }
  return out;
}

void Writer::invert() {
  out_.expression = all_open_ ? "(kv_idx < 0)" : fmt::format("~({})", out_.expression);
  all_open_ = false;
  last_ = '&';
}

void Writer::join(char op, const std::string& next) {
  if (all_open_ && op == '|') return;  // nothing left to open
  if (all_open_) {
    out_.expression = next;
  } else {
    const bool plain = op == last_ || op == '|';
    out_.expression =
        fmt::format("{} {} {}", plain ? out_.expression : "(" + out_.expression + ")", op, next);
  }
  last_ = op;
  all_open_ = false;
}

Formula Writer::write(const Chain& chain, const StepName& name) {
  for (const Step& step : chain) {
    if (std::holds_alternative<step::Not>(step.rule)) {
      invert();
      continue;
    }
    const std::string next =
        std::visit([this](const auto& rule) -> std::string { return term(rule); }, step.rule);
    if (next.empty()) {
      Formula none;
      none.missing = fmt::format("{} has no formula", name(step));
      return none;
    }
    join(opens(step) ? '|' : '&', next);
  }
  if (all_open_) out_.expression = "kv_idx >= 0";
  return std::move(out_);
}

/// Rows without an alignment: moved when Q != K.
bool counts_rows(const Step& step) {
  return std::holds_alternative<step::Chunk>(step.rule) ||
         std::holds_alternative<step::Dilated>(step.rule) ||
         std::holds_alternative<step::Global>(step.rule);
}

Align* align_of(Step& step) {
  if (auto* causal = std::get_if<step::Causal>(&step.rule)) return &causal->align;
  if (auto* window = std::get_if<step::Window>(&step.rule)) return &window->align;
  return nullptr;
}

}  // namespace

Formula formula_of(const Chain& chain, const StepName& name) { return Writer().write(chain, name); }

Formula formula_in_absolute_positions(Chain chain, const StepName& name) {
  for (Step& step : chain) {
    Align* align = align_of(step);
    if (align && *align == Align::kTopLeft) {
      Formula none;
      none.missing = "the diagonal is bottom-right; this mask is top-left";
      return none;
    }
    if (align) *align = Align::kUnset;
  }
  Formula out = formula_of(chain, name);
  if (out.missing.empty() && std::ranges::any_of(chain, counts_rows)) {
    out.notes.push_back("written for Q = K: q_idx counts from the first cached token");
  }
  return out;
}

}  // namespace maskctl
