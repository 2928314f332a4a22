#include "app/python/ask.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <utility>

#include "app/cli/commands/doors.h"
#include "app/cli/parser/groups.h"
#include "app/cli/terminal.h"
#include "app/python/keywords.h"
#include "app/python/worker.h"
#include "app/reports/remedies.h"
#include "app/session/captured.h"
#include "app/session/loader.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/work_scope.h"
#include "maskctl/io/array_io.h"
#include "maskctl/pipeline/load.h"
#include "maskctl/pipeline/parse/diagnostic.h"
#include "maskctl/pipeline/steps/generate.h"
#include "maskctl/render/figure/density.h"

namespace maskctl::app {
namespace {

constexpr std::chrono::milliseconds kBetweenQuestions{20};

/// Runs `work` on a worker thread while the calling thread asks wants_stop(). Python handles
/// signals such as Ctrl-C only on its main thread, which is usually the calling one.
void attend(Session& session, const WantsStop& wants_stop, const std::function<void()>& work) {
  std::exception_ptr failure;
  const std::function<void()> caught = [&] {
    try {
      const WorkScope scope({.stop = session.stop_token()});
      work();
    } catch (...) {
      failure = std::current_exception();
    }
  };
  Worker& worker = Worker::take();
  worker.begin(caught);
  while (!worker.ended_within(kBetweenQuestions)) {
    if (wants_stop()) session.cancel();
  }
  worker.give_back();
  if (failure) std::rethrow_exception(failure);
}

void take(const Option* option, const std::string& name, const OptionValue& value,
          std::string_view command) {
  if (!option) {
    throw Error(Errc::kInvalidArgument, fmt::format("{}: unknown option {}", command, name));
  }
  option->take(value);
}

/// Passes each word to the operand that the command declares at its position. The last operand may
/// take several words.
void take_operands(const OptionList& list, const std::vector<std::string>& operands,
                   std::string_view command) {
  std::size_t next = 0;
  for (const Option& option : list.options()) {
    if (!option.operand) continue;
    if (option.required && next == operands.size()) {
      throw Error(Errc::kInvalidArgument, fmt::format("{}: no {}", command, option.names));
    }
    const std::size_t end = option.repeated ? operands.size() : next + 1;
    for (; next < std::min(end, operands.size()); ++next) option.take(operands[next]);
  }
  if (next < operands.size()) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("{}: unexpected '{}'", command, printable(operands[next])));
  }
}

/// The options of one command and those that every command has, set from Words.
struct Line {
  Settings settings;
  OptionList common, own;

  explicit Line(std::string_view command) : command_(command) {
    settings.color = When::kNever;
    settings.progress = false;
    declare_settings(common, settings);
  }

  void take(const Words& words) const {
    take_operands(own, words.operands, command_);
    for (const auto& [name, value] : words.options) {
      const Option* option = own.find(name);
      app::take(option ? option : common.find(name), name, value, command_);
    }
  }

 private:
  std::string_view command_;
};

void give(Session& session, const GivenSources& given) {
  for (const auto& [name, value] : given) session.give(name, value);
}

/// The answer of `work`, which reads what is given.
Reply reply_of(const Settings& settings, const GivenSources& given, const WantsStop& wants_stop,
               const std::function<Answer(Session&)>& work) {
  Reply reply;
  Session session(
      settings,
      {.note = [&reply](std::string_view text) { reply.notes.emplace_back(text); },
       .progress = {},
       .arrays = [&reply](std::vector<NamedTensor> made) { reply.arrays = std::move(made); }});
  give(session, given);
  attend(session, wants_stop, [&] {
    Answer answer = work(session);
    reply.json = std::move(answer.json);
    reply.text = printable_lines(answer.text, use_color(settings.color));
    reply.status = answer.status;
  });
  return reply;
}

Reply door_asked(std::string_view name, Run (*declare)(OptionList& list), const Words& words,
                 const GivenSources& given, const WantsStop& wants_stop) {
  Line line(name);
  const Run run = declare(line.own);
  line.take(words);
  return reply_of(line.settings, given, wants_stop, run);
}

NamedRun run_of(const GivenRun& given, Session& session) {
  if (const auto* run = std::get_if<NamedRun>(&given)) return *run;
  const auto& file = std::get<std::string>(given);
  if (is_captured(file, session)) return {file, read_captured(file, session)};
  throw Error(
      Errc::kInvalidArgument,
      fmt::format("{}: expected the file of a captured run, as Run.save() writes it", file));
}

constexpr Index kDoneAtOnce = Index{1} << 16;

Index elements_of(std::span<const NamedView> arrays) {
  Index out = 0;
  for (const NamedView& view : arrays) out += view.array.elements();
  return out;
}

/// Parses the options for reading a SOURCE, for calls that run no command.
struct Reading {
  SourceOptions source;
  Line line{"Mask"};

  explicit Reading(const Words& words) {
    declare_source(line.own, source);
    line.take(words);
  }
};

/// The context, whose readers also store in `kept` what they read from files.
BindContext keeping(const BindContext& context, const Session& session, GivenSources& kept) {
  const auto is_file = [&session](const std::string& source) {
    return !session.given(source) && !is_generator(source);
  };
  BindContext out = context;
  out.read_array = [=, &kept](const std::string& source) {
    Tensor array = context.read_array(source);
    if (is_file(source)) kept.insert_or_assign(source, array);
    return array;
  };
  out.read_mask = [=, &kept](const std::string& source) {
    Mask mask = context.read_mask(source);
    if (is_file(source)) kept.insert_or_assign(source, loaded_from(mask));
    return mask;
  };
  return out;
}

}  // namespace

const Command& command_named(const std::string& name) {
  if (const Command* command = find_command(name)) return *command;
  std::vector<std::string_view> names;
  for (const Command* command : commands()) names.push_back(command->name);
  const auto near = nearest(name, names);
  throw Error(Errc::kInvalidArgument,
              fmt::format("unknown command '{}'{}", printable(name),
                          near ? fmt::format("; did you mean '{}'?", *near) : ""));
}

Reply ask(const std::string& command, const Words& words, const GivenSources& given,
          const WantsStop& wants_stop) {
  const Command& row = command_named(command);
  Line line(row.name);
  const Run run = row.declare(line.own);
  line.take(words);
  return reply_of(line.settings, given, wants_stop, run);
}

Reply check_asked(const Words& words, const GivenSources& given, const WantsStop& wants_stop) {
  return door_asked("check", declare_check_of_one, words, given, wants_stop);
}

Reply audit_flex_asked(const Words& words, const GivenSources& given, const WantsStop& wants_stop) {
  return door_asked("audit_flex", declare_audit_flex, words, given, wants_stop);
}

Reply diff_runs_asked(const GivenRun& a, const GivenRun& b, const WantsStop& wants_stop) {
  return reply_of(Line("diff").settings, {}, wants_stop, [&](Session& session) {
    return diff_captured_runs(run_of(a, session), run_of(b, session), {}, session);
  });
}

std::vector<CapturedLayer> joined_layers(const GivenRun& run, const WantsStop& wants_stop) {
  Session session({}, {});
  std::vector<CapturedLayer> out;
  attend(session, wants_stop, [&] {
    out = run_of(run, session).layers;
    for (CapturedLayer& layer : out) layer.masks = in_sequence(layer.masks);
  });
  return out;
}

void save_run(const std::string& dest, const NamedRun& run, bool force,
              const WantsStop& wants_stop) {
  Session session({}, {});
  attend(session, wants_stop, [&] { write_captured(dest, run.layers, {.force = force}, session); });
}

VerifyReply verify_asked(const Words& words, const GivenSources& given,
                         const WantsStop& wants_stop) {
  Line line("verify");
  const auto run = declare_verify_with_masks(line.own);
  line.take(words);
  VerifyReply out;
  out.reply = reply_of(line.settings, given, wants_stop, [&](Session& session) {
    VerifyAnswer found = run(session);
    out.obeyed = std::move(found.obeyed);
    out.nearest = std::move(found.nearest);
    return std::move(found.answer);
  });
  return out;
}

void do_stoppable(Index elements, const WantsStop& wants_stop, const std::function<void()>& work) {
  if (elements <= kDoneAtOnce) return work();
  Session session({}, {});
  attend(session, wants_stop, work);
}

LoadedMask read_source(const std::string& source, const Words& words, const GivenSources& given,
                       const WantsStop& wants_stop) {
  const Reading reading(words);
  Session session(reading.line.settings, {});
  give(session, given);
  LoadedMask out;
  attend(session, wants_stop, [&] { out = Loader(reading.source, session).read(source); });
  return out;
}

LoadedMask read_arrays(const std::string& name, std::span<const NamedView> arrays,
                       const Words& words, const WantsStop& wants_stop) {
  const Reading reading(words);
  Session session(reading.line.settings, {});
  const MaskReadOptions how = Loader(reading.source, session).options();
  return stoppable(elements_of(arrays), wants_stop, [&] { return read_mask(name, arrays, how); });
}

Transformed transformed(const std::string& source, const Words& words, const GivenSources& given,
                        const WantsStop& wants_stop) {
  const Reading reading(words);
  Session session(reading.line.settings, {});
  give(session, given);
  Transformed out;
  attend(session, wants_stop, [&] {
    Loader loader(reading.source, session);
    const BindContext context = keeping(loader.context(), session, out.read);
    const Chain steps = load_chain(reading.source.transforms, context);
    out.mask = maskctl::apply(loader.read(source).mask, steps);
  });
  return out;
}

Tensor open_by_block(const Mask& mask, Index batch, Index head, BlockSize step,
                     const WantsStop& wants_stop) {
  const std::shared_ptr<const Plane> plane = mask.plane(batch, head);
  const DensityGrid grid = stoppable(mask.queries() * mask.keys(), wants_stop,
                                     [&] { return density(*plane, step.q, step.k); });
  Tensor out = Tensor::unwritten(DType::kInt64, {grid.rows, grid.columns});
  std::ranges::copy(grid.open, out.as<Index>().begin());
  return out;
}

Tensor read_array_of(const std::string& source, const WantsStop& wants_stop) {
  Session session({}, {});
  Tensor out;
  attend(session, wants_stop, [&] { out = read_array(source); });
  return out;
}

Subject mutants_asked(const std::string& source, const Words& words, const GivenSources& given,
                      const WantsStop& wants_stop) {
  MutantOptions options;
  Line line("mutants");
  declare_mutants(line.own, options);
  line.take(words);
  Session session(line.settings, {});
  give(session, given);
  std::optional<Subject> out;
  attend(session, wants_stop, [&] { out.emplace(subject_of(options, source, session)); });
  return *std::move(out);
}

std::string line_of(const std::exception& error) {
  if (const auto* pipeline = dynamic_cast<const PipelineError*>(&error)) {
    return fmt::format("{}\n{}", in_keywords(message_of(*pipeline)), pipeline->display());
  }
  if (const auto* own = dynamic_cast<const Error*>(&error)) return in_keywords(message_of(*own));
  return printable(error.what(), kUncut);
}

}  // namespace maskctl::app
