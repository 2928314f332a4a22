// Judges the lines of a diff report by the cells of both masks.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "inspect/sentences/cause_said.h"
#include "inspect/sentences/form_words.h"
#include "inspect/sentences/recognise_lines.h"

namespace maskctl::test {

class DiffLines {
 public:
  /// `edit`: steps that turn A into B, as evidence for a cause where none are printed; the cells
  /// say whether they do.
  DiffLines(const Mask& a, const Mask& b, std::function<Chain()> edit, std::optional<GivenIds> ids,
            BindContext files)
      : mask_a_(a),
        mask_b_(b),
        a_(repeated(twin::dense_of(a), b)),
        b_(repeated(twin::dense_of(b), a)),
        left_(differing(a_, b_)),
        edit_(std::move(edit)),
        ids_(std::move(ids)),
        files_(std::move(files)) {}

  /// Returns what is false about a report of diff --all with blocks of 128, of SOURCEs "a" and "b";
  /// "" if nothing.
  std::string wrong(const std::string& report, int status) {
    if (status != (left_.empty() ? 0 : 1)) return "exit status";
    planes_ = {};
    forms_a_ = {}, forms_b_ = {};
    made_.clear();
    const std::string wrong = or_unfit([&] { return wrong_line(report, laws(report)); });
    if (!wrong.empty()) return wrong.starts_with("false: cause") ? wrong + "\n" + reason_ : wrong;
    if (a_.b * a_.h == 1 || left_.empty()) return planes_.told.empty() ? "" : "planes of one";
    return planes_.are_first_of(planes_of(left_)) ? "" : "planes are left out, or told twice";
  }

  /// The cells that the printed pipelines and the edit of the last report leave open.
  const std::vector<Dense>& made() const { return made_; }

 private:
  static Dense repeated(const Dense& own, const Mask& other) {
    return twin::make(std::max(own.b, other.batch()), std::max(own.h, other.heads()), own.q, own.k,
                      [&](Index b, Index h, Index q, Index k) { return own.get(b, h, q, k); });
  }
  Index only(const Dense& in, std::optional<std::pair<Index, Index>> plane = {}) const {
    return std::ranges::count_if(left_, [&](const Cell& cell) {
      return at(in, cell) && (!plane || *plane == std::pair(cell.batch, cell.head));
    });
  }
  Index both() const {
    return std::ssize(cells_where(a_, [this](const Cell& c) { return at(a_, c) && at(b_, c); }));
  }
  std::set<std::tuple<Index, Index, Index, Index>> blocks(const std::vector<Cell>& cells, Index q,
                                                          Index k) const {
    std::set<std::tuple<Index, Index, Index, Index>> out;
    for (const Cell& c : cells) out.emplace(c.batch, c.head, c.query / q, c.key / k);
    return out;
  }

  std::vector<LineLaw> laws(const std::string& report) {
    return {
        {R"(equal: ([0-9,]+) cells? open in both)",
         [this](const auto& m) { return left_.empty() && number_said(m[1]) == both(); }},
        {"A       a", [this](const auto&) { return !left_.empty(); }},
        {"B       b", [this](const auto&) { return !left_.empty(); }},
        {"cells   ([0-9,]+) only in A, ([0-9,]+) only in B, ([0-9,]+) in both",
         [this](const auto& m) {
           return number_said(m[1]) == only(a_) && number_said(m[2]) == only(b_) &&
                  number_said(m[3]) == both();
         }},
        {"first   " + kCellSaid + ": open in ([AB]) only(?:, (.*))?",
         [this](const auto& m) {
           const Cell cell = cell_said(m, 1);
           if (left_.empty() || !(left_[0] == cell)) return false;
           if (at(m[5] == "A" ? a_ : b_, cell) == false) return false;
           return m[6].matched == ids_.has_value() && (!ids_ || documents_hold(m[6], cell, *ids_));
         }},
        {"rows    ([0-9,]+) of ([0-9,]+) differ",
         [this](const auto& m) {
           return number_said(m[1]) == rows_of(left_) && number_said(m[2]) == a_.b * a_.h * a_.q;
         }},
        {R"(blocks  ([0-9,]+) of ([0-9,]+) differ, (\d+)x(\d+) each)",
         [this](const auto& m) {
           const Index q = number_said(m[3]), k = number_said(m[4]);
           std::vector<Cell> all;
           each_cell(a_, [&all](const Cell& cell) { all.push_back(cell); });
           return q == 128 && k == 128 && number_said(m[1]) == std::ssize(blocks(left_, q, k)) &&
                  number_said(m[2]) == std::ssize(blocks(all, q, k));
         }},
        {"leaks   A: (.*)", [this](const auto& m) { return ids_ && leaks_hold(m[1], a_, *ids_); }},
        {"        B: (.*)", [this](const auto& m) { return ids_ && leaks_hold(m[1], b_, *ids_); }},
        {"cause   (.*)",
         [this, report](const auto& m) { return cause_wrong(m[1], report).empty(); }},
        {"A is    (.*)", [this](const auto& m) { return makes(m[1], a_); }},
        {"B is    (.*)", [this](const auto& m) { return makes(m[1], b_); }},
        {"A has   (.*)", [this](const auto& m) { return forms_a_.holds(m[1], a_); }},
        {"B has   (.*)", [this](const auto& m) { return forms_b_.holds(m[1], b_); }},
        {"edit    (.*)", [this](const auto& m) { return edits(m[1]); }},
        {"", [](const auto&) { return true; }},
        {"batch head       only in A     only in B", [](const auto&) { return true; }},
        {R"( +(\d+) +(\d+) +([0-9,]+) +([0-9,]+))",
         [this](const auto& m) {
           const std::pair plane(number_said(m[1]), number_said(m[2]));
           planes_.told.push_back(plane);
           return number_said(m[3]) == only(a_, plane) && number_said(m[4]) == only(b_, plane);
         }},
        {R"(  \.\.\. (\d+) more; --json lists all)",
         [this](const auto& m) {
           planes_.more = number_said(m[1]);
           return true;  // the planes are counted in the end
         }},
    };
  }

  /// "STEPS" or "STEPS, except for 3 cells".
  struct SaidSteps {
    std::string text;
    Index except = 0;
  };
  static SaidSteps steps_said(const std::string& line) {
    static const std::regex form("(.*), except for " + kCellsSaid);
    std::smatch m;
    if (std::regex_match(line, m, form)) return {m[1], number_said(m[2])};
    return {line, 0};
  }
  bool makes(const std::string& line, const Dense& cells) {
    const SaidSteps said = steps_said(line);
    made_.push_back(made_by_text(said.text, cells, files_));
    return std::ssize(differing(made_.back(), cells)) == said.except;
  }
  bool edits(const std::string& line) {
    const SaidSteps said = steps_said(line);
    made_.push_back(twin::run_chain(a_, load_chain(std::array{said.text}, files_)));
    return std::ssize(differing(made_.back(), b_)) == said.except;
  }
  /// The text after the label in its line of the report; nothing if there is no such line.
  static std::optional<std::string> after(const std::string& report, const std::string& label) {
    const std::size_t at = report.find("\n" + label);
    if (at == std::string::npos) return std::nullopt;
    const std::size_t from = at + 1 + label.size();
    return report.substr(from, report.find('\n', from) - from);
  }
  Chain chain_said(const std::optional<std::string>& line) const {
    const std::string text = line ? steps_said(*line).text : "every cell open";
    return text == "every cell open" ? Chain{} : load_chain(std::array{text}, files_);
  }
  /// Judges a cause. The verdict is kept, because most planted lies are in other lines and leave
  /// the cause unchanged.
  std::string cause_wrong(const std::string& text, const std::string& report) {
    const auto a = after(report, "A is    "), b = after(report, "B is    "),
               edit = after(report, "edit    ");
    const Lines lines{text, a, b, edit};
    if (const auto known = causes_.find(lines); known != causes_.end()) {
      return reason_ = known->second;
    }
    const SaidCause said{text,
                         a.has_value(),
                         chain_said(a),
                         chain_said(b),
                         [this, edit] {
                           if (edit) return chain_said(edit);
                           if (!known_edit_) known_edit_ = edit_();
                           return *known_edit_;
                         },
                         crossing()};
    return reason_ = causes_[lines] = CauseSaid(said, mask_a_, mask_b_).wrong();
  }

  std::function<bool(const Cell&, Index, Index)> crossing() const {
    if (!ids_) return {};
    return [this](const Cell& cell, Index of_query, Index of_key) {
      return ids_->crosses(cell) && ids_->of_query(cell) == of_query &&
             ids_->of_key(cell) == of_key;
    };
  }

  const Mask &mask_a_, &mask_b_;
  Dense a_, b_;
  std::vector<Cell> left_;
  std::function<Chain()> edit_;
  std::optional<Chain> known_edit_;
  using Lines = std::tuple<std::string, std::optional<std::string>, std::optional<std::string>,
                           std::optional<std::string>>;
  std::map<Lines, std::string> causes_;
  std::string reason_;  // what is false about the last cause
  std::vector<Dense> made_;
  PlanesTold planes_;
  FormsTold forms_a_, forms_b_;
  std::optional<GivenIds> ids_;
  BindContext files_;
};

}  // namespace maskctl::test
