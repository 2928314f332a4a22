// The inspector's edits of cells, filters of lists, histogram of rows, and records of what was
// typed.
#include <fmt/format.h>

#include <random>
#include <string>
#include <vector>

#include "app/process.h"
#include "app/tui/beside/plane_counts.h"
#include "app/tui/state/actions.h"
#include "app/tui/state/filter.h"
#include "app/tui/state/input.h"
#include "app/tui/update.h"
#include "maskctl/mask/arrays/dense.h"
#include "support/catch_compat.h"
#include "support/contains.h"

namespace maskctl::app::tui {
namespace {

using test::contains;

/// Types a script and waits for the masks that it makes.
State typed(State state, Workbench& bench, const std::string& script) {
  for (const Input& input : parse_script(script)) {
    state = after_pause(update(std::move(state), input, bench), bench, Time::max());
  }
  return state;
}

bool open(const Mask& mask, Index b, Index h, Index q, Index k) {
  return mask.plane(b, h)->count({q, q + 1}, {k, k + 1}) > 0;
}

/// Checks that `after` is `before`, but for a rectangle of one batch and head, which is all open or
/// all closed: closed if it was all open.
void check_switched(const Mask& before, const Mask& after, Index b, Index h, Range queries,
                    Range keys) {
  bool full = true;
  for (Index q = queries.begin; q < queries.end; ++q) {
    for (Index k = keys.begin; k < keys.end; ++k) full = full && open(before, b, h, q, k);
  }
  Index wrong = 0;
  for (Index i = 0; i < before.batch(); ++i) {
    for (Index j = 0; j < before.heads(); ++j) {
      for (Index q = 0; q < before.queries(); ++q) {
        for (Index k = 0; k < before.keys(); ++k) {
          const bool inside = i == b && j == h && queries.contains(q) && keys.contains(k);
          wrong += open(after, i, j, q, k) != (inside ? !full : open(before, i, j, q, k));
        }
      }
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("tui: x opens or closes the cell or the selection, and changes no other cell", "[tui]") {
  std::mt19937_64 random(3);
  const auto pick = [&](Index most) {
    return static_cast<Index>(random() % static_cast<std::uint64_t>(most));
  };
  for (const char* name : {"gen:causal:n=9", "gen:causal:n=9,h=3", "gen:full:q=5,k=12,b=2",
                           "gen:random:n=8,b=3,h=2,sparsity=0.5"}) {
    Subject subject;
    subject.name = name;
    Workbench bench(subject, Settings());
    State state = first_state(bench.first(), {24, 80});
    for (int round = 0; round < 12; ++round) {
      const Mask before = state.scene->mask;
      const std::string pipeline = state.scene->pipeline;
      const Index b = pick(before.batch()), h = pick(before.heads());
      const Index q = pick(before.queries()), k = pick(before.keys());
      std::string script = fmt::format(":b {}<Enter>:h {}<Enter>:{},{}<Enter>", b, h, q, k);
      Index to_q = q, to_k = k;
      if (pick(2) == 1) {
        to_q = pick(before.queries());
        to_k = pick(before.keys());
        script += fmt::format("v:{},{}<Enter>", to_q, to_k);
      }
      INFO(name << " " << script);
      state = typed(std::move(state), bench, script + "x");
      check_switched(before, state.scene->mask, b, h, {std::min(q, to_q), std::max(q, to_q) + 1},
                     {std::min(k, to_k), std::max(k, to_k) + 1});
      CHECK_FALSE(state.anchor);
      CHECK(state.scene->pipeline.size() > pipeline.size());
      state = typed(std::move(state), bench, "u");
      CHECK(differing_cells(before, state.scene->mask) == 0);
      CHECK(state.scene->pipeline == pipeline);
      state = typed(std::move(state), bench, "<C-r>");
    }
  }
}

TEST_CASE("tui: v, <Esc> and x end a selection, which is cut to the mask", "[tui]") {
  Subject subject;
  subject.name = "gen:causal:n=9";
  Workbench bench(subject, Settings());
  State state = typed(first_state(bench.first(), {24, 80}), bench, "=:7,7<Enter>v");
  CHECK(state.anchor);
  CHECK_FALSE(typed(state, bench, "v").anchor);
  CHECK_FALSE(typed(state, bench, "<Esc>").anchor);
  state = typed(state, bench, "a slice:q=0:5,k=0:5<Enter>:2,2<Enter>x");
  CHECK(contains(state.scene->pipeline, "open:q=2-4,k=2-4"));
}

TEST_CASE("tui: a record of what was typed can be replayed", "[tui]") {
  std::vector<Input> all = {{"<"},
                            {" "},
                            {"/"},
                            {">"},
                            {"é"},
                            {"█"},
                            {"#"},
                            {"\\"},
                            {"<Resize>", 30, 100},
                            {"<Mouse>", 3, 10},
                            {"<Drag>", 0, 7},
                            {"<WheelUp>", 1, 2},
                            {"<WheelDown>", 2, 1}};
  for (const char* name : {"<Left>", "<Enter>", "<Esc>", "<Tab>", "<BS>", "<F10>", "<C-r>"}) {
    all.push_back({name});
  }
  std::mt19937_64 random(4);
  for (int round = 0; round < 100; ++round) {
    std::vector<Input> inputs;
    for (std::size_t i = random() % 200; i > 0; --i) inputs.push_back(all[random() % all.size()]);
    const std::string script = script_text(inputs);
    CHECK(parse_script(script) == inputs);
    std::vector<Input> woken = inputs;
    woken.insert(woken.begin(), Input{std::string(kDone)});
    CHECK(script_text(woken) == script);
  }
  CHECK(script_text({}).empty());
}

TEST_CASE("tui: the histogram of row sizes counts each row once, in the right bin", "[tui]") {
  std::mt19937_64 random(6);
  for (int round = 0; round < 60; ++round) {
    const auto rows = static_cast<Index>(random() % 40), keys = static_cast<Index>(random() % 70);
    Tensor cells(DType::kBool, {1, 1, rows, keys});
    const std::uint64_t share = random() % 11;
    for (std::uint8_t& cell : cells.as<std::uint8_t>()) cell = random() % 10 < share;
    const Mask mask = mask_from_dense(cells);
    const RowSizes found = row_sizes_of(*mask.plane(0, 0));
    CHECK(found.bins.size() <= 8);
    Index all = 0;
    for (const RowSizes::Bin& bin : found.bins) {
      Index wanted = 0;
      for (Index q = 0; q < rows; ++q) {
        Index seen = 0;
        for (Index k = 0; k < keys; ++k) seen += open(mask, 0, 0, q, k) ? 1 : 0;
        wanted += bin.keys.contains(seen) ? 1 : 0;
      }
      CHECK(bin.rows == wanted);
      all += bin.rows;
    }
    CHECK(all == rows);
  }
}

TEST_CASE("tui: </> filters the list, findings, documents and keys; <Esc> shows all again",
          "[tui]") {
  CHECK(passes("batch 3 head 3", "Head 3"));
  CHECK_FALSE(passes("batch 3 head 1", "head 3"));
  CHECK(passes("anything", ""));
  const test::Sandbox sandbox;
  const auto screen = [&](const std::string& source, const std::string& script) {
    return sandbox
        .run("maskctl tui " + source + " --color never --size 80x24 --dump - --script '" + script +
             "'")
        .out;
  };
  const std::string leaked = "samples/leaked.npy --segments samples/leaked_ids.npy";
  CHECK(contains(screen(leaked, "F/PADD"), "rows of padding see no key"));
  CHECK_FALSE(contains(screen(leaked, "F/PADD"), "document 2 sees document 0"));
  CHECK(contains(screen(leaked, "F/PADD<Enter><Esc>"), "document 2 sees document 0"));
  CHECK(contains(screen(leaked, "D/document 1"), "document 1: 6 tokens"));
  CHECK_FALSE(contains(screen(leaked, "D/document 1"), "document 0: "));
  CHECK(contains(screen(leaked, "?/histogram<Enter>"), "how many keys the queries see"));
  CHECK(contains(screen(leaked, "?/no such words"), "no line has no such words"));
  // <Enter> goes to the cell of the line that is left.
  CHECK(contains(screen(leaked, "F/sees document<Enter><Enter>"), " 17,3 open, a leak"));
  const std::string planes = "gen:full:n=8,b=3,h=4";
  const std::string listed = screen(planes, "z/head 3<Enter>");
  CHECK(contains(listed, "/head 3: 3 listed; 12 planes"));
  CHECK(contains(screen(planes, "z/head 3<Enter>j"), "batch 1  head 3"));
  CHECK(contains(screen(planes, "z/nothing<Enter>jk<Enter>"), "pipeline>"));
  CHECK(contains(screen(planes, "z/nothing<Enter>"), "/nothing: 0 listed"));
  CHECK(contains(screen(planes, "z/nothing<Esc>"), " 12 planes, 1 unlike"));
}

TEST_CASE("tui: a record needs a terminal, and a file that may be written", "[tui]") {
  const test::Sandbox sandbox;
  const test::Outcome headless =
      sandbox.run("maskctl tui samples/leaked.npy --record keys --dump -");
  CHECK(headless.status == 2);
  CHECK(contains(headless.err, "--record writes what is typed on a terminal; leave out --dump"));
  const test::Outcome exists =
      sandbox.run_on_terminal("touch keys; maskctl tui samples/leaked.npy --record keys");
  CHECK(exists.status == 2);
  CHECK(contains(exists.out, "keys exists"));
}

}  // namespace
}  // namespace maskctl::app::tui
