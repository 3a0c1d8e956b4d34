// Connectionist temporal classification. Equations: packages/ops/src/executor/host/ctc_loss.ts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "threads/engine.h"

namespace cudnn_rnn {

// The result of a row whose labels have no alignment (T is too small), in the order of INFEASIBLE_ROWS in
// packages/ops/src/executor/kernels/kernel_boundary.ts: loss infinity and gradient softmax, loss infinity and gradient
// NaN, zeros.
enum class InfeasibleRows : int { kInfinite, kNan, kZero };

// Letters: T time steps, B batch, K classes, S labels at most.
template <typename T>
struct CtcProblem {
  ptrdiff_t time;
  ptrdiff_t batch;
  ptrdiff_t classes;
  ptrdiff_t max_labels;
  const T* logits;               // [T,B,K]
  const int32_t* labels;         // [B,S]
  const int32_t* label_lengths;  // [B]
  const int32_t* logit_lengths;  // [B]
  const double* row_weights;     // [B]; a row of 0 is left out
  int32_t blank;
  bool merge_repeated;
  InfeasibleRows infeasible;
  T* row_losses;  // [B]
  T* gradient;    // [T,B,K], gradient of the loss with respect to the logits
};

// The weighted sum of the rows' losses; every element of row_losses and gradient is written. Rows are independent: the
// number of threads changes no bit.
template <typename T>
T CtcLoss(const Engine<T>& engine, const CtcKernels& kernels, const CtcProblem<T>& problem);

}  // namespace cudnn_rnn
