// What one pseudo-layer of a forward pass computes: one layer in one direction, time block by time block.
#pragma once

#include <cstddef>
#include <cstdint>

#include "passes/recurrent_step.h"
#include "passes/rnn_forward_memory.h"
#include "passes/rnn_forward_schedule.h"
#include "passes/rnn_pass.h"
#include "passes/time_order.h"
#include "threads/engine.h"
#include "threads/shared_loops.h"

namespace cudnn_rnn {

template <typename T>
class PseudoLayerForward {
 public:
  PseudoLayerForward(const Engine<T>& engine, const ForwardPass<T>& pass, int pseudo_layer,
                     const PseudoLayerMemory<T>& memory);

  // Brings the biases and the initial states into place. Rows without steps are done with that.
  void Start() const;

  // Whether its input must be gathered: if the time order is not the memory's.
  bool gathers() const { return memory_.record.own_input != nullptr; }
  // Brings the input of step n of a time block into time order, with zeros if a row has ended.
  void Gather(const TimeBlock& time_block, ptrdiff_t n) const;

  // z = x·Wᵀ + b of one panel, for the rows [first, last) of a time block's steps.
  void MultiplyInput(const TimeBlock& time_block, ptrdiff_t panel, ptrdiff_t first, ptrdiff_t last,
                     RowsCopy* rows_copy) const;

  // The recurrence, step by step. Every thread must call this.
  void RunSteps(SharedLoops::Member* member, const TimeBlock& time_block, RowsCopy* rows_copy) const;

 private:
  void StartStates() const;
  // The step of the rows [first, last) of the batch.
  RecurrentStep<T> StepAt(const TimeBlock& time_block, ptrdiff_t n, ptrdiff_t first, ptrdiff_t last,
                          RowsCopy* rows_copy) const;
  void FinishHidden(ptrdiff_t n, ptrdiff_t first, ptrdiff_t last, Columns columns) const;
  void FinishCells(ptrdiff_t n, ptrdiff_t first, ptrdiff_t last, Columns units) const;

  // The first step whose pre-activations and gathered input are held during a time block.
  ptrdiff_t FirstHeld(const TimeBlock& time_block) const { return is_training_ ? 0 : time_block.begin; }
  // Rows of z and of the gathered input before step n.
  ptrdiff_t RowsBefore(const TimeBlock& time_block, ptrdiff_t n) const {
    return (n - FirstHeld(time_block)) * pass_.batch;
  }
  // States before step n. Inference reads h from the output (ForwardPass::output_is_hidden) or alternates between two
  // h, because every panel of a step reads all of the old h while others write the new one, and keeps one c, which each
  // panel updates in place.
  T* HiddenAt(ptrdiff_t n) const {
    if (output_is_hidden_ && n > 0) return OutputAt(order_.TimeOf(n - 1, 0));
    return memory_.record.hidden + (is_training_ ? n : n & 1) * pass_.batch * network_.padded_columns();
  }
  // Elements between rows of h.
  ptrdiff_t HiddenStride() const { return output_is_hidden_ ? network_.output_size() : network_.padded_columns(); }
  // This direction's columns of the output.
  T* OutputAt(ptrdiff_t time) const {
    return memory_.output + time * pass_.batch * network_.output_size() + order_.direction * network_.columns();
  }
  T* CellsAt(ptrdiff_t n) const {
    if (memory_.record.cells == nullptr) return nullptr;
    return memory_.record.cells + (is_training_ ? n : 0) * pass_.batch * network_.padded_units();
  }
  // Version numbers of the products' left operands, by which kernels detect whether they have copied an operand
  // already: the inputs from a row on; the state before a step; that number plus one, the state that it projects.
  uint64_t InputVersion(ptrdiff_t row) const {
    return 4 * static_cast<uint64_t>(pseudo_layer_ * pass_.time * pass_.batch + row) + 1;
  }
  uint64_t StepVersion(ptrdiff_t n) const { return InputVersion(n * pass_.batch) + 1; }

  const Engine<T>& engine_;
  const ForwardPass<T>& pass_;
  const Network<T>& network_;
  const PseudoLayerMemory<T>& memory_;
  const int pseudo_layer_;
  const LayerLayout& layout_;
  const TimeOrder order_;
  const bool is_training_;
  const bool output_is_hidden_;
};

}  // namespace cudnn_rnn
