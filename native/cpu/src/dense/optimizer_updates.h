// Elementwise updates in place. Equations: DenseOps in packages/ops.
#pragma once

#include <cstddef>

namespace cudnn_rnn {

inline constexpr size_t kMaxOperands = 4;
inline constexpr size_t kMaxNumbers = 8;

// The order of UPDATE_RULES in packages/ops/src/executor/kernels/kernel_boundary.ts, with the operands and
// numbers of each.
enum class UpdateRule { kAssign, kAddScaled, kMomentum, kAdam, kRmsProp, kAdagrad, kWeightDecay, kClip };

template <typename T>
struct UpdateOperands {
  T* data[kMaxOperands];
  double numbers[kMaxNumbers];
};

// The elements [begin, end).
template <typename T>
void ApplyUpdate(UpdateRule rule, const UpdateOperands<T>& update, ptrdiff_t begin, ptrdiff_t end);

}  // namespace cudnn_rnn
