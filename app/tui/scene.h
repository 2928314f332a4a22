// What is looked at: a mask with the steps that made it, and what is known about its planes.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "app/session/documents.h"
#include "app/session/loader.h"
#include "app/session/session.h"
#include "app/session/tokens.h"
#include "app/tui/errand.h"
#include "app/tui/loading_mask.h"
#include "app/tui/plane_counts.h"
#include "app/tui/plane_table.h"
#include "app/tui/weights.h"
#include "maskctl/inspect/why/why.h"
#include "maskctl/render/figure/ink_grid.h"

namespace maskctl::app::tui {

/// Which of two SOURCEs is drawn: one over the other, side by side, one of them, what one of them
/// has alone.
enum class Sources : std::uint8_t { kBoth, kBeside, kA, kB, kOnlyA, kOnlyB };

/// A mask after some steps. Never changes, except that more becomes known about it.
class Scene {
 public:
  std::string name, other_name;  // SOURCEs
  std::string pipeline;          // the steps that can be edited, as join_steps() spells them
  Mask start;                    // before all steps
  Chain chain;                   // all steps, those of a generated SOURCE first
  Mask mask;                     // after them
  bool one_for_all = false;      // the steps make one batch, which all batches of documents share
  std::optional<Mask> other;
  SegmentTensors ids;  // of documents; no step has changed the extents that they label
  std::int32_t pad_id = -1;
  Tokens tokens;  // those that fit the mask
  std::shared_ptr<RowWeights> weights;
  /// All batches and heads; null if they are too many.
  std::shared_ptr<PlaneTable> planes;
  /// While the SOURCE is being read: what has come of it. The mask is empty then.
  std::shared_ptr<const LoadingMask> loading;

  Scene() = default;
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  /// True when there are several batches and heads.
  bool lists() const { return planes && planes->size() > 1; }
  bool has_ids() const { return ids.q && ids.k; }
  /// What is known by now; valid until learn().
  const PlaneCounts& counts(Index batch, Index head, Sources sources) const;
  /// Counts what is not known at once, on any thread.
  PlaneCounts count(Index batch, Index head, Sources sources) const;
  /// Takes what was counted.
  void learn(Index batch, Index head, Sources sources, PlaneCounts counts) const;
  /// How many tiles of that many cells each way there are of each kind; null until it is learned.
  const TileCounts* tiles(const PlanePtr& plane, Index cells) const;
  void learn(const PlanePtr& plane, Index cells, const TileCounts& counts) const;
  Why why(const Cell& cell) const;
  /// Heads of the queries of which there are weights, and those of one query.
  Index weight_heads() const { return weights->heads(mask); }
  const WeightRow& weight_row(Index batch, Index query, Sources sources) const {
    return weights->row(sources == Sources::kB ? *other : mask, batch, query);
  }

 private:
  using Shown = std::tuple<Index, Index, Sources>;
  Panel both(Index batch, Index head) const;
  Panel panel(Index batch, Index head, Sources sources) const;

  mutable std::map<Shown, PlaneCounts> counts_;
  mutable std::deque<Shown> counted_;  // the oldest first
  mutable std::map<std::pair<PlanePtr, Index>, TileCounts> tiles_;
};
using ScenePtr = std::shared_ptr<const Scene>;

/// What the inspector is asked to show.
struct Subject {
  SourceOptions source, other_source;
  std::string name, other;    // SOURCEs; the second may be empty
  DocumentOptions documents;  // if not those of the first
  std::string tokens;         // files; may be empty
  WeightOptions weights;
};

/// The mask after some steps, as a person writes them.
struct SceneAsked {
  std::string pipeline;
  /// From now on in place of those that were given; no others if left out.
  std::optional<DocumentOptions> documents = {};
  friend bool operator==(const SceneAsked& a, const SceneAsked& b);
};

/// Makes scenes of a SOURCE, which is read once. Reading and making are done beside the interface.
class Workbench {
 public:
  /// Begins to read the SOURCEs. `ended` is called on another thread when they are read, and when a
  /// scene is made.
  Workbench(
      Subject subject, const Settings& settings, const std::function<void()>& ended = [] {});
  Workbench(const Workbench&) = delete;
  Workbench& operator=(const Workbench&) = delete;
  ~Workbench();

  /// True when they are read by then, or cannot be. Until they are, only what says so may be
  /// called.
  bool is_read_by(Time end) const { return work_.wait_until(end); }
  /// What is known of the SOURCE while it is read; null if that is nothing yet.
  ScenePtr loading() const;
  /// How much of what is being read or made is there, 0 to 1.
  double fraction() const { return fraction_; }
  const std::string& name() const { return subject_.name; }

  /// The mask after the steps that the subject came with; waits until it is read. Throws what
  /// reading throws, Error(kInvalidArgument) for a mask without cells, Error(kShape) for ids and a
  /// second mask that do not fit.
  const ScenePtr& first();
  /// True when the SOURCE has been read, and what first() has thrown is about something else.
  bool has_source() const { return has_source_; }
  /// A few recent ones are kept; waits until it is made. Throws PipelineError, and Error when a
  /// step does not fit or leaves no cells; as reading documents, and documents_of(), which then are
  /// not taken.
  ScenePtr scene(const std::string& pipeline) { return scene_by({pipeline}, Time::max()); }
  /// scene(), or null while it is being made; see Errand.
  ScenePtr scene_by(const SceneAsked& asked, Time end);
  void stop_making() { making_.stop(); }
  Index max_bytes() const { return session_.settings().max_bytes; }
  /// The last note of reading and writing since this was called before, or "".
  std::string take_note() {
    const std::lock_guard lock(noting_);
    return std::exchange(note_, {});
  }

 private:
  struct Made {
    ScenePtr scene;
    std::optional<DocumentSource> documents;  // that were asked for
  };
  FrontEnd front_end();
  ScenePtr read();
  void read_start();
  std::optional<Documents> documents(const std::optional<DocumentSource>& asked,
                                     const Mask& mask) const;
  Made made(const SceneAsked& asked);
  void keep(const std::string& pipeline, ScenePtr scene);

  const Subject subject_;
  std::mutex noting_;
  std::string note_;
  Session session_;
  Loader loader_;
  Mask start_;
  Chain generated_;  // the step of a generated SOURCE
  std::optional<Mask> other_;
  LoadedMask loaded_;
  std::optional<DocumentSource> documents_;  // that were given
  Tokens tokens_;                            // that were given
  std::shared_ptr<RowWeights> weights_;
  bool has_source_ = false;
  ScenePtr first_;
  std::list<std::pair<std::string, ScenePtr>> recent_;  // the most recent first
  std::atomic<double> fraction_ = 0;
  const std::shared_ptr<LoadingMask> loading_ = std::make_shared<LoadingMask>();
  Errand<SceneAsked, Made> making_;
  BackgroundTask<ScenePtr> work_;
};

}  // namespace maskctl::app::tui
