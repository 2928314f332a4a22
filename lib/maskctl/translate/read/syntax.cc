#include "maskctl/translate/read/syntax.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "maskctl/mask/steps/not.h"
#include "maskctl/mask/steps/pad.h"
#include "maskctl/pipeline/parse/diagnostic.h"
#include "maskctl/translate/mask_form.h"
#include "maskctl/translate/read/call.h"
#include "maskctl/translate/read/expression.h"
#include "maskctl/translate/read/text.h"

namespace maskctl {
namespace {

const Python* named(const Python& call, std::string_view name) {
  for (const auto& [key, value] : call.named) {
    if (key == name) return &value;
  }
  return nullptr;
}

/// The value of the argument that contains the mask, or else the call itself.
Python mask_argument(const LibrarySource& source, std::string_view name) {
  const Python& last = source.text.last;
  const Python* given = named(last, name);
  return given ? resolved(source.text, *given) : resolved(source.text, last);
}

void move_into(Chain& to, Chain from) { std::ranges::move(from, std::back_inserter(to)); }

/// Reads an attention bias object, or nothing.
Chain xformers(const LibrarySource& source) {
  const Python bias = mask_argument(source, "attn_bias");
  if (bias.is_word("None")) return {};
  if (bias.kind == Python::Kind::kWord) {  // a class without its parentheses
    Python call = bias;
    call.kind = Python::Kind::kCall;
    return chain_of(form_of_call(source, call));
  }
  if (bias.kind != Python::Kind::kCall) source.fail(bias.position, "expected a class of attn_bias");
  return chain_of(form_of_call(source, bias));
}

/// Reads is_causal, a CausalBias, or a mask given as an expression.
Chain sdpa(const LibrarySource& source, bool true_is_open) {
  const Python* given = named(source.text.last, "attn_mask");
  if (given && resolved(source.text, *given).is_word("None")) given = nullptr;
  const Python* causal = named(source.text.last, "is_causal");
  if (given && causal && resolved(source.text, *causal).is_word("True") && true_is_open) {
    source.fail(causal->position, "attn_mask and is_causal together are refused by torch");
  }
  const Python mask = given ? resolved(source.text, *given) : source.text.last;
  const bool call = mask.kind == Python::Kind::kCall;
  const std::string_view name = last_name(mask.text);
  const bool causal_bias = call && name.starts_with("causal_");
  const bool attention = call && (mask.text.empty() || name == "scaled_dot_product_attention");
  if (true_is_open && (causal_bias || attention)) return chain_of(form_of_call(source, mask));
  if (call && !true_is_open && !given) {
    source.fail(mask.position, "expected attn_mask=, where True is closed");
  }
  const bool inverted =
      mask.kind == Python::Kind::kOperator && mask.text == "~" && mask.items.size() == 1;
  if (!true_is_open && inverted) {
    return chain_of_expression(source, mask.items.front(), Align::kTopLeft);
  }
  Chain out = chain_of_expression(source, mask, Align::kTopLeft);
  if (!true_is_open) out.push_back({step::Not{}});
  return out;
}

/// Reads the transforms of MaskInfo from left to right, or its keywords.
Chain mask_info(const LibrarySource& source) {
  const auto made = source.text.names.find("mask_info");
  const Python call = made != source.text.names.end() ? made->second : source.text.last;
  if (call.text.find("MaskInfo") == call.text.npos) return chain_of(form_of_call(source, call));
  return chain_of_mask_info(source, call);
}

/// Any attention_mask, even one of all ones, turns off the packing by position_ids.
bool padding_given(const LibrarySource& source, const Python* padding) {
  return padding && !resolved(source.text, *padding).is_word("None");
}

Chain chain_of_keywords(const LibrarySource& source) {
  const Python& last = source.text.last;
  if (last.kind != Python::Kind::kCall) source.fail(last.position, "expected arguments or a call");
  return chain_of(form_of_call(source, last));
}

/// Reads an attention_mask with two axes: arange(KV_LEN) < lengths[:, None], or >= KV_LEN -
/// lengths[:, None].
Step padding_step(const LibrarySource& source, const Python& given) {
  const Python mask = resolved(source.text, given);
  const bool compares = mask.kind == Python::Kind::kOperator && mask.items.size() == 2 &&
                        (mask.text == "<" || mask.text == ">=") &&
                        mask.items[0].kind == Python::Kind::kCall &&
                        last_name(mask.items[0].text) == "arange";
  step::Pad rule;
  rule.is_lengths = true;
  rule.left = compares && mask.text == ">=";
  const Python* length = compares ? &mask.items[1] : nullptr;
  if (length && rule.left) {
    const bool end = length->kind == Python::Kind::kOperator && length->text == "-" &&
                     length->items.size() == 2 && length->items[0].is_word("KV_LEN");
    length = end ? &length->items[1] : nullptr;
  }
  if (length && length->kind == Python::Kind::kSubscript) length = &length->items[0];
  const auto lengths = length ? numbers_in(source.text, *length) : std::nullopt;
  if (!lengths) {
    source.fail(given.position,
                "attention_mask: expected None, or torch.arange(KV_LEN) < torch.tensor([...])[:, "
                "None]; of an array give the file to the other commands");
  }
  Tensor array(DType::kInt64, {static_cast<Index>(lengths->size())});
  std::ranges::copy(*lengths, array.as<std::int64_t>().begin());
  rule.valid = {std::move(array), ""};
  return {std::move(rule)};
}

/// Reads a mask function of masking_utils with its patterns, or keys of a config.
Chain hf(const LibrarySource& source) {
  const Python& last = source.text.last;
  const std::string_view name = last_name(last.text);
  if (!name.starts_with("create_")) return chain_of_keywords(source);
  Python keys;
  keys.kind = Python::Kind::kCall;
  keys.position = last.position;
  Python flag;
  flag.text = name.find("bidirectional") == name.npos ? "True" : "False";
  keys.named.push_back({"is_causal", flag});
  const auto window = source.text.names.find("sliding_window");
  if (name.find("sliding_window") != name.npos) {
    if (window == source.text.names.end()) {
      source.fail(last.position, fmt::format("{} needs config.sliding_window", name));
    }
    keys.named.push_back({"sliding_window", window->second});
  }
  const auto chunk = source.text.names.find("attention_chunk_size");
  if (name.find("chunked") != name.npos && chunk != source.text.names.end()) {
    keys.named.push_back({"attention_chunk_size", chunk->second});
  }
  Chain out = chain_of(form_of_call(source, keys));
  if (const Python* pattern = named(last, "and_mask_function")) {
    move_into(out,
              chain_of_expression(source, resolved(source.text, *pattern), Align::kBottomRight));
  }
  const Python* padding = named(last, "attention_mask");
  if (padding_given(source, padding)) {
    out.push_back(padding_step(source, *padding));
  }
  for (const char* unread : {"or_mask_function", "block_sequence_ids"}) {
    if (const Python* given = named(last, unread)) {
      source.fail(given->position, fmt::format("{} is not read", unread));
    }
  }
  if (const Python* ids = named(last, "position_ids"); ids && !padding_given(source, padding)) {
    const auto lengths = packed_lengths(source, *ids);
    if (!lengths) source.fail(ids->position, "position_ids: expected a list of numbers");
    if (name.find("bidirectional") != name.npos) return out;  // it ignores position_ids
    MaskForm form = mask_form(out, [](const Step&) { return "a step"; });
    form.documents = form.inside = true;
    form.lengths = *lengths;
    form.align = form.chunk_align = Align::kUnset;
    return chain_of(form);
  }
  return out;
}

}  // namespace

Chain parse_library_syntax(Library library, std::string_view text) {
  if (library == Library::kCkTile) return parse_ck_tile(text);
  if (library == Library::kFlex) return parse_mask_expression(text);
  const LibrarySource source = read_library_source(library, text);
  switch (library) {
    case Library::kXformers:
      return xformers(source);
    case Library::kSplash:
      return chain_of_splash(source);
    case Library::kSdpa:
      return sdpa(source, true);
    case Library::kMha:
      return sdpa(source, false);
    case Library::kEjkernel:
      return mask_info(source);
    case Library::kHf:
      return hf(source);
    case Library::kJax:
      if (const Python* dense = named(source.text.last, "mask");
          dense && !resolved(source.text, *dense).is_word("None")) {
        // The other arguments only close cells, so they come later.
        Chain out = chain_of_expression(source, resolved(source.text, *dense), Align::kTopLeft);
        move_into(out, chain_of_keywords(source));
        return out;
      }
      break;
    case Library::kFlashmask:
      if (named(source.text.last, "startend_row_indices")) {
        source.fail(source.text.last.position,
                    "startend_row_indices are not read as text: give the array as a file");
      }
      break;
    default:
      break;
  }
  return chain_of_keywords(source);
}

Chain parse_ck_tile(std::string_view given) {
  std::string_view body = given;
  std::vector<Index> lengths;
  const std::size_t at = given.find("-mask=");
  if (at != given.npos) {  // given as a command line
    body = given.substr(at + 6);
    const std::size_t end = body.find(' ');
    const std::size_t sizes = given.find("-s=");
    if (given.find("-mode=1") != given.npos && sizes != given.npos) {
      LibraryText list(given.substr(sizes + 3, given.find(' ', sizes) - sizes - 3), "ck_tile");
      do {
        lengths.push_back(list.required_number());
      } while (list.take(','));
    }
    body = body.substr(0, end);
  }
  LibraryText text(body, "ck_tile");
  const std::string kind = text.word();
  MaskForm mask;
  mask.documents = mask.inside = !lengths.empty();
  mask.lengths = std::move(lengths);
  mask.align = kind == "b" || kind == "xb" || kind == "2" ? Align::kBottomRight : Align::kTopLeft;
  if (mask.documents) mask.align = Align::kUnset;
  if (text.at_end()) {
    if (kind.empty() || kind == "0") {
      mask.align = Align::kUnset;
      return chain_of(mask);
    }
    if (kind != "t" && kind != "b" && kind != "1" && kind != "2") {
      text.fail_at(0, "expected 0, 1, 2, t, b, t:L,R, b:L,R, xt:W, xb:W or g:Y,X");
    }
    mask.right = 0;
    return chain_of(mask);
  }
  const auto side = [](Index n) { return n < 0 ? std::nullopt : std::optional(n); };
  text.need(':');
  const Index first = text.required_number();
  if (kind == "xt" || kind == "xb") {
    mask.right = 0;
    if (first > 0) {
      mask.left = first / 2;
      mask.right = first - 1 - first / 2;
    }
  } else if (kind == "t" || kind == "b" || kind == "g") {
    text.need(',');
    const Index second = text.required_number();
    mask.left = kind == "g" ? std::optional(first - 1) : side(first);
    mask.right = kind == "g" ? std::optional(second - 1) : side(second);
    if (kind != "g" && text.take(',')) mask.sinks = std::max<Index>(text.required_number(), 0);
    if (mask.left && *mask.left < 0) text.fail_at(2, "g:Y,X needs Y of at least 1");
    if (mask.right && *mask.right < 0) text.fail_at(2, "g:Y,X needs X of at least 1");
    if (mask.sinks > 0 && !mask.causal()) text.fail_at(2, "sink tokens need a right side of 0");
  } else {
    text.fail_at(0, "expected t, b, xt, xb or g before ':'");
  }
  if (!text.at_end()) text.fail("expected the end");
  return chain_of(mask);
}

}  // namespace maskctl
