// Products by the transpose of a stored matrix, and sums over rows. Included, after one vector_*.h, by the kernel files
// only.
#pragma once

#include "kernels/kernels.h"

namespace {

using namespace cudnn_rnn;

// The sums of four vectors. vector_*.h may have a faster form.
template <typename V>
static inline void StoreSums(const V a[4], typename V::Element* p, bool accumulate) {
  for (int k = 0; k < 4; k++) p[k] = Sum(a[k]) + (accumulate ? p[k] : 0);
}

// dh = dz·R: the backward multiplies by the transpose of the forward's matrix. R is stored for the forward.
// An element of the result is a dot product along contiguous memory: vectors of partial sums, which are added across
// their lanes once at the end (StoreSums). Each vector of weights is used kRows times.
//
// sums[i][j] += lanes of a[i]·b[j], of rows of `width` elements.
template <typename V, int kRows, int kColumns>
static inline void AddTransposed(const typename V::Element* a, ptrdiff_t a_stride, const typename V::Element* b,
                                 ptrdiff_t b_stride, ptrdiff_t width, V (&sums)[kRows][kColumns]) {
  for (ptrdiff_t k = 0; k < width; k += V::kLanes) {
    V weights[kColumns];
    for (int j = 0; j < kColumns; j++) weights[j] = V::Load(b + j * b_stride + k);
    for (int i = 0; i < kRows; i++) {
      const V x = V::Load(a + i * a_stride + k);
      for (int j = 0; j < kColumns; j++) sums[i][j] = MultiplyAdd(x, weights[j], sums[i][j]);
    }
  }
}

// kRows x kColumns elements of the product, of the panels [first, last) only.
template <typename V, int kRows, int kColumns>
static inline void TransposedTile(const TransposedProduct<typename V::Element>& p, ptrdiff_t first, ptrdiff_t last,
                                  ptrdiff_t row, ptrdiff_t column) {
  using T = typename V::Element;
  // Partial sums by lane. They are added across lanes in StoreSums, once per element and call, not once per step.
  V sums[kRows][kColumns];
  for (int i = 0; i < kRows; i++) {
    for (int j = 0; j < kColumns; j++) sums[i][j] = V::Set(0);
  }
  const ptrdiff_t full = p.chunks * kChunk<T>;
  for (ptrdiff_t panel = first; panel < last; panel++) {
    // The last panel may have fewer chunks.
    const ptrdiff_t width = panel == p.panel_count - 1 ? p.last_chunks * kChunk<T> : full;
    const T* a = p.a + row * p.a_stride + panel * p.a_panel_stride;
    const T* b = p.panels + panel * p.depth * full;
    if (V::kPanelOrder == PanelOrder::kRows || p.order == PanelOrder::kRows) {
      AddTransposed<V>(a, p.a_stride, b + (p.column + column) * width, width, width, sums);
    } else {
      for (ptrdiff_t k = 0; k < width; k += kChunk<T>) {
        AddTransposed<V>(a + k, p.a_stride, b + k * p.depth + (p.column + column) * kChunk<T>, kChunk<T>, kChunk<T>,
                         sums);
      }
    }
  }
  const bool accumulate = p.accumulate || first > 0;
  for (int i = 0; i < kRows; i++) {
    T* c = p.c + (row + i) * p.c_stride + column;
    if constexpr (kColumns % 4 == 0) {
      for (int j = 0; j < kColumns; j += 4) StoreSums(&sums[i][j], c + j, accumulate);
    } else {
      for (int j = 0; j < kColumns; j++) c[j] = Sum(sums[i][j]) + (accumulate ? c[j] : T{0});
    }
  }
}

// All rows of kColumns columns.
template <typename V, int kRows, int kColumns>
static inline void TransposedRows(const TransposedProduct<typename V::Element>& p, ptrdiff_t first, ptrdiff_t last,
                                  ptrdiff_t row, ptrdiff_t column) {
  for (; row + kRows <= p.rows; row += kRows) TransposedTile<V, kRows, kColumns>(p, first, last, row, column);
  if constexpr (kRows > 1) TransposedRows<V, kRows - 1, kColumns>(p, first, last, row, column);
}

template <typename V>
static void Transposed(const TransposedProduct<typename V::Element>& p) {
  using T = typename V::Element;
  constexpr int kRows = V::kTransposedRows;
  constexpr int kWide = V::kTransposedColumns;
  // Several rows: the panels go by in groups whose part in a tile's columns stays in the first-level cache while all
  // rows pass by; from the second group on the tile adds to c.
  constexpr ptrdiff_t kCachedElements = 4096 / static_cast<ptrdiff_t>(sizeof(T));
  const bool is_row = p.rows == 1;
  const ptrdiff_t group =
      is_row ? p.panel_count : (kCachedElements + p.chunks * kChunk<T> - 1) / (p.chunks * kChunk<T>);
  for (ptrdiff_t first = 0; first < p.panel_count; first += group) {
    const ptrdiff_t last = first + group < p.panel_count ? first + group : p.panel_count;
    ptrdiff_t column = 0;
    // A single row has accumulators to spare.
    for (; is_row && column + kWide <= p.columns; column += kWide)
      TransposedTile<V, 1, kWide>(p, first, last, 0, column);
    for (; column + 4 <= p.columns; column += 4) TransposedRows<V, kRows, 4>(p, first, last, 0, column);
    for (; column < p.columns; column++) TransposedRows<V, kRows, 1>(p, first, last, 0, column);
  }
}

// Gradients of biases: column by column of a panel, over all T·B rows.
template <typename V>
static void ColumnSums(const typename V::Element* z, ptrdiff_t stride, ptrdiff_t rows, int chunks,
                       typename V::Element* sums) {
  using T = typename V::Element;
  // Sums of 64 rows at a time: the error grows with the number of blocks, not of rows.
  constexpr ptrdiff_t kBlock = 64;
  for (ptrdiff_t k = 0; k < chunks * kChunk<T>; k += V::kLanes) {
    V total = V::Set(0);
    for (ptrdiff_t begin = 0; begin < rows; begin += kBlock) {
      V sum = V::Set(0);
      for (ptrdiff_t row = begin; row < rows && row < begin + kBlock; row++) sum = sum + V::Load(z + row * stride + k);
      total = total + sum;
    }
    total.Store(sums + k);
  }
}

}  // namespace
