#include "maskctl/mask/steps/within.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/diagonal_parts.h"
#include "maskctl/mask/planes/diagonal_planes.h"
#include "maskctl/mask/steps/bits.h"
#include "maskctl/mask/steps/document_chains.h"
#include "maskctl/mask/steps/edits.h"
#include "maskctl/mask/steps/inner_chain.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::step {
namespace {

/// The queries and the keys of one document.
struct DocumentRanges {
  Range q, k;
  Index number = 0;  // counted from the first document
};

std::vector<Range> ranges_of(const std::vector<Index>& lengths, Index extent, const char* side) {
  std::vector<Range> out;
  Index start = 0;
  for (const Index length : lengths) {
    if (length < 0 || length > extent - start) {
      refuse("within", fmt::format("document of {} {} at {} of {}: lengths must not be negative or "
                                   "reach past the end",
                                   length, side, start, extent));
    }
    out.push_back({start, start + length});
    start += length;
  }
  return out;
}

/// The range of tokens of each id, in the order of the tokens.
std::vector<std::pair<std::int32_t, Range>> ranges_of_ids(const NamedArray& ids, Index extent,
                                                          Index b, std::int32_t pad_id) {
  const auto all = as_int32(ids.array, "ids");
  const auto size = static_cast<std::size_t>(extent);
  const std::size_t first = all.size() == size ? 0 : static_cast<std::size_t>(b) * size;
  std::vector<std::pair<std::int32_t, Range>> out;
  std::map<std::int32_t, Index> seen;
  for (Index i = 0; i < extent; ++i) {
    const std::int32_t id = all[first + static_cast<std::size_t>(i)];
    if (id == pad_id) continue;
    if (!out.empty() && out.back().first == id && out.back().second.end == i) {
      ++out.back().second.end;
    } else if (seen.contains(id)) {
      refuse("within", fmt::format("id {} recurs at token {}: the tokens of a document must lie "
                                   "together",
                                   id, i));
    } else {
      seen[id] = i;
      out.push_back({id, {i, i + 1}});
    }
  }
  return out;
}

std::vector<DocumentRanges> pairs_of_ids(const Within& rule, const MaskShape& shape, Index b) {
  const NamedArray& kv = rule.shared ? rule.q : rule.kv;
  check_batched(shape, rule.q.array, shape.queries, "within", "queries");
  check_batched(shape, kv.array, shape.keys, "within", "keys");
  std::map<std::int32_t, Range> keys;
  for (const auto& [id, range] : ranges_of_ids(kv, shape.keys, b, rule.pad_id)) keys[id] = range;
  std::vector<DocumentRanges> out;
  for (const auto& [id, range] : ranges_of_ids(rule.q, shape.queries, b, rule.pad_id)) {
    const auto found = keys.find(id);
    if (found != keys.end()) out.push_back({range, found->second, std::ssize(out)});
  }
  return out;
}

/// The documents of batch b in the order of their queries. Documents given by lengths may have no
/// queries or no keys.
std::vector<DocumentRanges> document_ranges(const Within& rule, const MaskShape& shape, Index b) {
  if (rule.q.array.elements() > 0) return pairs_of_ids(rule, shape, b);
  const auto& kv_lengths = rule.kv_lengths.empty() ? rule.lengths : rule.kv_lengths;
  if (kv_lengths.size() != rule.lengths.size()) {
    refuse("within", fmt::format("{} documents of queries and {} of keys", rule.lengths.size(),
                                 kv_lengths.size()));
  }
  const std::vector<Range> q = ranges_of(rule.lengths, shape.queries, "queries");
  const std::vector<Range> k = ranges_of(kv_lengths, shape.keys, "keys");
  std::vector<DocumentRanges> out;
  for (std::size_t i = 0; i < q.size(); ++i) out.push_back({q[i], k[i], static_cast<Index>(i)});
  return out;
}

/// True when all batches have the same documents.
bool shares_documents(const Within& rule) {
  const auto one = [](const NamedArray& ids) {
    return ids.array.rank() < 2 || ids.array.extent(0) == 1;
  };
  return one(rule.q) && one(rule.kv);
}

/// The documents of batch b that have both queries and keys.
std::vector<DocumentRanges> documents_in(const Within& rule, const Mask& mask, Index b) {
  std::vector<DocumentRanges> documents = document_ranges(rule, shape_of(mask), b);
  std::erase_if(documents, [](const DocumentRanges& at) { return at.q.empty() || at.k.empty(); });
  return documents;
}

/// The chains of the documents, where they differ.
std::optional<DocumentChains> own_chains(const Within& rule, const MaskShape& shape) {
  if (!shares_documents(rule)) return std::nullopt;
  DocumentChains out(rule.chain, std::ssize(document_ranges(rule, shape, 0)));
  return out.differ() ? std::optional(std::move(out)) : std::nullopt;
}

/// What a chain of steps with diagonals keeps of one document. Nothing if the batches of a step
/// differ.
std::optional<DiagonalPart> diagonal_part(const Chain& chain, const DocumentRanges& at) {
  const MaskShape document{1, 1, at.q.size(), at.k.size()};
  DiagonalPart out{at.q, at.k, -kUnbounded, kUnbounded};
  const Index origin = at.k.begin - at.q.begin;
  for (const Step& step : chain) {
    const std::optional<Diagonal> one = step.row().diagonal(step, document);
    if (!one) return std::nullopt;
    out.low = std::max(out.low, one->low + origin);
    out.high = std::min(out.high, one->high + origin);
  }
  return out;
}

/// What a chain of steps with diagonals keeps of all documents; nothing for other chains. The time
/// per document does not depend on how planes are stored.
std::optional<Mask> cells_of_diagonals(const Within& rule, const Mask& mask) {
  if (!std::ranges::all_of(rule.chain, keeps_diagonals)) return std::nullopt;
  const std::optional<DocumentChains> own = own_chains(rule, shape_of(mask));
  std::vector<PlanePtr> planes;
  for (Index b = 0; b < (shares_documents(rule) ? 1 : mask.batch()); ++b) {
    std::vector<DiagonalPart> parts;
    for (const DocumentRanges& at : documents_in(rule, mask, b)) {
      const std::optional<DiagonalPart> part =
          diagonal_part(own ? own->of(at.number) : rule.chain, at);
      if (!part) return std::nullopt;
      parts.push_back(*part);
    }
    planes.push_back(diagonal_parts(mask.queries(), mask.keys(), parts));
  }
  return Mask::make(std::ssize(planes), 1, mask.queries(), mask.keys(),
                    [&](Index b, Index) { return planes[as_size(b)]; });
}

/// Applies the chain to the queries and keys of one document, in the batches `b`.
Mask changed_part(const Mask& mask, const DocumentRanges& at, Range b, const Chain& chain) {
  return apply_inner(chain, sliced(mask, b, {0, mask.heads()}, at.q, at.k), "within");
}

}  // namespace

bool operator==(const Within& a, const Within& b) {
  return a.lengths == b.lengths && a.kv_lengths == b.kv_lengths && a.q == b.q && a.kv == b.kv &&
         a.shared == b.shared && a.pad_id == b.pad_id && a.chain == b.chain;
}

std::string words(const Within&) { return "documents"; }

/// Returns the step without its chain: its documents alone say which queries are padding.
std::optional<Step> declared(const Within& rule, const MaskShape&) {
  Within documents = rule;
  documents.chain.clear();
  return documents;
}

Meets meets(const Within&) { return Meets::kOwn; }

Mask apply_rule(const Within& rule, const Mask& mask) {
  if (const auto kept = cells_of_diagonals(rule, mask)) return zip(Op::kAnd, mask, *kept);
  const std::optional<DocumentChains> own = own_chains(rule, shape_of(mask));
  // If documents differ between batches, each batch is processed on its own.
  const Index step = shares_documents(rule) ? std::max<Index>(mask.batch(), 1) : 1;
  std::vector<Mask> parts;
  std::vector<DocumentRanges> documents;
  // planes that consist of equal parts are made once
  std::map<std::vector<const Plane*>, PlanePtr> made;
  Range done{0, 0};
  return Mask::make(mask.batch(), mask.heads(), mask.queries(), mask.keys(), [&](Index b, Index h) {
    if (b >= done.end) {
      done = {b, b + step};
      documents = documents_in(rule, mask, b);
      parts.clear();
      made.clear();
      for (const auto& at : documents) {
        parts.push_back(changed_part(mask, at, done, own ? own->of(at.number) : rule.chain));
      }
    }
    std::vector<PlacedPart> here;
    std::vector<const Plane*> key;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      here.push_back({documents[i].q, documents[i].k, parts[i].plane(b - done.begin, h)});
      key.push_back(here.back().plane.get());
    }
    PlanePtr& plane = made[key];
    if (!plane) plane = diagonal_planes(mask.queries(), mask.keys(), std::move(here));
    return plane;
  });
}

namespace {

/// The document of a query.
std::optional<DocumentRanges> own_document(const Within& rule, const MaskShape& shape,
                                           const Cell& cell) {
  const auto documents = document_ranges(rule, shape, cell.batch);
  const auto own = std::ranges::find_if(
      documents, [&](const DocumentRanges& one) { return one.q.contains(cell.query); });
  if (own == documents.end()) return std::nullopt;
  return *own;
}

}  // namespace

std::optional<Inside> inside(const Within& rule, const MaskShape& shape, const Cell& cell) {
  const auto own = own_document(rule, shape, cell);
  if (!own || !own->k.contains(cell.key)) return std::nullopt;
  const auto& [q, k, number] = *own;
  const bool shared = shares_documents(rule);
  Inside out{{shared ? shape.batch : 1, shape.heads, q.size(), k.size()},
             {shared ? cell.batch : 0, cell.head, cell.query - q.begin, cell.key - k.begin}};
  if (const auto chains = own_chains(rule, shape)) out.chain = chains->of(number);
  return out;
}

PairReason reason(const Within& rule, const MaskShape& shape, const Cell& cell) {
  const auto own = own_document(rule, shape, cell);
  if (!own) return {false, fmt::format("query {} is in no document", cell.query)};
  const auto& [q, k, number] = *own;
  std::string words =
      fmt::format("query {} is in document {}, keys [{}, {}): key {} is {}", cell.query, number,
                  k.begin, k.end, cell.key, k.contains(cell.key) ? "one of them" : "none");
  if (!k.contains(cell.key)) return {false, std::move(words)};
  words +=
      fmt::format("; in it they are query {} and key {}", cell.query - q.begin, cell.key - k.begin);
  return {true, std::move(words)};
}

CellFormula formula(const Within&) { return no_formula("it applies a chain"); }

StepDocuments documents(const Within& rule) {
  if (!rule.q.empty()) {
    return {.q_ids = &rule.q.array,
            .k_ids = rule.shared ? &rule.q.array : &rule.kv.array,
            .pad_id = rule.pad_id,
            .shared = rule.shared};
  }
  const bool shared = rule.kv_lengths.empty();
  return {.q_lengths = rule.lengths,
          .k_lengths = shared ? rule.lengths : rule.kv_lengths,
          .shared = shared};
}

/// As many bits more as a name of an array takes, so that doc: is preferred where documents alone
/// describe the mask.
Index bits(const Within& rule, const ArgumentBits& bits) {
  return std::ssize(rule.lengths) * bits.number() + std::ssize(rule.kv_lengths) * bits.number() +
         ArgumentBits::kName + bits.runs(rule.q) + bits.runs(rule.kv);
}

/// Adds edits (steps that may have been meant instead) that change both lists of lengths, of
/// queries and of keys, together. The general edits of lists would change only one of them.
void edits(const Within& rule, StepEdits& edits) {
  edits.without(rule);
  edits.join(rule.lengths.size(), [&](std::size_t n) {
    Within copy = rule;
    copy.lengths = StepEdits::joined(rule.lengths, n);
    copy.kv_lengths = StepEdits::joined(rule.kv_lengths, n);
    return copy;
  });
  edits.inside(rule);
}

std::optional<Misfit> misfit(const Within& rule, GivenNames) {
  if (rule.kv_lengths.empty() || rule.kv_lengths.size() == rule.lengths.size()) {
    return std::nullopt;
  }
  return Misfit{"kv-lens", fmt::format("within: {} documents of queries and {} of keys",
                                       rule.lengths.size(), rule.kv_lengths.size())};
}

namespace {

/// Document lengths: one list for both sides (group 2), or one for each side (group 3).
template <int group, std::vector<Index> Within::*Lengths>
constexpr Field within_lengths(std::string_view name, std::string_view help) {
  return {.name = name,
          .type = FieldType::kLengths,
          .help = help,
          .required = true,
          .group = group,
          .get =
              [](const Step& step) {
                const Within& rule = step.as<Within>();
                const bool used = rule.q.empty() && rule.kv_lengths.empty() == (group == 2);
                return used ? FieldValue(rule.*Lengths) : FieldValue();
              },
          .set = fields::Access<Lengths>::set};
}

constexpr std::array kWithinFields = {
    fields::both_sides<Within>("ids", "ids [S] or [B,S] of both sides"),
    within_lengths<2, &Within::lengths>("lens", "document lengths, from the first token on"),
    within_lengths<3, &Within::lengths>("q-lens", "lengths of the documents' queries"),
    within_lengths<3, &Within::kv_lengths>("kv-lens", "lengths of their keys"),
    fields::one_side<Within, &Within::q>("q", "ids", "ids of the queries", 4),
    fields::one_side<Within, &Within::kv>("kv", "ids", "ids of the keys", 4),
    fields::pad_id<Within>()};

constexpr std::array kWithinNames = {StepInfo{
    .name = "within",
    .kind = StepKind::kOwn,
    .meaning =
        "applies a chain inside each document, with its own number of a list; closes the rest",
    .formula = "chain(mask[:, :, q of document, k of document]) for each document",
    .example = "within:q-lens=2+3,kv-lens=5+3{causal:align=bottom-right}",
    .args = kWithinFields,
    .noun = "documents",
    .synonyms = "ragged per-document nested",
    .make = blank<Within>,
    .chain = chain_in<Within>}};
constexpr RuleInfo kWithinRow = describe<Within>(kWithinNames, Reopening::kLeak, Declares::kPart);

}  // namespace

const RuleInfo& row(const Within*) { return kWithinRow; }

}  // namespace maskctl::step
