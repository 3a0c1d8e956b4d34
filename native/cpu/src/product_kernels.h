// The two matrix products over panels. Included, after one vector_*.h, by the kernel files only.
#ifndef CUDNN_RNN_CPU_PRODUCT_KERNELS_H_
#define CUDNN_RNN_CPU_PRODUCT_KERNELS_H_

#include "kernels.h"

namespace {

using namespace cudnn_rnn;

// Rows of a tile whose accumulators, kChunks vectors a row, stay in registers.
template <typename V, int kChunks>
inline constexpr int kTileRows = V::kAccumulators / kChunks < 8 ? V::kAccumulators / kChunks : 8;

// Rows of the depth in one element of a stored matrix.
template <typename Weight>
inline constexpr int kRowsOf = 1;
template <>
inline constexpr int kRowsOf<Bfloat16Pair> = 2;
template <>
inline constexpr int kRowsOf<Int8Quad> = 4;

// kRows x kChunks vectors of the product. kSplit > 1 sums that many steps of the depth apart, which hides the latency of
// the additions where one row alone has too few accumulators.
template <typename V, typename Weight, int kRows, int kChunks, int kSplit, bool kPacked>
static inline void ProductTile(const PanelProduct<typename V::Element>& p, ptrdiff_t row, ptrdiff_t lane) {
  using T = typename V::Element;
  constexpr ptrdiff_t kStep = kChunk<T>;
  V sums[kSplit][kRows][kChunks];
  for (int s = 0; s < kSplit; s++) {
    for (int i = 0; i < kRows; i++) {
      for (int j = 0; j < kChunks; j++) {
        const bool starts = s == 0 && p.init != nullptr && p.scales == nullptr;
        sums[s][i][j] = starts ? V::Load(p.init + (row + i) * p.init_stride + j * kStep + lane) : V::Set(0);
      }
    }
  }
  const T* a_panel = p.a + (kPacked ? row * p.depth : row * p.a_stride);
  const Weight* b = static_cast<const Weight*>(p.panel) + lane;
  const ptrdiff_t a_stride = p.a_stride;
  const ptrdiff_t b_stride = p.panel_stride;
  constexpr int kGroup = kRowsOf<Weight>;
  constexpr int kUnroll = kSplit > kGroup ? kSplit : kGroup;
  const ptrdiff_t panel_width = p.a_panel_width > 0 ? p.a_panel_width : p.depth;
  for (ptrdiff_t left = p.depth; left > 0; left -= panel_width, a_panel += p.a_panel_stride) {
    const T* a = a_panel;
    const ptrdiff_t depth = left < panel_width ? left : panel_width;
    ptrdiff_t k = 0;
    for (; k + kUnroll <= depth; k += kUnroll) {
      for (int s = 0; s < kUnroll; s++) {
        V weights[kChunks];
        for (int j = 0; j < kChunks; j++) weights[j] = V::LoadRow(b + s / kGroup * b_stride + j * kStep, s % kGroup);
        for (int i = 0; i < kRows; i++) {
          const V x = V::Set(kPacked ? a[s * kRows + i] : a[s + i * a_stride]);
          V* sum = sums[s % kSplit][i];
          for (int j = 0; j < kChunks; j++) sum[j] = MultiplyAdd(x, weights[j], sum[j]);
        }
      }
      a += kPacked ? kUnroll * kRows : kUnroll;
      b += kUnroll / kGroup * b_stride;
    }
    for (int s = 0; kUnroll > 1 && k < depth; k++, s++) {
      for (int i = 0; i < kRows; i++) {
        const V x = V::Set(kPacked ? a[i] : a[i * a_stride]);
        for (int j = 0; j < kChunks; j++) {
          sums[0][i][j] = MultiplyAdd(x, V::LoadRow(b + s / kGroup * b_stride + j * kStep, s % kGroup), sums[0][i][j]);
        }
      }
      a += kPacked ? kRows : 1;
    }
  }
  for (int i = 0; i < kRows; i++) {
    for (int j = 0; j < kChunks; j++) {
      V sum = sums[0][i][j];
      for (int s = 1; s < kSplit; s++) sum = sum + sums[s][i][j];
      if (p.scales != nullptr) {
        const V start = p.init == nullptr ? V::Set(0) : V::Load(p.init + (row + i) * p.init_stride + j * kStep + lane);
        sum = MultiplyAdd(sum, V::Load(p.scales + j * kStep + lane), start);
      }
      sum.Store(p.c + (row + i) * p.c_stride + j * kStep + lane);
    }
  }
}

// All vectors of a chunk for `rows` <= kRows rows from `row` on.
template <typename V, typename Weight, int kRows, int kChunks, bool kPacked>
static inline void ProductRows(const PanelProduct<typename V::Element>& p, ptrdiff_t row, ptrdiff_t rows) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return ProductRows<V, Weight, kRows - 1, kChunks, kPacked>(p, row, rows);
  }
  constexpr int kSplit = kRows * kChunks >= 8 ? 1 : kRows * kChunks >= 4 ? 2 : 4;
  constexpr int kFits = kSplit * kRows * kChunks <= V::kAccumulators ? kSplit : 1;
  for (ptrdiff_t lane = 0; lane < kChunk<typename V::Element>; lane += V::kLanes) {
    ProductTile<V, Weight, kRows, kChunks, kFits, kPacked>(p, row, lane);
  }
}

template <typename V, typename Weight, int kChunks, bool kPacked>
static void ProductOfChunks(const PanelProduct<typename V::Element>& p) {
  // Packed tiles are the same for every panel, so that one packing serves a last panel of fewer chunks too.
  constexpr ptrdiff_t kRows = kTileRows<V, kPacked ? 4 : kChunks>;
  if constexpr (kPacked) {
    for (ptrdiff_t row = 0; row < p.rows; row += kRows) {
      ProductRows<V, Weight, kRows, kChunks, true>(p, row, p.rows - row);
    }
  } else {
    // Tiles of equal height, as a tile of one row costs nearly as much as a full one.
    const ptrdiff_t tiles = (p.rows + kRows - 1) / kRows;
    for (ptrdiff_t tile = 0; tile < tiles; tile++) {
      const ptrdiff_t row = p.rows * tile / tiles;
      ProductRows<V, Weight, kRows, kChunks, false>(p, row, p.rows * (tile + 1) / tiles - row);
    }
  }
}

template <typename V, typename Weight, bool kPacked>
static void Product(const PanelProduct<typename V::Element>& p) {
  switch (p.chunks) {
    case 1:
      return ProductOfChunks<V, Weight, 1, kPacked>(p);
    case 2:
      return ProductOfChunks<V, Weight, 2, kPacked>(p);
    case 3:
      return ProductOfChunks<V, Weight, 3, kPacked>(p);
    default:
      return ProductOfChunks<V, Weight, 4, kPacked>(p);
  }
}

// kRows x kColumns elements of the product, of the panels [first, last) only.
template <typename V, int kRows, int kColumns>
static inline void TransposedTile(const TransposedProduct<typename V::Element>& p, ptrdiff_t first, ptrdiff_t last,
                                  ptrdiff_t row, ptrdiff_t column) {
  using T = typename V::Element;
  V sums[kRows][kColumns];
  for (int i = 0; i < kRows; i++) {
    for (int j = 0; j < kColumns; j++) sums[i][j] = V::Set(0);
  }
  const ptrdiff_t full = p.chunks * kChunk<T>;
  for (ptrdiff_t panel = first; panel < last; panel++) {
    const ptrdiff_t width = panel == p.panel_count - 1 ? p.last_chunks * kChunk<T> : full;
    const T* a = p.a + row * p.a_stride + panel * p.a_panel_stride;
    const T* b = p.panels + panel * p.depth * full + (p.column + column) * width;
    for (ptrdiff_t k = 0; k < width; k += V::kLanes) {
      V weights[kColumns];
      for (int j = 0; j < kColumns; j++) weights[j] = V::Load(b + j * width + k);
      for (int i = 0; i < kRows; i++) {
        const V x = V::Load(a + i * p.a_stride + k);
        for (int j = 0; j < kColumns; j++) sums[i][j] = MultiplyAdd(x, weights[j], sums[i][j]);
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
  constexpr int kWide = V::kAccumulators >= 24 ? 16 : V::kAccumulators >= 12 ? 8 : 4;
  // The panels of a tile's columns that stay in the first-level cache while all rows pass by.
  constexpr ptrdiff_t kCachedElements = 4096 / static_cast<ptrdiff_t>(sizeof(T));
  const bool is_row = p.rows == 1;
  const ptrdiff_t group = is_row ? p.panel_count : (kCachedElements + p.chunks * kChunk<T> - 1) / (p.chunks * kChunk<T>);
  for (ptrdiff_t first = 0; first < p.panel_count; first += group) {
    const ptrdiff_t last = first + group < p.panel_count ? first + group : p.panel_count;
    ptrdiff_t column = 0;
    // A single row has accumulators to spare.
    for (; is_row && column + kWide <= p.columns; column += kWide) TransposedTile<V, 1, kWide>(p, first, last, 0, column);
    for (; column + 4 <= p.columns; column += 4) TransposedRows<V, kRows, 4>(p, first, last, 0, column);
    for (; column < p.columns; column++) TransposedRows<V, kRows, 1>(p, first, last, 0, column);
  }
}

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

#endif  // CUDNN_RNN_CPU_PRODUCT_KERNELS_H_
