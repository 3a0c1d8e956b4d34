#ifndef CUDNN_RNN_CPU_RNN_BACKWARD_H_
#define CUDNN_RNN_CPU_RNN_BACKWARD_H_

#include "engine.h"
#include "network.h"
#include "rnn_tape.h"
#include "walking_order.h"

namespace cudnn_rnn {

template <typename T>
struct BackwardPass {
  const Network<T>* network;
  const T* input;     // [T,B,I], of the forward
  const T* params;
  Tape<T>* tape;      // consumed: its pre-activations are overwritten with their gradients
  const T* d_output;  // gradients of the loss by the results; null for zeros
  const T* dh_final;
  const T* dc_final;
  T* d_input;         // [T,B,I]
  T* dh;              // [L·D,B,C]
  T* dc;              // [L·D,B,H], LSTM only
  T* d_params;        // opaque

  // Rows of a panel of pre-activations.
  ptrdiff_t rows() const { return tape->time * tape->batch; }
  WalkingOrder order(int direction) const {
    return {tape->time, tape->lengths.empty() ? nullptr : tape->lengths.data(), direction};
  }
};

template <typename T>
void RunBackward(const Engine<T>& engine, const BackwardPass<T>& pass);

}  // namespace cudnn_rnn

#endif  // CUDNN_RNN_CPU_RNN_BACKWARD_H_
