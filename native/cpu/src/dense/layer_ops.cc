#include "dense/layer_ops.h"

#include "dense/activation.h"
#include "dense/attention.h"
#include "dense/element_loss.h"
#include "dense/layer_dropout.h"
#include "dense/layer_norm.h"
#include "dense/sequence_ops.h"

namespace cudnn_rnn {

// The one entry point, so that the binding needs no function for each operation.
template <typename T>
void RunLayerOp(const Engine<T>& engine, LayerOp op, const LayerOperands<T>& operands) {
  switch (op) {
    case LayerOp::kActivate:
      return Activate(engine, operands);
    case LayerOp::kActivationGradient:
      return ActivationGradient(engine, operands);
    case LayerOp::kDropout:
      return LayerDropout(engine, operands);
    case LayerOp::kLayerNorm:
      return LayerNorm(engine, operands);
    case LayerOp::kLayerNormGradients:
      return LayerNormGradients(engine, operands);
    case LayerOp::kMaskSequence:
      return MaskSequence(engine, operands, false);
    case LayerOp::kReverseSequence:
      return MaskSequence(engine, operands, true);
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
