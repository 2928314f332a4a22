#include "app/tui/mouse.h"

#include <algorithm>

#include "app/tui/screens/overview.h"
#include "app/tui/screens/plane_list.h"
#include "app/tui/state/geometry.h"

namespace maskctl::app::tui {
namespace {

constexpr Index kWheelUnits = 3;

/// Scrolls so that the dragged cell is at the position of the mouse.
void drag(State& state, const Geometry& at, const Input& input) {
  const Index rows = at.first.query + at.rows, columns = at.first.key + at.columns;
  if (input.row < at.first.query || input.row >= rows || input.column < at.first.key ||
      input.column >= columns) {
    return;
  }
  const Index down = (input.row - at.first.query) / at.shape.lines * at.shape.rows;
  const Index right = (input.column - at.first.key) / at.shape.characters * at.shape.columns;
  state.view.cursor = *state.dragged;
  state.view.origin = {std::max<Index>(state.dragged->query - down * at.unit().q, 0),
                       std::max<Index>(state.dragged->key - right * at.unit().k, 0)};
}

/// A click selects a row of the list; a click on the selected row opens it.
void take_list_mouse(State& state, const Input& input) {
  if (input.key == "<WheelUp>") return take_list_key(state, ListKey::kPrevious, kWheelUnits);
  if (input.key == "<WheelDown>") return take_list_key(state, ListKey::kNext, kWheelUnits);
  const auto row = input.key == "<Mouse>" ? list_row_at(state, input.row) : std::nullopt;
  if (!row) return;
  const Index batch = *row / state.scene->mask.heads(), head = *row % state.scene->mask.heads();
  const bool again = batch == state.view.batch && head == state.view.head;
  state.view.batch = batch;
  state.view.head = head;
  state.list.chosen = true;
  if (again) take_list_key(state, ListKey::kOpen, 1);
}

}  // namespace

bool is_of_mouse(const Input& input) {
  return input.key == "<Mouse>" || input.key == "<Drag>" || input.key.starts_with("<Wheel");
}

void take_mouse(State& state, const Input& input) {
  if (state.list.shown) return take_list_mouse(state, input);
  const Geometry at = geometry(state);
  if (input.key.starts_with("<Wheel")) {
    const Index units = input.key == "<WheelUp>" ? -kWheelUnits : kWheelUnits;
    state.view.cursor.query += units * at.unit().q;
    return;
  }
  if (input.key == "<Drag>" && state.dragged) return drag(state, at, input);
  const auto cell = cell_at(at, input.row, input.column);
  if (input.key == "<Mouse>") state.dragged = cell;
  const auto place = cell ? cell : overview_cell_at(state, at, input.row, input.column);
  if (place) state.view.cursor = *place;
}

}  // namespace maskctl::app::tui
