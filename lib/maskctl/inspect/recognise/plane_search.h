// Searches for the chain that makes one plane: what is tried, in which order, and when that is
// enough; private to inspect.
#pragma once

#include <optional>

#include "maskctl/inspect/recognise/candidates.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/inspect/recognise/search.h"
#include "maskctl/mask/plane.h"

namespace maskctl::recognition {

/// Whether a plane is of so few bands that it is searched as bands alone.
bool is_of_few_bands(const Plane& plane);

/// Adds the exact chain with the shortest description; if there is none, the nearest chains.
void add_found(const PlanePtr& plane, const Explained& found, Index max_steps, Candidates& out);
/// Recognises the shared lists of keys of a large plane and the lines that clip them; nothing for
/// planes stored in another form. Uses block grids only for planes that are too large to be
/// searched, because a grid may hide a simpler chain.
std::optional<Chain> recognise_clipped(const PlanePtr& plane, const RecogniseOptions& options);
/// Adds the chains that rules guess from the rows of the plane and, if it is large, that give most
/// of some of them. Returns whether one gives all.
bool add_guesses(const PlanePtr& plane, Candidates& out);
/// Adds chains at positions of tokens. Returns whether one gives the plane.
bool add_positions(const PlanePtr& plane, const RecogniseOptions& options, Candidates& out);
/// Adds chains of tokens in a grid. Returns whether one gives the plane.
bool add_grids(const PlanePtr& plane, const RecogniseOptions& options, Candidates& out);
/// Searches rules whose numbers can be read off the plane; then does the same for the plane without
/// its lone cells (which differ from their neighbours) and for the inverted plane.
void search_plain(const PlanePtr& plane, const RecogniseOptions& options, Candidates& out);
/// Searches token types and block grids too, whose positions must be guessed, if that may give a
/// shorter chain.
void search_guessed(const PlanePtr& plane, const RecogniseOptions& options, Candidates& out);

}  // namespace maskctl::recognition
