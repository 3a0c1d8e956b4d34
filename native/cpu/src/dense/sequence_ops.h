// Operations along the time axis of sequences with lengths: reversal and pooling.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "dense/dense_ops.h"
#include "dense/operations.h"

namespace cudnn_rnn {

// The order of POOLINGS.
enum class Pooling { kLast, kMean, kMax };

// The step that `last` or `max` takes: the first of equal maxima, or the first NaN. Steps of x are `stride` apart.
template <typename T>
ptrdiff_t ChosenStep(Pooling pooling, const T* x, ptrdiff_t stride, ptrdiff_t length, bool is_reversed) {
  if (pooling == Pooling::kLast) return is_reversed ? 0 : length - 1;
  ptrdiff_t chosen = 0;
  for (ptrdiff_t t = 1; t < length; t++) {
    const T best = x[chosen * stride], value = x[t * stride];
    if (value > best || (std::isnan(value) && !std::isnan(best))) chosen = t;
  }
  return chosen;
}

// maskSequence, and reverseSequence if it `reverses`: y, x; time, batch, columns
// Each its own gradient: step t and step length-1-t change places.
template <bool reverses, typename T>
void MaskSequence(const Engine<T>& engine, const OperationOperands<T>& on) {
  T* y = on.data[0];
  const T* x = on.data[1];
  const ptrdiff_t time = on.size(0), batch = on.size(1), columns = on.size(2);
  ForEach(engine, time * batch, RowsPerPart(columns), [&](ptrdiff_t begin, ptrdiff_t end) {
    for (ptrdiff_t n = begin; n < end; n++) {
      const ptrdiff_t t = n / batch, b = n % batch, length = on.length(b, time);
      // Like tf.reverse_sequence, except that steps past the length are 0 instead of copied.
      if (t < length) {
        std::copy_n(x + ((reverses ? length - 1 - t : t) * batch + b) * columns, columns, y + n * columns);
      } else {
        std::fill_n(y + n * columns, columns, T{0});
      }
    }
  });
}

// poolSequence: y, x; time, batch, columns, pooling, reversedFrom
// Columns from reversedFrom on belong to a backward direction, whose last step is step 0.
template <typename T>
void PoolSequence(const Engine<T>& engine, const OperationOperands<T>& on) {
  T* y = on.data[0];
  const T* x = on.data[1];
  const ptrdiff_t time = on.size(0), batch = on.size(1), columns = on.size(2), stride = batch * columns;
  const auto pooling = static_cast<Pooling>(on.size(3));
  // Parts of at least one cache line of y, so that two threads do not write the same line.
  ForEach(engine, stride, std::max(kChunk<T>, kElementwisePart / 4 / std::max<ptrdiff_t>(1, time)),
          [&](ptrdiff_t begin, ptrdiff_t end) {
            // Time in the outer loop: each step reads consecutive elements of x, and the sums of a part stay in the
            // first-level cache.
            std::vector<double> sums(pooling == Pooling::kMean ? static_cast<size_t>(end - begin) : 0);
            if (pooling == Pooling::kMean) {
              for (ptrdiff_t t = 0; t < time; t++) {
                for (ptrdiff_t k = begin; k < end; k++) {
                  if (t < on.length(k / columns, time)) sums[k - begin] += x[t * stride + k];
                }
              }
            }
            for (ptrdiff_t k = begin; k < end; k++) {
              const ptrdiff_t length = on.length(k / columns, time);
              if (length == 0) {
                y[k] = T{0};
              } else if (pooling == Pooling::kMean) {
                y[k] = static_cast<T>(sums[k - begin] / static_cast<double>(length));
              } else {
                y[k] = x[ChosenStep(pooling, x + k, stride, length, k % columns >= on.size(4)) * stride + k];
              }
            }
          });
}

// poolSequenceGradient: dx, x, dy; time, batch, columns, pooling, reversedFrom
// dx [T,B,E]: dy/length to every step for the mean; else dy to the chosen step, found again from x, and 0 elsewhere.
template <typename T>
void PoolSequenceGradient(const Engine<T>& engine, const OperationOperands<T>& on) {
  T* dx = on.data[0];
  const T *x = on.data[1], *dy = on.data[2];
  const ptrdiff_t time = on.size(0), batch = on.size(1), columns = on.size(2), stride = batch * columns;
  const auto pooling = static_cast<Pooling>(on.size(3));
  ForEach(engine, stride, std::max(kChunk<T>, kElementwisePart / 4 / std::max<ptrdiff_t>(1, time)),
          [&](ptrdiff_t begin, ptrdiff_t end) {
            // Every element of dx is written, as the memory of a result is not cleared: zeros first, then the chosen
            // steps.
            for (ptrdiff_t t = 0; t < time; t++) {
              for (ptrdiff_t k = begin; k < end; k++) {
                const ptrdiff_t length = on.length(k / columns, time);
                dx[t * stride + k] = pooling == Pooling::kMean && t < length ? dy[k] / static_cast<T>(length) : T{0};
              }
            }
            if (pooling == Pooling::kMean) return;
            for (ptrdiff_t k = begin; k < end; k++) {
              const ptrdiff_t length = on.length(k / columns, time);
              if (length == 0) continue;
              dx[ChosenStep(pooling, x + k, stride, length, k % columns >= on.size(4)) * stride + k] = dy[k];
            }
          });
}

}  // namespace cudnn_rnn
