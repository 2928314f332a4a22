// Tests that documents, padding ids and the cells of leaks mean the same in all commands.
#include <fmt/format.h>

#include <random>
#include <string>
#include <vector>

#include "app/process.h"
#include "app/session/elsewhere.h"
#include "maskctl/io/array_io.h"
#include "maskctl/io/formats/formats.h"
#include "maskctl/mask/planes/bands.h"
#include "support/catch_compat.h"
#include "support/rounds.h"

namespace maskctl::test {
namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// Returns the rest of the line that begins with a word, or "".
std::string line_of(const std::string& text, const std::string& word) {
  const std::string mark = "\n" + word + " ";
  const std::size_t at = ("\n" + text).find(mark);
  if (at == std::string::npos) return "";
  const std::string rest = text.substr(at + word.size());
  return first_line(rest.substr(std::min(rest.find_first_not_of(' '), rest.size())));
}

/// Shell lines that write ids [2,12] with padding 0 (zero.npy) and -1 (minus.npy), and documents of
/// the first row in other forms: cu.npy, positions.npy and, with padding as part of document 3,
/// whole.npy.
const std::string kArrays = R"sh(
/usr/bin/python3 - <<'PY'
import numpy as np
ids = np.array([[1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 0, 0], [4, 4, 4, 4, 4, 5, 5, 5, 5, 0, 0, 0]])
np.save('zero.npy', ids.astype(np.int32))
np.save('minus.npy', np.where(ids == 0, -1, ids).astype(np.int32))
np.save('cu.npy', np.array([0, 3, 7, 12], np.int32))
np.save('positions.npy', np.array([0, 1, 2, 0, 1, 2, 3, 0, 1, 2, 3, 4], np.int32))
np.save('whole.npy', np.array([1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3], np.int32))
PY
)sh";

TEST_CASE("documents: --pad-id also applies to steps and expectations, unless they set pad-id=",
          "[documents]") {
  const Sandbox sandbox;
  REQUIRE(sandbox.run(kArrays).status == 0);
  const std::string full = "gen:full:n=12,b=2";
  const auto density = [&](const std::string& how) {
    return line_of(sandbox.run("maskctl stats " + full + how).out, "density");
  };
  const std::string wanted = density(" -t doc:minus.npy");
  CHECK(density(" -t doc:zero.npy") != wanted);
  for (const char* how : {" -t doc:zero.npy --pad-id 0", " -t doc:zero.npy,pad-id=0",
                          " -t doc:zero.npy,pad-id=0 --pad-id 7",
                          " -t 'within:zero.npy{window:both=99}' --pad-id 0"}) {
    INFO(how);
    CHECK(density(how) == wanted);
  }
  const auto leaks = [&](const std::string& how) {
    return sandbox.run("maskctl check gen:full:n=12,b=2 " + how).out;
  };
  const std::string counted = leaks("-e no-leak:minus.npy");
  const auto numbers = [](const std::string& text) { return text.substr(text.find(": ")); };
  CHECK(contains(counted, "106 cells"));
  CHECK(numbers(leaks("-e no-leak:zero.npy --pad-id 0")) == numbers(counted));
  CHECK(numbers(leaks("-e no-leak:zero.npy,pad-id=0")) == numbers(counted));
  CHECK(numbers(leaks("-e no-leak:q=zero.npy,kv=zero.npy,pad-id=0 --pad-id 3")) ==
        numbers(counted));
  CHECK(numbers(leaks("-e no-leak:zero.npy")) != numbers(counted));
  check_refused(sandbox, "maskctl check gen:full:n=12 -e no-leak:cu_seqlens=cu.npy,pad-id=0",
                "pad-id= goes with segment ids");
  check_refused(sandbox, "maskctl check gen:full:n=12 -e no-leak:zero.npy,pad-id=x",
                "expected a whole number");
}

TEST_CASE("documents: every command reads every form of documents, with the same answer",
          "[documents]") {
  const Sandbox sandbox;
  REQUIRE(sandbox.run(kArrays).status == 0);
  const std::string broken = "gen:full:n=12 -t 'causal | window:keys=5'";
  struct Form {
    std::string option, leaks;  // `leaks`: how many cells are leaks
  };

  const std::vector<Form> forms = {
      {"--segments whole.npy", "19 cells"},
      {"--positions positions.npy", "19 cells"},
      {"--segments q=whole.npy,kv=whole.npy", "19 cells"},
      {"--cu-seqlens cu.npy", "19 cells"},
      {"--segments minus.npy", "28 cells"},
  };
  for (const Form& form : forms) {
    INFO(form.option);
    const Outcome stats = sandbox.run("maskctl stats " + broken + " " + form.option);
    CHECK(stats.status == 0);
    const std::string leaks = line_of(stats.out, "leaks");
    const std::string count = leaks.substr(0, leaks.find(','));
    CHECK(count == form.leaks);
    CHECK(contains(leaks, "the first at batch 0, head 0, query 3, key 0"));
    const std::string recognised =
        sandbox.run("maskctl recognise " + broken + " " + form.option).out;
    CHECK(line_of(recognised, "leaks") == leaks);
    const std::string diff =
        sandbox.run("maskctl diff " + broken + " --transform-b causal gen:full:n=12 " + form.option)
            .out;
    CHECK(contains(diff, "leaks   A: " + leaks));
    const std::string check = sandbox.run("maskctl check " + broken + " " + form.option).out;
    CHECK(contains(check, "document-leak: " + count + " across documents"));
    const std::string number = count.substr(0, count.find(' '));
    const bool batches = contains(form.option, "minus");  // `show` draws only the first batch
    const std::string shown = sandbox.run("maskctl show " + broken + " --ascii " + form.option).out;
    const std::string open = batches ? " --script '<Enter>' " : " ";  // opens batch 0 from the list
    const std::string screen =
        sandbox.run("maskctl tui " + broken + " --dump - --color never" + open + form.option).out;
    CHECK(contains(shown, batches ? "10 leaks in other batches; first: batch 1: --batch 1"
                                  : number + " leaks"));
    CHECK(contains(screen, batches ? "in 1 plane not shown" : "leaks " + number));
    const Outcome why = sandbox.run("maskctl why " + broken + " 4 2 " + form.option);
    CHECK(why.status == 0);
    CHECK(contains(why.out, "batch 0, head 0, query 4, key 2: open, a leak\nquery in document "));
  }
}

TEST_CASE("documents: every command refuses two forms, and ids that do not fit, in the same words",
          "[documents]") {
  const Sandbox sandbox;
  REQUIRE(sandbox.run(kArrays).status == 0);
  for (const char* command :
       {"show gen:full:n=9", "tui gen:full:n=9 --dump -", "stats gen:full:n=9",
        "why gen:full:n=9 3 2", "diff gen:full:n=9 gen:causal:n=9", "recognise gen:causal:n=9",
        "check gen:causal:n=9"}) {
    INFO(command);
    check_refused(sandbox, std::string("maskctl ") + command + " --segments whole.npy",
                  "whole.npy: segment ids of 12 tokens do not fit a mask of 9");
    if (std::string(command).starts_with("check")) continue;  // it compares several
    check_refused(sandbox,
                  std::string("maskctl ") + command + " --segments a.npy --cu-seqlens cu.npy",
                  "--cu-seqlens: the documents are given already");
  }
  check_refused(sandbox, "maskctl stats gen:full:n=12,b=3 --segments zero.npy",
                "documents of 2 batches do not fit");
}

TEST_CASE(
    "documents: why names the documents of a SOURCE, and only blames steps that changed a cell",
    "[documents]") {
  const Sandbox sandbox;
  REQUIRE(sandbox.run(kArrays).status == 0);
  const std::string out = sandbox.run("maskctl why whole.npy --as segments -t causal 8 4").out;
  CHECK(contains(out, "query 8, key 4: closed\nquery in document 3, key in document 2\n"));
  CHECK(contains(out, "stays closed"));
  CHECK(contains(out, "closed in the source, where the documents differ, and no step changed it"));
  const std::string padding =
      sandbox.run("maskctl why zero.npy --as segments --pad-id 0 b=1,q=10,k=4").out;
  CHECK(contains(padding, "query is padding, key in document 4"));
  const std::string given =
      sandbox.run("maskctl why gen:causal:n=12 --segments minus.npy b=1,q=6,k=4").out;
  CHECK(contains(given, "batch 1, head 0, query 6, key 4: open, a leak"));
  check_refused(sandbox, "maskctl why gen:causal:n=12 --segments minus.npy b=2,q=6,k=4", "batch");
}

TEST_CASE("cells: why and the inspector accept cells as reports print them", "[documents]") {
  const Sandbox sandbox;
  const std::string mask = "gen:full:n=16,b=2,h=4 -t 'causal | batch:1{heads:3{open:q=9,k=12}}'";
  const std::string found =
      sandbox.run("maskctl diff " + mask + " --transform-b causal gen:full:n=16").out;
  const std::string pasted = line_of(found, "first").substr(0, line_of(found, "first").find(':'));
  REQUIRE(pasted == "batch 1, head 3, query 9, key 12");
  const std::string wanted = sandbox.run("maskctl why " + mask + " 9 12 --batch 1 --head 3").out;
  CHECK(contains(wanted, pasted + ": open"));
  const std::vector<std::string> spellings = {
      pasted, "b=1,h=3,q=9,k=12", "1 3 9 12",
      "'{\"batch\": 1, \"head\": 3, \"query\": 9, \"key\": 12}'",
      "'query 9, key 12 (batch 1, head 3)'"};
  for (const std::string& text : spellings) {
    INFO(text);
    CHECK(sandbox.run("maskctl why " + mask + " " + text).out == wanted);
  }
  const std::vector<std::string> typed = {":" + pasted, ":b=1,h=3,q=9,k=12"};
  for (const std::string& keys : typed) {
    INFO(keys);
    const std::string screen =
        sandbox
            .run("maskctl tui " + mask + " --script '" + keys + "<Enter>' --dump - --color never")
            .out;
    CHECK(contains(screen, "batch 1  head 3"));
    CHECK(contains(screen, "query 9, key 12: open"));
  }
  const std::string outside =
      sandbox.run("maskctl tui " + mask + " --script ':999,9<Enter>' --dump - --color never").out;
  CHECK(contains(outside, "query 999: the mask has 0 to 15"));
  check_refused(sandbox, "maskctl why " + mask + " 9", "expected a query and a key");
  check_refused(sandbox, "maskctl why " + mask + " row 9", "expected a query and a key");
}

TEST_CASE("diff and show print the names of the masks that they compare", "[documents]") {
  const Sandbox sandbox;
  const std::string pair = "gen:full:n=64 gen:full:n=64 -t causal --transform-b window:keys=4";
  const std::string out = sandbox.run("maskctl diff " + pair).out;
  CHECK(line_of(out, "A") == "gen:full:n=64 | causal");
  CHECK(line_of(out, "B") == "gen:full:n=64 | window:keys=4");
  const std::string json = sandbox.run("maskctl diff " + pair + " --json").out;
  CHECK(contains(json, R"("b": "gen:full:n=64 | window:keys=4")"));
  const std::string shown =
      sandbox
          .run(
              "maskctl show gen:full:n=8 -t causal --overlay gen:full:n=8 --transform-b "
              "window:keys=4 --ascii")
          .out;
  CHECK(contains(shown, "A: gen:full:n=8 | causal\nB: gen:full:n=8 | window:keys=4\n"));
}

TEST_CASE("diff: blocks may have different numbers of queries and keys", "[documents]") {
  const Sandbox sandbox;
  const std::string pair = "maskctl diff gen:full:n=64 gen:causal:n=64 --block ";
  CHECK(line_of(sandbox.run(pair + "16x32").out, "blocks") == "6 of 8 differ, 16x32 each");
  CHECK(sandbox.run(pair + "16x16").out == sandbox.run(pair + "16").out);
  CHECK(contains(sandbox.run(pair + "16x32 --json").out, "\"block\": 16,\n  \"block_keys\": 32"));
  check_refused(sandbox, pair + "0", "--block");
}

TEST_CASE("other planes: a drawing counts the leaks and differences that it does not show",
          "[documents]") {
  const Sandbox sandbox;
  const std::string packed = "'doc:lens=8+8 | causal | batch:27{heads:3{open:q=12,k=4}}'";
  const std::string mask = "gen:full:n=16,b=32,h=4 -t " + packed;
  const std::string ids = " --segments gen:segments:lens=8+8";
  const std::string line =
      "1 leak in other batches and heads; first: batch 27, head 3: "
      "--batch 27 --head 3\n";
  CHECK(contains(sandbox.run("maskctl show " + mask + ids).out, line));
  CHECK_FALSE(contains(sandbox.run("maskctl show " + mask + ids + " --batch 27 --head 3").out,
                       "other batches"));
  CHECK_FALSE(contains(sandbox.run("maskctl show " + mask + ids + " --batch all --head all").out,
                       "other batches"));
  CHECK(contains(sandbox.run("maskctl show " + mask + ids + " -o one.svg").err, first_line(line)));
  const std::string overlay =
      sandbox
          .run("maskctl show " + mask +
               " --overlay gen:full:n=16 --transform-b 'doc:lens=8+8 | causal'")
          .out;
  CHECK(contains(overlay, "1 difference in other batches and heads; first: batch 27, head 3"));

  const auto screen = [&](const std::string& source, const std::string& keys) {
    return sandbox.run("maskctl tui " + source + " --script '" + keys + "' --dump - --color never")
        .out;
  };
  CHECK(contains(screen(mask + ids, ""), "128 planes, 2 unlike; 1 leak in 1"));
  for (const char* keys : {"n", "<Enter>n", ":b 0<Enter>n", ":0,0,9,9<Enter>N"}) {
    CHECK(contains(screen(mask + ids, keys), "batch 27  head 3"));
    CHECK(contains(screen(mask + ids, keys), "query 12, key 4: open, a leak"));
    CHECK(contains(screen(mask + ids, keys), "1 of 1, 1 cell"));
  }
  CHECK(contains(screen(mask + ids, "nn"), "from the start again"));
  const std::string block =
      "gen:full:n=512 -t 'doc:lens=256+256 | causal | open:q=300-419,k=10-187 | open:q=500,k=5' "
      "--segments gen:segments:lens=256+256";
  CHECK(contains(screen(block, "n"), "300,10 open, a leak  1 of 2, 21,360 cells"));
  CHECK(contains(screen(block, "nn"), "500,5 open, a leak  2 of 2, 1 cell"));
  CHECK(contains(screen(block, "n.."), "300,12 open, a leak"));
  CHECK(contains(screen(mask, "n"), "no documents known: FILE of segment ids?"));
  CHECK(contains(screen("gen:causal:n=16,b=2,h=2" + ids + " -t doc:lens=8+8", "n"),
                 "no leak in any batch and head"));
  const std::string two = "gen:full:n=16,h=2 gen:full:n=16 -t ";
  CHECK(contains(screen(two + "'causal | heads:1{open:q=3,k=9}' --transform-b causal", "n"),
                 "query 3, key 9: only in A"));
  CHECK(contains(screen("gen:full:n=16,h=2 gen:full:n=16 -t causal", "n"),
                 "no difference in any batch and head"));
}

/// True if the pair of ids is a leak: different ids, neither of which is padding.
bool crosses(std::int32_t q, std::int32_t k, std::int32_t pad) {
  return q != k && q != pad && k != pad;
}

Index open_cell(const Mask& mask, Index b, Index h, Index q, Index k) {
  return mask.plane(mask.batch() == 1 ? 0 : b, mask.heads() == 1 ? 0 : h)
      ->count({q, q + 1}, {k, k + 1});
}

TEST_CASE("other planes: the counts of leaks and differences equal a count of cells",
          "[documents]") {
  std::mt19937_64 random(12);
  const auto number = [&](Index low, Index high) {
    return std::uniform_int_distribution<Index>(low, high)(random);
  };
  for (int round = 0; round < rounds(40); ++round) {
    const Index batch = number(1, 3), heads = number(1, 3), n = number(1, 9);
    const auto draw = [&](Index b, Index h) {
      return Mask::make(b, h, n, n, [&](Index, Index) {
        return diagonal_band(n, n, -number(0, n), number(-1, n));
      });
    };
    const Mask a = draw(batch, heads);
    const Mask b = draw(number(0, 1) ? batch : 1, number(0, 1) ? heads : 1);
    const Index rows = number(0, 1) ? batch : 1;
    Tensor ids(DType::kInt32, {rows, n});
    for (auto& id : ids.as<std::int32_t>()) id = static_cast<std::int32_t>(number(-1, 2));
    app::MarkedPlanes leaks, differences;
    const auto add = [](app::PlaneMarks& here, Index q, Index k) {
      if (here.count++ == 0) here.first = {q, k};
      here.last = {q, k};
    };
    for (Index m = 0; m < batch; ++m) {
      for (Index h = 0; h < heads; ++h) {
        app::PlaneMarks leak{m, h, 0, {}, {}}, difference{m, h, 0, {}, {}};
        const auto row = ids.as<std::int32_t>().subspan(as_size(rows == 1 ? 0 : m * n), as_size(n));
        for (Index q = 0; q < n; ++q) {
          for (Index k = 0; k < n; ++k) {
            const bool open = open_cell(a, m, h, q, k) > 0;
            if (open && crosses(row[as_size(q)], row[as_size(k)], -1)) add(leak, q, k);
            if (open != (open_cell(b, m, h, q, k) > 0)) add(difference, q, k);
          }
        }
        if (leak.count > 0) leaks.push_back(leak);
        if (difference.count > 0) differences.push_back(difference);
      }
    }
    CHECK(app::marked_leaks(a, {ids, ids}, -1) == leaks);
    CHECK(app::marked_differences(a, b) == differences);
  }
}

/// Returns the number in front of a word in a text, or 0 if the text lacks the word.
Index number_before(const std::string& text, const std::string& word) {
  const std::size_t end = text.find(word);
  if (end == std::string::npos) return 0;
  const std::size_t begin = text.find_last_not_of("0123456789,", end - 1) + 1;
  std::string digits = text.substr(begin, end - begin);
  std::erase(digits, ',');
  return std::stoll(digits);
}

TEST_CASE("documents: show, tui, check and golden count the same leaks and padding cells",
          "[documents]") {
  const Sandbox sandbox;
  std::mt19937_64 random(31);
  const auto number = [&](Index low, Index high) {
    return std::uniform_int_distribution<Index>(low, high)(random);
  };
  Index with_both = 0;
  for (int round = 0; round < 4; ++round) {
    const Index batch = number(1, 2), heads = number(1, 2), n = number(5, 12);
    const Index rows = number(0, 1) ? batch : 1, pad = number(-1, 0);
    Tensor cells(DType::kBool, {batch, heads, n, n}), ids(DType::kInt32, {rows, n});
    for (auto& cell : cells.as<std::uint8_t>()) cell = static_cast<std::uint8_t>(number(0, 1));
    for (auto& id : ids.as<std::int32_t>()) id = static_cast<std::int32_t>(number(-1, 2));
    write_array(sandbox.work() / "m.npy", cells, {.force = true});
    write_array(sandbox.work() / "ids.npy", ids, {.force = true});
    const std::string options = fmt::format(" --segments ids.npy --pad-id {}", pad);
    Index all_leaks = 0, all_padding = 0;
    for (Index b = 0; b < batch; ++b) {
      for (Index h = 0; h < heads; ++h) {
        CAPTURE(round, b, h);
        Index leaks = 0, padding = 0;
        const auto row = ids.as<std::int32_t>().subspan(as_size(rows == 1 ? 0 : b * n), as_size(n));
        for (Index q = 0; q < n; ++q) {
          for (Index k = 0; k < n; ++k) {
            if (cells.as<std::uint8_t>()[as_size(((b * heads + h) * n + q) * n + k)] == 0) continue;
            const bool is_padding = row[as_size(q)] == pad || row[as_size(k)] == pad;
            padding += is_padding;
            leaks += !is_padding && row[as_size(q)] != row[as_size(k)];
          }
        }
        all_leaks += leaks, all_padding += padding, with_both += leaks > 0 && padding > 0;
        const std::string plane = fmt::format(" --batch {} --head {}", b, h);
        const std::string shown = sandbox.run("maskctl show m.npy" + options + plane).out;
        // The caption of a drawing has one line or two, followed by the rulers.
        const std::string from = shown.substr(shown.find(" queries x "));
        const std::string below = from.substr(from.find('\n') + 1);
        const std::string caption = first_line(from) + " " + first_line(below);
        CHECK(number_before(caption, " leak") == leaks);
        CHECK(number_before(caption, " cells of padding") +
                  number_before(caption, " cell of padding") ==
              padding);
        const std::string keys = fmt::format(":b={},h={},q=0,k=0<Enter>", b, h);
        const std::string screen =
            sandbox
                .run("maskctl tui m.npy --dump - --size 120x40 --color never --script '" + keys +
                     "'" + options)
                .out;
        CHECK(contains(screen, fmt::format("leaks {}", leaks)));
        CHECK(contains(screen, fmt::format("open padding {}", padding)) == (padding > 0));
      }
    }
    CAPTURE(round);
    const std::string json = sandbox.run("maskctl check m.npy -e no-leak --json" + options).out;
    CHECK(contains(json, fmt::format("\"cross\": {},", all_leaks)));
    const std::string stats = line_of(sandbox.run("maskctl stats m.npy" + options).out, "leaks");
    CHECK(number_before(stats, " cell") == all_leaks);
    CHECK(number_before(stats, " cells of padding open") == all_padding);
    spit(sandbox.work() / "g.toml",
         fmt::format("[[golden]]\nname = \"m\"\nsource = \"m.npy\"\n"
                     "expect = {{ holds = [\"no-leak:ids.npy,pad-id={}\"] }}\n",
                     pad));
    const Outcome golden = sandbox.run("maskctl golden check g.toml");
    CHECK(golden.status == (all_leaks > 0 ? 1 : 0));
    CHECK(number_before(golden.out, " cell") == all_leaks);
  }
  CHECK(with_both > 0);
}

TEST_CASE("seq: lengths are read from ids, positions and masks", "[documents]") {
  const Sandbox sandbox;
  REQUIRE(sandbox.run(kArrays).status == 0);
  const auto seq = [&](const std::string& line) { return sandbox.run("maskctl seq " + line).out; };
  CHECK(seq("lens zero.npy --as segments --pad-id 0") == "3\n4\n3\n5\n4\n");
  CHECK(seq("lens minus.npy --as segments") == "3\n4\n3\n5\n4\n");
  CHECK(seq("lens positions.npy --as positions") == "3\n4\n5\n");
  CHECK(seq("cu-seqlens whole.npy --as segments") == "0\n3\n7\n12\n");
  CHECK(seq("position-ids whole.npy --as segments") == "0\n1\n2\n0\n1\n2\n3\n0\n1\n2\n3\n4\n");
  const std::string returns = "gen:segments:n=40,docs=3,interleave=token";
  check_refused(sandbox, "maskctl seq lens " + returns + " --as segments", "returns at token");
}

TEST_CASE("ops: finds a step by the other names that people use for it", "[documents]") {
  const Sandbox sandbox;
  CHECK(sandbox.run("maskctl ops sliding").out == sandbox.run("maskctl ops window").out);
  CHECK(sandbox.run("maskctl ops packing").out == sandbox.run("maskctl ops doc").out);
  CHECK(contains(sandbox.run("maskctl ops window").out, "Synonyms: sliding"));
  check_refused(sandbox, "maskctl show gen:full:n=4 -t sliding:4", "did you mean 'window'?", 3);
}

}  // namespace
}  // namespace maskctl::test
