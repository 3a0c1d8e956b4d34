#include "memory/arena.h"
#include "module.h"
#include "passes/rnn_backward.h"
#include "passes/rnn_forward.h"

namespace cudnn_rnn {
namespace {

// At most the bytes of a pass over `rows` = T·B rows beside its operands, its tape included.
template <typename T>
double PassBytes(const Network<T>& network, double time, double batch) {
  const double units = static_cast<double>(network.panels() * network.z_width() + 4 * network.padded_units() +
                                           2 * network.padded_columns());
  const double inputs = static_cast<double>(network.options().input_size + 4 * network.output_size());
  return sizeof(T) * (time + 1) * batch * network.pseudo_layers() * (units + inputs);
}

}  // namespace

// An empty tape; its memory is taken by the forward that it is given to.
CUDNN_RNN_EXPORT(tapeNew) void* TapeNew() {
  return OfElementType([&]<typename T>() -> void* { return new Tape<T>(); });
}

CUDNN_RNN_EXPORT(tapeFree) void TapeFree(void* tape) {
  OfElementType([&]<typename T>() {
    auto* filled = static_cast<Tape<T>*>(tape);
    TheModule().blocks.GiveBack(std::move(filled->memory));
    delete filled;
  });
}

// Bytes of a tape that a forward has filled.
CUDNN_RNN_EXPORT(tapeBytes) size_t TapeBytes(const void* tape) {
  return OfElementType([&]<typename T>() { return static_cast<const Tape<T>*>(tape)->memory.bytes(); });
}

// Operands as in ForwardPass (passes/rnn_pass.h). tape: null in inference. quantized: null, or the weights to read
// instead.
CUDNN_RNN_EXPORT(forward)
void Forward(const void* network, double time, double batch, const void* input, const void* h, const void* c,
             const void* params, const void* quantized, const int32_t* lengths, double dropout_position, void* output,
             void* h_final, void* c_final, void* tape) {
  OfElementType([&]<typename T>() {
    ForwardPass<T> pass{};
    pass.network = static_cast<const Network<T>*>(network);
    CheckBytes(PassBytes(*pass.network, time, batch));
    pass.time = static_cast<ptrdiff_t>(time);
    pass.batch = static_cast<ptrdiff_t>(batch);
    pass.input = static_cast<const T*>(input);
    pass.h = static_cast<const T*>(h);
    pass.c = static_cast<const T*>(c);
    pass.params = {static_cast<const T*>(params), static_cast<const QuantizedWeights*>(quantized)};
    pass.lengths = lengths;
    pass.dropout_position = static_cast<uint64_t>(dropout_position);
    pass.output = static_cast<T*>(output);
    pass.h_final = static_cast<T*>(h_final);
    pass.c_final = static_cast<T*>(c_final);
    pass.tape = static_cast<Tape<T>*>(tape);
    if (pass.tape != nullptr) {
      pass.tape->time = pass.time;
      pass.tape->batch = pass.batch;
      if (lengths != nullptr) pass.tape->lengths.assign(lengths, lengths + pass.batch);
    }
    RunForward(EngineOf<T>(), pass);
  });
}

// Operands as in BackwardPass.
CUDNN_RNN_EXPORT(backward)
void Backward(const void* network, const void* input, const void* params, void* tape, const void* d_output,
              const void* dh_final, const void* dc_final, void* d_input, void* dh, void* dc, void* d_params) {
  OfElementType([&]<typename T>() {
    BackwardPass<T> pass{};
    pass.network = static_cast<const Network<T>*>(network);
    pass.input = static_cast<const T*>(input);
    pass.params = static_cast<const T*>(params);
    pass.tape = static_cast<Tape<T>*>(tape);
    CheckBytes(PassBytes(*pass.network, static_cast<double>(pass.tape->time), static_cast<double>(pass.tape->batch)));
    pass.d_output = static_cast<const T*>(d_output);
    pass.dh_final = static_cast<const T*>(dh_final);
    pass.dc_final = static_cast<const T*>(dc_final);
    pass.d_input = static_cast<T*>(d_input);
    pass.dh = static_cast<T*>(dh);
    pass.dc = static_cast<T*>(dc);
    pass.d_params = static_cast<T*>(d_params);
    RunBackward(EngineOf<T>(), pass);
  });
}

}  // namespace cudnn_rnn
