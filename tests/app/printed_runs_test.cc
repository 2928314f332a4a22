// Every line that diff prints of two captured runs is true of the plain cells of their steps, and a
// line with one number or word changed is not. A line that nothing checks fails.
#include <fmt/format.h>

#include <map>
#include <random>
#include <string>

#include "app/cli/commands/diff_captured.h"
#include "base/scratch.h"
#include "inspect/sentences/diff_lines.h"
#include "inspect/sentences/drawn_masks.h"
#include "inspect/sentences/draws_asked.h"
#include "inspect/sentences/lies.h"
#include "maskctl/io/array_io.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

using twin::mask_of;

/// A layer of one run by plain cells: the rows of its steps, which follow each other.
struct PlainLayer {
  Dense cells;      // keys that a step does not have are closed
  Index begin = 0;  // the position of the first row
  std::vector<Dense> steps;
  std::string unread;
  bool is_short() const {
    return std::ranges::any_of(steps, [](const Dense& step) { return step.q < step.k; });
  }
};

class RunDraws {
 public:
  explicit RunDraws(std::uint64_t seed) : random_(seed), masks_(seed + 90000) {}

  Index pick(Index low, Index high) {
    return std::uniform_int_distribution<Index>(low, high)(random_);
  }

  DrawnPair pair() {
    for (;;) {
      DrawnPair out = masks_.pair();
      if (out.a.queries() <= out.a.keys() && out.a.queries() > 0) return out;
    }
  }

  /// The rows of a mask in steps; those before `from` were not captured, nor the last `less`.
  PlainLayer layer(const Mask& mask, bool in_steps, Index from, Index less) {
    const Dense all = twin::dense_of(mask);
    const Index before = all.k - all.q;
    PlainLayer out;
    out.begin = before + from;
    const Index end = all.q - less;
    out.cells = twin::make(all.b, all.h, end - from, before + end,
                           [](Index, Index, Index, Index) { return false; });
    for (Index row = from; row < end;) {
      const Index stop = in_steps ? std::min(end, row + pick(1, 4)) : end;
      const Index keys = before + stop;
      out.steps.push_back(twin::make(
          all.b, all.h, stop - row, keys,
          [&](Index b, Index h, Index q, Index k) { return all.get(b, h, row + q, k); }));
      each_cell(out.steps.back(), [&](const Cell& at) {
        if (all.get(at.batch, at.head, row + at.query, at.key)) {
          out.cells.set(at.batch, at.head, row + at.query - from, at.key, true);
        }
      });
      row = stop;
    }
    return out;
  }

 private:
  std::mt19937_64 random_;
  MaskDraws masks_;
};

using PlainRun = std::map<std::string, PlainLayer>;

app::NamedRun named(const std::string& name, const PlainRun& run) {
  app::NamedRun out{name, {}};
  for (const auto& [layer, plain] : run) {
    CapturedLayer& made = out.layers.emplace_back(CapturedLayer{layer, {}, plain.unread});
    for (const Dense& step : plain.steps) made.masks.push_back(mask_of(step));
  }
  return out;
}

/// What is true of a layer, by plain loops.
struct Truth {
  std::optional<Mask> a, b;  // the rows that both have, where they differ
  Index begin = 0;
  std::string why;  // not compared
  bool read = true;
};

Dense rows_in(const PlainLayer& layer, Index begin, Index end) {
  return twin::make(layer.cells.b, layer.cells.h, end - begin, end,
                    [&](Index b, Index h, Index q, Index k) {
                      return layer.cells.get(b, h, begin + q - layer.begin, k);
                    });
}

bool sees_from(const PlainLayer& layer, Index begin, Index end) {
  return !cells_where(layer.cells, [&](const Cell& at) {
            const Index position = layer.begin + at.query;
            return position >= begin && position < end && at.key >= end &&
                   layer.cells.get(at.batch, at.head, at.query, at.key);
          }).empty();
}

Truth truth_of(const PlainLayer& a, const PlainLayer& b) {
  Truth out;
  out.read = a.unread.empty() && b.unread.empty();
  const Index end = std::min(a.begin + a.cells.q, b.begin + b.cells.q);
  out.begin = std::max(a.begin, b.begin);
  if (out.begin >= end) {
    out.why = fmt::format(
        "queries, taken for the last tokens, have no position in common: {}-{} in A, {}-{} in B",
        a.begin, a.begin + a.cells.q - 1, b.begin, b.begin + b.cells.q - 1);
    return out;
  }
  for (const bool in_a : {true, false}) {
    if (!sees_from(in_a ? a : b, out.begin, end)) continue;
    out.why = fmt::format("queries {}-{} see keys from {} on in {}, which {} does not have",
                          out.begin, end - 1, end, in_a ? "A" : "B", in_a ? "B" : "A");
    return out;
  }
  const Dense one = rows_in(a, out.begin, end), other = rows_in(b, out.begin, end);
  if (!differing(one, other).empty()) out.a = mask_of(one), out.b = mask_of(other);
  return out;
}

/// "m.0-2,4, x" as names.
std::vector<std::string> names_said(const std::string& text) {
  std::vector<std::string> out;
  std::smatch m;
  if (!std::regex_match(text, m, std::regex(R"(m\.([0-9,-]+))"))) return {text};
  std::istringstream parts(m[1]);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t dash = part.find('-');
    const Index first = number_said(part.substr(0, dash));
    const Index last = dash == part.npos ? first : number_said(part.substr(dash + 1));
    for (Index i = first; i <= std::min(last, first + 99); ++i) {
      out.push_back(fmt::format("m.{}", i));
    }
  }
  return out;
}

/// Judges the report of diff --all about the runs "a" and "b".
class RunLines {
 public:
  RunLines(const PlainRun& a, const PlainRun& b) : a_(a), b_(b) {
    files_.read_array = [](const std::string& source) { return read_array(source); };
    for (const auto& [name, layer] : a) {
      if (b.contains(name)) truths_[name] = truth_of(layer, b.at(name));
    }
  }

  std::string wrong(const std::string& report, int status) {
    differ_.clear(), equal_.clear(), only_a_.clear(), only_b_.clear(), notes_.clear();
    partly_.clear();
    block_.clear(), block_wrong_.clear(), current_.clear(), short_ = false, answer_.clear();
    std::string wrong = wrong_line(report, laws());
    if (wrong.empty()) wrong = end_block();
    if (!wrong.empty()) return wrong + "\n" + block_wrong_;
    return incomplete(status);
  }

 private:
  using Names = std::set<std::string>;

  std::vector<LineLaw> laws() {
    const auto is_of_cause = [this](const std::smatch& m) {
      block_ += m.str() + "\n";
      return !current_.empty();
    };
    return {
        {R"(A       a: (\d+) layers?)",
         [this](const auto& m) { return number_said(m[1]) == std::ssize(a_); }},
        {R"(B       b: (\d+) layers?)",
         [this](const auto& m) { return number_said(m[1]) == std::ssize(b_); }},
        {"layers  (.*)", [this](const auto& m) { return begin_block(names_said(m[1])); }},
        {"first   " + kCellSaid + ": open in ([AB]) only",
         [this](const auto& m) {
           const Cell said = cell_said(m, 1);
           Cell first = left().at(0);
           first.query += truth().begin;
           return said == first && (m[5] == "A") == at(twin::dense_of(*truth().a), left()[0]);
         }},
        {"cells   ([0-9,]+) only in A, ([0-9,]+) only in B, ([0-9,]+) in both, of queries "
         R"((\d+)-(\d+))",
         [this](const auto& m) {
           const Dense a = twin::dense_of(*truth().a), b = twin::dense_of(*truth().b);
           const auto count = [&](bool in_a, bool in_b) {
             return std::ssize(cells_where(
                 a, [&](const Cell& c) { return at(a, c) == in_a && at(b, c) == in_b; }));
           };
           return number_said(m[1]) == count(true, false) &&
                  number_said(m[2]) == count(false, true) &&
                  number_said(m[3]) == count(true, true) && number_said(m[4]) == truth().begin &&
                  number_said(m[5]) == truth().begin + a.q - 1;
         }},
        {"(?:cause   (?!none)|A is    |B is    |edit    ).*", is_of_cause},
        {R"(        where query 0 is query (\d+))",
         [this](const auto& m) { return number_said(m[1]) == truth().begin && truth().begin > 0; }},
        {"only A  (.*)", [this](const auto& m) { return add(names_said(m[1]), only_a_); }},
        {"only B  (.*)", [this](const auto& m) { return add(names_said(m[1]), only_b_); }},
        {R"(note    (m\.\S+) (was|were) not compared: (.*))",
         [this](const auto& m) {
           const auto names = names_said(m[1]);
           for (const std::string& name : names) notes_.insert({name, m[3]});
           return (names.size() == 1) == (m[2] == "was");
         }},
        {R"(note    (m\.\S+): (queries \d+-\d+ alone are in both runs))",
         [this](const auto& m) {
           for (const std::string& name : names_said(m[1])) partly_.insert({name, m[2]});
           return true;
         }},
        {"note    fewer queries than keys are taken for the last tokens",
         [this](const auto&) { return short_ = true; }},
        {"equal   (.*): (the same mask|each has the same mask) in both",
         [this](const auto& m) {
           const auto names = names_said(m[1]);
           return add(names, equal_) && (names.size() == 1) == (m[2] == "the same mask");
         }},
        {"equal: both masks of each layer; what else differs is rounding, weights or inputs|"
         "nothing that was compared differs",
         [this](const auto& m) {
           answer_ = m.str();
           return true;
         }},
    };
  }

  const Truth& truth() const { return truths_.at(current_.front()); }
  std::vector<Cell> left() const {
    return differing(twin::dense_of(*truth().a), twin::dense_of(*truth().b));
  }
  static bool add(const std::vector<std::string>& names, Names& out) {
    return std::ranges::all_of(names, [&](const auto& one) { return out.insert(one).second; });
  }

  /// Layers that differ in the same way.
  bool begin_block(const std::vector<std::string>& names) {
    block_wrong_ = end_block();
    if (!block_wrong_.empty() || !add(names, differ_)) return false;
    const auto same = [&](const std::string& name) {
      const auto known = truths_.find(name);
      if (known == truths_.end() || !known->second.a) return false;
      const Truth &one = known->second, &first = truths_.at(names.front());
      return first.a && one.begin == first.begin &&
             twin::dense_of(*one.a) == twin::dense_of(*first.a) &&
             twin::dense_of(*one.b) == twin::dense_of(*first.b);
    };
    if (!std::ranges::all_of(names, same)) return false;
    current_ = names;
    return true;
  }

  /// Judges the cause of a block as that of a report about the two masks alone.
  std::string end_block() {
    const std::string block = std::exchange(block_, "");
    if (current_.empty()) return block.empty() ? "" : "a cause of nothing";
    const Truth& truth = truths_.at(current_.front());
    const auto edit = [&truth] { return diff_cause(*truth.a, *truth.b)->edit; };
    DiffLines lines(*truth.a, *truth.b, edit, {}, files_);
    std::string report = block;
    const Dense a = twin::dense_of(*truth.a), b = twin::dense_of(*truth.b);
    if (a.b * a.h > 1) {
      const std::vector<Cell> cells = differing(a, b);
      for (const auto& [batch, head] : planes_of(cells)) {
        const auto only = [&](const Dense& in) {
          return std::ranges::count_if(cells, [&, batch = batch, head = head](const Cell& c) {
            return c.batch == batch && c.head == head && at(in, c);
          });
        };
        report += fmt::format("  {:>3} {:>4} {:>14}{:>14}\n", batch, head, only(a), only(b));
      }
    }
    const std::string name = std::exchange(current_, {}).front();
    // Most planted lies leave the cause unchanged.
    const auto [known, is_new] = judged_.try_emplace({name, report});
    if (is_new) known->second = lines.wrong(report, 1);
    return known->second;
  }

  std::string incomplete(int status) const {
    Names differ, equal, only_a, only_b;
    std::multiset<std::pair<std::string, std::string>> notes, partly;
    bool is_short = false;
    for (const auto& [name, truth] : truths_) {
      const PlainLayer &a = a_.at(name), &b = b_.at(name);
      if (!a.unread.empty()) notes.insert({name, "not read in A: " + a.unread});
      if (!b.unread.empty()) notes.insert({name, "not read in B: " + b.unread});
      if (!truth.why.empty()) notes.insert({name, truth.why});
      is_short |= a.is_short() || b.is_short();
      const Index end_a = a.begin + a.cells.q, end_b = b.begin + b.cells.q;
      if (truth.why.empty() && (a.begin != b.begin || end_a != end_b)) {
        partly.insert({name, fmt::format("queries {}-{} alone are in both runs", truth.begin,
                                         std::min(end_a, end_b) - 1)});
      }
      if (truth.a) {
        differ.insert(name);
      } else if (truth.read && truth.why.empty()) {
        equal.insert(name);
      }
    }
    for (const auto& [name, layer] : a_) {
      if (!b_.contains(name)) only_a.insert(name);
    }
    for (const auto& [name, layer] : b_) {
      if (!a_.contains(name)) only_b.insert(name);
    }
    if (differ != differ_ || equal != equal_) return "layers are left out, or told twice";
    if (only_a != only_a_ || only_b != only_b_) return "layers of one run";
    if (notes != notes_) return "what was not compared";
    if (partly != partly_) return "what is in both runs";
    if (is_short != short_) return "whether queries are the last tokens";
    const bool differs = !differ.empty() || !only_a.empty() || !only_b.empty();
    if (status != (differs ? 1 : notes.empty() ? 0 : 2)) return "exit status";
    const std::string answer = differs         ? ""
                               : notes.empty() ? "equal: both masks of each layer; what else "
                                                 "differs is rounding, weights or inputs"
                                               : "nothing that was compared differs";
    return answer == answer_ ? "" : "the answer";
  }

  const PlainRun &a_, &b_;
  BindContext files_;
  std::string block_wrong_;
  std::map<std::pair<std::string, std::string>, std::string> judged_;  // causes of layers
  std::map<std::string, Truth> truths_;
  std::vector<std::string> current_;  // layers of the block that is read
  std::string block_;                 // lines of its cause
  Names differ_, equal_, only_a_, only_b_;
  std::multiset<std::pair<std::string, std::string>> notes_, partly_;
  bool short_ = false;
  std::string answer_;
};

/// Two runs of few layers, which share few masks.
std::pair<PlainRun, PlainRun> drawn_runs(std::uint64_t seed) {
  RunDraws draws(seed);
  const DrawnPair pairs[] = {draws.pair(), draws.pair()};
  const Index layers = draws.pick(1, 4);
  PlainRun a, b;
  for (Index i = 0; i < layers; ++i) {
    const DrawnPair& pair = pairs[draws.pick(0, 1)];
    const std::string name = fmt::format("m.{}", i);
    const Index last = pair.a.queries() - 1;
    const auto less = [&] { return draws.pick(0, 3) == 0 ? draws.pick(0, last / 2) : 0; };
    const bool same = draws.pick(0, 2) == 0;
    if (i == 0 || draws.pick(0, 9) > 0) {
      a[name] = draws.layer(pair.a, draws.pick(0, 1) == 0, less(), less());
    }
    if (i == 0 || draws.pick(0, 9) > 0) {
      b[name] = draws.layer(same ? pair.a : pair.b, draws.pick(0, 2) > 0, less(), less());
    }
    if (b.contains(name) && draws.pick(0, 7) == 0) b[name].unread = "a kernel of its own";
    if (a.contains(name) && draws.pick(0, 15) == 0) a[name].unread = "too large";
  }
  return {a, b};
}

TEST_CASE("diff of runs: every line is true, and no law believes another", "[sentences]") {
  const Scratch scratch;
  Index lines = 0, lies = 0, believed = 0;
  const Index draws = draws_asked(150);
  std::map<int, Index> statuses;
  for (Index i = 0; i < draws; ++i) {
    const std::uint64_t seed = first_draw() + static_cast<std::uint64_t>(i);
    const auto [a, b] = drawn_runs(seed);
    app::Session session({}, {});
    const app::Answer said = app::diff_captured_runs(
        named("a", a), named("b", b), {false, true, scratch / "diff.npz", true}, session);
    ++statuses[said.status];
    RunLines laws(a, b);
    const std::string wrong = laws.wrong(said.text, said.status);
    lines += std::ranges::count(said.text, '\n');
    if (!wrong.empty()) FAIL_CHECK("runs " << seed << ": " << wrong << "\n" << said.text);
    if (i % draws_per_lie() > 0) continue;
    for (Index n = 0; const auto lie = with_lie(said.text, n); ++n) {
      // The law of diff, which judges causes, is tested with lies of its own.
      static const std::regex causes("(^|\n)(cause|A is|B is|edit) [^\n]*");
      if (std::regex_replace(*lie, causes, "") == std::regex_replace(said.text, causes, "")) {
        continue;
      }
      ++lies;
      if (!laws.wrong(*lie, said.status).empty()) continue;
      ++believed;
      FAIL_CHECK("runs " << seed << " believe\n" << *lie << "for\n" << said.text);
    }
  }
  INFO(lines << " lines, " << lies << " lies");
  CHECK(believed == 0);
  CHECK(lies > 4 * draws / draws_per_lie());
  CHECK(std::ssize(statuses) == 3);
}

}  // namespace
}  // namespace maskctl::test
