#include "dense/layer_ops.h"

#include <algorithm>

#include "dense/activation.h"
#include "dense/attention.h"
#include "dense/dense_ops.h"
#include "dense/element_loss.h"
#include "dense/layer_dropout.h"
#include "dense/layer_norm.h"
#include "dense/sequence_ops.h"

namespace cudnn_rnn {
namespace {

// multiply: y, a, b; count
// y = a ⊙ b. The gradients are two more products: da = dy ⊙ b and db = dy ⊙ a.
template <typename T>
void Multiply(const Engine<T>& engine, const LayerOperands<T>& on) {
  T* y = on.data[0];
  const T *a = on.data[1], *b = on.data[2];
  ForEach(engine, on.size(0), kElementwisePart, [&](ptrdiff_t begin, ptrdiff_t end) {
    for (ptrdiff_t k = begin; k < end; k++) y[k] = a[k] * b[k];
  });
}

// copyColumns: y, x; rows, count, columns of y, where in y, columns of x, where in x
// Joins and splits of the last axis: y may be wider or narrower than x.
template <typename T>
void CopyColumns(const Engine<T>& engine, const LayerOperands<T>& on) {
  T* y = on.data[0];
  const T* x = on.data[1];
  const ptrdiff_t count = on.size(1), to = on.size(2), from = on.size(4);
  ForEach(engine, on.size(0), RowsPerPart(count), [&](ptrdiff_t begin, ptrdiff_t end) {
    for (ptrdiff_t n = begin; n < end; n++) std::copy_n(x + n * from + on.size(5), count, y + n * to + on.size(3));
  });
}

}  // namespace

// The one entry point, so that the binding needs no function for each operation.
template <typename T>
void RunLayerOp(const Engine<T>& engine, LayerOp op, const LayerOperands<T>& operands) {
  switch (op) {
    case LayerOp::kActivate:
      return Activate(engine, operands);
    case LayerOp::kActivationGradient:
      return ActivationGradient(engine, operands);
    case LayerOp::kMultiply:
      return Multiply(engine, operands);
    case LayerOp::kDropout:
      return LayerDropout(engine, operands);
    case LayerOp::kLayerNorm:
      return LayerNorm(engine, operands);
    case LayerOp::kLayerNormGradients:
      return LayerNormGradients(engine, operands);
    case LayerOp::kCopyColumns:
      return CopyColumns(engine, operands);
    case LayerOp::kReverseSequence:
      return ReverseSequence(engine, operands);
    case LayerOp::kPoolSequence:
      return PoolSequence(engine, operands);
    case LayerOp::kPoolSequenceGradient:
      return PoolSequenceGradient(engine, operands);
    case LayerOp::kAttend:
      return Attend(engine, operands);
    case LayerOp::kAttendGradients:
      return AttendGradients(engine, operands);
    case LayerOp::kElementLoss:
      return ElementLossOf(engine, operands);
  }
}

template void RunLayerOp(const Engine<float>&, LayerOp, const LayerOperands<float>&);
template void RunLayerOp(const Engine<double>&, LayerOp, const LayerOperands<double>&);

}  // namespace cudnn_rnn
