// What one lane of a forward pass computes: one layer in one direction, stretch by stretch.
#ifndef CUDNN_RNN_CPU_RNN_FORWARD_LANE_H_
#define CUDNN_RNN_CPU_RNN_FORWARD_LANE_H_

#include <cstddef>
#include <cstdint>

#include "rnn_forward.h"
#include "rnn_forward_memory.h"
#include "rnn_forward_schedule.h"
#include "shared_loops.h"
#include "walking_order.h"

namespace cudnn_rnn {

template <typename T>
class ForwardLane {
 public:
  ForwardLane(const Engine<T>& engine, const ForwardPass<T>& pass, int pseudo_layer, const LaneMemory<T>& memory);

  // Brings the biases and the initial states into place. Rows without steps are done with that.
  void Start() const;

  // Whether its input must be gathered: where the order of walking is not that of time.
  bool gathers() const { return memory_.record.own_input != nullptr; }
  // Brings the input of step n of a stretch into walking order, with zeros where a row has ended.
  void Gather(const Stretch& stretch, ptrdiff_t n) const;

  // z = x·Wᵀ + b of one panel, for the rows [first, last) of a stretch's steps.
  void MultiplyInput(const Stretch& stretch, ptrdiff_t panel, ptrdiff_t first, ptrdiff_t last, Int8Rows* int8_rows) const;

  // The recurrence, step by step. Every thread must call this.
  void RunSteps(SharedLoops::Member* member, const Stretch& stretch, Int8Rows* int8_rows) const;

 private:
  void StartStates() const;
  RecurrentStep<T> StepAt(const Stretch& stretch, ptrdiff_t n, Int8Rows* int8_rows) const;
  void FinishHidden(ptrdiff_t n, Columns columns) const;
  void FinishCells(ptrdiff_t n, Columns units) const;

  // The first step whose pre-activations and gathered input are held during a stretch.
  ptrdiff_t FirstHeld(const Stretch& stretch) const { return is_training_ ? 0 : stretch.begin; }
  // Rows of z and of the gathered input before step n.
  ptrdiff_t RowsBefore(const Stretch& stretch, ptrdiff_t n) const { return (n - FirstHeld(stretch)) * pass_.batch; }
  // States before step n. Inference keeps two h, by turns, and one c.
  T* HiddenAt(ptrdiff_t n) const {
    return memory_.record.hidden + (is_training_ ? n : n & 1) * pass_.batch * network_.padded_columns();
  }
  T* CellsAt(ptrdiff_t n) const {
    if (memory_.record.cells == nullptr) return nullptr;
    return memory_.record.cells + (is_training_ ? n : 0) * pass_.batch * network_.padded_units();
  }
  // Numbers for what products multiply: inputs from a row on, the state before a step, and, one more, what it projects.
  uint64_t InputVersion(ptrdiff_t row) const {
    return 4 * static_cast<uint64_t>(pseudo_layer_ * pass_.time * pass_.batch + row) + 1;
  }
  uint64_t StepVersion(ptrdiff_t n) const { return InputVersion(n * pass_.batch) + 1; }

  const Engine<T>& engine_;
  const ForwardPass<T>& pass_;
  const Network<T>& network_;
  const LaneMemory<T>& memory_;
  const int pseudo_layer_;
  const LayerLayout& layout_;
  const WalkingOrder order_;
  const bool is_training_;
};

}  // namespace cudnn_rnn

#endif  // CUDNN_RNN_CPU_RNN_FORWARD_LANE_H_
