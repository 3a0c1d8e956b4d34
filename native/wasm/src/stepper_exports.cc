#include "module.h"
#include "passes/rnn_stepper.h"

namespace cudnn_rnn {

// format: of the weights that it is run with.
CUDNN_RNN_EXPORT(stepperNew) void* StepperNew(const Network<Element>* network, double batch, int format) {
  // Three states and the pre-activations of a layer.
  const ptrdiff_t columns = 3 * network->padded_columns() + network->padded_units();
  CheckBytes(sizeof(Element) * batch * network->pseudo_layers() *
             static_cast<double>(columns + network->panels() * network->z_width()));
  return new Stepper<Element>(*network, static_cast<ptrdiff_t>(batch), TheEngine(), static_cast<WeightFormat>(format));
}

CUDNN_RNN_EXPORT(stepperFree) void StepperFree(Stepper<Element>* stepper) { delete stepper; }

CUDNN_RNN_EXPORT(step)
void Step(Stepper<Element>* stepper, const Element* params, const QuantizedWeights* quantized, const Element* input,
          Element* output, ptrdiff_t steps) {
  stepper->Run(TheEngine(), {params, quantized}, input, output, steps);
}

CUDNN_RNN_EXPORT(stepRows)
void StepRows(Stepper<Element>* stepper, const Element* params, const QuantizedWeights* quantized, const int32_t* rows,
              ptrdiff_t count, const Element* input, Element* output) {
  stepper->RunRows(TheEngine(), {params, quantized}, rows, count, input, output);
}

CUDNN_RNN_EXPORT(resetRow) void ResetRow(Stepper<Element>* stepper, ptrdiff_t row) { stepper->states().ResetRow(row); }

// rows: null for the first `count` rows
CUDNN_RNN_EXPORT(moveState)
void MoveState(Stepper<Element>* stepper, Element* h, Element* c, bool into, const int32_t* rows, ptrdiff_t count) {
  stepper->states().Move(h, c, into, {rows, 0, count});
}

}  // namespace cudnn_rnn
