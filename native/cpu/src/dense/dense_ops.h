// The dense operations of training. Equations: packages/reference/src.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "threads/engine.h"

namespace cudnn_rnn {

// An operand of a product, element (i, j) at data[i · row_stride + j · column_stride].
template <typename T>
struct Operand {
  const T* data;
  ptrdiff_t row_stride;
  ptrdiff_t column_stride;
};

// c [rows, columns] = bias [columns] (zeros for null) + a [rows, depth] · b [depth, columns]
template <typename T>
void Multiply(const Engine<T>& engine, Operand<T> a, Operand<T> b, const T* bias, T* c, ptrdiff_t rows, ptrdiff_t depth,
              ptrdiff_t columns);

// c [rows, columns] += a [rows, depth] · b [depth, columns], c_stride elements between the rows of c. Matrices whose
// rows or columns are contiguous are read in place if that is faster than packing them.
template <typename T>
void AddProduct(const Engine<T>& engine, Operand<T> a, Operand<T> b, T* c, ptrdiff_t c_stride, ptrdiff_t rows,
                ptrdiff_t depth, ptrdiff_t columns);

// sums [columns] = the sum of the rows of x [rows, columns]
template <typename T>
void SumRows(const T* x, T* sums, ptrdiff_t rows, ptrdiff_t columns);

// Mean cross-entropy of softmax(logits [rows, classes]) and its gradient; weights [rows] may be null.
template <typename T>
T SoftmaxCrossEntropy(const Engine<T>& engine, const T* logits, const int32_t* labels, const T* weights, T* gradient,
                      ptrdiff_t rows, ptrdiff_t classes);

// The root of the sum of all squares, in double precision.
template <typename T>
double Norm(const std::vector<std::pair<T*, ptrdiff_t>>& tensors);

// Elements of an elementwise operation that one thread takes at a time.
inline constexpr ptrdiff_t kElementwisePart = 1 << 14;

// Rows of `columns` elements that make a part worth its thread.
// A quarter of an elementwise part, 4096 elements, as a row operation reads its elements several times.
inline ptrdiff_t RowsPerPart(ptrdiff_t columns) {
  return std::max<ptrdiff_t>(1, kElementwisePart / 4 / std::max<ptrdiff_t>(1, columns));
}

// Runs `part` on ranges of `part_size` that cover [0, count), side by side if there are several.
template <typename T>
void ForEach(const Engine<T>& engine, ptrdiff_t count, ptrdiff_t part_size,
             const std::function<void(ptrdiff_t, ptrdiff_t)>& part);

// The sum of row_loss(row, weight) over the rows, whose weights are divided by their sum as tf.losses does with
// SUM_BY_NONZERO_WEIGHTS, and are equal for null. In the order of the rows: the same for any number of threads. A
// weight of 0 must keep the contents of its row, NaN included, out of the results.
template <typename T, typename RowLoss>
T WeightedLoss(const Engine<T>& engine, const T* weights, ptrdiff_t rows, ptrdiff_t columns, const RowLoss& row_loss) {
  double total = weights == nullptr ? static_cast<double>(rows) : 0;
  for (ptrdiff_t row = 0; weights != nullptr && row < rows; row++) total += weights[row];
  std::vector<double> losses(static_cast<size_t>(rows));
  ForEach(engine, rows, RowsPerPart(columns), [&](ptrdiff_t begin, ptrdiff_t end) {
    for (ptrdiff_t row = begin; row < end; row++) {
      losses[row] = row_loss(row, total == 0 ? 0 : (weights == nullptr ? 1 : weights[row]) / total);
    }
  });
  double sum = 0;
  for (const double each : losses) sum += each;
  return static_cast<T>(sum);
}

}  // namespace cudnn_rnn
