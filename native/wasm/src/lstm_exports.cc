#include "module.h"
#include "passes/lstm_sequence.h"

namespace cudnn_rnn {
namespace {

// The operands of both passes, in the order of LSTM_OPERANDS in packages/wasm/src/wasm_executor.ts.
LstmSequence<Element> SequenceOf(const double* sizes, void* const* operands) {
  LstmSequence<Element> sequence{};
  sequence.time = static_cast<ptrdiff_t>(sizes[0]);
  sequence.batch = static_cast<ptrdiff_t>(sizes[1]);
  sequence.units = static_cast<ptrdiff_t>(sizes[2]);
  sequence.forget_bias = static_cast<Element>(sizes[3]);
  sequence.epsilon = sizes[4];
  sequence.gate_activation = sizes[5] == 0 ? GateActivation::kSigmoid : GateActivation::kHardSigmoid;
  sequence.kernel = static_cast<const Element*>(operands[0]);
  sequence.lengths = static_cast<const int32_t*>(operands[1]);
  sequence.dropout = static_cast<const Element*>(operands[2]);
  sequence.gamma = static_cast<const Element*>(operands[3]);
  sequence.beta = static_cast<const Element*>(operands[4]);
  sequence.z = static_cast<Element*>(operands[5]);
  sequence.hidden = static_cast<Element*>(operands[6]);
  sequence.cells = static_cast<Element*>(operands[7]);
  sequence.normalized_c = static_cast<Element*>(operands[8]);
  sequence.inverses = static_cast<Element*>(operands[9]);
  return sequence;
}

}  // namespace

// sizes: time, batch, units, forget bias, epsilon, whether the gates are hard sigmoids
CUDNN_RNN_EXPORT(lstmForward) void LstmForward(const double* sizes, void* const* operands) {
  RunLstmForward(TheEngine(), SequenceOf(sizes, operands));
}

CUDNN_RNN_EXPORT(lstmBackward)
void LstmBackward(const double* sizes, void* const* operands, const Element* d_outputs, Element* dh, Element* dc,
                  Element* d_gamma, Element* d_beta) {
  RunLstmBackward(TheEngine(), SequenceOf(sizes, operands), {d_outputs, dh, dc, d_gamma, d_beta});
}

}  // namespace cudnn_rnn
