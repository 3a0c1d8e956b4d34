// The states that a stream carries from step to step.
#pragma once

#include <cstddef>
#include <vector>

#include "memory/arena.h"
#include "memory/memory_block.h"
#include "passes/batch_rows.h"
#include "weights/network.h"

namespace cudnn_rnn {

// h and c of all layers, zeros at first.
template <typename T>
class StepperStates {
 public:
  // The states of one layer; rows of h are padded with zeros to whole chunks.
  struct Layer {
    T* hidden[2];  // [B][padded columns]; the second null unless they alternate
    T* cells;      // [B][padded units]; null without c
    int now;       // which of the two h is the present one
  };

  // alternate: steps of the whole batch write another h than they read.
  StepperStates(const Network<T>& network, ptrdiff_t batch, bool alternate);

  const std::vector<Layer>& layers() const { return layers_; }
  // After `steps` steps of the whole batch.
  void Advance(ptrdiff_t steps) {
    for (Layer& layer : layers_) layer.now = (layer.now + steps) & 1;
  }

  // The state of one row becomes zeros, in all layers, as for a new sequence.
  void ResetRow(ptrdiff_t row);
  // Copies the states h [L,R,C] and c [L,R,H] (null without) of R rows out of the stream, or into it.
  void Move(T* h, T* c, bool into, const BatchRows& rows);

 private:
  void Carve(Arena* arena, ptrdiff_t batch, bool alternate);

  const Network<T>& network_;
  std::vector<Layer> layers_;
  MemoryBlock memory_;
};

}  // namespace cudnn_rnn
