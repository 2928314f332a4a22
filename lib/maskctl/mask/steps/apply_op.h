// A set operation on the states of two single cells.
#pragma once

#include "maskctl/mask/plane.h"

namespace maskctl {

constexpr bool apply_op(Op op, bool a, bool b) {
  switch (op) {
    case Op::kAnd:
      return a && b;
    case Op::kOr:
      return a || b;
    case Op::kXor:
      return a != b;
    case Op::kSub:
      break;
  }
  return a && !b;
}

}  // namespace maskctl
