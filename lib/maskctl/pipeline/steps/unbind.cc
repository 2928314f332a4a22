// Writes bound steps as text.
#include <fmt/format.h>

#include "maskctl/pipeline/parse/values.h"
#include "maskctl/pipeline/steps/bind.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

class Writer {
 public:
  explicit Writer(std::string name) { text_.name = std::move(name); }

  Writer& arg(std::string key, std::string value) {
    Arg out;
    out.key = std::move(key);
    out.value = std::move(value);
    text_.args.push_back(std::move(out));
    return *this;
  }
  Writer& integer(const char* key, Index value) { return arg(key, std::to_string(value)); }
  Writer& integer_unless(Index fallback, const char* key, Index value) {
    return value == fallback ? *this : integer(key, value);
  }
  Writer& align(Align align) {
    if (align == Align::kUnset) return *this;
    return arg("align", align == Align::kTopLeft ? "top-left" : "bottom-right");
  }
  Writer& source(const char* key, const std::string& text) {
    if (text.empty()) {
      throw Error(
          Errc::kInvalidArgument,
          fmt::format("step {}: an array without a name cannot be written as text", text_.name));
    }
    return arg(key, text);
  }
  /// Lengths made by the program have no text, so they are written out.
  Writer& lengths(const NamedArray& array, const char* list_key, const char* source_key) {
    if (!array.text.empty() && !is_list_text(array.text)) return source(source_key, array.text);
    return arg(list_key, list_text(as_int64(array.array, "lengths")));
  }
  Writer& numbers(const char* key, const NamedArray& array) {
    if (array.array.elements() == 0) return *this;
    if (!array.text.empty()) return source(key, array.text);
    // Values made by the program have no text, so they are written out.
    return arg(key, list_text(as_int64(array.array, key)));
  }
  Writer& nested(const Chain& chain) {
    text_.has_nested = true;
    text_.nested = unbind(chain).steps;
    return *this;
  }
  operator StepText() { return std::move(text_); }

 private:
  StepText text_;
};

StepText text_of(const step::Causal& rule) {
  return Writer("causal").align(rule.align).numbers("offset", rule.offsets);
}

std::string side_text(std::optional<Index> side) { return side ? std::to_string(*side) : "none"; }

StepText text_of(const step::Window& rule) {
  using Spelling = step::Window::Spelling;
  Writer out("window");
  // If the spelling contradicts the sides, the sides win.
  if (rule.spelling == Spelling::kKeys && rule.left && rule.right == Index{0}) {
    out.integer("keys", *rule.left + 1);
  } else if (rule.spelling == Spelling::kBoth && rule.left && rule.left == rule.right) {
    out.integer("both", *rule.left);
  } else {
    if (rule.left || !rule.right) out.arg("left", side_text(rule.left));
    if (rule.right) out.arg("right", side_text(rule.right));
  }
  out.align(rule.align);
  return rule.offsets.array.elements() > 0 ? out.numbers("offset", rule.offsets)
                                           : out.integer_unless(0, "offset", rule.offset);
}

StepText text_of(const step::Chunk& rule) {
  return Writer("chunk")
      .integer("size", rule.size)
      .integer_unless(0, "offset", rule.offset)
      .align(rule.align)
      .numbers("origin", rule.origins);
}

template <typename Rule>
Writer sides(const char* name, const Rule& rule) {
  Writer out(name);
  if (rule.shared) return out.source("", rule.q.text);
  return out.source("q", rule.q.text).source("kv", rule.kv.text);
}

StepText text_of(const step::Document& rule) {
  return sides("doc", rule).integer_unless(-1, "pad-id", rule.pad_id);
}

StepText text_of(const step::DocumentLengths& rule) {
  return Writer("doc").arg("lens", list_text(rule.lengths));
}

StepText text_of(const step::Pad& rule) {
  Writer out("pad");
  if (rule.is_lengths) {
    out.lengths(rule.valid, "lens", "");
    if (rule.left) out.arg("side", "left");
  } else {
    out.source("", rule.valid.text);
  }
  if (rule.both) out.arg("of", "both");
  return out;
}

StepText text_of(const step::Dilated& rule) {
  return Writer("dilated").integer("stride", rule.stride);
}

StepText text_of(const step::Block& rule) {
  return Writer("block")
      .source("", rule.map.text)
      .arg("size", fmt::format("{}x{}", rule.q_size, rule.k_size));
}

StepText text_of(const step::Random& rule) {
  Writer out("random");
  out.arg("sparsity", real_text(rule.sparsity));
  if (rule.seed != 0) out.arg("seed", std::to_string(rule.seed));
  if (rule.stream == step::Random::Stream::kNumpy) out.arg("stream", "numpy");
  return out;
}

template <typename Rule>
StepText first_keys(const char* name, const Rule& rule) {
  if (rule.each.array.elements() > 0) return Writer(name).numbers("n", rule.each);
  return Writer(name).integer("n", rule.n);
}
StepText text_of(const step::Prefix& rule) { return first_keys("prefix", rule); }
StepText text_of(const step::Sinks& rule) { return first_keys("sinks", rule); }

StepText text_of(const step::Global& rule) {
  return Writer("global").arg("tokens", ranges_text(rule.tokens));
}

StepText text_of(const step::Region& rule) {
  Writer out(rule.open ? "open" : "close");
  if (!rule.q.empty()) out.arg("q", ranges_text(rule.q));
  if (!rule.k.empty()) out.arg("k", ranges_text(rule.k));
  return out;
}

StepText text_of(const step::Combine& rule) {
  const char* names[] = {"and", "or", "xor", "sub"};
  return Writer(names[static_cast<int>(rule.op)]).source("", rule.text);
}

StepText text_of(const step::Tokens& rule) {
  const char* joins[] = {"union", "intersect", "replace"};
  const char* zeros[] = {"q", "kv", "both", "none"};
  Writer out = sides("tokens", rule);
  if (rule.join != step::Tokens::Join::kUnion) {
    out.arg("combine", joins[static_cast<int>(rule.join)]);
  }
  if (rule.zero != step::Tokens::Zero::kQ) out.arg("zero", zeros[static_cast<int>(rule.zero)]);
  return out;
}

StepText text_of(const step::Not&) { return Writer("not"); }

StepText text_of(const step::Slice& rule) {
  Writer out("slice");
  if (rule.b) out.arg("b", slice_text(*rule.b));
  if (rule.h) out.arg("h", slice_text(*rule.h));
  if (rule.q) out.arg("q", slice_text(*rule.q));
  if (rule.k) out.arg("k", slice_text(*rule.k));
  return out;
}

StepText text_of(const step::KvLengths& rule) {
  Writer out("kv-lengths");
  out.lengths(rule.lengths, "lens", "");
  if (rule.q_len) out.integer("q_len", *rule.q_len);
  if (rule.window) out.integer("window", *rule.window);
  return out.numbers("end", rule.end);
}

StepText text_of(const step::Scoped& rule) {
  return Writer(rule.axis == step::Scoped::Axis::kHeads ? "heads" : "batch")
      .arg("", ranges_text(rule.members))
      .nested(rule.chain);
}

StepText text_of(const step::Within& rule) {
  Writer out("within");
  if (rule.q.array.elements() > 0) {
    out = sides("within", rule).integer_unless(-1, "pad-id", rule.pad_id);
  } else if (rule.kv_lengths.empty()) {
    out.arg("lens", list_text(rule.lengths));
  } else {
    out.arg("q-lens", list_text(rule.lengths)).arg("kv-lens", list_text(rule.kv_lengths));
  }
  return out.nested(rule.chain);
}

}  // namespace

Pipeline unbind(const Chain& chain) {
  Pipeline out;
  for (const Step& step : chain) {
    // A slice of no axis changes nothing and cannot be written.
    const auto* slice = std::get_if<step::Slice>(&step.rule);
    if (slice && !slice->b && !slice->h && !slice->q && !slice->k) continue;
    out.steps.push_back(std::visit([](const auto& rule) { return text_of(rule); }, step.rule));
  }
  out.text = print(out.steps);
  return out;
}

std::string to_text(const Chain& chain) { return unbind(chain).text; }

}  // namespace maskctl
