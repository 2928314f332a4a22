// Implements maskctl.audit_flex() of Python: verifies the output under the mask of mask_mod and
// under that of the block lists.
#include <memory>
#include <utility>

#include "app/cli/commands/attention/verify.h"
#include "app/cli/commands/doors.h"
#include "app/cli/parser/values.h"
#include "app/reports/flex_audit_report.h"
#include "app/session/loader.h"

namespace maskctl::app {
namespace {

struct AuditFlexOptions {
  VerifyOptions verify;  // its SOURCE is mask_mod
  std::string own, partial, full;
  BlockSize block;
};

Answer run(const AuditFlexOptions& options, Session& session) {
  Loader loader(options.verify.call.source, session);
  const auto read = [&loader](const std::string& source) { return loader.read(source).mask; };
  const Mask meant = read(options.verify.call.mask);
  const attention::FlexJudge judge = [&](const Mask& declared, bool solve) {
    VerifyOptions asked = options.verify;
    asked.solve = solve;
    session.give(asked.call.mask, loaded_from(declared));
    return full_verdict(asked, session);
  };
  const attention::FlexAudit found = attention::audit_flex(
      meant,
      attention::compare_lists(meant, read(options.own),
                               {read(options.partial), read(options.full), options.block}),
      judge);
  return answer_in(
      false, [&] { return flex_audit_text(found); }, [=] { return flex_audit_json(meant, found); },
      status_of(found.verdict));
}

}  // namespace

Run declare_audit_flex(OptionList& list) {
  auto options = std::make_shared<AuditFlexOptions>();
  declare_verify(list, options->verify);
  list.text("--own", "SOURCE", "what the mask_mod of the BlockMask opens", options->own);
  list.text("--partial", "SOURCE", "every cell of the blocks listed as partial", options->partial);
  list.text("--full", "SOURCE", "every cell of the blocks listed as full", options->full);
  list.value("--block", "QxK", "block of the lists, queries x keys",
             [options](const std::string& text) { options->block = parse_block(text, "--block"); });
  return [options](Session& session) { return run(*options, session); };
}

}  // namespace maskctl::app
