// Judges the lines of a recognise report by the cells of the mask.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "inspect/sentences/form_words.h"
#include "inspect/sentences/printed_lines.h"
#include "maskctl/base/error.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/pipeline/load.h"
#include "support/twin_steps.h"

namespace maskctl::test {

/// The cells that the steps in `text` leave open in a mask of this shape.
inline Dense made_by_text(const std::string& text, const Dense& shape, const BindContext& files) {
  const Dense full(shape.b, shape.h, shape.q, shape.k, true);
  if (text.empty() || text == "every cell open") return full;
  return twin::run_chain(full, load_chain(std::array{text}, files));
}

/// Calls f(), which returns what is false. Steps that cannot be read or do not fit the mask count
/// as false, too.
template <typename F>
std::string or_unfit(const F& f) {
  try {
    return f();
  } catch (const Error& error) {
    return std::string("steps that do not fit: ") + error.what();
  } catch (const twin::Refused& error) {
    return std::string("steps that do not fit: ") + error.what();
  }
}

/// The number of cells in which the mask differs from the nearest simple one: all open, none open,
/// or a diagonal band, as a user would try by hand.
inline Index cells_off_a_band(const Dense& cells) {
  std::vector<Index> open(static_cast<std::size_t>(cells.q + cells.k)), all(open);
  each_cell(cells, [&](const Cell& cell) {
    const auto diagonal = static_cast<std::size_t>(cell.key - cell.query + cells.q);
    ++all[diagonal];
    open[diagonal] += at(cells, cell);
  });
  Index total = 0;
  for (const Index one : open) total += one;
  Index best = total;  // none
  for (std::size_t low = 0; low < open.size(); ++low) {
    Index off = total;
    for (std::size_t high = low; high < open.size(); ++high) {
      off += all[high] - 2 * open[high];
      best = std::min(best, off);
    }
  }
  return best;
}

class RecogniseLines {
 public:
  RecogniseLines(const Dense& cells, std::optional<GivenIds> ids, BindContext files)
      : cells_(cells), ids_(std::move(ids)), files_(std::move(files)) {}

  /// Returns what is false about a report with this exit status; "" if nothing. `whole` is the same
  /// report with the pipeline in full.
  std::string wrong(const std::string& report, int status, const std::string& whole) {
    std::smatch m;
    static const std::regex line(
        R"(\npipeline    (no rule; nearest: )?(none: every cell is open|.*)\n)");
    if (!std::regex_search(whole, m, line)) return "no pipeline";
    pipeline_ = m[2] == "none: every cell is open" ? "every cell open" : m[2].str();
    if (pipeline_.starts_with("no rule; counted")) {
      const bool mostly = 2 * open_cells(cells_) > std::ssize(cells_.cells);
      if (pipeline_ !=
          std::string("no rule; counted from every cell ") + (mostly ? "open" : "closed"))
        return "counted from the other side";
      pipeline_ = mostly ? "every cell open" : "not";
    }
    if (pipeline_ != made_of_) {
      made_of_ = "";
      const std::string unfit =
          or_unfit([&] { return made_ = made_by_text(pipeline_, cells_, files_), ""; });
      if (!unfit.empty()) return unfit;
      made_of_ = pipeline_;
      left_ = differing(cells_, made_);
    }
    if (status != (left_.empty() ? 0 : 1)) return "exit status";
    planes_ = {};
    forms_ = {};
    const std::string wrong = wrong_line(report, laws());
    if (!wrong.empty()) return wrong;
    // The report on a mask of a single plane must not list planes.
    if (cells_.b * cells_.h == 1) return planes_.told.empty() ? "" : "planes of one";
    return planes_.are_first_of(planes_of(left_)) ? "" : "planes are left out, or told twice";
  }

  /// The cells that the pipeline of the last report leaves open.
  const Dense& made() const { return made_; }

 private:
  std::vector<LineLaw> laws() {
    return {
        {R"(shape       \[B (\d+), H (\d+), Q (\d+), K (\d+)\])",
         [this](const auto& m) {
           return cell_said(m, 1) == Cell{cells_.b, cells_.h, cells_.q, cells_.k};
         }},
        {R"(density     (.*): ([0-9,]+) of ([0-9,]+) cells? open)",
         [this](const auto& m) {
           const Index open = open_cells(cells_), all = std::ssize(cells_.cells);
           return number_said(m[2]) == open && number_said(m[3]) == all &&
                  is_percent(m[1], open, all);
         }},
        {"pipeline    no rule; counted from every cell (?:open|closed)",
         [this](const auto&) { return 2 * cells_off_a_band(cells_) > fewer(); }},
        {"pipeline    no rule; nearest: (.*); --all prints the pipeline",
         [this](const auto& m) { return summary_holds(m[1]) && is_nearest(); }},
        {"pipeline    no rule; nearest: (.*)",
         [this](const auto& m) { return m[1] == pipeline_ && is_nearest(); }},
        {"pipeline    none: every cell is open",
         [this](const auto&) { return pipeline_ == "every cell open"; }},
        {"pipeline    (.*); --all prints the pipeline",
         [this](const auto& m) { return summary_holds(m[1]); }},
        // The line "unexplained" counts the cells that these steps get wrong.
        {"pipeline    (.*)", [this](const auto& m) { return m[1] == pipeline_ && is_rule(); }},
        {"form        (.*)", [this](const auto& m) { return forms_.holds(m[1], cells_); }},
        {"leaks       (.*)",
         [this](const auto& m) { return ids_ && leaks_hold(m[1], cells_, *ids_); }},
        {R"(unexplained 0 of ([0-9,]+) cells?)",
         [this](const auto& m) {
           return left_.empty() && number_said(m[1]) == std::ssize(cells_.cells);
         }},
        {R"(unexplained ([0-9,]+) of ([0-9,]+) cells?: ([0-9,]+) open, ([0-9,]+) closed in the mask, in ([0-9,]+) rows?; first at )" +
             kCellSaid,
         [this](const auto& m) {
           const Index open =
               std::ranges::count_if(left_, [this](const Cell& cell) { return at(cells_, cell); });
           return number_said(m[1]) == std::ssize(left_) &&
                  number_said(m[2]) == std::ssize(cells_.cells) && number_said(m[3]) == open &&
                  number_said(m[4]) == std::ssize(left_) - open &&
                  number_said(m[5]) == rows_of(left_) && !left_.empty() &&
                  cell_said(m, 6) == left_[0];
         }},
        {R"(            batch (\d+), head (\d+): ([0-9,]+))",
         [this](const auto& m) {
           planes_.told.emplace_back(number_said(m[1]), number_said(m[2]));
           return of_plane(planes_.told.back()) == number_said(m[3]);
         }},
        {R"(            \.\.\. (\d+) more; --json lists all)",
         [this](const auto& m) {
           planes_.more = number_said(m[1]);
           return true;  // the planes are counted in the end
         }},
    };
  }

  Index of_plane(const std::pair<Index, Index>& plane) const {
    return std::ranges::count_if(
        left_, [&](const Cell& cell) { return plane == std::pair(cell.batch, cell.head); });
  }
  Index fewer() const {
    const Index open = open_cells(cells_);
    return std::min(open, std::ssize(cells_.cells) - open);
  }
  /// True if the pipeline counts as a rule: it leaves at most four cells, or a twentieth of the
  /// open (or of the closed) ones.
  bool is_rule() const { return std::ssize(left_) <= 4 || 20 * std::ssize(left_) <= fewer(); }
  /// "no rule; nearest" is true if the pipeline leaves cells, but not more than the nearest mask
  /// that a user would try by hand.
  bool is_nearest() const {
    return !left_.empty() && std::ssize(left_) <= cells_off_a_band(cells_);
  }

  // ---- "(5 batches: doc of 3 to 9 documents | causal)" ----

  /// How many documents a step has; -1 for other steps.
  static Index documents_in_step(const Step& step) {
    std::set<Index> ids;
    if (const auto* lengths = step.get_if<step::DocumentLengths>())
      return std::ssize(lengths->lengths);
    const auto* document = step.get_if<step::Document>();
    if (!document) return -1;
    for (Index i = 0; i < document->q.array.elements(); ++i) {
      const Index id = twin::number(document->q.array, i);
      if (id != document->pad_id) ids.insert(id);
    }
    return std::ssize(ids);
  }

  /// The names of steps, those of a scope in braces behind its own, and their documents.
  static void add_words(const Chain& chain, std::string& names, std::vector<Index>& documents) {
    const auto add = [&](const std::string& word, Index count) {
      names += (names.empty() ? "" : "|") + word;
      documents.push_back(count);
    };
    for (const Step& step : chain) {
      const auto* scoped = step.get_if<step::Scoped>();
      add(std::string(info_of(step).name), scoped ? -1 : documents_in_step(step));
      if (!scoped) continue;
      add("{", -1);
      add_words(scoped->chain, names, documents);
      add("}", -1);
    }
  }

  /// Judges a summary: each part in brackets counts batches whose steps have these names and this
  /// many documents; text outside of brackets must be in the pipeline.
  bool summary_holds(const std::string& text) const {
    static const std::regex brackets(R"(\(([^()]*)\))"), part(R"((\d+) batch(?:es)?: ([^;]+))"),
        word(R"(([a-z-]+|[{}])(?: of (\d+)(?: to (\d+))? documents?)?)");
    std::map<std::string, std::pair<Index, std::vector<std::vector<Index>>>> of_names;
    for (const Step& step : load_chain(std::array{pipeline_}, files_)) {
      const auto* scoped = step.get_if<step::Scoped>();
      if (!scoped || scoped->axis != step::Scoped::Axis::kBatch) continue;
      std::string names;
      std::vector<Index> documents;
      add_words(scoped->chain, names, documents);
      auto& [batches, counts] = of_names[names];
      for (const Range& range : scoped->members) batches += range.size();
      counts.push_back(documents);
    }
    std::size_t told = 0;
    for (std::sregex_iterator b(text.begin(), text.end(), brackets), end; b != end; ++b) {
      const std::string list = (*b)[1];
      for (std::sregex_iterator p(list.begin(), list.end(), part); p != end; ++p, ++told) {
        const std::string steps = (*p)[2];
        std::string names;
        std::vector<std::pair<Index, Index>> said;
        for (std::sregex_iterator w(steps.begin(), steps.end(), word); w != end; ++w) {
          names += (names.empty() ? "" : "|") + (*w)[1].str();
          const Index least = (*w)[2].matched ? number_said((*w)[2]) : -1;
          said.emplace_back(least, (*w)[3].matched ? number_said((*w)[3]) : least);
        }
        const auto found = of_names.find(names);
        if (found == of_names.end() || found->second.first != number_said((*p)[1])) return false;
        for (std::size_t i = 0; i < said.size(); ++i) {
          Index least = -1, most = -1;
          for (const auto& counts : found->second.second) {
            least = least < 0 ? counts[i] : std::min(least, counts[i]);
            most = std::max(most, counts[i]);
          }
          if (said[i] != std::pair(least, most)) return false;
        }
      }
    }
    std::smatch m;
    std::string rest = std::regex_replace(text, brackets, "");
    for (std::size_t at = 0; at < rest.size();) {
      const std::size_t stop = std::min(rest.find(" | ", at), rest.size());
      if (pipeline_.find(rest.substr(at, stop - at)) == std::string::npos) return false;
      at = stop + 3;
    }
    return told > 0 && told == of_names.size();
  }

  const Dense& cells_;
  std::optional<GivenIds> ids_;
  BindContext files_;
  std::string pipeline_, made_of_;  // the latter makes `made_`
  Dense made_;
  std::vector<Cell> left_;
  PlanesTold planes_;
  FormsTold forms_;
};

}  // namespace maskctl::test
