// What is looked at: a mask with the steps that made it, and what is known about its planes.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "app/session/loader.h"
#include "app/session/session.h"
#include "app/tui/weights.h"
#include "maskctl/inspect/why/why.h"
#include "maskctl/mask/blocks/block_map.h"
#include "maskctl/render/figure/ink_grid.h"

namespace maskctl::app::tui {

/// Which of two SOURCEs is drawn: one over the other, side by side, one of them, what one of them
/// has alone.
enum class Sources : std::uint8_t { kBoth, kBeside, kA, kB, kOnlyA, kOnlyB };

/// What is known about one batch and head.
struct PlaneFacts {
  Panel panel;                   // with its leaks, if there are ids
  PlanePtr different = nullptr;  // the cells in which two SOURCEs differ
  Index open = 0, leaks = 0, empty_rows = 0, differences = 0;
  Index id_width = 0;  // characters of the longest id of a query
};

/// A mask after some steps. Never changes; what it knows is found when it is asked for.
class Scene {
 public:
  std::string name, other_name;  // SOURCEs
  std::string pipeline;          // the steps that can be edited, as join_steps() spells them
  Mask start;                    // before all steps
  Chain chain;                   // all steps, those of a generated SOURCE first
  Mask mask;                     // after them
  std::optional<Mask> other;
  SegmentTensors ids;
  std::int32_t pad_id = -1;
  std::shared_ptr<RowWeights> weights;

  Scene() = default;
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  bool has_ids() const { return ids.q && ids.k; }
  const PlaneFacts& facts(Index batch, Index head, Sources sources) const;
  /// The tiles of 2^tile cells each way of one of the planes.
  const TileMap& tiles(Index batch, Index head, Sources sources, int tile) const;
  Why why(const Cell& cell) const;
  /// Heads of the queries of which there are weights, and those of one query.
  Index weight_heads() const { return weights->heads(mask); }
  const WeightRow& weight_row(Index batch, Index query) const {
    return weights->row(mask, batch, query);
  }

 private:
  mutable std::map<std::tuple<Index, Index, Sources>, PlaneFacts> facts_;
  mutable std::map<std::tuple<Index, Index, Sources, int>, TileMap> tiles_;
};
using ScenePtr = std::shared_ptr<const Scene>;

/// What the inspector is asked to show.
struct Subject {
  SourceOptions source, other_source;
  std::string name, other;  // SOURCEs; the second may be empty
  std::string segments;     // SOURCE of ids, or empty for those of the first
  WeightOptions weights;
};

/// Makes scenes of a SOURCE, which is read once.
class Workbench {
 public:
  /// Reads the SOURCEs. Throws what reading throws, Error(kInvalidArgument) for a mask
  /// without cells, Error(kShape) for ids and a second mask that do not fit.
  Workbench(Subject subject, const Settings& settings);
  Workbench(const Workbench&) = delete;
  Workbench& operator=(const Workbench&) = delete;

  /// The mask after the steps that the subject came with.
  const ScenePtr& first() const { return first_; }
  /// The mask after these steps, as a person writes them; a few recent ones are kept. Throws
  /// PipelineError, and Error when a step does not fit or leaves no cells.
  ScenePtr scene(const std::string& pipeline);
  const Session& session() const { return session_; }
  /// The last note of reading and writing since this was called before, or "".
  std::string take_note() { return std::exchange(note_, {}); }

 private:
  void read_start();
  void read_ids();
  ScenePtr made(const std::string& pipeline);

  const Subject subject_;
  std::string note_;
  Session session_;
  Loader loader_;
  Mask start_;
  Chain generated_;  // the step of a generated SOURCE
  std::optional<Mask> other_;
  LoadedMask loaded_;
  std::shared_ptr<RowWeights> weights_;
  ScenePtr first_;
  std::list<std::pair<std::string, ScenePtr>> recent_;  // the most recent first
};

}  // namespace maskctl::app::tui
