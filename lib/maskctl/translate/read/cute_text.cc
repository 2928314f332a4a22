#include "maskctl/translate/read/cute_text.h"

#include <algorithm>
#include <utility>

namespace maskctl {
namespace {

/// The arrays of an argument aux_tensors=[...] in an expression; null if it has none.
const Python* aux_tensors_of(const Python& given) {
  for (const NamedPython& one : given.named) {
    if (one.first == "aux_tensors") return &one.second;
  }
  return nullptr;
}

class Plain {
 public:
  explicit Plain(const Python* arrays) {
    if (!arrays || arrays->kind != Python::Kind::kList) return;
    for (const Python& array : arrays->items) {
      Python name = array;
      name.kind = Python::Kind::kWord;
      name.text = array.text.substr(0, array.text.find(".to"));
      name.items.clear(), name.named.clear(), name.methods.clear();
      arrays_.push_back(std::move(name));
    }
  }

  void make(Python& given) const {
    if (given.kind == Python::Kind::kCall && last_name(given.text) == "scalar_to_ssa" &&
        !given.items.empty()) {
      Python scalar = std::move(given.items.front());
      given = std::move(scalar);
      return make(given);
    }
    for (Python& item : given.items) make(item);
    for (NamedPython& one : given.named) make(one.second);
    if (given.kind != Python::Kind::kSubscript || given.items.size() != 2) return;
    const Python& index = given.items[1];
    if (index.kind != Python::Kind::kNumber) return;
    const Python& of = given.items[0];
    const bool aux = of.is_word("aux_tensors");
    if (aux && index.number < std::ssize(arrays_)) {
      given = Python(arrays_[static_cast<std::size_t>(index.number)]);
    } else if (!aux && index.number == 0 && is_index(of)) {
      given = Python(of);
    }
  }

 private:
  static bool is_index(const Python& given) {
    if (given.kind == Python::Kind::kOperator || given.kind == Python::Kind::kSubscript)
      return true;
    return std::ranges::any_of(std::initializer_list<const char*>{"b", "h", "q_idx", "kv_idx"},
                               [&](const char* name) { return given.is_word(name); });
  }

  std::vector<Python> arrays_;
};

/// Whether the text defines a word as flags, which CuTe's functions compare with 0.
bool are_flags(const PythonText& text, const Python& word) {
  const auto known = text.names.find(word.text);
  return word.kind == Python::Kind::kWord && known != text.names.end() &&
         known->second.kind == Python::Kind::kCall && last_name(known->second.text) == "isin";
}

/// Writes flags[i] != 0 as flags[i], and flags[i] == 0 as ~flags[i].
void settle_flags(const PythonText& text, Python& given) {
  for (Python& item : given.items) settle_flags(text, item);
  if (!given.is_binary("!=") && !given.is_binary("==")) return;
  const Python& left = given.items[0];
  const bool flag = left.kind == Python::Kind::kSubscript && are_flags(text, left.items[0]);
  if (!flag || number_in(text, given.items[1]) != Index{0}) return;
  given.items.pop_back();
  if (given.text == "==") {
    given.text = "~";
  } else {
    Python alone = std::move(given.items.front());
    given = std::move(alone);
  }
}

}  // namespace

PythonText without_cute(PythonText text) {
  const Python* arrays = aux_tensors_of(text.last);
  for (const auto& [name, value] : text.names) {
    if (!arrays) arrays = aux_tensors_of(value);
  }
  const Plain plain(arrays);
  for (auto& [name, value] : text.names) plain.make(value);
  plain.make(text.last);
  PythonText out = text;
  for (auto& [name, value] : out.names) settle_flags(text, value);
  settle_flags(text, out.last);
  return out;
}

}  // namespace maskctl
