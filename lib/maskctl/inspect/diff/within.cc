// Compares documents whose queries and keys have separate lengths, and the steps inside them.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>

#include "maskctl/base/ranges.h"
#include "maskctl/inspect/diff/change.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/mask/steps/scoped.h"

namespace maskctl {
namespace {

/// The document lengths of one side (queries or keys) in A and B.
struct SideChange {
  const char* what;  // "query"
  const char* many;  // "queries"
  std::span<const Index> a, b;
  std::vector<Index> ends_a, ends_b;

  SideChange(const char* one, const char* all, std::span<const Index> in_a,
             std::span<const Index> in_b)
      : what(one), many(all), a(in_a), b(in_b), ends_a(in_a.size()), ends_b(in_b.size()) {
    std::inclusive_scan(a.begin(), a.end(), ends_a.begin());
    std::inclusive_scan(b.begin(), b.end(), ends_b.begin());
  }
  Index ends() const { return differing(ends_a, ends_b); }
  Index lengths() const { return differing(a, b); }
  /// How many documents at the front (or back) have the same lengths in A and B.
  std::size_t alike() const { return common(a, b); }
  std::size_t alike_at_back() const {
    return common(std::vector(a.rbegin(), a.rend()), std::vector(b.rbegin(), b.rend()));
  }
  static std::size_t common(std::span<const Index> x, std::span<const Index> y) {
    return static_cast<std::size_t>(std::ranges::mismatch(x, y).in1 - x.begin());
  }

 private:
  static Index differing(std::span<const Index> x, std::span<const Index> y) {
    Index out = std::abs(std::ssize(x) - std::ssize(y));
    for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) out += x[i] != y[i];
    return out;
  }
};

void then(std::string& words, const std::string& more) {
  if (!words.empty() && !more.empty()) words += " and ";
  words += more;
}

/// Puts into words how the documents of A and B differ.
class DocumentsChange {
 public:
  DocumentsChange(const StepDocuments& a, const StepDocuments& b)
      : sides_{{"query", "queries", a.q_lengths, b.q_lengths},
               {"key", "keys", a.k_lengths, b.k_lengths}},
        in_a_(a.q_lengths.size()),
        in_b_(b.q_lengths.size()) {}

  Reason reason() const {
    const Index lengths = sides_[0].lengths() + sides_[1].lengths();
    if (lengths == 0) return Reason::unchanged();
    if (in_a_ != in_b_) return other_count();
    const Index ends = sides_[0].ends() + sides_[1].ends();
    return lengths < ends || last_alone() ? changed_lengths(lengths) : moved_borders(ends);
  }

 private:
  std::size_t first() const { return std::min(sides_[0].alike(), sides_[1].alike()); }
  bool last_alone() const { return first() + 1 == in_a_; }

  Reason changed_lengths(Index numbers) const {
    const std::size_t at = first();
    std::string words;
    Index told = 0;
    for (const SideChange& side : sides_) {
      if (side.a[at] == side.b[at]) continue;
      then(words,
           fmt::format("{} {}", side.b[at], side.many) + fmt::format(" instead of {}", side.a[at]));
      ++told;
    }
    words = fmt::format("document {} of {}", at, words);
    if (!last_alone()) words += ", and all after it moved";
    return {"parameter", words + more(numbers - told, "length"), numbers};
  }

  Reason moved_borders(Index numbers) const {
    const std::size_t at = std::min(SideChange::common(sides_[0].ends_a, sides_[0].ends_b),
                                    SideChange::common(sides_[1].ends_a, sides_[1].ends_b));
    std::string words;
    Index told = 0;
    for (const SideChange& side : sides_) {
      if (side.ends_a[at] == side.ends_b[at]) continue;
      then(words, fmt::format("{} {}", side.what, instead(side.ends_b[at], side.ends_a[at])));
      ++told;
    }
    words = fmt::format("document {} starting at {}", at + 1, words);
    return {"parameter", words + more(numbers - told, "border"), numbers};
  }

  static std::string more(Index count, const char* what) {
    if (count == 0) return "";
    return fmt::format(" and {} more {}{}", count, what, count == 1 ? "" : "s");
  }

  /// For different numbers of documents: those merged, split, left out or added between equal ones
  /// at the front and at the back.
  Reason other_count() const {
    const std::size_t front = first(), least = std::min(in_a_, in_b_);
    const std::size_t back =
        std::min({sides_[0].alike_at_back(), sides_[1].alike_at_back(), least - front});
    const std::size_t a = in_a_ - front - back, b = in_b_ - front - back;
    // A border between documents that is missing or new counts as two numbers, one among the
    // queries and one among the keys.
    const auto numbers =
        static_cast<Index>(2 * (std::max(a, b) - std::min({a, b, std::size_t{1}})));
    const bool same = std::ranges::all_of(sides_, [&](const SideChange& side) {
      return sum(side.a, front, a) == sum(side.b, front, b);
    });
    if (same && b == 1) {
      return {"document", fmt::format("{} merged into one", documents(front, a, in_a_)), numbers};
    }
    if (same && a == 1) {
      return {"document", fmt::format("document {} split into {}", front, b), numbers};
    }
    if (a == 1 && b == 0) return {"document", place(true, front) + " left out", numbers};
    if (a == 0 && b == 1) return {"document", "a further " + place(false, front), numbers};
    return {"document",
            fmt::format("{} documents, the first that differs is document {}",
                        instead(static_cast<Index>(in_b_), static_cast<Index>(in_a_)), front),
            std::max<Index>(numbers, sides_[0].lengths() + sides_[1].lengths())};
  }

  static Index sum(std::span<const Index> lengths, std::size_t first, std::size_t count) {
    const auto begin = lengths.begin() + static_cast<std::ptrdiff_t>(first);
    return std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(count), Index{0});
  }
  static std::string documents(std::size_t first, std::size_t count, std::size_t all) {
    if (count == all) return fmt::format("all {} documents", all);
    return fmt::format("documents {} {} {}", first, count == 2 ? "and" : "to", first + count - 1);
  }
  std::string place(bool in_a, std::size_t at) const {
    std::string words;
    for (const SideChange& side : sides_) {
      const Index end = (in_a ? side.ends_a : side.ends_b)[at];
      const Index length = (in_a ? side.a : side.b)[at];
      if (!words.empty()) words += ", ";
      words += length == 0 ? fmt::format("no {}", side.what)
                           : range_words({end - length, end}, side.what, side.many);
    }
    return fmt::format("document {} ({})", at, words);
  }

  SideChange sides_[2];
  std::size_t in_a_, in_b_;
};

/// Returns the alignment of a step that keeps diagonals and removes it from the step; nothing for
/// other steps.
FieldValue taken_alignment(Step& step) {
  const Field* align = keeps_diagonals(step) ? find_field(step, "align") : nullptr;
  if (!align) return {};
  const FieldValue out = align->get(step);
  align->set(step, {});
  return out;
}

/// Inside documents, a list has a number for each of them.
std::string by_document(std::string words) {
  constexpr std::string_view kBatch = " by batch", kDocument = " by document";
  for (std::size_t at = 0; (at = words.find(kBatch, at)) != words.npos; at += kDocument.size()) {
    words.replace(at, kBatch.size(), kDocument);
  }
  return words;
}

/// Compares two steps inside documents. A missing alignment is no difference, as documents of as
/// many queries as keys need none.
Reason step_change_inside(Step a, Step b) {
  Reason out = Reason::unchanged();
  const FieldValue in_a = taken_alignment(a), in_b = taken_alignment(b);
  const Index *was = std::get_if<Index>(&in_a), *is = std::get_if<Index>(&in_b);
  if (was && is && *was != *is) {
    const bool top = *is == 0;
    out = {"alignment",
           fmt::format("alignment {} instead of {}", top ? "top-left" : "bottom-right",
                       top ? "bottom-right" : "top-left"),
           1};
  }
  if (a == b) return out;
  const Reason numbers = step_change(a, b, 0, 0);
  if (out.changes > 0 && numbers.changes > 0) out.kind = "other";
  if (out.changes == 0) out.kind = numbers.kind;
  if (numbers.changes > 0) then(out.words, by_document(numbers.words));
  out.changes += numbers.changes;
  return out;
}

/// The chains of some documents, by document.
using ChainsOfDocuments = std::map<Index, std::vector<Chain>>;

/// Removes the steps from a chain that are applied to some documents only.
ChainsOfDocuments taken_of_documents(Chain& chain) {
  ChainsOfDocuments out;
  std::erase_if(chain, [&](const Step& step) {
    const auto* scoped = step.get_if<step::Scoped>();
    if (!scoped) return false;
    for (const Range& documents : scoped->members) {
      for (Index i = documents.begin; i < documents.end; ++i) out[i].push_back(scoped->chain);
    }
    return true;
  });
  return out;
}

/// Names the documents whose own steps differ.
Reason own_steps_change(const ChainsOfDocuments& a, const ChainsOfDocuments& b) {
  std::vector<Index> documents;
  const auto add = [&](const ChainsOfDocuments& some, const ChainsOfDocuments& others) {
    for (const auto& [document, chains] : some) {
      const auto other = others.find(document);
      if (other == others.end() || other->second != chains) documents.push_back(document);
    }
  };
  add(a, b);
  add(b, a);
  if (documents.empty()) return Reason::unchanged();
  std::ranges::sort(documents);
  documents.erase(std::ranges::unique(documents).begin(), documents.end());
  return {"step", "other steps in " + range_words(ranges_of(documents), "document", "documents"),
          8 * std::ssize(documents)};
}

/// How the steps inside the documents differ. Comparable steps are paired in order.
Reason chain_change(Chain a, Chain b) {
  const Reason own = own_steps_change(taken_of_documents(a), taken_of_documents(b));
  Reason out = Reason::unchanged();
  const auto add = [&out](const Reason& reason) {
    if (reason.changes == 0) return;
    out.kind = out.changes == 0 || out.kind == reason.kind ? reason.kind : "other";
    then(out.words, reason.words);
    out.changes += reason.changes;
  };
  for (const Step& step : a) {
    const auto at =
        std::ranges::find_if(b, [&](const Step& other) { return are_comparable(step, other); });
    if (at == b.end()) {
      add({"step", missing_words(step, 0), 1});
    } else {
      add(step_change_inside(step, *at));
      b.erase(at);
    }
  }
  for (const Step& step : b) {
    const auto limits = limits_of(step, 0);
    const Index numbers = limits && limits->causal ? 1 : 2;
    add({"step", added_words(step, 0), numbers});
  }
  if (out.changes > 0) out.words = by_document(out.words) + " in each document";
  add(own);
  return out;
}

}  // namespace

Reason within_change(const Step& a, const Step& b) {
  Reason out = chain_change(*chain_of(a), *chain_of(b));
  const auto before = documents_in(a), after = documents_in(b);
  if (before->q_lengths.empty() || after->q_lengths.empty()) {  // documents given by ids
    if (!(a == b)) then(out.words, "other documents"), out.changes += 8;
    return out;
  }
  const Reason documents = DocumentsChange(*before, *after).reason();
  if (documents.changes == 0) return out;
  out.kind = out.changes == 0 || out.kind == documents.kind ? documents.kind : "other";
  then(out.words, documents.words);
  out.changes += documents.changes;
  return out;
}

}  // namespace maskctl
