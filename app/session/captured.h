// The masks of a captured run in a file.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/session/session.h"
#include "maskctl/inspect/diff/captured.h"
#include "maskctl/io/streams/options.h"

namespace maskctl::app {

/// Whether a SOURCE is the file of a captured run: a container in which each array belongs to the
/// runs of a layer's mask, LAYER or LAYER#2 and so on, or is LAYER/unread, the bytes of a text that
/// says why a mask of the layer was not read.
bool is_captured(const std::string& source, Session& session);

/// The layers of the run, in the order of the file.
std::vector<CapturedLayer> read_captured(const std::string& source, Session& session);

/// Writes such a file, an .npz, .safetensors or .h5.
void write_captured(const std::string& dest, std::span<const CapturedLayer> layers,
                    const WriteOptions& options, const Session& session);

}  // namespace maskctl::app
