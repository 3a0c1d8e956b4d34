// One time step of one layer of a stream: both products of a panel follow each other, with one loop of the threads for
// both, since the next layer needs only h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "passes/batch_rows.h"
#include "passes/recurrent_panels.h"
#include "passes/recurrent_step.h"
#include "threads/shared_loops.h"
#include "weights/network.h"
#include "weights/params.h"

namespace cudnn_rnn {

// The operands of one thread. Every panel multiplies by x and then by h: one place for both would be filled twice for
// each panel.
struct OperandCopies {
  RowsCopy input;
  RowsCopy state;  // h, then with a projection o·tanh(c)
};

template <typename T>
struct LayerStep {
  const Network<T>& network;
  const KernelTable<T>& kernels;
  const Params<T>& params;
  const LayerLayout& layout;
  BatchRows rows;
  const T* x;  // [rows]
  ptrdiff_t x_stride;
  const T* h_previous;       // [rows][padded columns]
  T* h;                      // likewise
  T* cells;                  // of all rows of the batch; null without c
  const int32_t* cell_rows;  // null if the rows begin at `cells`
  T* state;                  // [B][padded columns], where h is copied to as well; null for none
  T* output;                 // [rows][columns]; null but for the last layer
  T* unprojected;            // [rows][padded units], with a projection
  T* z;                      // [1 + rows][z_width]: the calling thread's biases and pre-activations of a panel
  OperandCopies* copies;     // the calling thread's; null if no kernel copies rows
  // Version of h. h, its projection and x use consecutive versions, so each step advances by 4.
  uint64_t version;

  // The part of the calling thread. `backwards` as in SharedLoops.
  void Run(SharedLoops::Member* member, bool backwards) const;

 private:
  RecurrentStep<T> Recurrence() const;
  void RunPanels(SharedLoops::Member* member, bool backwards) const;
  void RunPanel(const RecurrentStep<T>& step, RecurrentPanels<T>* panels, ptrdiff_t panel) const;
  template <typename Kernel>
  void RunRow(SharedLoops::Member* member, const Kernel& kernel, bool backwards) const;
  void Project(SharedLoops::Member* member, const RecurrentStep<T>& step) const;
  void CopyColumns(Columns columns) const;

  // Another left operand than h, so another number: the kernel must copy it again.
  uint64_t input_version() const { return version + 2; }
  RowsCopy* input_copy() const { return copies == nullptr ? nullptr : &copies->input; }
  RowsCopy* state_copy() const { return copies == nullptr ? nullptr : &copies->state; }
};

}  // namespace cudnn_rnn
