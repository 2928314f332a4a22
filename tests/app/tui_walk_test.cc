// Tests the inspector without a terminal: random walks over all its actions, and what it shows
// while work runs in the background.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "app/tui/beside/loading_mask.h"
#include "app/tui/screens/painter.h"
#include "app/tui/state/actions.h"
#include "app/tui/state/follow.h"
#include "app/tui/state/geometry.h"
#include "app/tui/update.h"
#include "maskctl/base/text.h"
#include "support/catch_compat.h"
#include "support/contains.h"

namespace maskctl::app::tui {
namespace {

Subject subject_of(const std::string& name, std::vector<std::string> transforms,
                   const std::string& other = "") {
  Subject out;
  out.name = name;
  out.other = other;
  out.source.transforms = std::move(transforms);
  return out;
}

/// Draws random keys, typed texts, mouse positions and sizes, but nothing that writes a file.
class Typist {
 public:
  explicit Typist(unsigned seed) : random_(seed) {
    for (const Binding& binding : bindings()) {
      for (const std::string_view key : split(binding.keys, ' ')) keys_.emplace_back(key);
    }
    for (const char* key : {"<Enter>", "<Tab>", "<BS>", "3", "7", "a", "b"})
      keys_.emplace_back(key);
  }

  std::vector<Input> next() {
    switch (pick(0, 24)) {
      case 0:
        return {{"<Resize>", pick(0, 70), pick(0, 220)}};
      case 1:
        return {{"<Mouse>", pick(0, 70), pick(0, 220)}};
      case 2:
        return {{pick(0, 1) ? "<WheelUp>" : "<WheelDown>", 1, 1}};
      case 3:
        return typed(":" + std::to_string(pick(0, 1'200'000)) + "," + std::to_string(pick(0, 40)));
      case 4:
        return typed(kTexts[as_size(pick(0, std::ssize(kTexts) - 1))]);
      default:
        return {{keys_[as_size(pick(0, std::ssize(keys_) - 1))]}};
    }
  }

 private:
  static constexpr std::string_view kTexts[] = {"a causal",
                                                "a window:keys=5",
                                                "t<C-u>",
                                                "t<C-u>not",
                                                "a not | nonsense<Esc>",
                                                "a win<Tab>",
                                                "a slice:q=1:9",
                                                "a heads:0{not}",
                                                "/leak",
                                                "/empty",
                                                "/border",
                                                "/partial",
                                                "/diff",
                                                "/<Tab>",
                                                ":<Up>",
                                                "<C-o>j",
                                                "Fj",
                                                "Djj"};

  Index pick(Index low, Index high) {
    return low + static_cast<Index>(random_() % static_cast<unsigned long>(high - low + 1));
  }
  static std::vector<Input> typed(std::string_view text) {
    return parse_script(std::string(text) + "<Enter>");
  }

  std::mt19937_64 random_;
  std::vector<std::string> keys_;
};

/// Checks that the cursor is in the mask and on the screen.
void check_view(const State& state) {
  const View& view = state.view;
  const Mask& mask = state.scene->mask;
  const bool inside = view.batch >= 0 && view.batch < mask.batch() && view.head >= 0 &&
                      view.head < mask.heads() && view.cursor.query >= 0 &&
                      view.cursor.query < mask.queries() && view.cursor.key >= 0 &&
                      view.cursor.key < mask.keys();
  const Geometry at = geometry(state);
  const bool seen =
      at.too_small || (at.queries.contains(view.cursor.query) && at.keys.contains(view.cursor.key));
  if (!inside || !seen) FAIL_CHECK("the cursor left the mask or the screen");
}

void walk(const Subject& subject, Index actions, unsigned seed) {
  Workbench bench(subject, Settings());
  State state = first_state(bench.first(), {24, 80});
  Painter painter([] {});
  Counting counting([] {});
  ReportMaker reports([] {});
  Searching searching([] {});
  Typist typist(seed);
  for (Index done = 0; done < actions; ++done) {
    for (const Input& input : typist.next()) {
      state = update(std::move(state), input, bench);
      if (state.request == Request::kQuit) state.request.reset();
      follow(state, reports, Time());
      follow(state, counting, in_a_moment());
      follow(state, searching, in_a_moment());
      if (go_on(state)) check_view(state);
      const Canvas screen = painter.draw(state, in_a_moment());
      if (screen.rows() != state.screen.rows || screen.columns() != state.screen.columns) {
        FAIL_CHECK("the screen is not filled");
      }
      check_view(state);
    }
  }
}

/// Returns how many actions all walks have together: MASKCTL_WALK, or 10,000.
Index actions() {
  const char* wanted = std::getenv("MASKCTL_WALK");
  return wanted ? std::atol(wanted) : 10'000;
}

TEST_CASE("tui: a random walk keeps the cursor on the screen", "[tui][slow]") {
  const std::string samples = MASKCTL_SOURCE_DIR "/samples/";
  const std::string ids = "gen:segments:n=1M,docs=700,seed=4";
  Subject batch = subject_of("gen:full:n=64,b=6,h=3",
                             {"doc:lens=20+24+20 | causal", "batch:4{heads:2{open:q=40,k=5}}"});
  batch.documents = {DocumentForm::kSegments, "gen:segments:lens=20+24+20"};
  Subject labelled = subject_of(samples + "leaked.npy", {});
  labelled.tokens = samples + "leaked_tokens.txt";
  const std::vector<Subject> subjects = {
      batch,
      labelled,
      subject_of("gen:causal:n=5,h=2", {}),
      subject_of("gen:segments:lens=9+6+9", {"causal"}),
      subject_of(samples + "leaked.npy", {}),
      subject_of(samples + "heads.npy", {}, "gen:causal:n=16"),
      subject_of("gen:causal:q=1,k=90_000,align=bottom-right", {}),
      subject_of("gen:window:q=300,k=7,keys=3,align=top-left", {}),
      subject_of(ids, {"causal", "window:keys=3000"}),
      subject_of(ids + ",interleave=token", {"causal"}),
  };
  unsigned seed = 1;
  for (const Subject& subject : subjects) {
    INFO(subject.name << ", seed " << seed);
    walk(subject, actions() / std::ssize(subjects), seed++);
  }
}

/// Returns the ink of each unit of a drawing, which says how full the unit is; 99 in unknown rows.
std::vector<int> known_inks(const InkGrid& grid) {
  std::vector<int> out;
  for (Index row = 0; row < grid.rows; ++row) {
    for (Index column = 0; column < grid.columns; ++column) {
      out.push_back(grid.is_known(row) ? grid.at(row, column) : 99);
    }
  }
  return out;
}

TEST_CASE("tui: a unit is drawn once all of its rows have been read") {
  const std::vector<Index> shape{1, 1, 256, 192};
  std::vector<std::uint64_t> words(128 * 3);
  for (std::size_t row = 0; row < 128; ++row) words[3 * row] = ~std::uint64_t{0};
  LoadingMask loading;
  CHECK(loading.shape().empty());
  loading.add({shape, {64, 192}, words});
  CHECK(loading.shape() == shape);
  const auto in_blocks = [&](BlockSize block) {
    return known_inks(loading.grid(grid_shape({0, 256}, {0, 192}, block)));
  };
  const int all = ink::kAll, some = density_ink(64, 128);
  CHECK(in_blocks({64, 64}) == std::vector<int>{99, 99, 99, all, 0, 0, all, 0, 0, 99, 99, 99});
  CHECK(in_blocks({128, 128}) == std::vector<int>{99, 99, 99, 99});
  loading.add({shape, {0, 64}, std::span(words).first(64 * 3)});
  CHECK(in_blocks({128, 128}) == std::vector<int>{some, 0, 99, 99});
  CHECK(in_blocks({32, 32}) == std::vector<int>(8 * 6, 99));
}

using test::contains;

TEST_CASE("tui: cells that are not counted yet are hatched, until they are counted") {
  Workbench bench(subject_of("gen:segments:n=1M,docs=52,seed=1,interleave=token", {"causal"}),
                  Settings());
  State state = first_state(bench.first(), {24, 80});
  Painter painter([] {});
  Counting counting([] {});
  CHECK_FALSE(state.counts().counted);
  CHECK(contains(painter.draw(state, Time()).text(), "╱"));
  CHECK(painter.busy());
  follow(state, counting, Time::max());
  CHECK(state.counts().counted);
  CHECK_FALSE(contains(painter.draw(state, Time::max()).text(), "╱"));
  CHECK_FALSE(painter.busy());
}

TEST_CASE("tui: planes with equal cells are one row of the table, however they were made") {
  const std::string steps =
      "batch:0{doc:lens=8+8 | causal} | batch:1{causal | doc:lens=8+8} | batch:2{heads:1{not}}";
  Workbench bench(subject_of("gen:full:n=16,b=3,h=2", {steps}), Settings());
  const Scene& scene = *bench.first();
  PlaneTable& planes = *scene.planes;
  CHECK(planes.known() == 0);
  planes.fill(scene);
  std::vector<Index> like, open;
  for (Index row = 0; row < planes.size(); ++row) {
    like.push_back(planes[row].like);
    open.push_back(planes[row].open);
  }
  CHECK(like == std::vector<Index>{0, 0, 0, 0, 4, 5});
  CHECK(open == std::vector<Index>{72, 72, 72, 72, 256, 0});
}

TEST_CASE("tui: a search waits until the leaks or differences are counted") {
  Subject subject = subject_of("gen:full:n=4000,b=6", {"batch:4{causal}"}, "gen:full:n=4000");
  subject.other_source.transforms = {};
  Workbench bench(subject, Settings());
  State state = update(first_state(bench.first(), {24, 80}), {"n"}, bench);
  CHECK(state.awaited);
  state = update(std::move(state), {"n"}, bench);
  CHECK(state.awaited->times == 2);
  CHECK_FALSE(go_on(state));
  Counting counting([] {});
  do {
    follow(state, counting, Time::max());
  } while (go_on(state));
  CHECK_FALSE(state.awaited);
  CHECK(state.cell() == Cell{4, 0, 0, 1});
  CHECK(contains(state.found, "from the start again"));
}

TEST_CASE("tui: a long search runs in the background and can be stopped") {
  Workbench bench(subject_of("gen:random:n=100_000,sparsity=0.5,seed=1", {}), Settings());
  State state = first_state(bench.first(), {24, 80});
  state.target = "empty";
  Searching searching([] {});
  // Searching by counts would take minutes, so the search reads single rows.
  PlaceAsked asked{state.scene, 0, 0, Sources::kBoth, Target::kEmptyRow, {0, 0}};
  state.awaited = Awaited{};
  state.looked_for = PlaceSearch{asked};
  follow(state, searching, in_a_moment());
  CHECK(searching.busy());
  CHECK(contains(Painter([] {}).draw(state, Time()).text(), "searching"));
  state = update(std::move(state), {"<Esc>"}, bench);
  CHECK(state.message == "the search is stopped");
  follow(state, searching, in_a_moment());
  CHECK_FALSE(searching.busy());
}

TEST_CASE("tui: a slow write runs in the background, and <Esc> leaves no part of the file") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("maskctl_saving_{}", ::getpid());
  std::filesystem::create_directory(folder);
  const auto files = [&] { return std::distance(std::filesystem::directory_iterator(folder), {}); };
  Workbench bench(subject_of("gen:random:n=30_000,sparsity=0.5,seed=1", {}), Settings());
  State state = first_state(bench.first(), {24, 100});
  Saving saving([] {});
  const auto type = [&](const std::string& text) {
    for (const Input& input : parse_script(text)) state = update(std::move(state), input, bench);
  };
  type(":w " + (folder / "mask.npy").string() + "<Enter>");
  follow(state, saving, in_a_moment());
  CHECK(saving.busy());
  CHECK(contains(Painter([] {}).draw(state, Time()).text(), "writing "));
  type("q");
  CHECK(contains(state.question->text, "is being written; quit without it?"));
  type("n:w other.npy<Enter>");
  CHECK(contains(state.message, "is being written; <Esc> stops that"));
  type("<Esc>");
  CHECK(contains(state.message, "stopped; "));
  follow(state, saving, in_a_moment());
  CHECK_FALSE(saving.busy());
  CHECK(files() == 0);
  type(":w @" + (folder / "steps").string() + "<Enter>");
  follow(state, saving, Time::max());
  CHECK(contains(state.message, "wrote "));
  CHECK(files() == 1);
  std::filesystem::remove_all(folder);
}

TEST_CASE("tui: other documents are read in the background, and <Esc> keeps those before") {
  Workbench bench(subject_of("gen:full:n=24", {"causal"}), Settings());
  State state = first_state(bench.first(), {24, 100});
  state.change = PendingChange{
      Change::kDocuments,
      {"causal", DocumentOptions{DocumentForm::kSegments, "gen:segments:lens=9+6+9"}}};
  CHECK(contains(Painter([] {}).draw(state, Time::max()).text(), "reading the documents for 0 s"));
  const State before = update(state, {"<Esc>"}, bench);
  CHECK(before.message == "stopped; the documents are as they were");
  CHECK_FALSE(before.scene->has_ids());
  state = after_pause(std::move(state), bench, Time::max());
  CHECK(state.scene->has_ids());
  CHECK(contains(state.message, "documents of gen:segments"));
  CHECK(bench.scene("causal") == state.scene);
}

TEST_CASE("tui: the old mask stays visible while a new one is made, and <Esc> keeps it") {
  Workbench bench(subject_of("gen:full:n=64", {"causal"}), Settings());
  State state = first_state(bench.first(), {24, 80});
  const PendingChange change{Change::kReplace, {"causal | window:keys=9"}};
  state.change = change;
  CHECK(contains(Painter([] {}).draw(state, Time::max()).text(), "making the mask for 0 s"));
  state = update(std::move(state), {"<Esc>"}, bench);
  CHECK_FALSE(state.change);
  CHECK(state.message == "stopped; the pipeline is as it was");
  CHECK(state.scene->pipeline == "causal");
  state.change = change;
  state = update(std::move(state), {"a"}, bench);
  CHECK(state.prompt == Prompt::kNone);
  CHECK(contains(state.message, "is being made"));
  state = after_pause(std::move(state), bench, Time::max());
  CHECK(state.scene->pipeline == change.asked.pipeline);
  CHECK(state.undo.size() == 1);
  state.change = PendingChange{Change::kReplace, {"causal | slice:q=0:0"}};
  state = after_pause(std::move(state), bench, Time::max());
  CHECK_FALSE(state.change);
  CHECK(contains(state.message, "no cells"));
  CHECK(state.scene->pipeline == change.asked.pipeline);
}

TEST_CASE("tui: replacing the pipeline stops the counting for the old one") {
  Workbench bench(subject_of("gen:random:n=200_000,sparsity=0.5,seed=1", {}), Settings());
  State state = first_state(bench.first(), {24, 80});
  Painter painter([] {});
  Counting counting([] {});
  follow(state, counting, in_a_moment());  // counting would take minutes
  painter.draw(state, Time());
  CHECK((counting.busy() && painter.busy()));
  state.scene = bench.scene("slice:q=0:64,k=0:64");
  settle(state);
  follow(state, counting, Time::max());
  CHECK(state.counts().counted);
  painter.draw(state, Time::max());
  CHECK_FALSE(painter.busy());
}

}  // namespace
}  // namespace maskctl::app::tui
