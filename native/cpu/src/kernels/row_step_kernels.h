// One time step of one row: of a gated layer with both products, the path of latency, and of any layer with the
// recurrent product, for whole passes. Included, after product_tile.h and cell_kernels.h,
// by the kernel files only.
//
// A step of one row reads every weight once, so its time is the reading's. The sums of a panel stay in registers over
// the rows of W and of R and begin with the biases; the cell follows them at once. The general path, a call for W, one
// for R and one for the cell, writes and reads the pre-activations in between, which costs more than the cell itself:
// 130 ns a panel on Zen 4, in which 15 KB could be read.
#pragma once

#include "kernels/cell_kernels.h"
#include "kernels/kernels.h"
#include "kernels/product_tile.h"
#include "kernels/tile_shapes.h"
#include "kernels/unroll.h"

namespace {

using namespace cudnn_rnn;

// Whether the sums of one row and the four chunks of a panel stay in registers.
template <typename V>
inline constexpr bool kRowStepFits = V::kTileVectors[0] >= PanelVectors<V>(4);

// sums[k % kSplit][kFirst…] += a[k] · row k of the panel, for all k
template <typename V, int kFirst, int kVectors, int kSplit, int kSums>
static inline void AddRowProduct(const typename V::Element* a, ptrdiff_t depth, const typename V::Element* panel,
                                 V (&sums)[kSplit][kSums]) {
  using T = typename V::Element;
  // If chunks are apart, a pointer for each: their loads then need no index.
  constexpr bool kApart = kReadsChunks<V>;
  constexpr int kWidth = kApart ? kVectorsOfChunk<V> : kVectors;
  constexpr ptrdiff_t kStride = kWidth * V::kLanes;
  constexpr int kSteps = Larger(kLeastSteps == 1 ? 1 : 4, kSplit);
  const T* parts[kVectors / kWidth];
  for (int c = 0; c < kVectors / kWidth; c++) parts[c] = panel + c * depth * kStride;
  ptrdiff_t k = 0;
  for (; k + kSteps <= depth; k += kSteps) {
    CUDNN_RNN_UNROLL
    for (int s = 0; s < kSteps; s++) {
      const V x = V::Set(a[k + s]);
      CUDNN_RNN_UNROLL
      for (int j = 0; j < kVectors; j++) {
        V& sum = sums[s % kSplit][kFirst + j];
        sum = MultiplyAdd(x, V::Load(parts[j / kWidth] + s * kStride + j % kWidth * V::kLanes), sum);
      }
    }
    CUDNN_RNN_UNROLL
    for (int c = 0; c < kVectors / kWidth; c++) parts[c] += kSteps * kStride;
  }
  for (; k < depth; k++) {
    const V x = V::Set(a[k]);
    CUDNN_RNN_UNROLL
    for (int j = 0; j < kVectors; j++) {
      const V weights = V::Load(parts[j / kWidth] + j % kWidth * V::kLanes);
      sums[0][kFirst + j] = MultiplyAdd(x, weights, sums[0][kFirst + j]);
    }
    CUDNN_RNN_UNROLL
    for (int c = 0; c < kVectors / kWidth; c++) parts[c] += kStride;
  }
}

// kChunks of a panel's four planes belong to each side: those from 0 on to the input, those from kRecurrent on to h.
// Four are LSTM's; three are GRU's, whose planes are x_n r u q_n.
template <typename V, int kChunks, int kRecurrent>
static void RowStepOf(const RowStep<typename V::Element>& p) {
  using T = typename V::Element;
  constexpr int kOfChunk = kVectorsOfChunk<V>;
  constexpr int kVectors = kChunks * kOfChunk;
  constexpr int kSums = 4 * kOfChunk;
  constexpr int kSplit = TileSplit<V>(kSums);
  constexpr ptrdiff_t kWidth = kChunks * kChunk<T>;
  CellForward<T> cell{};
  alignas(64) T z[4 * kChunk<T>];
  cell.z = z;
  cell.rows = 1;
  cell.clip = p.clip;
  for (ptrdiff_t k = p.first; k < p.last; k++) {
    const ptrdiff_t panel = p.backwards ? p.first + p.last - 1 - k : k;
    V sums[kSplit][kSums];
    CUDNN_RNN_UNROLL
    for (int s = 0; s < kSplit; s++) {
      CUDNN_RNN_UNROLL
      for (int j = 0; j < kSums; j++) sums[s][j] = V::Set(0);
    }
    AddRowProduct<V, 0, kVectors>(p.x, p.x_depth, p.input_panels + panel * p.x_depth * kWidth, sums);
    AddRowProduct<V, kRecurrent * kOfChunk, kVectors>(p.h_previous, p.h_depth,
                                                      p.recurrent_panels + panel * p.h_depth * kWidth, sums);
    if (p.input_biases != nullptr) {
      CUDNN_RNN_UNROLL
      for (int j = 0; j < kVectors; j++) {
        sums[0][j] = sums[0][j] + V::Load(p.input_biases + panel * kWidth + j * V::kLanes);
      }
    }
    if (p.recurrent_biases != nullptr) {
      CUDNN_RNN_UNROLL
      for (int j = 0; j < kVectors; j++) {
        V& sum = sums[kSplit - 1][kRecurrent * kOfChunk + j];
        sum = sum + V::Load(p.recurrent_biases + panel * kWidth + j * V::kLanes);
      }
    }
    CUDNN_RNN_UNROLL
    for (int j = 0; j < kSums; j++) {
      V sum = sums[0][j];
      CUDNN_RNN_UNROLL
      for (int s = 1; s < kSplit; s++) sum = sum + sums[s][j];
      sum.Store(z + j * V::kLanes);
    }
    const ptrdiff_t unit = panel * kChunk<T>;
    cell.h_previous = p.h_previous + unit;
    cell.h = p.h + unit;
    if constexpr (kChunks == 4) {
      cell.c_previous = cell.c = p.c + unit;
      LstmRows<V, 1>(cell, 0);
    } else {
      GruRows<V, 1>(cell, 0);
    }
  }
}

// z[0…kSums) + a · panel, of one row.
template <typename V, int kSums>
static inline void SumRowProduct(const typename V::Element* a, ptrdiff_t depth, const typename V::Element* panel,
                                 const typename V::Element* z, V (&sums)[kSums]) {
  constexpr int kSplit = TileSplit<V>(kSums);
  V split[kSplit][kSums];
  CUDNN_RNN_UNROLL
  for (int s = 0; s < kSplit; s++) {
    CUDNN_RNN_UNROLL
    for (int j = 0; j < kSums; j++) split[s][j] = s == 0 ? V::Load(z + j * V::kLanes) : V::Set(0);
  }
  AddRowProduct<V, 0, kSums>(a, depth, panel, split);
  CUDNN_RNN_UNROLL
  for (int j = 0; j < kSums; j++) {
    sums[j] = split[0][j];
    CUDNN_RNN_UNROLL
    for (int s = 1; s < kSplit; s++) sums[j] = sums[j] + split[s][j];
  }
}

// The recurrent half of a step of one row, of one panel of units: the product by h, whose sums begin with the
// pre-activations of the input side, and the cell.
template <typename V>
static void LstmRowRecurrence(const typename V::Element* h_previous, ptrdiff_t depth, const typename V::Element* panel,
                              const CellForward<typename V::Element>& p) {
  V sums[4 * kVectorsOfChunk<V>];
  SumRowProduct<V>(h_previous, depth, panel, p.z, sums);
  CUDNN_RNN_UNROLL
  for (int j = 0; j < 4 * kVectorsOfChunk<V>; j++) sums[j].Store(p.z + j * V::kLanes);
  LstmRows<V, 1>(p, 0);
}

// h has three planes, the last three of z.
template <typename V>
static void GruRowRecurrence(const typename V::Element* h_previous, ptrdiff_t depth, const typename V::Element* panel,
                             const CellForward<typename V::Element>& p) {
  typename V::Element* z = p.z + kChunk<typename V::Element>;
  V sums[3 * kVectorsOfChunk<V>];
  SumRowProduct<V>(h_previous, depth, panel, z, sums);
  CUDNN_RNN_UNROLL
  for (int j = 0; j < 3 * kVectorsOfChunk<V>; j++) sums[j].Store(z + j * V::kLanes);
  GruRows<V, 1>(p, 0);
}

template <typename V, typename Activation>
static void PlainRowRecurrence(const typename V::Element* h_previous, ptrdiff_t depth, const typename V::Element* panel,
                               const CellForward<typename V::Element>& p) {
  WithChunks(p.chunks, [&](auto chunks) {
    constexpr int kSums = decltype(chunks)::kValue * kVectorsOfChunk<V>;
    constexpr int kGroup = kSums / ((kSums + kGroupVectors - 1) / kGroupVectors);
    static_assert(kSums % kGroup == 0, "Groups of equal size, 3 and 3 of 6 vectors");
    V sums[kSums];
    SumRowProduct<V>(h_previous, depth, panel, p.z, sums);
    CUDNN_RNN_UNROLL
    for (int j = 0; j < kSums; j += kGroup) {
      V group[kGroup];
      CUDNN_RNN_UNROLL
      for (int k = 0; k < kGroup; k++) group[k] = sums[j + k];
      Activation::Forward(group);
      CUDNN_RNN_UNROLL
      for (int k = 0; k < kGroup; k++) group[k].Store(p.h + (j + k) * V::kLanes);
    }
  });
}

// `kernel`, or null if the sums do not fit.
template <typename V, typename Kernel>
static constexpr Kernel* RowKernel(Kernel* kernel) {
  return kRowStepFits<V> ? kernel : nullptr;
}

}  // namespace
