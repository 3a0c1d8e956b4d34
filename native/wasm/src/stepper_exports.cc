#include "module.h"
#include "passes/rnn_stepper.h"

namespace cudnn_rnn {

// format: of the weights that it is run with.
CUDNN_RNN_EXPORT(stepperNew) void* StepperNew(const void* network, double batch, int format) {
  return OfElementType([&]<typename T>() -> void* {
    const auto& of = *static_cast<const Network<T>*>(network);
    // Three states and the pre-activations of a layer.
    CheckBytes(sizeof(T) * batch * of.pseudo_layers() *
               static_cast<double>(3 * of.padded_columns() + of.padded_units() + of.panels() * of.z_width()));
    return new Stepper<T>(of, static_cast<ptrdiff_t>(batch), EngineOf<T>(), static_cast<WeightFormat>(format));
  });
}

CUDNN_RNN_EXPORT(stepperFree) void StepperFree(void* stepper) {
  OfElementType([&]<typename T>() { delete static_cast<Stepper<T>*>(stepper); });
}

CUDNN_RNN_EXPORT(step)
void Step(void* stepper, const void* params, const void* quantized, const void* input, void* output, ptrdiff_t steps) {
  OfElementType([&]<typename T>() {
    const Params<T> of{static_cast<const T*>(params), static_cast<const QuantizedWeights*>(quantized)};
    static_cast<Stepper<T>*>(stepper)->Run(EngineOf<T>(), of, static_cast<const T*>(input), static_cast<T*>(output),
                                           steps);
  });
}

CUDNN_RNN_EXPORT(stepRows)
void StepRows(void* stepper, const void* params, const void* quantized, const int32_t* rows, ptrdiff_t count,
              const void* input, void* output) {
  OfElementType([&]<typename T>() {
    const Params<T> of{static_cast<const T*>(params), static_cast<const QuantizedWeights*>(quantized)};
    static_cast<Stepper<T>*>(stepper)->RunRows(EngineOf<T>(), of, rows, count, static_cast<const T*>(input),
                                               static_cast<T*>(output));
  });
}

CUDNN_RNN_EXPORT(resetRow) void ResetRow(void* stepper, ptrdiff_t row) {
  OfElementType([&]<typename T>() { static_cast<Stepper<T>*>(stepper)->states().ResetRow(row); });
}

// rows: null for the first `count` rows
CUDNN_RNN_EXPORT(moveState)
void MoveState(void* stepper, void* h, void* c, bool into, const int32_t* rows, ptrdiff_t count) {
  OfElementType([&]<typename T>() {
    static_cast<Stepper<T>*>(stepper)->states().Move(static_cast<T*>(h), static_cast<T*>(c), into, {rows, 0, count});
  });
}

}  // namespace cudnn_rnn
