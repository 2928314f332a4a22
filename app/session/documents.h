// The documents of a mask: those that were given, or those that its SOURCE carries.
#pragma once

#include <optional>

#include "app/session/loader.h"
#include "app/session/options.h"
#include "app/session/session.h"
#include "maskctl/inspect/check/leaks.h"

namespace maskctl::app {

/// The arrays that were given; "q=SOURCE,kv=SOURCE" names one for each side. Nothing without any.
std::optional<DocumentSource> read_documents(const DocumentOptions& options, Loader& loader);

/// The ids that a SOURCE came with, for the mask after its steps; nothing if it has none, or a step
/// has changed the extents that they label.
std::optional<Documents> own_documents(const LoadedMask& loaded, const Mask& mask,
                                       std::int32_t pad_id);

/// The documents that were given, else those of the SOURCE. Throws as documents_of().
std::optional<Documents> documents_for(const std::optional<DocumentSource>& given,
                                       const LoadedMask& loaded, const Mask& mask,
                                       std::int32_t pad_id);

/// The leaks between the documents that were given; nothing without any.
std::optional<Leaks> leaks_given(const Mask& mask, const DocumentOptions& options, Loader& loader);

/// The mask with a batch entry for each batch of the documents, if it has one for all.
Mask with_batches_of(const Mask& mask, const Documents& documents);

}  // namespace maskctl::app
