#include "maskctl/attention/cpu/kernels.h"

namespace maskctl::attention::cpu {

constexpr Kernels kKernels{
    .softmax_forward = {softmax_forward},
    .softmax_backward = {softmax_backward},
    .softmax_weights = {softmax_weights},
    .paged = {paged},
    .blocks_forward = {blocks_forward},
    .blocks_backward = {blocks_backward},
    .select_blocks = {select_blocks},
    .linear_forward = {linear_forward},
    .linear_backward = {linear_backward},
    .grouped_forward = {grouped_forward},
    .grouped_backward = {grouped_backward},
    .mean_pooling = {mean_pooling},
    .matrix_product = {matrix_product},
};

}  // namespace maskctl::attention::cpu
