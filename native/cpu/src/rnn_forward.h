#ifndef CUDNN_RNN_CPU_RNN_FORWARD_H_
#define CUDNN_RNN_CPU_RNN_FORWARD_H_

#include <cstddef>
#include <cstdint>

#include "engine.h"
#include "network.h"
#include "recurrent_step.h"
#include "rnn_tape.h"

namespace cudnn_rnn {

template <typename T>
struct ForwardPass {
  const Network<T>* network;
  ptrdiff_t time;
  ptrdiff_t batch;
  const T* input;            // [T,B,I]
  const T* h;                // [L·D,B,C] or null for zeros
  const T* c;                // [L·D,B,H] or null for zeros
  Params<T> params;
  const int32_t* lengths;    // [B] or null for T everywhere
  uint64_t dropout_position;
  T* output;                 // [T,B,D·C]
  T* h_final;                // [L·D,B,C]
  T* c_final;                // [L·D,B,H], LSTM only
  Tape<T>* tape;             // null in inference; otherwise filled

  bool is_training() const { return tape != nullptr; }
};

template <typename T>
void RunForward(const Engine<T>& engine, const ForwardPass<T>& pass);

}  // namespace cudnn_rnn

#endif  // CUDNN_RNN_CPU_RNN_FORWARD_H_
