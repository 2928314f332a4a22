#include "app/tui/beside/scene.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "app/tui/beside/steps.h"
#include "maskctl/base/buffer_pool.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/work_scope.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/pipeline/load.h"
#include "maskctl/pipeline/steps/generate.h"

namespace maskctl::app::tui {
namespace {

/// The number of planes (each a batch and head) whose counts are cached; the counts of a plane are
/// large.
constexpr std::size_t kMostCounted = 8;

void check_cells(const Mask& mask) {
  if (mask.cells() > 0) return;
  throw Error(Errc::kInvalidArgument,
              fmt::format("a mask of {} has no cells to look at", shape_text(mask)));
}

void check_comparable(const Mask& a, const Mask& b) {
  const auto serves = [](Index count, Index wanted) { return count == 1 || count == wanted; };
  if (a.queries() == b.queries() && a.keys() == b.keys() && serves(b.batch(), a.batch()) &&
      serves(b.heads(), a.heads())) {
    return;
  }
  std::string message = fmt::format("masks of {} and {} cannot be laid over each other",
                                    shape_text(a), shape_text(b));
  const Index q = ceil_div(a.queries(), b.queries()), k = ceil_div(a.keys(), b.keys());
  if (q > 1 && q == k) {
    message += fmt::format("; if OTHER has an element for each block: --as-b blockmap:{}", q);
  }
  throw Error(Errc::kShape, message);
}

PlanePtr shown_plane(const Panel& two, Sources sources) {
  switch (sources) {
    case Sources::kB:
      return two.other;
    case Sources::kOnlyA:
      return combine(Op::kSub, two.plane, two.other);
    case Sources::kOnlyB:
      return combine(Op::kSub, two.other, two.plane);
    default:
      return two.plane;
  }
}

/// Returns the pipeline in canonical spelling. Steps that the user has switched off stay as typed.
/// Two cases differ:
/// - If the pipeline states a pad-id and context.pad_id is not -1, all of it stays as typed: the
///   canonical spelling leaves out a pad-id of -1, the default of other commands.
/// - If the chain does not have one step for each step that is switched on, only the chain is
///   spelled, without the steps that are switched off.
std::string spelled(const std::string& pipeline, const Chain& chain, const BindContext& context) {
  if (context.pad_id != -1 && pipeline.find("pad-id") != std::string::npos) return pipeline;
  auto steps = split_steps(pipeline);
  const auto on = std::ranges::count_if(steps, &EditStep::on);
  if (on != std::ssize(chain)) return chain.empty() ? "" : to_text(chain);
  auto bound = chain.begin();
  for (EditStep& step : steps) {
    if (step.on) step.text = to_text(Chain{*bound++});
  }
  return join_steps(steps);
}

constexpr std::size_t kMostRecent = 4;
/// With more batches and heads than this, there is no list of them.
constexpr Index kMostPlanes = Index{1} << 17;

}  // namespace

const TileCounts* Scene::tiles(const PlanePtr& plane, Index cells) const {
  const auto at = tiles_.find({plane, cells});
  return at == tiles_.end() ? nullptr : &at->second;
}

void Scene::learn(const PlanePtr& plane, Index cells, const TileCounts& counts) const {
  tiles_[{plane, cells}] = counts;
}

Panel Scene::both(Index batch, Index head) const {
  const Mask* second = other ? &*other : nullptr;
  return panels_of(mask, {batch, batch + 1}, {head, head + 1}, ids, second).front();
}

Panel Scene::panel(Index batch, Index head, Sources sources) const {
  Panel out = both(batch, head);
  if (!out.other || sources == Sources::kBoth || sources == Sources::kBeside) return out;
  out.plane = shown_plane(out, sources);
  out.other = nullptr;
  return out;
}

const PlaneCounts& Scene::counts(Index batch, Index head, Sources sources) const {
  // Two SOURCEs side by side need the same counts as two on top of each other.
  if (sources == Sources::kBeside) sources = Sources::kBoth;
  const auto [at, added] = counts_.try_emplace({batch, head, sources});
  if (added) at->second = first_counts(panel(batch, head, sources));
  return at->second;
}

PlaneCounts Scene::count(Index batch, Index head, Sources sources) const {
  return all_counts(first_counts(panel(batch, head, sources)), both(batch, head), pad_id);
}

void Scene::learn(Index batch, Index head, Sources sources, PlaneCounts counts) const {
  const Shown shown{batch, head, sources == Sources::kBeside ? Sources::kBoth : sources};
  counts_[shown] = std::move(counts);
  counted_.push_back(shown);
  if (counted_.size() <= kMostCounted) return;
  counts_.erase(counted_.front());
  counted_.pop_front();
}

Why Scene::why(const Cell& cell) const {
  const Cell asked{one_for_all ? 0 : cell.batch, cell.head, cell.query, cell.key};
  return maskctl::why(start, chain, asked, [](const Step& step) { return to_text(Chain{step}); });
}

bool operator==(const SceneAsked& a, const SceneAsked& b) {
  const auto parts = [](const SceneAsked& asked) {
    const DocumentOptions documents = asked.documents.value_or(DocumentOptions());
    return std::tuple(asked.pipeline, documents.form, documents.source, documents.padding);
  };
  return parts(a) == parts(b);
}

Workbench::Workbench(Subject subject, const Settings& settings, const std::function<void()>& ended)
    : subject_(std::move(subject)),
      session_(settings, front_end()),
      loader_(subject_.source, session_),
      making_(ended),
      work_([this] { return read(); }, ended) {}

/// Stops background work first, because it uses the other members.
Workbench::~Workbench() { stop_making(); }

FrontEnd Workbench::front_end() {
  return {.note =
              [this](std::string_view text) {
                const std::lock_guard lock(noting_);
                note_ = text;
              },
          .progress = [this](const std::string&) -> Progress {
            return [this](double fraction) { fraction_ = fraction; };
          }};
}

const ScenePtr& Workbench::first() {
  if (!first_) first_ = work_.take();
  return first_;
}

ScenePtr Workbench::loading() const {
  const std::vector<Index> shape = loading_->shape();
  if (shape.empty()) return nullptr;
  auto out = std::make_shared<Scene>();
  out->name = subject_.name;
  out->other_name = subject_.other;
  out->mask = Mask::make(shape[0], shape[1], shape[2], shape[3],
                         [&](Index, Index) { return empty_plane(shape[2], shape[3]); });
  out->loading = loading_;
  return out;
}

/// The most bytes of buffers for rows that are kept for reuse.
constexpr std::size_t kBufferBytes = std::size_t{16} << 20;

ScenePtr Workbench::read() {
  BufferPool buffers(kBufferBytes);
  const WorkScope scope({.pool = &buffers});
  read_start();
  has_source_ = true;
  documents_ = read_documents(subject_.documents, loader_);
  tokens_ = read_tokens(subject_.tokens, loader_.max_bytes());
  const Chain chain = loader_.chain();
  const std::string pipeline = chain.empty() ? "" : to_text(chain);
  if (!subject_.other.empty()) {
    Loader other(subject_.other_source, session_);
    const Chain steps = other.chain();
    other_ = maskctl::apply(other.read(subject_.other).mask, steps);
    other_whole_ = other.whole_chain(subject_.other, steps);
  }
  weights_ = std::make_shared<RowWeights>(subject_.weights, loader_);
  ScenePtr out = made({pipeline}).scene;
  keep(pipeline, out);
  // Throws if the documents do not fit the mask.
  if (documents_ && !out->has_ids()) documents_of(*documents_, out->mask);
  // Throws if the tokens do not fit the mask.
  tokens_of(tokens_, out->mask);
  return out;
}

/// The documents of `asked`; else those that the user gave when starting, or those of the SOURCE.
/// Nothing if the latter do not fit the mask.
std::optional<Documents> Workbench::documents(const std::optional<DocumentSource>& asked,
                                              const Mask& mask) const {
  if (asked) return documents_of(*asked, mask);
  if (!documents_) return own_documents(loaded_, mask, subject_.source.pad_id);
  try {
    return documents_of(*documents_, mask);
  } catch (const Error& error) {
    if (error.code() != Errc::kShape) throw;
    return std::nullopt;
  }
}

void Workbench::read_start() {
  if (is_generator(subject_.name)) {
    if (auto parts = generate_parts(subject_.name, loader_.context())) {
      start_ = std::move(parts->start);
      generated_ = std::move(parts->chain);
      checked_.start = maskctl::apply(start_, generated_);
      return;
    }
  }
  // With steps or a second SOURCE, the rows that have been read so far do not show the result.
  const bool can_be_shown = subject_.source.transforms.empty() && subject_.other.empty();
  auto [loaded, checked] = read_checked(
      subject_.name, loader_,
      can_be_shown ? [this](const RowsRead& rows) { loading_->add(rows); } : RowsSink());
  if (!checked.start) {
    throw Error(Errc::kInvalidArgument, fmt::format("{}: {}", printable(subject_.name),
                                                    check(checked).findings.front().message));
  }
  loaded_ = std::move(loaded);
  checked_ = std::move(checked);
  start_ = loaded_.mask;
  if (loaded_.steps) {
    start_ = loaded_.steps->start;
    generated_ = loaded_.steps->chain;
  }
}

ScenePtr Workbench::scene_by(const SceneAsked& asked, Time end) {
  const auto found =
      std::ranges::find(recent_, asked.pipeline, [](const auto& kept) { return kept.first; });
  if (found != recent_.end() && !asked.documents) {
    stop_making();
    recent_.splice(recent_.begin(), recent_, found);
    return found->second;
  }
  auto done = making_.follow(asked, end, [&] {
    fraction_ = 0;
    return [this, asked] { return made(asked); };
  });
  if (!done) return nullptr;
  if (done->documents) {
    documents_ = std::move(done->documents);
    recent_.clear();
  }
  keep(asked.pipeline, done->scene);
  return done->scene;
}

void Workbench::keep(const std::string& pipeline, ScenePtr scene) {
  recent_.emplace_front(pipeline, std::move(scene));
  if (recent_.size() > kMostRecent) recent_.pop_back();
}

Workbench::Made Workbench::made(const SceneAsked& asked) {
  const std::string& pipeline = asked.pipeline;
  Made made;
  if (asked.documents) made.documents = read_documents(*asked.documents, loader_);
  auto out = std::make_shared<Scene>();
  out->name = subject_.name;
  out->other_name = subject_.other;
  out->weights = weights_;
  out->rank = loaded_.rank;
  out->start = start_;
  out->chain = generated_;
  const Chain steps = load_chain(std::array{without_off_steps(pipeline)}, loader_.context());
  out->pipeline = spelled(pipeline, steps, loader_.context());
  out->chain.insert(out->chain.end(), steps.begin(), steps.end());
  out->mask = start_;
  for (std::size_t i = 0; i < out->chain.size(); ++i) {
    fraction_ = static_cast<double>(i) / static_cast<double>(out->chain.size());
    out->mask = maskctl::apply(out->mask, out->chain[i]);
  }
  check_cells(out->mask);
  out->checked = checked_;
  out->checked.chain = steps;
  out->checked.whole = loader_.whole_chain(subject_.name, steps);
  if (auto found = documents(made.documents, out->mask)) {
    out->one_for_all = out->mask.batch() == 1;
    out->mask = with_batches_of(out->mask, *found);
    out->ids = {std::move(found->q), std::move(found->kv)};
    out->pad_id = found->pad_id;
    out->checked.documents = made.documents ? made.documents : documents_;
  } else if (documents_) {
    out->checked.own_documents
        .reset();  // what the user declares goes before them, and does not fit
  }
  out->tokens = fitting_tokens(tokens_, out->mask);
  if (other_) check_comparable(out->mask, *other_);
  out->other = other_;
  out->other_whole = other_whole_;
  const Index planes = out->mask.batch() * out->mask.heads();
  if (planes <= kMostPlanes) out->planes = std::make_shared<PlaneTable>(planes);
  made.scene = std::move(out);
  return made;
}

}  // namespace maskctl::app::tui
