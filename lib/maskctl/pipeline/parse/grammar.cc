// The recursive-descent parser of pipelines.
#include "maskctl/pipeline/parse/grammar.h"

#include <fmt/format.h>

#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"
#include "maskctl/mask/steps/chain_text.h"

namespace maskctl {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_name(char c) { return is_letter(c) || is_digit(c) || c == '-' || c == '_'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_quote(char c) { return c == '\'' || c == '"'; }

class Parser {
 public:
  Parser(std::string_view text, std::string_view subject) : text_(text), subject_(subject) {
    if (std::ssize(text) > kMaxPipelineBytes) {
      throw PipelineError(fmt::format("{}: text of {} bytes, the limit is {}", subject, text.size(),
                                      kMaxPipelineBytes),
                          text.substr(0, 1), 0);
    }
    if (const auto at = text.find('\0'); at != std::string_view::npos) {
      fail(at, "expected text, got a zero byte");
    }
  }

  std::vector<StepText> whole() {
    std::vector<StepText> steps = chain(0);
    if (!at_end()) expected(steps.back(), "end");
    return steps;
  }

 private:
  [[noreturn]] void fail(std::size_t at, const std::string& message) const {
    throw PipelineError(fmt::format("{}: {}", subject_, message), text_, static_cast<Index>(at));
  }

  bool at_end() const { return at_ >= text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[at_]; }

  /// The code point at the current position, as messages show it.
  std::string got() const {
    if (at_end()) return "end";
    std::size_t end = at_ + 1;
    while (end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xC0) == 0x80) ++end;
    return fmt::format("'{}'", printable(text_.substr(at_, end - at_)));
  }

  /// Fails at the current position. At the end of the text, the caret is put directly after the
  /// last token, before any blanks and comments.
  [[noreturn]] void expect(const std::string& what) const {
    fail(at_end() ? token_end_ : at_, fmt::format("expected {}, got {}", what, got()));
  }

  [[noreturn]] void expected(const StepText& last, std::string_view closing) const {
    expect(
        fmt::format("{}'|' or {}", last.args.empty() || last.has_nested ? "" : "',', ", closing));
  }

  void skip_blanks() {
    while (!at_end()) {
      if (is_blank(peek())) {
        ++at_;
      } else if (peek() == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else {
        return;
      }
    }
  }

  bool take(char sign) {
    if (peek() != sign) return false;
    ++at_;
    token_end_ = at_;
    return true;
  }

  std::vector<StepText> chain(int depth) {
    std::vector<StepText> steps;
    do {
      skip_blanks();
      steps.push_back(step(depth));
      skip_blanks();
    } while (take('|') || begins_line());
    return steps;
  }

  /// True at a step that begins on a new line.
  bool begins_line() const {
    return is_letter(peek()) &&
           text_.substr(token_end_, at_ - token_end_).find('\n') != std::string_view::npos;
  }

  StepText step(int depth) {
    StepText out;
    const std::size_t begin = at_;
    refuse_file(begin);
    if (!is_letter(peek())) expect("a step");
    if (++steps_ > kMaxPipelineSteps) {
      fail(at_, fmt::format("more than {} steps", kMaxPipelineSteps));
    }
    out.position = name();
    refuse_file(begin);
    out.name = slice(out.position);
    if (take(':')) {
      do {
        skip_blanks();
        Arg arg = argument();
        if (!continues_list(out.args, arg)) out.args.push_back(std::move(arg));
        skip_blanks();
      } while (take(','));
    }
    skip_blanks();
    if (peek() == '{') nested(out, depth);
    return out;
  }

  /// Fails at a path, begun at `begin`: no step has these characters in its name.
  void refuse_file(std::size_t begin) const {
    if (peek() != '.' && peek() != '/' && peek() != '~') return;
    fail(begin,
         "expected a step, got a file; and:FILE keeps the cells that are open in it too, or:FILE "
         "adds them");
  }

  /// Lists may be written with commas: if `next` is "5" after "lens=3", it is added to that list.
  static bool continues_list(std::vector<Arg>& args, const Arg& next) {
    if (args.empty() || !next.key.empty()) return false;
    Arg& list = args.back();
    if (!is_list(list) || !is_list(next)) return false;
    list.value += '+' + next.value;
    list.position.end = next.position.end;
    return true;
  }

  /// True for numbers and ranges that are not quoted.
  static bool is_list(const Arg& arg) {
    const bool bare = arg.position.end - arg.value_begin == std::ssize(arg.value);
    return bare && arg.value.find_first_not_of("0123456789+-*") == std::string::npos &&
           arg.value.find_first_of("0123456789") != std::string::npos;
  }

  void nested(StepText& out, int depth) {
    if (depth == kMaxPipelineDepth) {
      fail(at_, fmt::format("more than {} levels of '{{'", kMaxPipelineDepth));
    }
    take('{');
    out.has_nested = true;
    skip_blanks();
    // within{...} may have no steps: its documents alone are a mask. heads: and batch: need steps.
    if (out.name == "within" && take('}')) return;
    out.nested = chain(depth + 1);
    if (!take('}')) expected(out.nested.back(), "'}'");
  }

  Range name() {
    const std::size_t begin = at_;
    while (!at_end() && is_name(peek())) ++at_;
    token_end_ = at_;
    return {static_cast<Index>(begin), static_cast<Index>(at_)};
  }

  std::string slice(Range range) const {
    return std::string(text_.substr(static_cast<std::size_t>(range.begin),
                                    static_cast<std::size_t>(range.size())));
  }

  Arg argument() {
    Arg out;
    const std::size_t begin = at_;
    if (is_letter(peek())) {
      const Range key = name();
      if (take('=')) {
        out.key = slice(key);
      } else {
        at_ = begin;
      }
    }
    out.value_begin = static_cast<Index>(at_);
    out.value = is_quote(peek()) ? quoted() : bare();
    out.position = {static_cast<Index>(begin), static_cast<Index>(at_)};
    return out;
  }

  std::string quoted() {
    std::string value;
    while (is_quote(peek())) {
      const std::size_t close = text_.find(peek(), at_ + 1);
      if (close == std::string_view::npos) fail(at_, fmt::format("no closing {}", peek()));
      value += text_.substr(at_ + 1, close - at_ - 1);
      at_ = close + 1;
    }
    token_end_ = at_;
    return value;
  }

  std::string bare() {
    const std::size_t begin = at_;
    if (peek() == '#') expect("a value");
    while (!at_end() && !ends_bare_value(peek())) {
      if (static_cast<unsigned char>(peek()) < 0x20 || peek() == 0x7F) {
        fail(at_, fmt::format("a control character (0x{:02x}) in a bare value; quote the value",
                              static_cast<unsigned>(peek())));
      }
      ++at_;
    }
    if (peek() == '=' && at_ > begin) {
      fail(at_, "'=' in a bare value; quote the value, as in '...'");
    }
    if (at_ == begin) expect("a value");
    token_end_ = at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::string_view text_;
  std::string_view subject_;
  std::size_t at_ = 0;
  std::size_t token_end_ = 0;
  Index steps_ = 0;
};

}  // namespace

Pipeline parse(std::string_view text, std::string_view subject) {
  Pipeline out;
  out.steps = Parser(text, subject).whole();
  out.text = text;
  out.subject = subject;
  return out;
}

namespace {

void print_to(std::string& out, const std::vector<StepText>& steps) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const StepText& step = steps[i];
    out += i == 0 ? "" : " | ";
    out += step.name;
    for (std::size_t a = 0; a < step.args.size(); ++a) {
      const Arg& arg = step.args[a];
      out += a == 0 ? ":" : ",";
      if (!arg.key.empty()) out += arg.key + "=";
      out += written_value(arg.value);
    }
    if (step.has_nested) {
      out += "{";
      print_to(out, step.nested);
      out += "}";
    }
  }
}

}  // namespace

std::string print(const std::vector<StepText>& steps) {
  std::string out;
  print_to(out, steps);
  return out;
}

std::string print(const Pipeline& pipeline) { return print(pipeline.steps); }

}  // namespace maskctl
