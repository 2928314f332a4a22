// The grammar of pipelines: what is accepted, how it is printed, and every message with its caret.
#include "maskctl/pipeline/parse/grammar.h"

#include "pipeline/pipeline_support.h"
#include "support/catch_compat.h"

namespace maskctl {
namespace {

using test::at;
using test::parse_failure;

TEST_CASE("a pipeline consists of steps with arguments and nested chains") {
  const Pipeline p = parse("causal | window:left=3,right=none|heads:0-3+7{not | doc:'a b.npy'}");
  REQUIRE(p.steps.size() == 3);
  CHECK(p.steps[0].name == "causal");
  CHECK(p.steps[0].args.empty());
  CHECK_FALSE(p.steps[0].has_nested);
  REQUIRE(p.steps[1].args.size() == 2);
  CHECK(p.steps[1].args[0].key == "left");
  CHECK(p.steps[1].args[0].value == "3");
  CHECK(p.steps[1].args[1].value == "none");
  CHECK(p.steps[1].args[0].position == Range{16, 22});
  CHECK(p.steps[1].args[0].value_begin == 21);
  CHECK(p.steps[2].position == Range{34, 39});
  REQUIRE(p.steps[2].args.size() == 1);
  CHECK(p.steps[2].args[0].key.empty());
  CHECK(p.steps[2].args[0].value == "0-3+7");
  REQUIRE(p.steps[2].nested.size() == 2);
  CHECK(p.steps[2].nested[1].args[0].value == "a b.npy");
}

TEST_CASE("texts are printed in their canonical form") {
  const auto [text, canonical] = GENERATE(table<std::string, std::string>({
      {"causal", "causal"},
      {"  causal|not ", "causal | not"},
      {"window: left=3 , right=4", "window:left=3,right=4"},
      {"doc:\"a.npy\"", "doc:a.npy"},
      {"doc:'a b.npy'", "doc:'a b.npy'"},
      {"doc:\"it's, mine.npy\"", "doc:\"it's, mine.npy\""},
      {"doc:'say \"hi\"'", "doc:'say \"hi\"'"},
      {"doc:\"it's\"' \"both\"'", "doc:\"it's \"'\"both\"'"},
      {"doc:it's.npy", "doc:it's.npy"},
      {"doc:''", "doc:''"},
      {"doc:'a=b'", "doc:'a=b'"},
      {"doc:q='x',kv='y z'", "doc:q=x,kv='y z'"},
      {"doc:'#1'", "doc:'#1'"},
      {"doc:a#1", "doc:a#1"},
      {"and:f.h5:/group/mask", "and:f.h5:/group/mask"},
      {"slice:q=0:128,k=3", "slice:q=0:128,k=3"},
      {"heads:0-3+7 { causal|not }", "heads:0-3+7{causal | not}"},
      {"batch:0{heads:1{not}} | not", "batch:0{heads:1{not}} | not"},
      {"causal # the past\n| not # all\n", "causal | not"},
      {"# first\n\ncausal\r\n|\r\nnot", "causal | not"},
      {"causal#x", "causal"},
      {"doc:d\xC3\xBCrer.npy", "doc:d\xC3\xBCrer.npy"},
      {"kv-lengths:a,q_len=1", "kv-lengths:a,q_len=1"},
      {"and:1=2'", "?"},
  }));
  CAPTURE(text);
  if (canonical == "?") {
    CHECK_THROWS_AS(parse(text), PipelineError);
  } else {
    CHECK(print(parse(text)) == canonical);
    CHECK(parse(canonical) == parse(text));
  }
}

TEST_CASE("the error about a wrong text has a caret under the mistake") {
  using Row = std::tuple<std::string, std::size_t, std::string>;
  const auto [text, column, message] = GENERATE(table<std::string, std::size_t, std::string>({
      Row{"causal | win dow", 13, "expected '|' or end, got 'd'"},
      Row{"", 0, "expected a step, got end"},
      Row{"   ", 0, "expected a step, got end"},
      Row{"# nothing", 0, "expected a step, got end"},
      Row{"causal |", 8, "expected a step, got end"},
      Row{"causal |   ", 8, "expected a step, got end"},
      Row{"| causal", 0, "expected a step, got '|'"},
      Row{"causal || not", 8, "expected a step, got '|'"},
      Row{"causal } not", 7, "expected '|' or end, got '}'"},
      Row{"no.npy", 0,
          "expected a step, got a file; and:FILE keeps the cells that are open in it too, or:FILE "
          "adds them"},
      Row{"causal | ./a.npy", 9,
          "expected a step, got a file; and:FILE keeps the cells that are open in it too, or:FILE "
          "adds them"},
      Row{"causal, not", 6, "expected '|' or end, got ','"},
      Row{"3d", 0, "expected a step, got '3'"},
      Row{"causal @", 7, "expected '|' or end, got '@'"},
      Row{"window:", 7, "expected a value, got end"},
      Row{"window:left=", 12, "expected a value, got end"},
      Row{"window:left=,right=2", 12, "expected a value, got ','"},
      Row{"window:left=1,", 14, "expected a value, got end"},
      Row{"window:left=1,|not", 14, "expected a value, got '|'"},
      Row{"window:left=1 right=2", 14, "expected ',', '|' or end, got 'r'"},
      Row{"window:left =1", 12, "expected ',', '|' or end, got '='"},
      Row{"window:left= 1", 12, "expected a value, got ' '"},
      Row{"doc:#a", 4, "expected a value, got end"},
      Row{"doc:q=#a", 6, "expected a value, got '#'"},
      Row{"doc:=a", 4, "expected a value, got '='"},
      Row{"doc:q=a=b", 7, "'=' in a bare value; quote the value, as in '...'"},
      Row{"and:gen:causal:n=4", 16, "'=' in a bare value; quote the value, as in '...'"},
      Row{"doc:'a.npy", 4, "no closing '"},
      Row{"doc:q=\"a.npy", 6, "no closing \""},
      Row{"doc:'a'b", 7, "expected ',', '|' or end, got 'b'"},
      Row{"heads:0{", 8, "expected a step, got end"},
      Row{"heads:0{}", 8, "expected a step, got '}'"},
      Row{"heads:0{causal", 14, "expected '|' or '}', got end"},
      Row{"heads:0{pad:a x}", 14, "expected ',', '|' or '}', got 'x'"},
      Row{"heads:0{causal} not", 16, "expected '|' or end, got 'n'"},
      Row{"heads:0{not}{not}", 12, "expected '|' or end, got '{'"},
  }));
  CAPTURE(text);
  CHECK(parse_failure(text) == at(text, column, "pipeline: " + message));
}

TEST_CASE("carets count code points, and control characters are escaped") {
  CHECK(parse_failure("doc:d\xC3\xBCrer.npy x") ==
        "pipeline: expected ',', '|' or end, got 'x'\n  doc:d\xC3\xBCrer.npy x\n"
        "                ^");
  CHECK(parse_failure("causal \xE2\x82\xAC") ==
        "pipeline: expected '|' or end, got '\xE2\x82\xAC'\n  causal \xE2\x82\xAC\n         ^");
  CHECK(parse_failure("\x1B[31m") == "pipeline: expected a step, got '\\x1b'\n  \\x1b[31m\n  ^");
  CHECK(parse_failure("causal\t\xFF") ==
        "pipeline: expected '|' or end, got '\\xff'\n  causal \\xff\n"
        "         ^");
  CHECK(parse_failure("doc:a\x01") ==
        "pipeline: a control character (0x01) in a bare value; quote the value\n  doc:a\\x01\n"
        "       ^");
  CHECK(parse_failure(std::string("not\0", 4)) ==
        "pipeline: expected text, got a zero byte\n  not\\x00\n     ^");
  CHECK(parse_failure("doc:\x1b[2J^") ==
        "pipeline: a control character (0x1b) in a bare value; quote the value\n  doc:\\x1b[2J^\n"
        "      ^");
}

TEST_CASE("an error in a text of several lines shows only the wrong line") {
  CHECK(parse_failure("causal # one\n| win dow # two\n| not\n") ==
        "pipeline: expected '|' or end, got 'd'\n  line 2: | win dow # two\n"
        "                ^");
  CHECK(parse_failure("causal\n|\n\n") ==
        "pipeline: expected a step, got end\n  line 2: |\n"
        "           ^");
  CHECK(parse_failure("causal\r\n| 3\r\n") ==
        "pipeline: expected a step, got '3'\n  line 2: | 3\n            ^");
}

TEST_CASE("an error in a long line shows only the text around it") {
  const std::string text = std::string(400, ' ') + "causal x" + std::string(300, ' ');
  const std::string failure = parse_failure(text);
  CHECK(failure.size() < 300);
  CHECK(failure == "pipeline: expected '|' or end, got 'x'\n  ..." + std::string(43, ' ') +
                       "causal x" + std::string(49, ' ') + "...\n" + std::string(55, ' ') + "^");
}

TEST_CASE("texts beyond the limits are refused before anything deep or large is built") {
  const auto nested = [](int levels) {
    std::string text;
    for (int i = 0; i < levels; ++i) text += "heads:0{";
    return text + "not" + std::string(static_cast<std::size_t>(levels), '}');
  };
  CHECK(parse_failure(nested(16)).empty());
  CHECK(parse_failure(nested(17)).starts_with("pipeline: more than 16 levels of '{'\n"));
  CHECK(parse_failure(nested(100000)).starts_with("pipeline: more than 16 levels of '{'\n"));

  std::string steps = "not";
  for (int i = 1; i < 10000; ++i) steps += "|not";
  CHECK(parse_failure(steps).empty());
  CHECK(parse_failure(steps + "|not").starts_with("pipeline: more than 10000 steps\n"));

  const std::string full = "doc:" + std::string((1 << 20) - 4, 'x');
  CHECK(parse_failure(full).empty());
  CHECK(parse_failure(full + "x")
            .starts_with("pipeline: text of 1048577 bytes, the limit is 1048576\n"));
}

TEST_CASE("near words are found up to two edits away") {
  const std::string_view names[] = {"causal", "window", "doc", "and", "or"};
  CHECK(nearest("casual", names) == "causal");
  CHECK(nearest("windwo", names) == "window");
  CHECK(nearest("dco", names) == "doc");
  CHECK(nearest("windows", names) == "window");
  CHECK_FALSE(nearest("full", names));
  CHECK_FALSE(nearest("x", names));
  CHECK_FALSE(nearest("dxy", names));  // two of three letters are wrong
  CHECK(nearest("win", names) == "window");
  CHECK_FALSE(nearest(std::string(100000, 'c'), names));
}

}  // namespace
TEST_CASE("steps on lines of their own need no bar between them") {
  CHECK(parse("causal\nwindow:keys=4\n") == parse("causal | window:keys=4"));
  CHECK(parse("causal # all\n\n  heads:0{causal\n not} \n| not") ==
        parse("causal | heads:0{causal | not} | not"));
  CHECK_THROWS_AS(parse("causal window:keys=4"), PipelineError);
}

TEST_CASE("numbers after a comma belong to the list of numbers before it") {
  CHECK(parse("doc:lens=3,5,4") == parse("doc:lens=3+5+4"));
  CHECK(parse("heads:0-3, 7{causal}") == parse("heads:0-3+7{causal}"));
  CHECK(parse("causal:offset=-1,2,align=top-left") == parse("causal:offset=-1+2,align=top-left"));
  CHECK(parse("pad:'3',5").steps.front().args.size() == 2);
  CHECK(parse("pad:a.npy,5").steps.front().args.size() == 2);
}

}  // namespace maskctl
