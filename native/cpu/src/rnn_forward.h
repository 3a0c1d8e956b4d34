#ifndef CUDNN_RNN_CPU_RNN_FORWARD_H_
#define CUDNN_RNN_CPU_RNN_FORWARD_H_

#include <atomic>

#include "memory_block.h"
#include "network.h"
#include "recurrent_step.h"
#include "rnn_tape.h"
#include "thread_pool.h"

namespace cudnn_rnn {

// What computes a pass.
template <typename T>
struct Engine {
  ThreadPool* pool;
  const KernelTable<T>* kernels;
  BlockCache* blocks;
  // Set from elsewhere to abandon a pass at its next step; its results are then undefined.
  const std::atomic<bool>* cancelled;
};

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
  T* output;                 // [T,B,D·C], zeros on entry
  T* h_final;                // [L·D,B,C]
  T* c_final;                // [L·D,B,H], LSTM only
  Tape<T>* tape;             // null in inference; otherwise filled
};

template <typename T>
void RunForward(const Engine<T>& engine, const ForwardPass<T>& pass);

// Threads worth waking for a step of `operations` multiplications and additions.
int MembersFor(const ThreadPool& pool, double operations);

}  // namespace cudnn_rnn

#endif  // CUDNN_RNN_CPU_RNN_FORWARD_H_
