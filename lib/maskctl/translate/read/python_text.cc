#include "maskctl/translate/read/python_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "maskctl/base/text.h"
#include "maskctl/pipeline/parse/values.h"
#include "maskctl/translate/read/python_cursor.h"

namespace maskctl {
namespace {

constexpr int kMaxLevels = 64;
constexpr std::size_t kMostAssigned = 1000;

class PythonParser : PythonCursor {
 public:
  using PythonCursor::PythonCursor;

  PythonText read() {
    PythonText out;
    for (skip_lines(); at_ < text_.size(); skip_lines()) statement(out);
    return out;
  }

 private:
  /// Reads one statement: "name = value", "a=1, b=2", an expression, or a function, whose decorator
  /// says nothing about a mask.
  void statement(PythonText& out) {
    if (text_.substr(at_, 1) == "@") {
      at_ = std::min(text_.find('\n', at_), text_.size());
      return;
    }
    if (word_ahead() == "def") return function(out);
    if (word_ahead() == "return") at_ += 6;
    Python call;
    call.kind = Python::Kind::kCall;
    call.position = static_cast<Index>(at_);
    for (;;) {
      if (ends()) break;
      argument(call);
      if (!take(",")) break;
    }
    if (!ends()) fail(at_, "expected ',' or the end");
    // Ignores "Q_LEN, KV_LEN = a, b": these sizes are used by name.
    if (!call.named.empty() && !call.items.empty() &&
        call.items.back().position > call.named.front().second.position) {
      return;
    }
    const bool read = out.last.kind != Python::Kind::kCall || !out.last.text.empty();
    if (call.named.size() == 1 && call.items.empty()) {
      assign(out, call.named.front().first, call.named.front().second);
      // After a call, `name = value` is only an assignment, not an argument.
      if (read) return;
    }
    const bool alone = call.items.size() == 1 && call.named.empty();
    if (alone) {
      out.last = call.items.front();
    } else if (out.last.kind == Python::Kind::kCall && out.last.text.empty() &&
               call.items.empty()) {
      // Collects lines of "key = value" as arguments of one call.
      for (auto& entry : call.named) out.last.named.push_back(std::move(entry));
    } else {
      out.last = std::move(call);
    }
  }

  /// Assigns a value to a name. As in Python, names in the value mean what they mean at this point.
  /// A name that other values use cannot be assigned again, because those values look it up later.
  void assign(PythonText& out, const std::string& name, const Python& value) {
    if (out.names.size() > kMostAssigned) fail(at_, "more than 1000 names");
    Python now = resolved(out, value);
    const auto before = out.names.find(name);
    if (before != out.names.end()) {
      for (const auto& [other, made] : out.names) {
        if (other != name && mentions(made, name)) {
          fail(static_cast<std::size_t>(value.position),
               fmt::format("{} is assigned again after it was used", name));
        }
      }
      const std::string old = fmt::format("{}#{}", name, out.names.size());
      rename(now, name, old);
      out.names[old] = before->second;
    }
    out.names[name] = std::move(now);
  }
  /// Calls f with the value and with all parts inside it.
  template <typename Value, typename F>
  static void for_each_part(Value& value, const F& f) {
    std::vector<Value*> rest = {&value};
    while (!rest.empty()) {
      Value& part = *rest.back();
      rest.pop_back();
      f(part);
      for (auto& item : part.items) rest.push_back(&item);
      for (auto& entry : part.named) rest.push_back(&entry.second);
    }
  }
  static bool mentions(const Python& value, const std::string& name) {
    bool found = false;
    for_each_part(value, [&](const Python& part) { found = found || part.text == name; });
    return found;
  }
  static void rename(Python& value, const std::string& from, const std::string& to) {
    for_each_part(value, [&](Python& part) {
      if (part.text == from) part.text = to;
    });
  }

  /// Reads def name(a, b): with assignments and a return statement.
  void function(PythonText& out) {
    at_ += 3;
    const std::string name(word_ahead());
    at_ += name.size();
    need("(");
    const auto outer = locals_;
    parameters(")");
    at_ = std::min(text_.find(':', at_), text_.size());
    need(":");
    for (skip_lines(); word_ahead() != "return"; skip_lines()) local(out, name);
    at_ += 6;
    out.names[name] = expression();
    locals_ = outer;
    if (!ends()) fail(at_, "expected the end of the line");
    if (out.last.kind != Python::Kind::kCall || !out.last.text.empty()) return;
    out.last = out.names[name];
  }

  /// Reads an assignment or a docstring inside a function.
  void local(PythonText& out, const std::string& function) {
    if (peek() == '"' || peek() == '\'') return documentation();
    const std::string name(word_ahead());
    const std::size_t begin = at_;
    at_ += name.size();
    if (name.empty() || !take("=") || peek() == '=') {
      fail(begin, "expected an assignment, or return ...");
    }
    Python value = expression();
    if (!ends()) fail(at_, "expected the end of the line");
    if (out.names.size() > kMostAssigned) fail(begin, "more than 1000 names");
    locals_[name] = fmt::format("{}.{}#{}", function, name, out.names.size());
    out.names[locals_[name]] = std::move(value);
  }

  void documentation() {
    const std::string_view rest = text_.substr(at_);
    const std::string_view marks = rest.starts_with("\"\"\"") || rest.starts_with("'''")
                                       ? rest.substr(0, 3)
                                       : rest.substr(0, 1);
    const std::size_t end = text_.find(marks, at_ + marks.size());
    if (end == text_.npos) fail(at_, "the string is not closed");
    at_ = end + marks.size();
  }

  /// Reads the names of parameters up to `closing`. If there are four, they are b, h, q_idx and
  /// kv_idx, whatever their names.
  void parameters(std::string_view closing) {
    static constexpr std::string_view kIndices[] = {"b", "h", "q_idx", "kv_idx"};
    std::vector<std::string> names;
    ++brackets_;
    while (!take(closing)) {
      if (!take("**")) take("*");
      names.emplace_back(word_ahead());
      if (names.back().empty()) fail(at_, "expected the name of a parameter");
      at_ += names.back().size();
      if (closing == ")" && take(":")) expression();  // type annotation
      if (take("=")) expression();
      if (!take(",") && text_.substr(at_, 1) != closing) {
        fail(at_, fmt::format("expected ',' or '{}'", closing));
      }
    }
    --brackets_;
    // flash-attn 4's have seqlen_info and arrays after them.
    const bool indices = names.size() == 4 || (names.size() > 4 && names[4] == "seqlen_info");
    for (std::size_t i = 0; i < names.size(); ++i) {
      locals_[names[i]] = indices && i < 4 ? std::string(kIndices[i]) : names[i];
    }
  }

  /// Reads an argument of a call, `name=value` or a value.
  void argument(Python& call) {
    if (take("**") || take("*")) {
      // Arguments given by * or ** are defined elsewhere and ignored, except a=1 in `elsewhere |
      // dict(a=1)`.
      const Python given = expression();
      const bool joined = given.kind == Python::Kind::kOperator && given.text == "|" &&
                          given.items.back().text == "dict";
      if (joined) {
        const auto& own = given.items.back().named;
        call.named.insert(call.named.end(), own.begin(), own.end());
      }
      return;
    }
    const std::size_t begin = at_;
    std::string name(word_ahead());
    at_ += name.size();
    while (!name.empty() && take(".")) {
      const std::string_view next = word_ahead();
      name = next;  // of config.sliding_window, only sliding_window counts
      at_ += next.size();
    }
    if (!name.empty() && peek() == '=' && text_.substr(at_, 2) != "==") {
      ++at_;
      call.named.push_back({std::move(name), expression()});
      return;
    }
    at_ = begin;
    call.items.push_back(expression());
  }

  Python expression() { return binary(0); }

  Python binary(std::size_t level) {
    // The levels of operators, from lowest to highest precedence.
    static const std::array<std::vector<std::string_view>, 8> kSigns = {
        std::vector<std::string_view>{"==", "!=", "<=", ">=", "<", ">"},
        {"|"},
        {"^"},
        {"&"},
        {"<<"},
        {"+", "-"},
        {"//", "*", "%"},
        {"**"}};
    if (level == kSigns.size()) return unary();
    Python left = binary(level + 1);
    for (;;) {
      const std::size_t at = (skip(false), at_);
      std::string_view sign;
      for (const std::string_view candidate : kSigns[level]) {
        if (!text_.substr(at).starts_with(candidate)) continue;
        const bool longer = (candidate == "<" && text_.substr(at).starts_with("<<")) ||
                            (candidate == "*" && text_.substr(at).starts_with("**"));
        if (longer) continue;
        sign = candidate;
        break;
      }
      if (sign.empty()) return left;
      at_ = at + sign.size();
      Python right = binary(level + 1);
      Python out;
      out.kind = Python::Kind::kOperator;
      out.text = sign;
      out.position = left.position;
      out.items.push_back(std::move(left));
      out.items.push_back(std::move(right));
      left = std::move(out);
    }
  }

  Python unary() {
    const auto position = static_cast<Index>((skip(false), at_));
    for (const std::string_view sign : {"-", "~", "+"}) {
      if (!take(sign)) continue;
      level_up();
      Python out;
      out.kind = Python::Kind::kOperator;
      out.text = sign;
      out.position = position;
      out.items.push_back(unary());
      --levels_;
      return out;
    }
    return postfix();
  }

  void level_up() {
    if (++levels_ > kMaxLevels) fail(at_, fmt::format("more than {} levels", kMaxLevels));
  }

  /// True for methods that compute, as in f(x).abs(). Other methods of a call continue its dotted
  /// name, as in A.from_seqlens(x).make_causal().
  static bool is_of_values(std::string_view name) {
    return name == "abs" || name.starts_with("logical_");
  }
  /// Starts reading an attribute of an expression, such as (q - k).abs. The expression becomes the
  /// only item.
  static Python attribute(Python value) {
    Python out;
    out.position = value.position;
    out.items.push_back(std::move(value));
    return out;
  }

  Python postfix() {
    Python out = atom();
    for (;;) {
      if (take(".")) {
        const std::string name(word_ahead());
        if (name.empty()) fail(at_, "expected a name");
        at_ += name.size();
        const bool dotted = out.kind == Python::Kind::kWord ||
                            (out.kind == Python::Kind::kCall && !is_of_values(name));
        if (!dotted) out = attribute(std::move(out));
        out.text += "." + name;
      } else if (peek() == '(' &&
                 (out.kind == Python::Kind::kWord || out.kind == Python::Kind::kCall)) {
        out.kind = Python::Kind::kCall;
        Python alone;
        alone.kind = Python::Kind::kCall;
        alone.text = out.text;
        alone.position = out.position;
        list(")", [&] { argument(alone); });
        out.items.insert(out.items.end(), alone.items.begin(), alone.items.end());
        out.named.insert(out.named.end(), alone.named.begin(), alone.named.end());
        out.methods.push_back(std::move(alone));
      } else if (peek() == '[') {
        Python inner;
        inner.kind = Python::Kind::kSubscript;
        inner.position = out.position;
        inner.items.push_back(std::move(out));
        list("]", [&] {
          if (take(":")) {
            Python all;
            all.text = ":";
            inner.items.push_back(std::move(all));
          } else {
            inner.items.push_back(expression());
          }
        });
        out = std::move(inner);
      } else {
        return out;
      }
    }
  }

  /// Reads the elements of a bracket with part(), starting at the opening bracket.
  template <typename F>
  void list(std::string_view closing, F&& part) {
    level_up();
    ++at_;
    ++brackets_;
    while (!take(closing)) {
      part();
      if (take(closing)) break;
      if (!take(",")) fail(at_, fmt::format("expected ',' or '{}'", closing));
    }
    --brackets_;
    --levels_;
  }

  Python atom() {
    Python out;
    const char c = peek();
    out.position = static_cast<Index>(at_);
    if (c == '(' || c == '[') return bracket(c == '(' ? ")" : "]");
    if (c == '"' || c == '\'') return string(c);
    if (take("...")) {
      out.text = "...";
      return out;
    }
    const std::string word(word_ahead());
    if (word.empty()) fail(at_, "expected a value");
    at_ += word.size();
    if (word == "lambda") return lambda();
    if (!is_digit(word.front())) {
      const auto local = locals_.find(word);
      out.text = local == locals_.end() ? word : local->second;
      return out;
    }
    if (at_ < text_.size() && text_[at_] == '.') {  // a fraction
      const auto begin = static_cast<std::size_t>(out.position);
      while (at_ < text_.size() && (is_digit(text_[at_]) || text_[at_] == '.')) ++at_;
      out.text = text_.substr(begin, at_ - begin);
      return out;
    }
    const auto value = integer_from(word);
    if (!value) fail(static_cast<std::size_t>(out.position), "expected a whole number");
    out.kind = Python::Kind::kNumber;
    out.number = *value;
    return out;
  }

  /// Reads a lambda after its keyword.
  Python lambda() {
    level_up();
    const auto outer = locals_;
    parameters(":");
    Python out = expression();
    locals_ = outer;
    --levels_;
    return out;
  }

  /// Reads a value in parentheses, a tuple or a list.
  Python bracket(std::string_view closing) {
    Python out;
    out.kind = Python::Kind::kList;
    out.position = static_cast<Index>(at_);
    bool comma = closing == "]";
    list(closing, [&] {
      out.items.push_back(expression());
      comma = comma || peek() == ',';
    });
    if (comma || out.items.empty()) return out;
    Python inner = std::move(out.items.front());
    return inner;
  }

  Python string(char quote) {
    Python out;
    out.kind = Python::Kind::kString;
    out.position = static_cast<Index>(at_);
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == text_.npos) fail(at_, "the string is not closed");
    out.text = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return out;
  }

  int levels_ = 0;
  /// In functions, what local names mean: indices, or values assigned to them.
  std::map<std::string, std::string> locals_;
};

}  // namespace

PythonText parse_python(std::string_view text, std::string_view subject) {
  return PythonParser(text, subject).read();
}

}  // namespace maskctl
