// Inference one time step at a time with the state carried inside: the path of latency. A step of H 128 takes a few
// microseconds, so nothing is queued, allocated or woken that is not needed.
//
// A step of few rows shares the panels of each layer between the threads, which synchronize after every layer. A step
// of many rows cuts them into blocks, each of which one thread takes through all layers alone: no thread waits for
// another, and a block stays in the thread's cache. A step of some rows of the batch reads and writes their states
// alone: c in place; h is copied side by side first, as a product reads rows at equal distances, and written back panel
// by panel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "memory/arena.h"
#include "memory/memory_block.h"
#include "passes/batch_rows.h"
#include "passes/stepper_states.h"
#include "threads/engine.h"
#include "threads/shared_loops.h"
#include "weights/network.h"
#include "weights/params.h"

namespace cudnn_rnn {

template <typename T>
struct LayerStep;

// The operands of one thread. Every panel multiplies by x and then by h: one place for both would be filled twice for
// each panel.
struct OperandCopies {
  RowsCopy input;
  RowsCopy state;  // h, then with a projection o·tanh(c)
};

// Not thread-safe: one step at a time. The network and the engine's pool must outlive it.
template <typename T>
class Stepper {
 public:
  // Unidirectional networks only. `format` is that of the weights that it runs with.
  Stepper(const Network<T>& network, ptrdiff_t batch, const Engine<T>& engine, WeightFormat format);

  // input [T,B,I] → output [T,B,C]
  void Run(const Engine<T>& engine, const Params<T>& params, const T* input, T* output, ptrdiff_t steps);
  // One step of `count` distinct rows of the batch: input [count,I] → output [count,C]
  // Rows must be distinct: two threads could otherwise write the state of one row.
  void RunRows(const Engine<T>& engine, const Params<T>& params, const int32_t* rows, ptrdiff_t count, const T* input,
               T* output) {
    RunBlocks(engine, params, {rows, 0, count}, input, output, 1);
  }

  StepperStates<T>& states() { return states_; }

 private:
  // Scratch memory of one block of rows.
  struct Scratch {
    T* unprojected;  // [R][padded units]
    T* h_previous;   // [L][R][padded columns]: of the rows of the block
    T* h[2];         // [R][padded columns]: of this layer and of the one below
  };
  // One thread's place in a run.
  struct Place {
    SharedLoops::Member* member;
    int index;
  };

  void Carve(Arena* arena);
  ptrdiff_t BlocksOf(ptrdiff_t count) const;
  double OperationsOfLayer(ptrdiff_t rows) const;
  template <typename Body>
  void RunShared(const Engine<T>& engine, ptrdiff_t rows, const Body& body);
  void RunBlocks(const Engine<T>& engine, const Params<T>& params, const BatchRows& rows, const T* input, T* output,
                 ptrdiff_t steps);
  void StepBatch(const Place& place, const Engine<T>& engine, const Params<T>& params, const T* input, T* output,
                 ptrdiff_t t);
  void StepBlock(const Place& place, const Engine<T>& engine, const Params<T>& params, const BatchRows& rows,
                 const Scratch& scratch, const T* input, T* output, uint64_t version);
  LayerStep<T> StepOf(const Place& place, const Engine<T>& engine, const Params<T>& params, size_t layer,
                      const BatchRows& rows, const Scratch& scratch);

  const Network<T>& network_;
  const ptrdiff_t batch_;
  const int threads_;
  StepperStates<T> states_;
  SharedLoops loops_;
  std::vector<Scratch> scratch_;  // by thread, if rows are cut into blocks
  // By thread: [1 + R][z_width], the biases and the pre-activations of the panel that it computes. One panel of 128
  // rows is as large as the first-level cache; of all panels, the pre-activations would pass through the second.
  std::vector<T*> z_;
  const WeightFormat format_;
  std::vector<OperandCopies> copies_;  // by thread; none if no kernel copies rows
  uint64_t version_ = 4;               // of the next step's states
  MemoryBlock memory_;
};

}  // namespace cudnn_rnn
