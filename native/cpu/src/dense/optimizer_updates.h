// Elementwise updates in place. Equations: DenseOps in packages/ops.
#pragma once

#include "dense/operations.h"

namespace cudnn_rnn {

// The elements [begin, end), by the operation of an update: the variable, its slots, then gradient, source or mask. Its
// numbers are the options of the rule.
template <typename T>
void ApplyUpdate(Operation rule, const OperationOperands<T>& on, ptrdiff_t begin, ptrdiff_t end);

}  // namespace cudnn_rnn
