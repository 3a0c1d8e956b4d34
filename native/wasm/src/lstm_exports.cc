#include "module.h"
#include "passes/lstm_sequence.h"

namespace cudnn_rnn {
namespace {

// The operands of both passes, in the order of LSTM_OPERANDS in packages/wasm/src/wasm_executor.ts.
template <typename T>
LstmSequence<T> SequenceOf(const double* sizes, void* const* operands) {
  LstmSequence<T> sequence{};
  sequence.time = static_cast<ptrdiff_t>(sizes[0]);
  sequence.batch = static_cast<ptrdiff_t>(sizes[1]);
  sequence.units = static_cast<ptrdiff_t>(sizes[2]);
  sequence.forget_bias = static_cast<T>(sizes[3]);
  sequence.epsilon = sizes[4];
  sequence.gate_activation = sizes[5] == 0 ? GateActivation::kSigmoid : GateActivation::kHardSigmoid;
  sequence.kernel = static_cast<const T*>(operands[0]);
  sequence.lengths = static_cast<const int32_t*>(operands[1]);
  sequence.dropout = static_cast<const T*>(operands[2]);
  sequence.gamma = static_cast<const T*>(operands[3]);
  sequence.beta = static_cast<const T*>(operands[4]);
  sequence.z = static_cast<T*>(operands[5]);
  sequence.hidden = static_cast<T*>(operands[6]);
  sequence.cells = static_cast<T*>(operands[7]);
  sequence.normalized_c = static_cast<T*>(operands[8]);
  sequence.inverses = static_cast<T*>(operands[9]);
  return sequence;
}

}  // namespace

// sizes: time, batch, units, forget bias, epsilon, whether the gates are hard sigmoids
CUDNN_RNN_EXPORT(lstmForward) void LstmForward(const double* sizes, void* const* operands) {
  OfElementType([&]<typename T>() { RunLstmForward(EngineOf<T>(), SequenceOf<T>(sizes, operands)); });
}

CUDNN_RNN_EXPORT(lstmBackward)
void LstmBackward(const double* sizes, void* const* operands, const void* d_outputs, void* dh, void* dc, void* d_gamma,
                  void* d_beta) {
  OfElementType([&]<typename T>() {
    LstmSequenceGradients<T> gradients{};
    gradients.d_output = static_cast<const T*>(d_outputs);
    gradients.dh = static_cast<T*>(dh);
    gradients.dc = static_cast<T*>(dc);
    gradients.d_gamma = static_cast<T*>(d_gamma);
    gradients.d_beta = static_cast<T*>(d_beta);
    RunLstmBackward(EngineOf<T>(), SequenceOf<T>(sizes, operands), gradients);
  });
}

}  // namespace cudnn_rnn
