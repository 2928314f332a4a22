// Reads the mask classes of JAX splash attention and the transforms of ejkernel's MaskInfo.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "maskctl/pipeline/parse/diagnostic.h"
#include "maskctl/translate/read/expression.h"

namespace maskctl {
namespace {

using Side = std::optional<Index>;

Side narrower_side(Side a, Side b) { return a && b ? std::min(*a, *b) : a ? a : b; }

/// The call with its name replaced by that of the table's row.
Python renamed(Python call, std::string_view name) {
  call.text = name;
  return call;
}

/// Adds the rules of `part` to `out`; both must count from the same diagonal.
void join(const LibrarySource& source, MaskForm& out, const MaskForm& part, Index position) {
  if (out.banded() && part.banded() && out.align != part.align) {
    source.fail(position, "masks joined by & must have one offset");
  }
  if (part.chunk && out.chunk) source.fail(position, "two masks with chunks");
  if (part.banded()) out.align = part.align;
  out.left = narrower_side(out.left, part.left);
  out.right = narrower_side(out.right, part.right);
  if (part.chunk) out.chunk = part.chunk;
}

MaskForm splash_form(const LibrarySource& source, const Python& given) {
  source.count(given.position);
  const Python mask = resolved(source.text, given);
  if (mask.kind == Python::Kind::kOperator && mask.text == "&" && mask.items.size() == 2) {
    MaskForm out = splash_form(source, mask.items[0]);
    join(source, out, splash_form(source, mask.items[1]), mask.position);
    return out;
  }
  if (mask.kind != Python::Kind::kCall)
    source.fail(mask.position, "expected a mask class with (...)");
  return form_of_call(source, mask);
}

/// The document lengths in the segment ids that the kernel is given.
std::optional<std::vector<Index>> segments_of(const LibrarySource& source) {
  for (const auto& [key, value] : source.text.last.named) {
    if (key != "segment_ids") continue;
    const Python ids = resolved(source.text, value);
    for (const auto& [side, array] : ids.named) {
      if (side != "q") continue;
      const auto lengths = id_lengths(source, array);
      if (!lengths) source.fail(array.position, "the values of the ids are needed");
      return lengths;
    }
    source.fail(value.position, "expected SegmentIds(q=IDS, kv=IDS)");
  }
  return std::nullopt;
}

/// Applies apply_causal(offset), apply_sliding_window(W or (L, R), offset) or apply_chunked(N).
void apply_method(const LibrarySource& source, std::string_view method,
                  const std::vector<Python>& items, Python call, MaskForm& out) {
  const auto splash = [&](std::string_view name) {
    Python moved = renamed(call, name);
    Python shape;
    shape.kind = Python::Kind::kList;
    shape.items = {Python{}, Python{}};
    moved.items = items;
    moved.items.insert(moved.items.begin(), shape);
    LibrarySource as_splash{Library::kSplash, source.given, source.text, 0};
    join(source, out, form_of_call(as_splash, moved), call.position);
  };
  if (method == "apply_causal") return splash("CausalMask");
  if (method == "apply_chunked") return splash("ChunkedCausalMask");
  if (method != "apply_sliding_window") {
    source.fail(call.position, fmt::format("unknown transform '{}' of MaskInfo", shown(method)));
  }
  // An integer means both sides.
  std::vector<Python> window = items;
  if (!window.empty() && number_in(source.text, window.front())) {
    Python pair;
    pair.kind = Python::Kind::kList;
    pair.items = {window.front(), window.front()};
    window.front() = pair;
  }
  Python moved = renamed(call, "LocalMask");
  Python shape;
  shape.kind = Python::Kind::kList;
  shape.items = {Python{}, Python{}};
  moved.items = window;
  moved.items.insert(moved.items.begin(), shape);
  if (moved.items.size() < 3 && moved.named.empty()) {
    Python zero;
    zero.kind = Python::Kind::kNumber;
    moved.items.push_back(zero);
  }
  LibrarySource as_splash{Library::kSplash, source.given, source.text, 0};
  join(source, out, form_of_call(as_splash, moved), call.position);
}

}  // namespace

Chain chain_of_splash(const LibrarySource& source) {
  const auto made = source.text.names.find("mask");
  MaskForm out =
      splash_form(source, made != source.text.names.end() ? made->second : source.text.last);
  if (const auto lengths = segments_of(source)) {
    out.documents = true;
    out.lengths = *lengths;
  }
  return chain_of(out);
}

Chain chain_of_mask_info(const LibrarySource& source, const Python& call) {
  MaskForm out;
  if (call.methods.empty()) source.fail(call.position, "expected MaskInfo.from_...(...)");
  for (const Python& method : call.methods) {
    const std::string_view name = std::string_view(method.text).substr(method.text.rfind('.') + 1);
    if (name == "from_segments") {
      const auto lengths =
          method.items.empty() ? std::nullopt : id_lengths(source, method.items[0]);
      if (!lengths) source.fail(method.position, "the values of the segment ids are needed");
      out.documents = true;
      out.lengths = *lengths;
    } else if (name != "from_attention_mask") {
      apply_method(source, name, method.items, method, out);
    }
  }
  return chain_of(out);
}

}  // namespace maskctl
