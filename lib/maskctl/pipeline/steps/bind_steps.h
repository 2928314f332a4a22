// The functions of the table that turn checked arguments into bound steps.
#pragma once

#include "maskctl/mask/steps/step.h"
#include "maskctl/pipeline/parse/arguments.h"

namespace maskctl {

Step bind_causal(StepArguments& arguments);
Step bind_window(StepArguments& arguments);
Step bind_chunk(StepArguments& arguments);
Step bind_doc(StepArguments& arguments);
Step bind_pad(StepArguments& arguments);
Step bind_dilated(StepArguments& arguments);
Step bind_block(StepArguments& arguments);
Step bind_random(StepArguments& arguments);
Step bind_and(StepArguments& arguments);
Step bind_prefix(StepArguments& arguments);
Step bind_sinks(StepArguments& arguments);
Step bind_global(StepArguments& arguments);
Step bind_open(StepArguments& arguments);
Step bind_close(StepArguments& arguments);
Step bind_or(StepArguments& arguments);
Step bind_tokens(StepArguments& arguments);
Step bind_xor(StepArguments& arguments);
Step bind_sub(StepArguments& arguments);
Step bind_not(StepArguments& arguments);
Step bind_slice(StepArguments& arguments);
Step bind_kv_lengths(StepArguments& arguments);
Step bind_heads(StepArguments& arguments);
Step bind_batch(StepArguments& arguments);
Step bind_within(StepArguments& arguments);

}  // namespace maskctl
