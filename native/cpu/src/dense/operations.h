#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "threads/engine.h"

namespace cudnn_rnn {

// The operations of dense layers, of layers around a recurrent network, and of optimizers. Equations: DenseOps in
// packages/ops, and packages/reference/src.

inline constexpr size_t kMaxOperands = 6;
inline constexpr size_t kMaxNumbers = 8;

// The order of KERNEL_OPERATIONS in packages/ops/src/executor/kernels/kernel_boundary.ts, each with its operands and
// numbers.
enum class Operation {
  kLinear,
  kEmbedding,
  kActivate,
  kActivationGradient,
  kDropout,
  kLayerNorm,
  kLayerNormGradients,
  kMaskSequence,
  kReverseSequence,
  kPoolSequence,
  kPoolSequenceGradient,
  kAttend,
  kAttendGradients,
  kElementLoss,
  // From here on, training alone.
  kLinearGradients,
  kEmbeddingGradient,
  kSoftmaxCrossEntropy,
  // Updates in place.
  kAssign,
  kAddScaled,
  kMomentum,
  kAdam,
  kRmsProp,
  kAdagrad,
  kWeightDecay,
  kClip,
};

template <typename T>
struct OperationOperands {
  T* data[kMaxOperands];  // results, then the operands that are read; null if absent
  ptrdiff_t count;        // elements of the first
  // Lengths, null if every row has all steps; or class ids, which were checked.
  const int32_t* integers;
  // Sizes, the index of a rule, or scalars, in the order given at each operation.
  double numbers[kMaxNumbers];

  ptrdiff_t size(int k) const { return static_cast<ptrdiff_t>(numbers[k]); }

  // Steps of a row, clamped to [0, T]: lengths come from JavaScript and can change until the job runs, and addresses
  // depend on them.
  ptrdiff_t length(ptrdiff_t row, ptrdiff_t time) const {
    return integers == nullptr ? time : std::clamp<ptrdiff_t>(integers[row], 0, time);
  }
};

// Results are overwritten whole; an embedding's gradient is added to, and updates change their operands.
template <typename T>
void RunOperation(const Engine<T>& engine, Operation operation, const OperationOperands<T>& on);

}  // namespace cudnn_rnn
