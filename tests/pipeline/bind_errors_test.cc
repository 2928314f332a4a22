// Each wrong argument of a step has its own message, with a caret below the argument.
#include "maskctl/mask/steps/rule.h"
#include "pipeline/pipeline_support.h"
#include "support/catch_compat.h"

namespace maskctl {
namespace {

using test::at;
using test::bind_failure;
using Row = std::tuple<std::string, std::size_t, std::string>;

void check(const std::string& text, std::size_t column, const std::string& message) {
  CAPTURE(text);
  CHECK(bind_failure(text) == at(text, column, "pipeline: " + message));
}

std::string known_names() {
  std::string out;
  for (const StepInfo& info : step_infos()) {
    out += (out.empty() ? "" : ", ") + std::string(info.name);
  }
  return out;
}

TEST_CASE("the error about an unknown step or key names the nearest") {
  const auto [text, column, message] = GENERATE(table<std::string, std::size_t, std::string>({
      Row{"casual", 0, "unknown step 'casual'; did you mean 'causal'?"},
      Row{"causal | windw:keys=3", 9, "unknown step 'windw'; did you mean 'window'?"},
      Row{"heads:0{casual}", 8, "unknown step 'casual'; did you mean 'causal'?"},
      Row{"transmogrify", 0, "unknown step 'transmogrify'; known: " + known_names()},
      Row{"window:key=3", 7,
          "unknown key 'key' of window; did you mean 'keys'? known: left, right, keys, both, "
          "align, offset"},
      Row{"doc:ids.npy,padid=0", 12,
          "unknown key 'padid' of doc; did you mean 'pad-id'? known: lens, q, kv, pad-id"},
      Row{"chunk:length=3", 6, "unknown key 'length' of chunk; known: size, offset, align, origin"},
      Row{"not:x=1", 4, "unknown key 'x' of not; it takes none"},
      Row{"and:SRC=other.npy", 4, "unknown key 'SRC' of and; it takes none"},
  }));
  check(text, column, message);
}

TEST_CASE("a bare value with more than one meaning is refused") {
  const auto [text, column, message] = GENERATE(table<std::string, std::size_t, std::string>({
      Row{"window:128", 7,
          "window:128 is ambiguous: keys=128 (HF, cuDNN) or left=128 (FlashAttention)"},
      Row{"causal | window:128,align=top-left", 16,
          "window:128 is ambiguous: keys=128 (HF, cuDNN) or left=128 (FlashAttention)"},
      Row{"window:wide", 7,
          "window takes no bare value, got 'wide'; write keys=N, left=N, right=N or both=N"},
      Row{"prefix:16", 7, "prefix takes no bare value, got '16'; write a key, as in n=16"},
      Row{"prefix:3,4", 7, "prefix takes no bare value, got '3,4'; write a key, as in prefix:n=16"},
      Row{"global:3,5", 7, "global takes no bare value, got '3,5'; write a key, as in tokens=3+5"},
      Row{"chunk:8", 6, "chunk takes no bare value, got '8'; write a key, as in size=8"},
      Row{"causal:top-left", 7,
          "causal takes no bare value, got 'top-left'; write a key, as in align=top-left"},
      Row{"not:3", 4, "not takes no arguments, got '3'"},
      Row{"pad:3+5", 4, "pad:3+5 is ambiguous: lens=3+5, or ./3+5 for a file of that name"},
      Row{"doc:8", 4, "doc:8 is ambiguous: lens=8, or ./8 for a file of that name"},
      Row{"kv-lengths:8", 11, "kv-lengths:8 is ambiguous: lens=8, or ./8 for a file of that name"},
  }));
  check(text, column, message);
}

TEST_CASE("errors about missing, repeated and excluded arguments name them") {
  const auto [text, column, message] = GENERATE(table<std::string, std::size_t, std::string>({
      Row{"window", 0, "window needs left=, right=, keys= or both=, as in window:keys=128"},
      Row{"not | window:align=top-left", 6,
          "window needs left=, right=, keys= or both=, as in window:keys=128"},
      Row{"doc", 0, "doc needs SRC, lens= or q= with kv=, as in doc:lens=300+724"},
      Row{"doc:q=ids.npy", 0, "doc with q= needs kv= too"},
      Row{"doc:kv=ids.npy", 0, "doc with kv= needs q= too"},
      Row{"tokens:q=ids.npy", 0, "tokens with q= needs kv= too"},
      Row{"pad:of=both", 0, "pad needs SRC or lens=, as in pad:lens=5+8,side=right"},
      Row{"block:map.npy", 0, "block needs SRC and size=, as in block:map.npy,size=64x128"},
      Row{"block:size=3", 0, "block needs SRC and size=, as in block:map.npy,size=64x128"},
      Row{"random:seed=1", 0, "random needs sparsity=, as in random:sparsity=0.5,seed=1"},
      Row{"and", 0, "and needs SRC, as in and:other.npy"},
      Row{"prefix", 0, "prefix needs n=, as in prefix:n=16"},
      Row{"slice", 0, "slice needs b=, h=, q= or k=, as in slice:h=3,q=0-127"},
      Row{"heads{not}", 0, "heads needs LIST, as in heads:0-3{window:keys=128}"},
      Row{"heads:0", 0, "heads needs a chain in braces, as in heads:0-3{window:keys=128}"},
      Row{"causal{not}", 0, "causal takes no chain in braces"},
      Row{"window:left=1,left=2", 14, "left= of window is given twice"},
      Row{"and:other.npy,other.npy", 14, "SRC of and is given twice"},
      Row{"window:left=1,keys=2", 14, "window takes left= or keys=, not both"},
      Row{"window:keys=1,both=2", 14, "window takes keys= or both=, not both"},
      Row{"doc:ids.npy,lens=3", 12, "doc takes SRC or lens=, not both"},
      Row{"doc:lens=3,q=ids.npy", 11, "doc takes lens= or q=, not both"},
      Row{"kv-lengths:lens.npy,lens=3", 20, "kv-lengths takes SRC or lens=, not both"},
      Row{"doc:lens=3,pad-id=0", 11, "pad-id= of doc goes with ids, not with lens="},
      Row{"pad:flags.npy,side=left", 14,
          "side= of pad goes with lengths, but the array is bool (4,): one flag per key"},
  }));
  check(text, column, message);
}

TEST_CASE("errors about values of another type or out of range name them") {
  const auto [text, column, message] = GENERATE(table<std::string, std::size_t, std::string>({
      Row{"chunk:size=x", 11,
          "size= of chunk expects a whole number, one per batch as in 3+7, or a file, got 'x'"},
      Row{"chunk:size=1.5", 11,
          "size= of chunk expects a whole number, one per batch as in 3+7, or a file, got '1.5'"},
      Row{"chunk:size=+1", 11,
          "size= of chunk expects a whole number, one per batch as in 3+7, or a file, got '+1'"},
      Row{"chunk:size=0", 11, "size= of chunk must be 1 to 2147483647, got 0"},
      Row{"chunk:size=2147483648", 11, "size= of chunk must be 1 to 2147483647, got 2147483648"},
      Row{"chunk:size=99999999999999999999", 11,
          "size= of chunk must be 1 to 2147483647, got 99999999999999999999"},
      Row{"chunk:size=1,offset=-2147483648", 20,
          "offset= of chunk must be -2147483647 to 2147483647, got -2147483648"},
      Row{"window:left=-1", 12, "left= of window must be 0 to 2147483647, got -1"},
      Row{"window:left=all", 12,
          "left= of window expects a whole number or none, one per batch as in 3+7, or a file, got "
          "'all'"},
      Row{"window:keys=0", 12, "keys= of window must be 1 to 2147483647, got 0"},
      Row{"window:keys=none", 12,
          "keys= of window expects a whole number, one per batch as in 3+7, or a file, got 'none'"},
      Row{"window:both=-1", 12, "both= of window must be 0 to 2147483647, got -1"},
      Row{"dilated:stride=0", 15, "stride= of dilated must be 1 to 2147483647, got 0"},
      Row{"prefix:n=-1", 9, "n= of prefix must be 0 to 2147483647, got -1"},
      Row{"causal:align=top", 13,
          "align= of causal expects top-left or bottom-right, got 'top'; "
          "did you mean 'top-left'?"},
      Row{"causal:align=topleft", 13,
          "align= of causal expects top-left or bottom-right, got 'topleft'; did you mean "
          "'top-left'?"},
      Row{"causal:offset=99999999999", 14,
          "offset= of causal must be -2147483647 to 2147483647, got 99999999999"},
      Row{"causal:offset=''", 14, "offset= of causal expects a file, got nothing"},
      Row{"doc:''", 4, "SRC of doc expects a file, got nothing"},
      Row{"or:\"\"", 3, "SRC of or expects a file, got nothing"},
      Row{"doc:lens=3+x", 11,
          "lens= of doc expects lengths of 0 to 2147483647 joined by '+' or ',', got 'x'"},
      Row{"doc:lens=3++4", 11,
          "lens= of doc expects lengths of 0 to 2147483647 joined by '+' or ',', got ''"},
      Row{"doc:lens=3+4*0", 11,
          "lens= of doc expects lengths of 0 to 2147483647 joined by '+' or ',', got '4*0'"},
      Row{"doc:lens=3+4*x", 11,
          "lens= of doc expects lengths of 0 to 2147483647 joined by '+' or ',', got '4*x'"},
      Row{"doc:lens=1*16777216+1", 20, "more than 16777216 numbers"},
      Row{"window:keys=4*0", 12,
          "keys= of window expects a whole number, one per batch as in 3+7, or a file, got '4*0'"},
      Row{"doc:lens='3+x'", 9,
          "lens= of doc expects lengths of 0 to 2147483647 joined by '+' or ',', got 'x'"},
      Row{"pad:lens=-1", 9,
          "lens= of pad expects lengths of 0 to 2147483647 joined by '+' or ',', got '-1'"},
      Row{"pad:lens=1,side=top", 16, "side= of pad expects left or right, got 'top'"},
      Row{"pad:lens=1,of=q", 14, "of= of pad expects kv or both, got 'q'"},
      Row{"tokens:ids4.npy,combine=and", 24,
          "combine= of tokens expects union, intersect or replace, got 'and'"},
      Row{"block:map.npy,size=64x", 19,
          "size= of block expects QxK as in 64x128, or one number, got '64x'"},
      Row{"block:map.npy,size=0x4", 19,
          "size= of block expects QxK as in 64x128, or one number, got '0x4'"},
      Row{"random:sparsity=2", 16, "sparsity= of random expects a number from 0 to 1, got '2'"},
      Row{"random:sparsity=nan", 16, "sparsity= of random expects a number from 0 to 1, got 'nan'"},
      Row{"random:sparsity=half", 16,
          "sparsity= of random expects a number from 0 to 1, got 'half'"},
      Row{"random:sparsity=0,seed=-1", 23,
          "seed= of random expects a whole number from 0 to 18446744073709551615, got '-1'; "
          "jax.random.PRNGKey(-1) has seed=4294967295"},
      Row{"global:tokens=5-3", 14,
          "tokens= of global expects numbers and ranges as in 0-3+7 or 0:4+7, got '5-3'"},
      Row{"global:tokens=0+-3", 16,
          "tokens= of global expects numbers and ranges as in 0-3+7 or 0:4+7, got '-3'"},
      Row{"global:tokens=3:3", 14,
          "tokens= of global expects numbers and ranges as in 0-3+7 or 0:4+7, got '3:3'"},
      Row{"heads:0-{not}", 6,
          "LIST of heads expects numbers and ranges as in 0-3+7 or 0:4+7, got '0-'"},
      Row{"slice:q=:3", 8,
          "q= of slice expects a range as in 0-127 or 0:128, or one number, got ':3'"},
      Row{"slice:q=4:", 8,
          "q= of slice expects a range as in 0-127 or 0:128, or one number, got '4:'"},
      Row{"slice:q=4:3", 8,
          "q= of slice expects a range as in 0-127 or 0:128, or one number, got '4:3'"},
      Row{"slice:k=-1", 8,
          "k= of slice expects a range as in 0-127 or 0:128, or one number, got '-1'"},
      Row{"kv-lengths:lens=1,q_len=-1", 24, "q_len= of kv-lengths must be 0 to 2147483647, got -1"},
      Row{"kv-lengths:lens=1,window=-1", 25,
          "window= of kv-lengths must be 0 to 2147483647, got -1"},
  }));
  check(text, column, message);
}

TEST_CASE("an error message escapes the value and cuts it short") {
  const std::string failure = bind_failure("chunk:size='\x1B]0;x" + std::string(5000, 'y') + "'");
  CHECK(failure.size() < 400);
  CHECK(failure.find('\x1B') == std::string::npos);
}

}  // namespace
}  // namespace maskctl
