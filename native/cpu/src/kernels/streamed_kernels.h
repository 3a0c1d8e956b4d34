// The product of few rows by a matrix of separate rows, c += a · b. Included, after one vector_*.h, by the
// kernel files only.
//
// The product of a single row uses every element of b once, so it is bound by the reading of b, and a packed copy costs
// three times as many bytes. A panel in place is 256 bytes of each row of b. If the rows are a power of two apart,
// as in a kernel [1024,2048], each of these pieces is on another page, at whose border the hardware prefetchers stop,
// and all pieces are mapped to a sixteenth of the cache's sets: 42 GB/s. Hence this loop order: rows of b from end to
// end, kSteps of them side by side, and the sums of c in the first-level cache. Zen 4 reads b at 80 GB/s that way, out
// of the third-level cache; with prefetch instructions for the next rows it was 56.
#pragma once

#include "kernels/kernels.h"
#include "kernels/unroll.h"

namespace {

using namespace cudnn_rnn;

// Adds kSteps rows of b to kRows rows of c: one load and one store of c for kSteps multiply-adds. The registers hold
// kRows · kSteps broadcast elements of a, the sums of kRows rows and one vector of b.
template <typename V, int kRows, int kSteps>
static inline void AddStreamedSteps(const StreamedProduct<typename V::Element>& p, ptrdiff_t row, ptrdiff_t k) {
  using T = typename V::Element;
  const T* a = p.a + row * p.a_stride + k * p.a_column_stride;
  const T* b = p.b + k * p.b_stride;
  T* c = p.c + row * p.c_stride;
  V x[kRows][kSteps];
  CUDNN_RNN_UNROLL
  for (int i = 0; i < kRows; i++) {
    CUDNN_RNN_UNROLL
    for (int s = 0; s < kSteps; s++) x[i][s] = V::Set(a[i * p.a_stride + s * p.a_column_stride]);
  }
  ptrdiff_t j = 0;
  for (; j + V::kLanes <= p.columns; j += V::kLanes) {
    V sums[kRows];
    CUDNN_RNN_UNROLL
    for (int i = 0; i < kRows; i++) sums[i] = V::Load(c + i * p.c_stride + j);
    CUDNN_RNN_UNROLL
    for (int s = 0; s < kSteps; s++) {
      const V weights = V::Load(b + s * p.b_stride + j);
      CUDNN_RNN_UNROLL
      for (int i = 0; i < kRows; i++) sums[i] = MultiplyAdd(x[i][s], weights, sums[i]);
    }
    CUDNN_RNN_UNROLL
    for (int i = 0; i < kRows; i++) sums[i].Store(c + i * p.c_stride + j);
  }
  // The columns after the last whole vector, in the same order of the depth.
  for (; j < p.columns; j++) {
    for (int i = 0; i < kRows; i++) {
      T sum = c[i * p.c_stride + j];
      for (int s = 0; s < kSteps; s++) sum += a[i * p.a_stride + s * p.a_column_stride] * b[s * p.b_stride + j];
      c[i * p.c_stride + j] = sum;
    }
  }
}

// The rows from `row` on; those that are left over one at a time.
template <typename V, int kRows, int kSteps>
static inline void StreamedRows(const StreamedProduct<typename V::Element>& p, ptrdiff_t row) {
  for (; row + kRows <= p.rows; row += kRows) {
    ptrdiff_t k = 0;
    for (; k + kSteps <= p.depth; k += kSteps) AddStreamedSteps<V, kRows, kSteps>(p, row, k);
    for (; k < p.depth; k++) AddStreamedSteps<V, kRows, 1>(p, row, k);
  }
  if constexpr (kRows > 1) StreamedRows<V, kRows / 2, 8>(p, row);
}

template <typename V>
static void Streamed(const StreamedProduct<typename V::Element>& p) {
  // 16 registers hold 1 · 8 + 1 + 1 or 2 · 4 + 2 + 1, 32 hold 4 · 4 + 4 + 1.
  StreamedRows<V, V::kRegisters >= 32 ? 4 : 2, 4>(p, 0);
}

}  // namespace
