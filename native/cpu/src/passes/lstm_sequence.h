// The recurrence of TensorFlow's LSTM cells over a whole sequence, with layer normalization and dropout of the
// candidate or without. It reads the cell's kernel as TensorFlow stores it, and works in arrays that JavaScript owns:
// products over all steps at once (the input side, the gradients of kernel and input) are the caller's.
//
// Letters: T time steps, B batch, H units. Gates in the kernel's order i, g (TensorFlow's j), f, o.
#pragma once

#include <cstddef>
#include <cstdint>

#include "threads/engine.h"

namespace cudnn_rnn {

template <typename T>
struct LstmSequence {
  const T* kernel;  // [H,4H], the recurrent rows of the cell's kernel
  ptrdiff_t time;
  ptrdiff_t batch;
  ptrdiff_t units;
  const int32_t* lengths;          // [B], 0…T each; null for T everywhere
  GateActivation gate_activation;  // kSigmoid with normalization
  T forget_bias;
  const T* dropout;  // [T,B,H] factors of g; null for none
  const T* gamma;    // [5][H] of i g f o c'; null without normalization
  const T* beta;     // [5][H]
  double epsilon;

  T* z;             // [T·B,4H]: x·W + b for the forward, the gradients of all pre-activations after the backward
  T* hidden;        // [(T+1)·B,H], the first B rows given; rows that have ended repeat their last state
  T* cells;         // likewise
  T* normalized_c;  // [T·B,H], with norms
  T* inverses;      // [T·B,5], with norms
};

// Gradients of the loss with respect to the outputs and the initial state.
template <typename T>
struct LstmSequenceGradients {
  const T* d_output;  // [T,B,H]
  T* dh;              // [B,H] of the final state; on return of the initial one
  T* dc;              // [B,H]
  T* d_gamma;         // [5][H], added to; null without normalization
  T* d_beta;          // [5][H]
};

// Fills z, hidden, cells and, with norms, normalized_c and inverses. Throws std::bad_alloc. Not for use by two threads
// at once: it runs on the executor's pool.
template <typename T>
void RunLstmForward(const Engine<T>& engine, const LstmSequence<T>& sequence);

// After RunLstmForward with the same sequence. Overwrites z; kernel and input gradients are products of it.
template <typename T>
void RunLstmBackward(const Engine<T>& engine, const LstmSequence<T>& sequence,
                     const LstmSequenceGradients<T>& gradients);

}  // namespace cudnn_rnn
