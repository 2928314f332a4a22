// The extension module maskctl._native: masks, and the commands that answer questions about them.
#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "app/cli/commands/command.h"
#include "app/cli/parser/groups.h"
#include "app/python/array_import.h"
#include "app/python/ask.h"
#include "app/python/mutant_run.h"
#include "app/python/objects.h"
#include "app/python/pickled.h"
#include "app/reports/layers_text.h"
#include "app/session/loader.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/io/formats/hdf5/hdf5_helper.h"
#include "maskctl/pipeline/load.h"
#include "maskctl/pipeline/mask_file.h"
#include "maskctl/tensor/lines.h"
#include "maskctl/translate/given_call.h"

namespace maskctl::app {
namespace {

/// A number of elements for which do_stoppable() always treats work as long.
constexpr Index kAlwaysLong = Index{1} << 40;

/// An answer, and the arrays that the command writes to "-".
std::pair<PythonAnswer, std::vector<std::pair<std::string, nb::object>>> ask_command(
    const std::string& command, std::vector<std::string> operands, const Options& options,
    const nb::dict& given) {
  const GivenSources sources = given_of(given);
  const Words words = words_of(std::move(operands), options);
  Reply reply = attended(
      [&](const WantsStop& wants_stop) { return ask(command, words, sources, wants_stop); });
  std::vector<std::pair<std::string, nb::object>> arrays;
  for (NamedTensor& array : reply.arrays) {
    arrays.emplace_back(std::move(array.name), exported(std::move(array.tensor)));
  }
  return {python_answer(std::move(reply)), std::move(arrays)};
}

/// Calls one of the functions of ask.h that have no command of their own, and returns its answer.
template <Reply (*Asked)(const Words&, const GivenSources&, const WantsStop&)>
PythonAnswer ask_door(std::vector<std::string> operands, const Options& options,
                      const nb::dict& given) {
  const GivenSources sources = given_of(given);
  const Words words = words_of(std::move(operands), options);
  return python_answer(
      attended([&](const WantsStop& wants_stop) { return Asked(words, sources, wants_stop); }));
}

PythonAnswer diff_runs(const nb::object& a, const nb::object& b) {
  const GivenRun of_a = given_run_of("A", a), of_b = given_run_of("B", b);
  return python_answer(attended(
      [&](const WantsStop& wants_stop) { return diff_runs_asked(of_a, of_b, wants_stop); }));
}

/// (name, masks in sequence, why one was not read) of each layer of a captured run.
nb::list joined_run(const nb::object& run) {
  const GivenRun given = given_run_of("run", run);
  nb::list out;
  for (const CapturedLayer& layer :
       attended([&](const WantsStop& wants_stop) { return joined_layers(given, wants_stop); })) {
    nb::list masks;
    for (const Mask& mask : layer.masks) masks.append(of_mask(mask));
    out.append(nb::make_tuple(layer.name, masks, layer.unread));
  }
  return out;
}

void save_captured(const std::string& dest, const nb::list& run, bool force) {
  const auto of_run = std::get<NamedRun>(given_run_of("", run));
  run_attended([&](const WantsStop& wants_stop) { save_run(dest, of_run, force, wants_stop); });
}

nb::object mask_or_none(std::optional<Mask>&& mask) {
  return mask ? nb::cast(of_mask(*std::move(mask))) : nb::none();
}

/// The answer of verify, the mask that the results obey, and the nearest mask.
std::tuple<PythonAnswer, nb::object, nb::object> verify_mask(std::vector<std::string> operands,
                                                             const Options& options,
                                                             const nb::dict& given) {
  const GivenSources sources = given_of(given);
  const Words words = words_of(std::move(operands), options);
  VerifyReply found = attended(
      [&](const WantsStop& wants_stop) { return verify_asked(words, sources, wants_stop); });
  return {python_answer(std::move(found.reply)), mask_or_none(std::move(found.obeyed)),
          mask_or_none(std::move(found.nearest))};
}

Source read_given(const std::string& name,
                  const std::vector<std::pair<std::string, nb::object>>& objects, Options options) {
  std::vector<ImportedArray> arrays;
  std::vector<NamedView> views;
  for (const auto& [key, object] : objects) {
    arrays.emplace_back(name, object);
    views.push_back({key, arrays.back().view()});
  }
  const Words words = words_of({}, options);
  return {attended(
      [&](const WantsStop& wants_stop) { return read_arrays(name, views, words, wants_stop); })};
}

Source read_named(const std::string& source, const Options& options, const nb::dict& given) {
  const GivenSources sources = given_of(given);
  const Words words = words_of({}, options);
  return {attended([&](const WantsStop& wants_stop) {
    return read_source(source, words, sources, wants_stop);
  })};
}

/// The steps that a file says: their text, the shape that they start from, and what they read by
/// name; None for other files.
nb::object steps_of(const Source& source) {
  if (!source.loaded.steps) return nb::none();
  const Index unlimited = std::numeric_limits<Index>::max();
  const NamedSteps named = named_steps(*source.loaded.steps, unlimited);
  nb::dict read;
  for (const ArrayNames::Named& one : named.arrays) {
    read[one.name.c_str()] = nb::cast(Copy{one.array});
  }
  for (const ArrayNames::NamedOther& one : named.masks) {
    read[one.name.c_str()] = nb::cast(of_mask(one.mask));
  }
  const Mask& start = named.steps.start;
  const std::array<Index, 4> shape{start.batch(), start.heads(), start.queries(), start.keys()};
  return nb::make_tuple(to_text(named.steps.chain), shape, read);
}

nb::object object_of(const Given& given) {
  if (const auto* mask = std::get_if<LoadedMask>(&given)) return nb::cast(Source{*mask});
  return nb::cast(Copy{std::get<Tensor>(given)});
}

/// Applies steps to a mask. Also returns the arrays and masks that the steps read from files, by
/// name.
std::pair<Source, nb::dict> apply_steps(const std::string& source, const Options& options,
                                        const nb::dict& given) {
  const GivenSources sources = given_of(given);
  const Words words = words_of({}, options);
  Transformed made = attended(
      [&](const WantsStop& wants_stop) { return transformed(source, words, sources, wants_stop); });
  nb::dict read;
  for (const auto& [name, one] : made.read) read[name.c_str()] = object_of(one);
  return {of_mask(std::move(made.mask)), read};
}

/// The array of a file.
Copy read_copy(const std::string& source) {
  return {attended([&](const WantsStop& wants_stop) { return read_array_of(source, wants_stop); })};
}

Index cells_of(const Source& source) { return source.loaded.mask.cells(); }

Source combined(int op, const Source& a, const Source& b) {
  return of_mask(attended([&](const WantsStop& wants_stop) {
    return stoppable(cells_of(a), wants_stop,
                     [&] { return zip(static_cast<Op>(op), a.loaded.mask, b.loaded.mask); });
  }));
}

Source inverted(const Source& source) {
  return of_mask(attended([&](const WantsStop& wants_stop) {
    return stoppable(cells_of(source), wants_stop, [&] { return complement(source.loaded.mask); });
  }));
}

Index open_cells(const Source& source) {
  return attended([&](const WantsStop& wants_stop) {
    return stoppable(cells_of(source), wants_stop, [&] { return source.loaded.mask.count(); });
  });
}

bool equal(const Source& a, const Source& b) {
  if (!same_shape(a.loaded.mask, b.loaded.mask)) return false;
  return attended([&](const WantsStop& wants_stop) {
    return stoppable(cells_of(a), wants_stop,
                     [&] { return differing_cells(a.loaded.mask, b.loaded.mask) == 0; });
  });
}

/// The cells in ranges (begin, end) of batches, heads, queries and keys.
Source part(const Source& source, const std::array<std::pair<Index, Index>, 4>& ranges) {
  const auto range = [&](std::size_t axis) {
    return Range{ranges[axis].first, ranges[axis].second};
  };
  return of_mask(sliced(source.loaded.mask, range(0), range(1), range(2), range(3)));
}

/// [rows, columns]: the open cells of a batch and head, in blocks of q_step x k_step cells.
nb::object open_cells_by_block(const Source& source, Index batch, Index head, Index q_step,
                               Index k_step) {
  return exported(attended([&](const WantsStop& wants_stop) {
    return open_by_block(source.loaded.mask, batch, head, {q_step, k_step}, wants_stop);
  }));
}

nb::tuple state_of_source(const Source& source) {
  const auto runs = attended([&](const WantsStop& wants_stop) {
    return stoppable(cells_of(source), wants_stop, [&] { return runs_of(source.loaded.mask); });
  });
  return state_of(source.loaded, runs);
}

/// A value as _library_calls.py gives it: a text, (shape, numbers or None) of an array, or None.
decltype(GivenArgument::value) given_value(const nb::object& value) {
  if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value);
  if (value.is_none()) return GivenObject{};
  const auto [shape, numbers] = nb::cast<std::pair<std::vector<Index>, nb::object>>(value);
  GivenArray out{shape, std::nullopt};
  if (!numbers.is_none()) out.numbers = nb::cast<std::vector<Index>>(numbers);
  return out;
}

const Library& library_named(const std::string& name) {
  if (const Library* library = find_library(name)) return *library;
  throw Error(Errc::kInvalidArgument, fmt::format("no library {}", printable(name)));
}

/// A call's mask and {}, or None and the arguments that are not read.
std::pair<nb::object, std::vector<std::string>> mask_of_call(
    const std::string& library, const std::string& function,
    const std::vector<std::tuple<std::string, nb::object, bool>>& arguments, Index queries,
    Index keys) {
  std::vector<GivenArgument> given;
  for (const auto& [name, value, at_default] : arguments) {
    given.push_back({name, given_value(value), at_default});
  }
  const Library& row = library_named(library);
  GivenCall call = attended([&](const WantsStop& wants_stop) {
    return stoppable(queries * keys, wants_stop, [&] {
      return read_call(row, function, given, {queries, keys});
    });
  });
  if (!call.unread.empty()) return {nb::none(), std::move(call.unread)};
  return {nb::cast(of_mask(std::move(call.mask))), {}};
}

std::vector<std::string> names_about_masks(const std::string& library,
                                           const std::string& function) {
  std::vector<std::string> out;
  for (const std::string_view name : mask_arguments(library_named(library), function)) {
    out.emplace_back(name);
  }
  return out;
}

MutantRun mutants_given(const std::string& source, const Options& options, const nb::dict& given) {
  const GivenSources sources = given_of(given);
  const Words words = words_of({}, options);
  return MutantRun(attended([&](const WantsStop& wants_stop) {
    return mutants_asked(source, words, sources, wants_stop);
  }));
}

/// The arrays of a mutant by name, and its truth.
std::pair<nb::dict, nb::object> mutant_made(MutantRun& run, Index number) {
  attended([&](const WantsStop& wants_stop) {
    do_stoppable(kAlwaysLong, wants_stop, [&] { run.make(number); });
    return true;
  });
  attention::Mutant& mutant = run.last();
  nb::dict arrays;
  const auto add = [&arrays](const char* name, Tensor& array) {
    arrays[name] = exported(std::move(array));
  };
  add("query", mutant.query);
  add("key", mutant.key);
  add("value", mutant.value);
  if (mutant.bias) add("bias", *mutant.bias);
  if (mutant.sinks) add("sinks", *mutant.sinks);
  add("out", mutant.out);
  add("lse", mutant.lse);
  return {arrays, value_of(truth_json(run.source(), number, mutant.truth),
                           nb::borrow(reinterpret_cast<PyObject*>(&PyDict_Type)))};
}

PythonAnswer mutants_answer(const MutantRun& run) {
  Answer answer = run.answer();
  return {std::move(answer.text), nb::cast(Fields(std::move(answer.json))), answer.status, {}};
}

/// The options of every command that are useful without a terminal.
constexpr std::string_view kForPython[] = {"--threads", "--max-bytes", "--strict"};

/// The summary of a command, then (name, placeholder, help) for each operand and option.
using CommandInfo =
    std::pair<std::string, std::vector<std::tuple<std::string, std::string, std::string>>>;

CommandInfo command_info(const std::string& name) {
  const Command& command = command_named(name);
  CommandInfo out{std::string(command.summary), {}};
  const OptionList own = options_of(command);
  for (const Option& option : own.options()) {
    out.second.emplace_back(option.operand ? option.names : option.long_name(), option.placeholder,
                            option.help);
  }
  for (const Option& option : common_options().options()) {
    if (std::ranges::count(kForPython, option.long_name()) == 0) continue;
    out.second.emplace_back(option.long_name(), option.placeholder, option.help);
  }
  return out;
}

std::array<Index, 4> shape_of(const Source& source) {
  const Mask& mask = source.loaded.mask;
  return {mask.batch(), mask.heads(), mask.queries(), mask.keys()};
}

/// Registers `type` as the Python exception for maskctl::Error.
void translate_errors(nb::object& type) {
  const auto translate = [](const std::exception_ptr& thrown, void* error_type) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      PyErr_SetString(static_cast<PyObject*>(error_type), line_of(error).c_str());
    }
  };
  nb::register_exception_translator(translate, type.ptr());
}

}  // namespace

// nanobind keeps what is of one interpreter in a variable of the process, so that a second one
// would break the first: its entry is called for the main interpreter only.
#define PyInit__native init_for_main_interpreter

NB_MODULE(_native, m) {
#ifdef NDEBUG
  nb::set_leak_warnings(false);  // masks that outlive the interpreter's end are no fault
#endif
  nb::object error = nb::steal(PyErr_NewExceptionWithDoc(
      "maskctl.Error", "Bad input: what was seen, what was expected, how to fix it.",
      PyExc_ValueError, nullptr));
  m.attr("Error") = error;
  translate_errors(error);
  m.attr("version") = MASKCTL_VERSION;

  nb::class_<Source>(m, "Source")
      .def_prop_ro("shape", &shape_of)
      .def_prop_ro("kind", [](const Source& s) { return std::string(name(s.loaded.kind)); })
      .def_prop_ro("dtype", [](const Source& s) { return s.loaded.dtype; })
      .def_prop_ro("notes", [](const Source& s) { return s.loaded.notes; })
      .def_prop_ro("open", &open_cells)
      .def_prop_ro("steps", &steps_of)
      .def("inverted", &inverted)
      .def("part", &part)
      .def("open_by_block", &open_cells_by_block)
      .def("__getstate__", &state_of_source)
      .def("__setstate__",
           [](Source& s, const nb::tuple& state) { new (&s) Source{loaded_of(state)}; });
  nb::class_<Copy>(m, "Copy")
      .def("__getstate__", [](const Copy& c) { return state_of(c.tensor); })
      .def("__setstate__",
           [](Copy& c, const nb::tuple& state) { new (&c) Copy{tensor_of(state)}; });
  m.def("copied", [](const std::string& name, nb::handle object) {
    return Copy{copy_of(ImportedArray(name, object).view())};
  });
  nb::class_<Fields>(m, "Fields").def("__call__", &Fields::operator());
  nb::class_<MutantRun>(m, "Mutants")
      .def("make", &mutant_made)
      .def("judge", &MutantRun::judge)
      .def("answer", &mutants_answer);
  m.def("mutants", &mutants_given);
  m.def("ask", &ask_command);
  m.def("check", &ask_door<check_asked>);
  m.def("audit_flex", &ask_door<audit_flex_asked>);
  m.def("verify", &verify_mask);
  m.def("diff_runs", &diff_runs);
  m.def("joined_run", &joined_run);
  m.def("save_run", &save_captured);
  m.def("layers_text", [](const std::vector<std::string>& layers) { return layers_text(layers); });
  m.def("read_arrays", &read_given);
  m.def("read_source", &read_named);
  m.def("apply_steps", &apply_steps);
  m.def("read_copy", &read_copy);
  m.def("pipeline_text", &pipeline_text);
  m.def("combined", &combined);
  m.def("equal", &equal);
  m.def("command_info", &command_info);
  m.def("printable", [](const std::string& text) { return printable(text, kUncut); });
  m.def("read_call", &mask_of_call);
  m.def("mask_arguments", &names_about_masks);
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&stop_other_calls));
  m.def("set_hdf5_helper", [](const std::string& path) { set_hdf5_helper(path); });
}

#undef PyInit__native

extern "C" NB_EXPORT PyObject* PyInit__native() {
  constexpr std::int64_t kMain = 0;
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) == kMain) {
    return init_for_main_interpreter();
  }
  PyErr_SetString(PyExc_ImportError,
                  "maskctl does not load in a subinterpreter; use the main one, or a process");
  return nullptr;
}

}  // namespace maskctl::app
