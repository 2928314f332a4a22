// The documents of a mask: those that the user gave, or those that its SOURCE contains.
#pragma once

#include <optional>

#include "app/session/loader.h"
#include "app/session/options.h"
#include "app/session/session.h"
#include "maskctl/inspect/check/leaks.h"
#include "maskctl/inspect/recognise/recognise.h"

namespace maskctl::app {

/// Reads the arrays that --segments, --positions or --cu-seqlens name. "q=SOURCE,kv=SOURCE" names
/// one array for the queries and one for the keys. --padding names the flags of tokens beside them;
/// alone, all tokens that are no padding are one document. Nothing if no such option was given.
std::optional<DocumentSource> read_documents(const DocumentOptions& options, Loader& loader);

/// The positions of --positions, with the names of their SOURCEs; nothing for other documents.
std::optional<GivenPositions> positions_in(const std::optional<DocumentSource>& given);

/// Reads the further arrays that describe the same tokens.
std::vector<DocumentSource> read_also(const DocumentOptions& options, Loader& loader);

/// The segment ids that were read together with a SOURCE. `mask` is the mask after its steps.
/// Nothing if the SOURCE has no ids, or a step has changed the batch, query or key extent so that
/// they no longer fit.
std::optional<Documents> own_documents(const LoadedMask& loaded, const Mask& mask,
                                       std::int32_t pad_id);

/// The documents that the user gave, else those of the SOURCE. Throws like documents_of().
std::optional<Documents> documents_for(const std::optional<DocumentSource>& given,
                                       const LoadedMask& loaded, const Mask& mask,
                                       std::int32_t pad_id);

/// The leaks of a mask between the documents that `options` name; nothing if they name none.
std::optional<Leaks> leaks_given(const Mask& mask, const DocumentOptions& options, Loader& loader);

/// The mask, with its only batch repeated for each batch of the documents. Masks with several
/// batches are returned unchanged.
Mask with_batches_of(const Mask& mask, const Documents& documents);

}  // namespace maskctl::app
