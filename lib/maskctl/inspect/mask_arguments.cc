#include "maskctl/inspect/mask_arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

std::optional<Index> narrower(std::optional<Index> a, std::optional<Index> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

class Reader {
 public:
  MaskArguments read(const Chain& chain, const StepName& name);

 private:
  /// "" or why the step has no place.
  std::string take(const step::Causal& rule);
  std::string take(const step::Window& rule);
  std::string take(const step::Chunk& rule);
  std::string take(const step::Document& rule);
  std::string take(const step::DocumentLengths& rule);
  std::string take(const step::Prefix& rule) { return open(rule.n); }
  std::string take(const step::Sinks& rule) { return open(rule.n); }
  std::string take(const auto&) { return "has no argument of its own"; }
  std::string open(Index n);
  std::string align(Align given);
  std::string document();
  void finish();

  MaskArguments out_;
  Index first_ = 0;            // keys that an or step opened
  bool causal_after_ = false;  // of them
};

std::string Reader::align(Align given) {
  if (given == Align::kUnset) return "";
  if (out_.align != Align::kUnset && out_.align != given) return "is aligned unlike another step";
  out_.align = given;
  return "";
}

std::string Reader::take(const step::Causal& rule) {
  Index offset = 0;
  if (rule.offsets.array.elements() > 1) return "has an offset for each batch";
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
  if (first_ > 0) return "closes what the step before it opened";
  if (rule.left) out_.left = narrower(out_.left, *rule.left - rule.offset);
  if (rule.right) out_.right = narrower(out_.right, *rule.right + rule.offset);
  return align(rule.align);
}

std::string Reader::take(const step::Chunk& rule) {
  if (first_ > 0) return "closes what the step before it opened";
  if (out_.chunk) return "is a second chunk rule";
  out_.chunk = rule.size;
  out_.chunk_offset = rule.offset;
  return "";
}

std::string Reader::document() {
  if (out_.documents) return "is a second document rule";
  out_.documents = true;
  return "";
}

std::string Reader::take(const step::Document& rule) {
  out_.document_source = rule.q.text.empty() ? "the ids" : rule.q.text;
  return document();
}

std::string Reader::take(const step::DocumentLengths& rule) {
  out_.lengths = rule.lengths;
  return document();
}

std::string Reader::open(Index n) {
  if (n == 0) return "";
  if (out_.documents) return "opens keys of other documents";
  if (causal_after_) return "opens keys that causal closed";
  first_ = std::max(first_, n);
  return "";
}

void Reader::finish() {
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

MaskArguments Reader::read(const Chain& chain, const StepName& name) {
  for (const Step& step : chain) {
    const std::string why = std::visit([&](const auto& rule) { return take(rule); }, step.rule);
    if (why.empty()) continue;
    out_.rest = fmt::format("{} {}", name(step), why);
    return out_;
  }
  finish();
  return out_;
}

}  // namespace

MaskArguments mask_arguments(const Chain& chain, const StepName& name) {
  return Reader().read(chain, name);
}

namespace {

Step causal_step(Align align, Index offset) {
  step::Causal rule;
  rule.align = align;
  if (offset != 0) {
    rule.offsets.array = Tensor(DType::kInt64, {1});
    rule.offsets.array.as<std::int64_t>()[0] = offset;
  }
  return {std::move(rule)};
}

/// A side below 0 is a window that is moved, or causal with an offset.
void append_band(const MaskArguments& arguments, Chain& out) {
  const auto& [left, right] = std::pair(arguments.left, arguments.right);
  const bool moved = (left && *left < 0) || (right && *right < 0);
  step::Window window;
  window.align = arguments.align;
  window.left = left;
  if (moved && left) {
    window.left = std::max<Index>(*left, 0);
    window.offset = *window.left - *left;
  } else if (!moved) {
    window.right = right;
    if (arguments.causal()) window.spelling = step::Window::Spelling::kKeys;
  }
  if (left || (right && !moved && !arguments.causal())) out.push_back({window});
  if (right && (moved || (!left && arguments.causal()))) {
    out.push_back(causal_step(arguments.align, *right));
  }
}

}  // namespace

Chain chain_of(const MaskArguments& arguments) {
  Chain out;
  append_band(arguments, out);
  if (arguments.chunk) out.push_back({step::Chunk{*arguments.chunk, arguments.chunk_offset}});
  if (arguments.sinks > 0) {
    out.push_back({step::Sinks{arguments.sinks}});
    out.push_back(causal_step(arguments.align, 0));
  }
  if (arguments.prefix > 0) out.push_back({step::Prefix{arguments.prefix}});
  if (!arguments.lengths.empty()) out.push_back({step::DocumentLengths{arguments.lengths}});
  return out;
}

}  // namespace maskctl
