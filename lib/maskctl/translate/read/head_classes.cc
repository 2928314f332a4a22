#include "maskctl/translate/read/head_classes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

namespace maskctl {
namespace {

class Classes {
 public:
  Classes(const LibrarySource& source, std::string_view axis) : source_(source), axis_(axis) {}

  void read(const Python& expression);
  std::vector<Index> starts() const;

 private:
  bool is_axis(const Python& given) const { return given.is_word(axis_); }
  bool compares(const Python& given);
  void visit(const Python& given);
  void visit_subscript(const Python& given);
  void visit_name(const std::string& name);

  const LibrarySource& source_;
  std::string_view axis_;
  std::vector<const Python*> rest_;  // nodes still to visit
  std::set<std::string> names_;      // names whose values have been visited
  std::set<Index> starts_;
  std::optional<Index> indexes_;  // text position where the axis indexes an array
};

/// Reads a comparison of the axis with a number, and records at which members its result changes.
/// Returns false for any other expression.
bool Classes::compares(const Python& given) {
  if (!is_comparison(given) || is_axis(given.items[0]) == is_axis(given.items[1])) return false;
  const bool first = is_axis(given.items[0]);
  const auto number = number_in(source_.text, given.items[first ? 1 : 0]);
  if (!number) source_.fail(given.position, fmt::format("expected {} and a number", axis_));
  const bool equal = given.text == "==" || given.text == "!=";
  const bool after = given.text == (first ? "<=" : ">=") || given.text == (first ? ">" : "<");
  if (equal || !after) starts_.insert(*number);
  if (equal || after) starts_.insert(*number + 1);
  return true;
}

/// Visits length[b] and doc_id[b, q_idx]. Here b selects an array entry and is not compared with a
/// number.
void Classes::visit_subscript(const Python& given) {
  for (std::size_t i = 1; i < given.items.size(); ++i) {
    if (is_axis(given.items[i]) && axis_ == "b") {
      indexes_ = given.position;
    } else {
      rest_.push_back(&given.items[i]);
    }
  }
}

void Classes::visit(const Python& given) {
  if (is_axis(given)) {
    source_.fail(given.position, fmt::format("expected {} compared with a number", axis_));
  }
  if (compares(given)) return;
  if (given.kind == Python::Kind::kSubscript) return visit_subscript(given);
  if (given.kind == Python::Kind::kWord) visit_name(given.text);
  if (called_mask(source_, given)) return visit_name(given.text);
  // Also visits the object on which a method is called.
  if (given.kind == Python::Kind::kCall) visit_name(given.text.substr(0, given.text.rfind('.')));
  for (const Python& item : given.items) rest_.push_back(&item);
  for (const auto& [key, item] : given.named) rest_.push_back(&item);
}

void Classes::visit_name(const std::string& name) {
  const auto value = source_.text.names.find(name);
  const bool known = value != source_.text.names.end();
  if (known && names_.insert(name).second) rest_.push_back(&value->second);
}

void Classes::read(const Python& expression) {
  rest_ = {&expression};
  while (!rest_.empty()) {
    const Python* next = rest_.back();
    rest_.pop_back();
    visit(*next);
  }
}

std::vector<Index> Classes::starts() const {
  std::vector<Index> out;
  for (const Index start : starts_) {
    if (start > 0) out.push_back(start);
  }
  if (!out.empty() && indexes_) {
    source_.fail(*indexes_, "b indexes an array here and is compared with a number elsewhere");
  }
  return out;
}

}  // namespace

std::vector<Index> class_starts(const LibrarySource& source, const Python& expression,
                                std::string_view axis) {
  Classes classes(source, axis);
  classes.read(expression);
  return classes.starts();
}

bool is_comparison(const Python& given) {
  static constexpr std::string_view kSigns[] = {"==", "!=", "<=", ">=", "<", ">"};
  return std::ranges::any_of(kSigns,
                             [&given](std::string_view sign) { return given.is_binary(sign); });
}

std::optional<bool> comparison_of_numbers(const PythonText& text, const Python& given) {
  if (given.kind != Python::Kind::kOperator || given.items.size() != 2) return std::nullopt;
  const auto a = number_in(text, given.items[0]), b = number_in(text, given.items[1]);
  if (!a || !b) return std::nullopt;
  const std::string_view sign = given.text;
  if (sign == "==") return *a == *b;
  if (sign == "!=") return *a != *b;
  if (sign == "<") return *a < *b;
  if (sign == "<=") return *a <= *b;
  if (sign == ">") return *a > *b;
  return sign == ">=" ? std::optional(*a >= *b) : std::nullopt;
}

}  // namespace maskctl
