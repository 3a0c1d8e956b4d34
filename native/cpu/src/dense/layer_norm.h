// Layer normalization over the last axis.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "dense/dense_ops.h"
#include "dense/operations.h"

namespace cudnn_rnn {

// Moments of one row of x [N,columns]: μ, and 1/√(σ² + ε).
struct Moments {
  double mean;
  double scale;
};

// The mean of a row, and one over the root of its variance.
// In double for both element types: the mean of a long row in float32 would dominate the error of x - μ.
template <typename T>
Moments MomentsOf(const T* x, ptrdiff_t columns, double epsilon) {
  double sum = 0;
  for (ptrdiff_t k = 0; k < columns; k++) sum += x[k];
  const double mean = sum / static_cast<double>(columns);
  // Two passes: Σ(x - mean)² does not cancel, as Σx² - n·mean² would (Chan, Golub and LeVeque 1983).
  double squares = 0;
  for (ptrdiff_t k = 0; k < columns; k++) squares += (x[k] - mean) * (x[k] - mean);
  return {mean, 1 / std::sqrt(squares / static_cast<double>(columns) + epsilon)};
}

// layerNorm: y, x, gamma, beta; rows, columns, epsilon
// y = γ ⊙ (x - μ)/√(σ² + ε) + β over each row (Ba, Kiros and Hinton 2016), with the biased variance.
template <typename T>
void LayerNorm(const Engine<T>& engine, const OperationOperands<T>& on) {
  T* y = on.data[0];
  const T *x = on.data[1], *gamma = on.data[2], *beta = on.data[3];
  const ptrdiff_t columns = on.size(1);
  ForEach(engine, on.size(0), RowsPerPart(columns), [&](ptrdiff_t begin, ptrdiff_t end) {
    for (ptrdiff_t n = begin; n < end; n++) {
      const T* row = x + n * columns;
      const auto [mean, scale] = MomentsOf(row, columns, on.numbers[2]);
      for (ptrdiff_t k = 0; k < columns; k++) {
        y[n * columns + k] = static_cast<T>((row[k] - mean) * scale * gamma[k] + beta[k]);
      }
    }
  });
}

// layerNormGradients: dx, dgamma, dbeta, x, gamma, dy; rows, columns, epsilon
// dγ = Σ_n dy ⊙ x̂ and dβ = Σ_n dy over the rows; dx per row, below.
template <typename T>
void LayerNormGradients(const Engine<T>& engine, const OperationOperands<T>& on) {
  T *dx = on.data[0], *d_gamma = on.data[1], *d_beta = on.data[2];
  const T *x = on.data[3], *gamma = on.data[4], *dy = on.data[5];
  const ptrdiff_t rows = on.size(0), columns = on.size(1);
  // Computed once for each row, read again by the sums over rows below: 16 bytes against a second pass over the row.
  std::vector<Moments> moments(static_cast<size_t>(rows));
  ForEach(engine, rows, RowsPerPart(columns), [&](ptrdiff_t begin, ptrdiff_t end) {
    for (ptrdiff_t n = begin; n < end; n++) {
      const T *row = x + n * columns, *gradient = dy + n * columns;
      const auto [mean, scale] = moments[n] = MomentsOf(row, columns, on.numbers[2]);
      // With x̂ = (x - mean)·scale and g = gamma ⊙ dy:  dx = scale·(g - mean(g) - x̂·mean(g ⊙ x̂))  (Ba, Kiros and Hinton
      // 2016, https://arxiv.org/abs/1607.06450).
      double sum = 0, overlap = 0;
      for (ptrdiff_t k = 0; k < columns; k++) {
        const double g = static_cast<double>(gamma[k]) * gradient[k];
        sum += g;
        overlap += g * (row[k] - mean) * scale;
      }
      const double count = static_cast<double>(columns);
      for (ptrdiff_t k = 0; k < columns; k++) {
        const double g = static_cast<double>(gamma[k]) * gradient[k];
        dx[n * columns + k] = static_cast<T>(scale * (g - sum / count - (row[k] - mean) * scale * overlap / count));
      }
    }
  });
  // Parts of one cache line of columns: threads write different lines of dgamma and dbeta, and each sums all rows in
  // order.
  ForEach(engine, columns, kChunk<T>, [&](ptrdiff_t begin, ptrdiff_t end) {
    double gamma_sums[kChunk<T>] = {}, beta_sums[kChunk<T>] = {};
    for (ptrdiff_t n = 0; n < rows; n++) {
      const auto [mean, scale] = moments[n];
      for (ptrdiff_t k = begin; k < end; k++) {
        const double g = dy[n * columns + k];
        gamma_sums[k - begin] += g * (x[n * columns + k] - mean) * scale;
        beta_sums[k - begin] += g;
      }
    }
    for (ptrdiff_t k = begin; k < end; k++) {
      d_gamma[k] = static_cast<T>(gamma_sums[k - begin]);
      d_beta[k] = static_cast<T>(beta_sums[k - begin]);
    }
  });
}

}  // namespace cudnn_rnn
