#include "maskctl/inspect/check/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <ranges>
#include <span>
#include <string>
#include <utility>

#include "maskctl/base/error.h"
#include "maskctl/base/text.h"
#include "maskctl/inspect/check/family.h"
#include "maskctl/inspect/check/lint.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/inspect/why/why.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

using Beside = LintRule::Beside;

bool has(const Finding& finding, Beside beside) {
  return std::ranges::find(finding.rule->beside, beside) != finding.rule->beside.end();
}

bool has(const Findings& findings, Beside beside) {
  return std::ranges::any_of(findings, [beside](const Finding& f) { return has(f, beside); });
}

bool has(const Findings& findings, Severity severity) {
  return std::ranges::any_of(findings,
                             [severity](const Finding& f) { return f.rule->severity == severity; });
}

/// True when all cells that the steps do not explain are in the future.
bool all_in_future(const Residue& residue, const Mask& mask) {
  const Index shift = mask.keys() - mask.queries();
  return std::ranges::all_of(residue.first,
                             [shift](const Cell& cell) { return cell.key > cell.query + shift; });
}

/// True when a step reads another mask: then the text of the chain does not tell which cells are
/// open.
bool reads_mask(const Chain& chain) {
  return std::ranges::any_of(chain, [](const Step& step) {
    const auto is_mask = [](const Field& field) { return field.type == FieldType::kMaskSource; };
    const Chain* inner = chain_of(step);
    return std::ranges::any_of(info_of(step).args, is_mask) || (inner && reads_mask(*inner));
  });
}

bool contains(const Mask& mask, const Location& where) {
  if (!where.query || !where.key) return false;
  return is_open(mask,
                 {std::min(where.batch.value_or(0), mask.batch() - 1),
                  std::min(where.head.value_or(0), mask.heads() - 1), *where.query, *where.key});
}

/// If a step reopened cells, a finding about the mask itself may report the same cells. Joins the
/// two findings into one.
void tell_once(const std::vector<Reopened>& reopened, Findings& findings) {
  for (const Reopened& one : reopened | std::views::reverse) {
    const Finding by_step = findings[one.finding];
    if (by_step.rule->key != FindingId::kStepReopensOrder) continue;
    const auto shown = std::ranges::find_if(findings, [&one](const Finding& finding) {
      return has(finding, Beside::kTellsReopened) && contains(one.cells, finding.where);
    });
    if (shown == findings.end()) continue;
    shown->message += ", as " + by_step.message;
    shown->where.step = by_step.where.step;
    findings.erase(findings.begin() + static_cast<std::ptrdiff_t>(one.finding));
  }
}

/// The cumulative lengths in an array that has them for one sequence; nothing for other arrays.
std::optional<std::vector<std::int64_t>> ends_in(const DocumentSource& source) {
  if (source.form != DocumentForm::kCuSeqlens || source.kv) return std::nullopt;
  if (has(lint_cu_seqlens(source.q, std::nullopt), Severity::kError)) return std::nullopt;
  return as_int64(source.q, "cumulative lengths");
}

/// Real cumulative lengths beside padded ones: each real document is the beginning of a padded one.
struct PaddedLengths {
  const DocumentSource* real = nullptr;
  Tensor ids;  // [S] of the padded tokens: the number of the document, or -1
};
std::optional<PaddedLengths> padded_lengths(std::span<const DocumentSource* const> arrays,
                                            Index tokens) {
  const auto padded_by = [&](const std::vector<std::int64_t>& real,
                             const std::vector<std::int64_t>& padded) -> std::optional<Tensor> {
    if (real.size() != padded.size() || padded.back() != tokens || real == padded) return {};
    Tensor ids(DType::kInt32, {tokens});
    std::ranges::fill(ids.as<std::int32_t>(), -1);
    for (std::size_t i = 1; i < real.size(); ++i) {
      const std::int64_t length = real[i] - real[i - 1];
      if (length > padded[i] - padded[i - 1]) return {};
      const auto its = ids.as<std::int32_t>().subspan(as_size(padded[i - 1]), as_size(length));
      std::ranges::fill(its, static_cast<std::int32_t>(i - 1));
    }
    return ids;
  };
  for (const DocumentSource* real : arrays) {
    const auto ends = ends_in(*real);
    for (const DocumentSource* padded : arrays) {
      const auto all = ends && padded != real ? ends_in(*padded) : std::nullopt;
      if (!all) continue;
      if (auto ids = padded_by(*ends, *all)) return PaddedLengths{real, *std::move(ids)};
    }
  }
  return std::nullopt;
}

/// Collects the findings about one mask.
class Check {
 public:
  explicit Check(const CheckedMask& given) : given_(given) {
    for (const auto* array : {&given_.own_documents, &given_.documents}) {
      if (*array) arrays_.push_back(&**array);
    }
    for (const DocumentSource& array : given_.also) arrays_.push_back(&array);
  }

  CheckResult run() {
    add(lint_reading(given_.reading));
    if (given_.start) {
      check_mask();
    } else {
      skip(NotLookedAt::kMask);
    }
    check_arrays();
    std::ranges::stable_sort(out_.findings, {},
                             [](const Finding& finding) { return finding.rule->severity; });
    return std::move(out_);
  }

 private:
  void add(Findings findings) { std::ranges::move(findings, std::back_inserter(out_.findings)); }
  void skip(NotLookedAt what) { out_.not_looked_at.push_back(what); }

  void check_mask() {
    std::vector<std::string> texts;
    for (const Step& step : given_.chain) texts.push_back(to_text(Chain{step}));
    const Mask declared =
        maskctl::apply(full_like(*given_.start), declaring(given_.chain, shape_of(*given_.start)));
    ChainFindings steps = lint_chain(*given_.start, given_.chain, texts);
    out_.mask = std::move(steps.mask);
    const Mask& mask = *out_.mask;
    Findings found = std::move(steps.findings);  // `reopened` counts from the first of these
    const auto put = [&found](Findings more) {
      std::ranges::move(more, std::back_inserter(found));
    };
    out_.documents = usable_documents(mask);
    const std::optional<Documents>& documents = out_.documents;
    // Before a step opens cells, a mask has no leaks between the documents from which it was made.
    if (documents && (given_.documents || steps.opened)) out_.leaks = leaks(mask, *documents);
    const bool fit =
        documents && (documents->q.extent(0) == 1 || documents->q.extent(0) == mask.batch());
    const Mask real =
        fit ? zip(Op::kAnd, declared, real_queries(*documents, mask.keys())) : declared;
    put(lint_mask(mask, &real, !given_.reading.min_closed, fit));
    drop_future_of_rules(mask, found);
    if (out_.leaks) put(lint_documents(mask, *documents, *out_.leaks));
    put(lint_single_cells(mask, fit ? &real : nullptr, found));
    tell_once(steps.reopened, found);
    add(std::move(found));
    if (!documents) skip(NotLookedAt::kDocuments);
    if (given_.bias) {
      add(lint_bias(mask, *given_.bias));
    } else {
      skip(NotLookedAt::kBias);
    }
    skip(NotLookedAt::kIntent);
  }

  /// Drops the finding about a part of the future where a few steps make the mask exactly, or each
  /// plane of it, such as a prefix with a window, or a grid makes it but for single cells: then
  /// that part is no group as a whole, but meant. Likewise where steps leave fewer cells.
  void drop_future_of_rules(const Mask& mask, Findings& found) {
    const auto future = std::ranges::find_if(
        found, [](const Finding& finding) { return finding.rule->key == FindingId::kFuturePart; });
    if (future == found.end()) return;
    try {
      const Pattern pattern = pattern_of(mask, nullptr, planes_);
      const auto nearly = lint_pattern(pattern);
      if (pattern.is_rule ||
          (nearly && !nearly->empty() && nearly->front().count < future->count) ||
          are_off_family(pattern.mask, pattern.found.chain, pattern.found.residue) ||
          are_rules(mask)) {
        found.erase(future);
      }
    } catch (const Error& error) {
      if (error.code() != Errc::kLimit) throw;
    }
  }

  /// Whether each of a few planes is made by a rule of its own.
  bool are_rules(const Mask& mask) {
    constexpr std::size_t kMostPlanes = 64;
    const std::span<const PlanePtr> planes = mask.distinct();
    return planes.size() > 1 && planes.size() <= kMostPlanes &&
           std::ranges::all_of(planes, [this](const PlanePtr& plane) {
             return pattern_of(Mask(plane), nullptr, planes_).is_rule;
           });
  }

  /// The declared documents; else those of the mask itself, if they still fit it.
  std::optional<Documents> usable_documents(const Mask& mask) {
    padded_ = padded_lengths(arrays_, mask.queries());
    if (padded_ && mask.queries() == mask.keys()) {
      return documents_of({DocumentForm::kSegments, padded_->ids, {}, -1, {}}, mask);
    }
    if (given_.documents) {
      if (!makes_documents(*given_.documents, mask.queries(), mask.keys())) return std::nullopt;
      return documents_of(*given_.documents, mask);
    }
    const auto& own = given_.own_documents;
    if (!own) return std::nullopt;
    if (own->form == DocumentForm::kCuSeqlens) {
      const auto keys = given_.own_keys ? given_.own_keys : given_.own_tokens;
      if (given_.own_tokens != mask.queries() || keys != mask.keys()) return std::nullopt;
      return documents_of(*own, mask.queries(), mask.keys());
    }
    const auto fits = [&](const Tensor& ids, Index tokens) {
      const Index batch = ids.rank() == 1 ? 1 : ids.extent(0);
      return ids.extent(ids.rank() - 1) == tokens && (batch == 1 || batch == mask.batch());
    };
    if (!fits(own->q, mask.queries()) || !fits(own->kv ? *own->kv : own->q, mask.keys())) {
      return std::nullopt;
    }
    return documents_of(*own, mask.queries(), mask.keys());
  }

  /// Reports the cells in which a mask differs from a few steps that nearly make it; nothing if a
  /// finding of `so_far` says why they do not make it. `tokens`: open in rows that are declared to
  /// be no padding.
  Findings lint_single_cells(const Mask& mask, const Mask* tokens, const Findings& so_far) {
    if (mask.count() == 0 || has(so_far, Beside::kSaysPattern)) return {};
    const bool known = given_.whole && !reads_mask(*given_.whole);
    Pattern pattern;
    try {
      pattern = pattern_of(mask, tokens, planes_);
    } catch (const Error& error) {
      if (error.code() != Errc::kLimit) throw;
      if (!known) skip(NotLookedAt::kCells);
      return {};
    }
    if (has(so_far, Beside::kCountsFuture) && all_in_future(pattern.found.residue, mask)) return {};
    auto found = lint_pattern(pattern);
    if (!found && !known) {
      const bool steps = !pattern.found.irregular && !names_arrays(pattern.found.chain);
      skip(steps ? NotLookedAt::kLeftCells : NotLookedAt::kAnyCells);
    }
    Findings out = found ? *std::move(found) : lint_row_length(mask);
    if (!found) std::ranges::move(lint_heads(pattern, planes_), std::back_inserter(out));
    // A leak that is told cell by cell is not told again of the documents of heads.
    if (out.empty()) out = lint_recognised(pattern, planes_);
    if (has(so_far, Beside::kNamesReopening)) {
      std::erase_if(out, [](const Finding& one) { return has(one, Beside::kIsReopening); });
    }
    if (out.empty()) out = lint_window(mask);
    if (out.empty()) out = lint_trees_of_heads(mask, planes_);
    if (out.empty() && pattern.explained) out = lint_heads_alike(mask, planes_);
    if (out.empty()) out = lint_entries_alike(mask);
    if (out.empty()) {
      if (auto region = lint_head_region(mask)) out.push_back(*std::move(region));
    }
    if (out.empty()) out = lint_group_holes(mask);
    return out;
  }

  void check_arrays() {
    std::optional<Index> queries, keys;
    if (out_.mask) queries = out_.mask->queries(), keys = out_.mask->keys();
    for (const DocumentSource* array : arrays_) {
      if (given_.own_documents && array == &*given_.own_documents) {
        check_array(*array, given_.own_tokens,
                    given_.own_keys ? given_.own_keys : given_.own_tokens);
      } else {
        check_array(*array, queries, keys);
      }
    }
    add(lint_descriptions(arrays_));
  }

  void check_array(const DocumentSource& array, std::optional<Index> queries,
                   std::optional<Index> keys) {
    if (array.real && array.q.elements() == 0) return;  // flags of padding alone
    switch (array.form) {
      case DocumentForm::kCuSeqlens:
        // Padded lengths end with the last token, but the real lengths beside them end earlier.
        if (padded_ && padded_->real == &array) queries.reset();
        add(lint_cu_seqlens(array.q, queries));
        if (array.kv) add(lint_cu_seqlens(*array.kv, keys, "cu_seqlens of the keys"));
        return;
      case DocumentForm::kPositions:
        return add(lint_positions(array.q, array.real));
      case DocumentForm::kSegments:
        add(lint_segments(array.q, array.pad_id));
        if (array.kv && !std::ranges::equal(array.kv->bytes(), array.q.bytes())) {
          add(lint_segments(*array.kv, array.pad_id));
        }
    }
  }

  const CheckedMask& given_;
  std::vector<const DocumentSource*> arrays_;  // all that describe the tokens
  std::optional<PaddedLengths> padded_;
  recognition::KnownPlanes planes_;  // what was found for planes of the mask
  CheckResult out_;
};

}  // namespace

bool CheckResult::ok() const {
  return !has(findings, Severity::kError) && !has(findings, Severity::kWarning);
}

CheckResult check(const CheckedMask& given) { return Check(given).run(); }

bool makes_documents(const DocumentSource& source, std::optional<Index> queries,
                     std::optional<Index> keys) {
  return source.form != DocumentForm::kCuSeqlens ||
         (!has(lint_cu_seqlens(source.q, queries), Severity::kError) &&
          !has(lint_cu_seqlens(source.kv.value_or(source.q), keys), Severity::kError));
}

}  // namespace maskctl
