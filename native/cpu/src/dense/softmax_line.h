// The softmax of one line of elements: a row of an activation, or the scores of a sequence.
#pragma once

#include <cmath>
#include <cstddef>

namespace cudnn_rnn {

// y = softmax of `count` elements of x, `stride` apart.
template <typename T>
void SoftmaxLine(T* y, const T* x, ptrdiff_t stride, ptrdiff_t count) {
  if (count == 0) return;
  // softmax(x) = softmax(x - max x): no exponential overflows. A NaN counts as the largest and makes the line NaN.
  T maximum = x[0];
  for (ptrdiff_t k = 1; k < count; k++)
    maximum = x[k * stride] > maximum || std::isnan(x[k * stride]) ? x[k * stride] : maximum;
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
