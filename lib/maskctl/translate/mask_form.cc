#include "maskctl/translate/mask_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/chunk.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/first_keys.h"
#include "maskctl/mask/steps/kv_lengths.h"
#include "maskctl/mask/steps/pad.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/mask/steps/window.h"
#include "maskctl/mask/steps/within.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

/// The lengths of documents that are contiguous from the first token on; padding may follow them.
/// Nothing when an id occurs in two places or padding precedes a document.
std::optional<std::vector<Index>> lengths_of(const Tensor& ids, std::int32_t pad_id) {
  if (ids.rank() > 1 && ids.extent(0) != 1) return std::nullopt;
  const auto values = as_int32(ids, "ids");
  std::vector<Index> out;
  std::set<std::int32_t> seen;
  bool ended = false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == pad_id) {
      ended = true;
    } else if (ended) {
      return std::nullopt;
    } else if (i > 0 && values[i] == values[i - 1]) {
      ++out.back();
    } else if (seen.insert(values[i]).second) {
      out.push_back(1);
    } else {
      return std::nullopt;
    }
  }
  return out;
}

class Reader {
 public:
  MaskForm read(const Chain& chain, const StepName& name);

 private:
  /// Adds what a step does to the MaskForm. Returns "" or the reason why the step does not fit.
  std::string take(const Step& step);
  std::string take(const step::Causal& rule);
  std::string take(const step::Window& rule);
  std::string take(const step::Chunk& rule);
  std::string take(const step::Document& rule);
  std::string take(const step::DocumentLengths& rule);
  std::string take(const step::Within& rule);
  std::string take(const step::Pad& rule);
  std::string take(const step::KvLengths& rule);
  std::string take(const step::Prefix& rule) { return open(rule.n, rule.each); }
  std::string take(const step::Sinks& rule) { return open(rule.n, rule.each); }
  std::string open(Index n, const NamedArray& each);
  std::string align(Align given);
  std::string pad(const Tensor& lengths);
  std::string document();
  void drop_idle();
  void finish();

  MaskForm out_;
  StepName name_;
  Index first_ = 0;            // number of first keys that steps have opened
  bool causal_after_ = false;  // a causal step came after one that opened first keys
};

std::string Reader::take(const Step& step) {
  std::string why = "has no argument of its own";
  visit_rule<step::Causal, step::Window, step::Chunk, step::Document, step::DocumentLengths,
             step::Within, step::Pad, step::KvLengths, step::Prefix, step::Sinks>(
      step, [&](const auto& rule) { why = take(rule); });
  return why;
}

std::string Reader::align(Align given) {
  if (given == Align::kUnset) return "";
  if (out_.align != Align::kUnset && out_.align != given)
    return "is aligned differently from another step";
  out_.align = given;
  return "";
}

std::string Reader::take(const step::Causal& rule) {
  Index offset = 0;
  if (out_.inside) return "counts over documents, after steps that count inside them";
  if (rule.offsets.array.elements() > 1) return "has more than one offset";
  if (rule.offsets.array.elements() == 1) offset = as_int64(rule.offsets.array, "offset").front();
  if (first_ > 0) {
    if (offset != 0) return "has an offset after a step that opens keys";
    causal_after_ = true;
  } else {
    out_.right = narrower(out_.right, offset);
  }
  return align(rule.align);
}

std::string Reader::take(const step::Window& rule) {
  if (out_.inside) return "counts over documents, after steps that count inside them";
  if (rule.is_per_batch()) return "has more than one number";
  if (first_ > 0) return "closes keys that the previous step opened";
  if (rule.left) out_.left = narrower(out_.left, *rule.left - rule.offset);
  if (rule.right) out_.right = narrower(out_.right, *rule.right + rule.offset);
  return align(rule.align);
}

std::string Reader::take(const step::Chunk& rule) {
  if (out_.inside) return "counts over documents, after steps that count inside them";
  if (first_ > 0) return "closes keys that the previous step opened";
  if (out_.chunk) return "is a second chunk rule";
  if (!rule.sizes.empty() || !rule.offsets.empty()) return "has more than one size or offset";
  out_.chunk = rule.size;
  out_.chunk_offset = rule.offset;
  out_.chunk_align = rule.align == Align::kTopLeft ? Align::kUnset : rule.align;
  if (rule.origins.array.elements() > 0) {
    const auto origins = as_int64(rule.origins.array, "origins");
    out_.chunk_origins.assign(origins.begin(), origins.end());
    if (std::ranges::all_of(origins, [](Index o) { return o == 0; })) out_.chunk_origins.clear();
  }
  return "";
}

std::string Reader::document() {
  if (out_.documents) return "is a second document rule";
  if (out_.padded()) return "is a document rule after padding";
  out_.documents = true;
  return "";
}

std::string Reader::take(const step::Document& rule) {
  const NamedArray& kv = rule.shared ? rule.q : rule.kv;
  const auto q_lengths = lengths_of(rule.q.array, rule.pad_id);
  if (rule.shared && q_lengths) {
    out_.lengths = *q_lengths;
    return document();
  }
  out_.ids = rule.q;
  if (!rule.shared) out_.kv_ids = kv;
  return rule.pad_id == -1 ? document() : "has its own pad id";
}

std::string Reader::take(const step::DocumentLengths& rule) {
  out_.lengths = rule.lengths;
  return document();
}

std::string Reader::take(const step::Within& rule) {
  if (out_.banded() || out_.chunk || first_ > 0)
    return "counts inside documents, after other steps";
  if (!rule.lengths.empty()) {
    out_.lengths = rule.lengths;
    if (rule.kv_lengths != rule.lengths) out_.kv_lengths = rule.kv_lengths;
  } else {
    const auto lengths = lengths_of(rule.q.array, rule.pad_id);
    if (!rule.shared || !lengths) return "has ids that are not lengths";
    out_.lengths = *lengths;
  }
  const MaskForm inner = Reader().read(rule.chain, name_);
  if (!inner.rest.empty()) return fmt::format("holds {}", inner.rest);
  if (inner.documents || inner.padded()) return "contains documents or padding itself";
  if (inner.chunk_origins.size() > 1) return "has more than one origin of chunks";
  const std::string why = document();
  MaskForm form = inner;
  form.documents = true;
  form.inside = true;
  form.lengths = out_.lengths;
  form.kv_lengths = out_.kv_lengths;
  if (form.kv_lengths.empty()) form.align = Align::kUnset;  // queries and keys are equally many
  out_ = std::move(form);
  return why;
}

std::string Reader::take(const step::Pad& rule) {
  if (!rule.is_lengths) return "has flags, but lengths are required";
  const std::string why = pad(rule.valid.array);
  if (!why.empty()) return why;
  out_.pad_left = rule.left;
  out_.pad_queries = rule.both;
  return "";
}

std::string Reader::take(const step::KvLengths& rule) {
  if (rule.q_len || rule.window) return "keeps the last queries or keys alone";
  return pad(rule.lengths.array);
}

/// Adds padding of keys; `lengths` are the numbers of valid keys.
std::string Reader::pad(const Tensor& lengths) {
  if (out_.padded()) return "is a second padding rule";
  if (out_.documents) return "is padding beside documents";
  const auto values = as_int64(lengths, "lengths");
  out_.padding.assign(values.begin(), values.end());
  return "";
}

std::string Reader::open(Index n, const NamedArray& each) {
  if (each.array.elements() > 0) return "has more than one number";
  if (n == 0) return "";
  if (out_.documents) return "opens keys in other documents";
  if (out_.padded()) return "opens keys in padding";
  if (causal_after_) return "opens keys that causal closed";
  first_ = std::max(first_, n);
  return "";
}

/// Drops a side of the band that reaches beyond the query's chunk, and chunks around the query's
/// own key alone. Only where both count rows alike.
void Reader::drop_idle() {
  const bool from_end = out_.chunk_align == Align::kBottomRight;
  const bool alike = out_.chunk && out_.chunk_offset == 0 && out_.chunk_origins.empty() &&
                     from_end == (out_.align == Align::kBottomRight);
  if (!alike) return;
  if (out_.left == Index{0} && out_.right == Index{0}) {
    out_.chunk.reset();
    out_.chunk_align = Align::kUnset;
    return;
  }
  if (out_.left && *out_.left >= *out_.chunk - 1) out_.left.reset();
  if (out_.right && *out_.right >= *out_.chunk - 1 && !out_.causal()) out_.right.reset();
}

void Reader::finish() {
  drop_idle();
  // There are as many queries as keys, so a band inside each document is the same as over the whole
  // mask.
  if (out_.documents && !out_.lengths.empty() && !out_.chunk && first_ == 0 && !out_.inside) {
    out_.inside = true;
    out_.align = Align::kUnset;
  }
  if (first_ == 0) return;
  if (causal_after_) {
    if (out_.right && *out_.right < 0) {
      out_.rest = "causal (after keys were opened past the band)";
      return;
    }
    out_.right = 0;
    out_.sinks = out_.left || out_.chunk ? first_ : 0;
  } else if (out_.banded() || out_.chunk) {
    out_.prefix = first_;
  }
}

MaskForm Reader::read(const Chain& chain, const StepName& name) {
  name_ = name;
  bool is_full = true;
  Chain closed;  // the steps since the last that opened cells
  for (const Step& step : chain) {
    // Steps that open cells change nothing while all cells are open.
    if (is_full && step.row().meets(step) == Meets::kOpens) continue;
    is_full = false;
    // A step that only closes cells changes nothing the second time.
    const bool opens = step.row().meets(step) == Meets::kOpens;
    if (!opens && std::ranges::find(closed, step) != closed.end()) continue;
    const std::string why = take(step);
    if (opens) closed.clear();
    if (why.empty()) {
      closed.push_back(step);
      continue;
    }
    out_.rest = fmt::format("{} {}", name(step), why);
    return out_;
  }
  finish();
  return out_;
}

}  // namespace

std::optional<Index> narrower(std::optional<Index> a, std::optional<Index> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

MaskForm mask_form(const Chain& chain, const StepName& name) { return Reader().read(chain, name); }

namespace {

NamedArray numbers(const std::vector<Index>& values) {
  Tensor out(DType::kInt64, {static_cast<Index>(values.size())});
  std::ranges::copy(values, out.as<std::int64_t>().begin());
  return {std::move(out), ""};
}

Step causal_step(Align align, Index offset) {
  step::Causal rule;
  rule.align = align;
  if (offset != 0) rule.offsets = numbers({offset});
  return {std::move(rule)};
}

/// Appends the steps that make the band. If a side is negative, the band does not contain the
/// diagonal: then the window step, or the causal step, gets an offset.
void append_band(const MaskForm& form, Chain& out) {
  const auto& [left, right] = std::pair(form.left, form.right);
  const bool moved = (left && *left < 0) || (right && *right < 0);
  step::Window window;
  window.align = form.align;
  window.left = left;
  if (moved && left) {
    window.left = std::max<Index>(*left, 0);
    window.offset = *window.left - *left;
  } else if (!moved) {
    window.right = right;
    if (form.causal()) window.spelling = step::Window::Spelling::kKeys;
  }
  if (left || (right && !moved && !form.causal())) out.push_back({window});
  if (right && (moved || (!left && form.causal()))) {
    out.push_back(causal_step(form.align, *right));
  }
}

void append_documents(const MaskForm& form, Chain& out) {
  if (!form.lengths.empty() || form.ids.array.elements() == 0) {
    out.push_back({step::DocumentLengths{form.lengths}});
    return;
  }
  step::Document rule;
  rule.q = form.ids;
  rule.kv = form.kv_ids;
  rule.shared = form.kv_ids.array.elements() == 0;
  out.push_back({std::move(rule)});
}

}  // namespace

Chain chain_of(const MaskForm& form) {
  Chain out;
  append_band(form, out);
  if (form.chunk) {
    step::Chunk rule{*form.chunk, form.chunk_offset, form.chunk_align};
    if (!form.chunk_origins.empty()) rule.origins = numbers(form.chunk_origins);
    out.push_back({std::move(rule)});
  }
  if (form.sinks > 0) {
    out.push_back({step::Sinks{form.sinks}});
    out.push_back(causal_step(form.align, 0));
  }
  if (form.prefix > 0) out.push_back({step::Prefix{form.prefix}});
  if (form.padded()) {
    step::Pad rule;
    rule.valid = numbers(form.padding);
    rule.is_lengths = true;
    rule.left = form.pad_left;
    rule.both = form.pad_queries;
    out.push_back({std::move(rule)});
  }
  if (!form.documents) return out;
  const bool alike = form.kv_lengths.empty() && !form.chunk && form.sinks == 0 && form.prefix == 0;
  if (form.inside && !alike) {
    step::Within rule;
    rule.lengths = form.lengths;
    rule.kv_lengths = form.kv_lengths;
    rule.chain = std::move(out);
    return {{std::move(rule)}};
  }
  append_documents(form, out);
  return out;
}

}  // namespace maskctl
