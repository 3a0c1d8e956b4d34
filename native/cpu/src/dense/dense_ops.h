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

}  // namespace cudnn_rnn
