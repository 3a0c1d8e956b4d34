#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "threads/engine.h"

namespace cudnn_rnn {

// The operations of layers around a recurrent network. Equations: LayerOps in packages/ops and
// packages/reference/src/layer_ops.ts.

inline constexpr size_t kMaxLayerOperands = 6;
inline constexpr size_t kMaxLayerNumbers = 8;

// The order of LAYER_OPS in packages/ops/src/executor/kernels/kernel_boundary.ts, with the operands and numbers
// of each.
enum class LayerOp {
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
};

template <typename T>
struct LayerOperands {
  T* data[kMaxLayerOperands];
  const int32_t* lengths;  // null if every row has all steps
  // Sizes, the index of a rule, or scalars, in the order given at each operation.
  double numbers[kMaxLayerNumbers];

  ptrdiff_t size(int k) const { return static_cast<ptrdiff_t>(numbers[k]); }

  // Steps of a row, clamped to [0, T]: lengths come from JavaScript and can change until the job runs, and addresses
  // depend on them.
  ptrdiff_t length(ptrdiff_t row, ptrdiff_t time) const {
    return lengths == nullptr ? time : std::clamp<ptrdiff_t>(lengths[row], 0, time);
  }
};

// Results are overwritten whole.
template <typename T>
void RunLayerOp(const Engine<T>& engine, LayerOp op, const LayerOperands<T>& operands);

}  // namespace cudnn_rnn
