#include "maskctl/translate/write/cute_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "maskctl/base/error.h"
#include "maskctl/translate/read/python_text.h"

namespace maskctl {
namespace {

/// A comparison and the one that is true where it is false.
struct Opposite {
  std::string_view sign, other;
};
constexpr std::array kOpposites{Opposite{"==", "!="}, Opposite{"!=", "=="}, Opposite{"<", ">="},
                                Opposite{">=", "<"},  Opposite{">", "<="},  Opposite{"<=", ">"},
                                Opposite{"&", "|"},   Opposite{"|", "&"}};

std::string_view opposite(std::string_view sign) {
  return std::ranges::find(kOpposites, sign, &Opposite::sign)->other;
}

class CuteWriter {
 public:
  CuteCode body(const Python& mask) {
    const std::string result = condition(mask, true);
    CuteCode out;
    for (const auto& [name, length] : {std::pair{"Q_LEN", "seqlen_q"}, {"KV_LEN", "seqlen_k"}}) {
      if (lengths_.contains(name)) add(out, name, fmt::format("seqlen_info.{}", length));
    }
    for (const Index number : numbers_) add(out, name_of(number), fmt::format("{}", number));
    out.lines.push_back("return " + result);
    out.arrays = std::move(arrays_);
    out.rounds = rounds_;
    return out;
  }

 private:
  static std::string as_ssa(const std::string& scalar) {
    return fmt::format("utils.scalar_to_ssa({}, cutlass.Int32)", scalar);
  }
  static void add(CuteCode& out, std::string_view name, const std::string& scalar) {
    out.lines.push_back(fmt::format("{} = {}", name, as_ssa(scalar)));
  }
  static std::string name_of(Index number) {
    return number < 0 ? fmt::format("minus{}", -number) : fmt::format("n{}", number);
  }
  std::string number(Index value) {
    numbers_.insert(value);
    return name_of(value);
  }

  /// A condition, or what is true where it is false.
  std::string condition(const Python& given, bool wanted) {
    if (given.kind == Python::Kind::kSubscript) {
      return fmt::format("({} {} {})", value(given), wanted ? "!=" : "==", number(0));
    }
    if (given.kind == Python::Kind::kCall && last_name(given.text) == "where") {
      return fmt::format("(({} & {}) | ({} & {}))", condition(given.items[0], true),
                         condition(given.items[1], wanted), condition(given.items[0], false),
                         condition(given.items[2], wanted));
    }
    if (given.kind == Python::Kind::kOperator && given.text == "~") {
      return condition(given.items[0], !wanted);
    }
    const std::string_view sign = wanted ? std::string_view(given.text) : opposite(given.text);
    const bool joins = given.text == "&" || given.text == "|";
    const auto part = [&](const Python& one) {
      return joins ? condition(one, wanted) : value(one);
    };
    // Separate statements, so that the arrays of the left operand come first.
    const std::string left = part(given.items[0]);
    const std::string right = part(given.items[1]);
    return fmt::format("({} {} {})", left, sign, right);
  }

  std::string value(const Python& given) {
    switch (given.kind) {
      case Python::Kind::kNumber:
        return number(given.number);
      case Python::Kind::kSubscript:
        return element(given);
      case Python::Kind::kOperator: {
        if (given.items.size() == 1) return number(-given.items[0].number);
        if (given.text == "//" || given.text == "%") rounds_ |= may_be_negative(given.items[0]);
        const std::string left = value(given.items[0]);
        const std::string right = value(given.items[1]);
        return fmt::format("({} {} {})", left, given.text, right);
      }
      default:
        if (given.text.ends_with("_LEN")) lengths_.insert(given.text);
        return given.text;
    }
  }

  std::string element(const Python& given) {
    const std::string& name = given.items[0].text;
    const auto known = std::ranges::find(arrays_, name);
    const auto at = known - arrays_.begin();
    if (known == arrays_.end()) arrays_.push_back(name);
    std::string indices;
    for (std::size_t i = 1; i < given.items.size(); ++i) {
      const Python& index = given.items[i];
      const bool plain = index.kind == Python::Kind::kNumber;
      indices += fmt::format("{}{}", i > 1 ? ", " : "",
                             plain ? fmt::format("{}", index.number) : value(index) + "[0]");
    }
    return as_ssa(fmt::format("aux_tensors[{}][{}]", at, indices));
  }

  static bool may_be_negative(const Python& given) {
    if (given.kind != Python::Kind::kOperator) return false;
    return given.text == "-" || std::ranges::any_of(given.items, may_be_negative);
  }

  std::vector<std::string> arrays_;
  std::set<std::string> lengths_;
  std::set<Index> numbers_;
  bool rounds_ = false;
};

}  // namespace

CuteCode cute_code(std::string_view expression) {
  return CuteWriter().body(parse_python(expression, "formula").last);
}

}  // namespace maskctl
