#include "memory/arena.h"
#include "module.h"
#include "passes/rnn_pass.h"

namespace cudnn_rnn {
namespace {

// At most the bytes of a pass over `rows` = T·B rows beside its operands, its tape included.
double PassBytes(const Network<Element>& network, double time, double batch) {
  const double units = static_cast<double>(network.panels() * network.z_width() + 4 * network.padded_units() +
                                           2 * network.padded_columns());
  const double inputs = static_cast<double>(network.options().input_size + 4 * network.output_size());
  return sizeof(Element) * (time + 1) * batch * network.pseudo_layers() * (units + inputs);
}

}  // namespace

// An empty tape; its memory is taken by the forward that it is given to.
CUDNN_RNN_EXPORT(tapeNew) void* TapeNew() { return new Tape<Element>(); }

CUDNN_RNN_EXPORT(tapeFree) void TapeFree(Tape<Element>* tape) {
  TheModule().blocks.GiveBack(std::move(tape->memory));
  delete tape;
}

// Bytes of a tape that a forward has filled.
CUDNN_RNN_EXPORT(tapeBytes) size_t TapeBytes(const Tape<Element>* tape) { return tape->memory.bytes(); }

// Operands as in ForwardPass (passes/rnn_pass.h). tape: null in inference. quantized: null, or the weights to read
// instead.
CUDNN_RNN_EXPORT(forward)
void Forward(const Network<Element>* network, double time, double batch, const Element* input, const Element* h,
             const Element* c, const Element* params, const QuantizedWeights* quantized, const int32_t* lengths,
             double dropout_position, Element* output, Element* h_final, Element* c_final, Tape<Element>* tape) {
  CheckBytes(PassBytes(*network, time, batch));
  const ForwardPass<Element> pass{network,
                                  static_cast<ptrdiff_t>(time),
                                  static_cast<ptrdiff_t>(batch),
                                  input,
                                  h,
                                  c,
                                  {params, quantized},
                                  lengths,
                                  static_cast<uint64_t>(dropout_position),
                                  output,
                                  h_final,
                                  c_final,
                                  tape};
  if (tape != nullptr) {
    tape->time = pass.time;
    tape->batch = pass.batch;
    if (lengths != nullptr) tape->lengths.assign(lengths, lengths + pass.batch);
  }
  RunForward(TheEngine(), pass);
}

// Operands as in BackwardPass.
CUDNN_RNN_EXPORT(backward)
void Backward(const Network<Element>* network, const Element* input, const Element* params, Tape<Element>* tape,
              const Element* d_output, const Element* dh_final, const Element* dc_final, Element* d_input, Element* dh,
              Element* dc, Element* d_params) {
  CheckBytes(PassBytes(*network, static_cast<double>(tape->time), static_cast<double>(tape->batch)));
  RunBackward<Element>(TheEngine(),
                       {network, input, params, tape, d_output, dh_final, dc_final, d_input, dh, dc, d_params});
}

}  // namespace cudnn_rnn
