// Products of int8 weights in 16-bit integers, by an instruction that multiplies pairs of them and adds each two
// products to 32 bits, exactly. Included after a vector_*.h and an int8_dots_*.h, which names that instruction in a
// struct I, by the kernel files only.
//
// A row of a is brought to 15 bits, q = round(a / max|a| · 16383), or to 8 if the copy is in bytes. The error of a's
// rounding is 2^-15 of its largest element, and the error of the weights 2^-8. A sum of kInt8BlockRows products is at
// most 1024 · 16383 · 127 < 2^31.
//
// I has
//   Sums              a register of sums, over kColumns adjacent columns
//   Weights           a register of kInt8GroupRows rows of the depth in 16 bits
//   kTileVectors      the widest tile of every number of rows, in vectors, each a multiple of kPerLoad
//   kPerLoad          the vectors of kColumns columns whose weights one load reads
//   Load              the weights of the first of them
// and, where kPerLoad > 1,
//   Next              the weights of the next vector, made from the previous vector's
//   Finish            turns kPerLoad registers of sums into their columns' sums, by the sum of the row's integers
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernels/dot_panels.h"
#include "kernels/int8_rows.h"
#include "kernels/kernels.h"
#include "kernels/product_tile.h"
#include "kernels/unroll.h"

namespace {

using namespace cudnn_rnn;

inline constexpr float kInt15Limit = 16383;
static_assert(kInt8BlockRows * 16383 * 127 <= INT32_MAX);

// Groups of rows of the depth between a prefetched line and its use.
inline constexpr ptrdiff_t kPrefetchedGroups = 16;

template <typename V, typename I>
struct Int8PairDots {
  static constexpr bool kApart = kReadsChunks<V> && !kInt8InRows;
  static constexpr auto& kTileVectors = I::kTileVectors;

  // The integers of a block of a tile whose first row is `row`. The integers that an instruction takes of each row
  // lie side by side, so that one pointer and constant distances address them: V8 computes an address from several
  // pointers by a separate instruction for each.
  static int16_t* Numbers(const PanelProduct<float>& p, ptrdiff_t row, ptrdiff_t tile_rows, ptrdiff_t block) {
    const ptrdiff_t padded_depth = (p.depth + kInt8GroupRows - 1) / kInt8GroupRows * kInt8GroupRows;
    return reinterpret_cast<int16_t*>(p.rows_copy->words) + row * padded_depth + block * tile_rows * kInt8BlockRows;
  }

  // The integers of all rows, in the groups of a tile's rows side by side. Their sums too, if Finish() takes them.
  static void Quantize(const PanelProduct<float>& p) {
    const float largest = p.rows_copy->in_bytes ? kInt8Limit : kInt15Limit;
    // The tiles of DotTiles.
    constexpr ptrdiff_t kMostRows = sizeof kTileVectors / sizeof kTileVectors[0];
    const ptrdiff_t tiles = (p.rows + kMostRows - 1) / kMostRows;
    ptrdiff_t tile = 0, begin = 0, end = 0;
    QuantizeRows(p, largest, [&](ptrdiff_t row, ptrdiff_t block, const int16_t* q, ptrdiff_t count) {
      if (row == end) {
        begin = end;
        end = p.rows * ++tile / tiles;
      }
      const ptrdiff_t rows = end - begin;
      int16_t* numbers = Numbers(p, begin, rows, block) + (row - begin) * kInt8GroupRows;
      for (ptrdiff_t k = 0; k < count; k += kInt8GroupRows, numbers += rows * kInt8GroupRows) {
        for (int i = 0; i < kInt8GroupRows; i++) numbers[i] = q[k + i];
      }
      if constexpr (I::kPerLoad > 1) {
        int32_t sum = 0;
        for (ptrdiff_t k = 0; k < count; k++) sum += q[k];
        p.rows_copy->sums[row * BlocksOf(p.depth) + block] = sum;
      }
    });
  }

  // kRows x kVectors vectors, over the whole depth.
  template <int kRows, int kVectors>
  [[gnu::noinline]] static void Multiply(const PanelProduct<float>& p, ptrdiff_t row, ptrdiff_t column) {
    static_assert(kVectors % I::kPerLoad == 0, "A tile has whole loads");
    constexpr ptrdiff_t kVectorBytes = kInt8GroupRows * I::kColumns;
    constexpr int kInChunk = static_cast<int>(kChunk<float> / I::kColumns);
    const ptrdiff_t blocks = BlocksOf(p.depth);
    const ptrdiff_t stride = kInt8GroupRows * (kApart ? kChunk<float> : p.panel_stride);
    // If chunks are apart, a pointer for each.
    constexpr int kWidth = kApart && kVectors > kInChunk ? kInChunk : kVectors;
    constexpr int kParts = kVectors / kWidth;
    static_assert(kVectors % kWidth == 0, "A tile has whole chunks, or a part of one");
    const ptrdiff_t chunk = column / kChunk<float>;
    const ptrdiff_t place = kApart ? chunk * p.chunk_stride + column % kChunk<float> : column;
    const int8_t* parts[kParts];
    for (int part = 0; part < kParts; part++) {
      parts[part] = static_cast<const int8_t*>(p.panel) + kInt8GroupRows * (place + part * p.chunk_stride);
    }
    // The weights of vector j, given vector j - 1's in `before`.
    const auto weights_of = [&](int j, const typename I::Weights& before) {
      if constexpr (I::kPerLoad > 1) {
        if (j % I::kPerLoad != 0) return I::Next(before);
      }
      return I::Load(parts[j / kWidth] + kVectorBytes * (j % kWidth));
    };
    for (ptrdiff_t block = 0; block < blocks; block++) {
      const int16_t* numbers = Numbers(p, row, kRows, block);
      typename I::Sums sums[kRows][kVectors];
      CUDNN_RNN_UNROLL
      for (int i = 0; i < kRows; i++) {
        CUDNN_RNN_UNROLL
        for (int j = 0; j < kVectors; j++) sums[i][j] = I::Zeros();
      }
      // One group of rows of the depth in a body: a second one's operands would need registers (vector_wasm.h).
      for (ptrdiff_t left = BlockRows(p.depth, block); left > 0; left -= kInt8GroupRows) {
        if constexpr (kRows < kVectors) {
          // Tiles of few rows wait for their weights, and one narrower than the panel reads no consecutive lines
          // (PrefetchedSteps of product_tile.h). More rows have no instruction to spare.
          if constexpr (kHasPrefetch) {
            for (const int8_t* part : parts) {
              for (ptrdiff_t k = 0; k < kVectorBytes * kWidth; k += Readahead::kLine) {
                PrefetchLine(part + kPrefetchedGroups * stride + k);
              }
            }
          }
          typename I::Weights x[kRows], w = I::Zeros();
          CUDNN_RNN_UNROLL
          for (int i = 0; i < kRows; i++) x[i] = I::Broadcast(numbers + i * kInt8GroupRows);
          CUDNN_RNN_UNROLL
          for (int j = 0; j < kVectors; j++) {
            w = weights_of(j, w);
            CUDNN_RNN_UNROLL
            for (int i = 0; i < kRows; i++) sums[i][j] = I::AddDots(sums[i][j], w, x[i]);
          }
        } else {
          typename I::Weights w[kVectors];
          CUDNN_RNN_UNROLL
          for (int j = 0; j < kVectors; j++) w[j] = weights_of(j, j > 0 ? w[j - 1] : I::Zeros());
          CUDNN_RNN_UNROLL
          for (int i = 0; i < kRows; i++) {
            const typename I::Weights x = I::Broadcast(numbers + i * kInt8GroupRows);
            CUDNN_RNN_UNROLL
            for (int j = 0; j < kVectors; j++) sums[i][j] = I::AddDots(sums[i][j], w[j], x);
          }
        }
        numbers += kRows * kInt8GroupRows;
        CUDNN_RNN_UNROLL
        for (int part = 0; part < kParts; part++) parts[part] += stride;
      }
      CUDNN_RNN_UNROLL
      for (int i = 0; i < kRows; i++) {
        float* c = p.c + (row + i) * p.c_stride + column;
        // The blocks of the depth have different scales, so each is added to c in float32 rather than in integers.
        const float* init = block > 0 ? c : p.init == nullptr ? nullptr : p.init + (row + i) * p.init_stride + column;
        const ptrdiff_t block_of_row = (row + i) * blocks + block;
        CUDNN_RNN_UNROLL
        for (int j = 0; j < kVectors; j++) {
          if constexpr (I::kPerLoad > 1) {
            if (j % I::kPerLoad == 0) I::Finish(&sums[i][j], p.rows_copy->sums[block_of_row]);
          }
          const ptrdiff_t k = I::kColumns * j;
          I::Store(sums[i][j], p.scales + column + k, p.rows_copy->factors[block_of_row],
                   init == nullptr ? nullptr : init + k, c + k);
        }
      }
    }
  }

  // KernelTable::product_int8.
  static void Product(const PanelProduct<float>& p) {
    Quantize(p);
    DotTiles<I::kColumns, Int8PairDots>(p, p.rows);
  }
};

}  // namespace
