// Attention pooling: the mean of the steps of a sequence, weighted by a softmax of scores.
#pragma once

#include <algorithm>
#include <vector>

#include "dense/dense_ops.h"
#include "dense/operations.h"
#include "dense/softmax_line.h"

namespace cudnn_rnn {

// attend: output, weights, x, scores; time, batch, columns
// output [B,E] = Σ_t softmax_t(scores [T,B])·x [T,B,E], over each row's own steps.
template <typename T>
void Attend(const Engine<T>& engine, const OperationOperands<T>& on) {
  T *output = on.data[0], *weights = on.data[1];
  const T *x = on.data[2], *scores = on.data[3];
  const ptrdiff_t time = on.size(0), batch = on.size(1), columns = on.size(2);
  ForEach(engine, batch, RowsPerPart(time * columns), [&](ptrdiff_t begin, ptrdiff_t end) {
    for (ptrdiff_t b = begin; b < end; b++) {
      const ptrdiff_t length = on.length(b, time);
      // Scores of a row are a column of [T,B]: its elements are `batch` apart.
      // Over the row's own steps only; past its end the weights are 0, as a mask of -∞ before the softmax would give.
      SoftmaxLine(weights + b, scores + b, batch, length);
      for (ptrdiff_t t = length; t < time; t++) weights[t * batch + b] = T{0};
      std::fill_n(output + b * columns, columns, T{0});
      for (ptrdiff_t t = 0; t < length; t++) {
        const T weight = weights[t * batch + b];
        const T* row = x + (t * batch + b) * columns;
        for (ptrdiff_t k = 0; k < columns; k++) output[b * columns + k] += weight * row[k];
      }
    }
  });
}

// attendGradients: dx, dscores, x, weights, dy; time, batch, columns
// dx[t,b] = w[t,b]·dy[b], dw[t,b] = x[t,b]·dy[b], and by the gradient of softmax over time
// dscores[t,b] = w[t,b]·(dw[t,b] - Σ_s w[s,b]·dw[s,b]). Past a row's end w is 0, so dx and dscores are 0 without a test
// of the length. x may hold any value there, NaN included, and is not read.
template <typename T>
void AttendGradients(const Engine<T>& engine, const OperationOperands<T>& on) {
  T *dx = on.data[0], *d_scores = on.data[1];
  const T *x = on.data[2], *weights = on.data[3], *dy = on.data[4];
  const ptrdiff_t time = on.size(0), batch = on.size(1), columns = on.size(2);
  std::vector<double> d_weights(static_cast<size_t>(time * batch));
  ForEach(engine, batch, RowsPerPart(time * columns), [&](ptrdiff_t begin, ptrdiff_t end) {
    for (ptrdiff_t b = begin; b < end; b++) {
      const T* gradient = dy + b * columns;
      for (ptrdiff_t t = 0; t < time; t++) {
        const ptrdiff_t n = t * batch + b;
        const T* row = x + n * columns;
        double sum = 0;
        for (ptrdiff_t k = 0; weights[n] != 0 && k < columns; k++) sum += static_cast<double>(row[k]) * gradient[k];
        for (ptrdiff_t k = 0; k < columns; k++) dx[n * columns + k] = weights[n] * gradient[k];
        d_weights[n] = sum;
      }
      SoftmaxLineGradient(d_scores + b, weights + b, d_weights.data() + b, batch, time);
    }
  });
}

}  // namespace cudnn_rnn
