// The softmax of one line of elements: a row of an activation, or the scores of a sequence.
#pragma once

#include <cmath>
#include <cstddef>

#include "threads/engine.h"

namespace cudnn_rnn {

// The largest of `count` > 0 elements of x, `stride` apart. A NaN counts as the largest.
template <typename T>
T LargestOf(const T* x, ptrdiff_t stride, ptrdiff_t count) {
  T largest = x[0];
  for (ptrdiff_t k = 1; k < count; k++)
    largest = x[k * stride] > largest || std::isnan(x[k * stride]) ? x[k * stride] : largest;
  return largest;
}

// y = e^(x - maximum) of a row; returns the sum.
template <typename T>
double ExpOfRow(const Engine<T>& engine, const T* x, T maximum, T* y, ptrdiff_t count) {
  const ptrdiff_t whole = count / kChunk<T> * kChunk<T>;
  double sum = engine.kernels->exp_sum(x, maximum, y, whole);
  for (ptrdiff_t k = whole; k < count; k++) sum += y[k] = std::exp(x[k] - maximum);
  return sum;
}

// y = softmax of `count` elements of x, `stride` apart.
template <typename T>
void SoftmaxLine(T* y, const T* x, ptrdiff_t stride, ptrdiff_t count) {
  if (count == 0) return;
  // softmax(x) = softmax(x - max x): no exponential overflows. A NaN makes the line NaN.
  const T maximum = LargestOf(x, stride, count);
  // Summed in double: with thousands of classes a float32 sum would lose the last digits of each.
  double sum = 0;
  for (ptrdiff_t k = 0; k < count; k++) sum += y[k * stride] = std::exp(x[k * stride] - maximum);
  const T scale = static_cast<T>(1 / sum);
  for (ptrdiff_t k = 0; k < count; k++) y[k * stride] *= scale;
}

// dx = Jᵀ·dy for one line of `count` elements, `stride` apart.
template <typename T, typename D>
void SoftmaxLineGradient(T* dx, const T* y, const D* dy, ptrdiff_t stride, ptrdiff_t count) {
  // dx = y ⊙ (dy - Σ y·dy): the Jacobian diag(y) - y·yᵀ times dy, without forming it.
  double overlap = 0;
  for (ptrdiff_t k = 0; k < count; k++) overlap += static_cast<double>(y[k * stride]) * dy[k * stride];
  for (ptrdiff_t k = 0; k < count; k++) dx[k * stride] = static_cast<T>(y[k * stride] * (dy[k * stride] - overlap));
}

}  // namespace cudnn_rnn
