// Makes figures of one panel, for tests.
#pragma once

#include <utility>

#include "maskctl/render/figure/figure.h"

namespace maskctl::test {

inline Figure figure_of(PlanePtr plane, PlanePtr other = nullptr) {
  Figure figure;
  figure.panels.push_back({.plane = std::move(plane), .other = std::move(other)});
  return figure;
}

/// A figure with segment ids along both axes; the ids must outlive it.
inline Figure labelled(PlanePtr plane, std::span<const std::int32_t> q,
                       std::span<const std::int32_t> k) {
  Figure figure = figure_of(std::move(plane));
  figure.panels.front().q_segments = q;
  figure.panels.front().k_segments = k;
  return figure;
}

}  // namespace maskctl::test
