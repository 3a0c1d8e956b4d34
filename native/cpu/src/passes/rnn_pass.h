// The operands of one forward and one backward pass, as plain structs: the interface between the binding, which fills
// them, and the files that compute a part of a pass. Shapes in letters: T time steps, B batch, I input size, H units, C
// columns of h (H, or the projection size), L layers, D directions. All arrays are row-major.
#pragma once

#include <cstddef>
#include <cstdint>

#include "passes/rnn_tape.h"
#include "passes/time_order.h"
#include "threads/engine.h"
#include "weights/network.h"
#include "weights/params.h"

namespace cudnn_rnn {

// Pointers are into arrays of JavaScript, or into a stream's memory; the job that holds this keeps them alive.
template <typename T>
struct ForwardPass {
  const Network<T>* network;
  ptrdiff_t time;
  ptrdiff_t batch;
  const T* input;  // [T,B,I]
  const T* h;      // [L·D,B,C] or null for zeros
  const T* c;      // [L·D,B,H] or null for zeros
  Params<T> params;
  const int32_t* lengths;  // [B] or null for T everywhere
  // Words of the generator used before this pass; the first mask begins there.
  uint64_t dropout_position;
  T* output;      // [T,B,D·C]
  T* h_final;     // [L·D,B,C]
  T* c_final;     // [L·D,B,H], LSTM only
  Tape<T>* tape;  // null in inference; otherwise filled

  bool is_training() const { return tape != nullptr; }
  // Whether a layer's output serves as its states h: in inference, with rows of equal length. A step then reads h where
  // the step before wrote its output, and copies nothing. A projection writes whole chunks.
  bool output_is_hidden() const {
    return !is_training() && lengths == nullptr &&
           (network->options().projection == 0 || network->columns() == network->padded_columns());
  }
};

template <typename T>
struct BackwardPass {
  const Network<T>* network;
  const T* input;  // [T,B,I], the input of the forward
  const T* params;
  Tape<T>* tape;      // consumed: its pre-activations are overwritten with their gradients
  const T* d_output;  // gradients of the loss with respect to the outputs, in their shapes; null for zeros
  const T* dh_final;
  const T* dc_final;
  T* d_input;   // [T,B,I]
  T* dh;        // [L·D,B,C]
  T* dc;        // [L·D,B,H], LSTM only
  T* d_params;  // opaque

  // Rows of a panel of pre-activations. A panel holds all steps, so a product over T·B rows reads one contiguous block.
  ptrdiff_t rows() const { return tape->time * tape->batch; }
  // The number of the products' left operands from a row of a pseudo-layer on (PanelProduct::version): the first of
  // three.
  uint64_t VersionOf(int pseudo_layer, ptrdiff_t row) const {
    return 3 * static_cast<uint64_t>(pseudo_layer * rows() + row) + 1;
  }
  TimeOrder order(int direction) const {
    return {tape->time, tape->lengths.empty() ? nullptr : tape->lengths.data(), direction};
  }
};

// Runs all layers over all steps. In training it allocates the memory of `pass.tape` and fills it. Throws
// std::bad_alloc.
template <typename T>
void RunForward(const Engine<T>& engine, const ForwardPass<T>& pass);

// Back-propagation through time over all layers (Werbos 1990, https://doi.org/10.1109/5.58337). Writes every gradient
// of `pass` and leaves the tape's pre-activations overwritten: a tape serves one backward. Throws std::bad_alloc.
template <typename T>
void RunBackward(const Engine<T>& engine, const BackwardPass<T>& pass);

}  // namespace cudnn_rnn
