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
//   kMaxRows          rows of the tallest tile
//   kPerLoad          the vectors of kColumns columns whose weights one load reads
//   Load              the weights of the first of them
// and, where kPerLoad > 1,
//   Next              the weights of the next vector, made from the previous vector's
//   Finish            turns kPerLoad registers of sums into their columns' sums, by the sum of the row's integers
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernels/int8_group.h"
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
  static ptrdiff_t BlocksOf(ptrdiff_t depth) { return (depth + kInt8BlockRows - 1) / kInt8BlockRows; }
  static ptrdiff_t BlockRows(ptrdiff_t depth, ptrdiff_t first) {
    return depth - first < kInt8BlockRows ? depth - first : kInt8BlockRows;
  }
  // Tiles of rows of equal height, as a tile of one row costs nearly as much as a full one.
  static ptrdiff_t TilesOf(ptrdiff_t rows) { return (rows + I::kMaxRows - 1) / I::kMaxRows; }
  static ptrdiff_t TileBegin(ptrdiff_t rows, ptrdiff_t tile) { return rows * tile / TilesOf(rows); }

  // The integers of a block of a tile whose first row is `row`. The integers that an instruction takes of each row
  // lie side by side, so that one pointer and constant distances address them: V8 computes an address from several
  // pointers by a separate instruction for each.
  static int16_t* Numbers(const PanelProduct<float>& p, ptrdiff_t row, ptrdiff_t tile_rows, ptrdiff_t block) {
    const ptrdiff_t padded_depth = (p.depth + kInt8GroupRows - 1) / kInt8GroupRows * kInt8GroupRows;
    return reinterpret_cast<int16_t*>(p.rows_copy->words) + row * padded_depth + block * tile_rows * kInt8BlockRows;
  }

  // One row of a block, whose groups of integers go `stride` apart to `numbers`. Returns the scale of the integers, NaN
  // for a row that is not finite, and their sum where Finish() takes it.
  static float QuantizeBlock(const float* a, ptrdiff_t count, float largest, int16_t* numbers, ptrdiff_t stride,
                             int32_t* sum) {
    const float limit = I::LargestMagnitude(a, count);
    const bool finite = limit <= 3.402823466e38f;
    // The integers of a single row are in place.
    alignas(64) int16_t line[kInt8BlockRows];
    int16_t* const row = stride == kInt8GroupRows ? numbers : line;
    // If the factor would overflow, the products are nothing beside any weight's rounding.
    I::Round(a, count, finite && limit > 1e-30f ? largest / limit : 0.0f, row);
    for (ptrdiff_t k = count; k % kInt8GroupRows != 0; k++) row[k] = 0;
    if constexpr (I::kPerLoad > 1) {
      *sum = 0;
      for (ptrdiff_t k = 0; k < count; k++) *sum += row[k];
    }
    if (row == line) {
      for (ptrdiff_t k = 0; k < count; k += kInt8GroupRows, numbers += stride) {
        for (int i = 0; i < kInt8GroupRows; i++) numbers[i] = line[k + i];
      }
    }
    return finite ? limit / largest : kNaN;
  }

  // All rows of a, once for all panels that a thread multiplies with it.
  static void Quantize(const PanelProduct<float>& p) {
    const ptrdiff_t blocks = BlocksOf(p.depth);
    const float largest = p.rows_copy->in_bytes ? kInt8Limit : kInt15Limit;
    for (ptrdiff_t tile = 0; tile < TilesOf(p.rows); tile++) {
      const ptrdiff_t begin = TileBegin(p.rows, tile);
      const ptrdiff_t rows = TileBegin(p.rows, tile + 1) - begin;
      for (ptrdiff_t i = 0; i < rows; i++) {
        for (ptrdiff_t block = 0; block < blocks; block++) {
          const ptrdiff_t first = block * kInt8BlockRows;
          const ptrdiff_t place = (begin + i) * blocks + block;
          int16_t* numbers = Numbers(p, begin, rows, block) + i * kInt8GroupRows;
          p.rows_copy->factors[place] =
              QuantizeBlock(p.a + (begin + i) * p.a_stride + first, BlockRows(p.depth, first), largest, numbers,
                            rows * kInt8GroupRows, &p.rows_copy->sums[place]);
        }
      }
    }
    p.rows_copy->version = p.version;
  }

  // kRows x kVectors vectors, over the whole depth.
  template <int kRows, int kVectors>
  [[gnu::noinline]] static void Tile(const PanelProduct<float>& p, ptrdiff_t row, ptrdiff_t column) {
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
      const ptrdiff_t first = block * kInt8BlockRows;
      const int16_t* numbers = Numbers(p, row, kRows, block);
      typename I::Sums sums[kRows][kVectors];
      CUDNN_RNN_UNROLL
      for (int i = 0; i < kRows; i++) {
        CUDNN_RNN_UNROLL
        for (int j = 0; j < kVectors; j++) sums[i][j] = I::Zeros();
      }
      // One group of rows of the depth in a body: a second one's operands would need registers (vector_wasm.h).
      for (ptrdiff_t left = BlockRows(p.depth, first); left > 0; left -= kInt8GroupRows) {
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
        const float* init = first > 0 ? c : p.init == nullptr ? nullptr : p.init + (row + i) * p.init_stride + column;
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

  // The tiles of kRows rows side by side over a panel of kVectors vectors, the last one of the remainder.
  template <int kRows, int kVectors>
  static void TilesOfRows(const PanelProduct<float>& p, ptrdiff_t row) {
    constexpr int kWidest = I::kTileVectors[kRows - 1];
    constexpr int kTile = kVectors < kWidest ? kVectors : kWidest;
    for (int first = 0; first + kTile <= kVectors; first += kTile) Tile<kRows, kTile>(p, row, first * I::kColumns);
    if constexpr (kVectors % kTile != 0) {
      Tile<kRows, kVectors % kTile>(p, row, (kVectors - kVectors % kTile) * I::kColumns);
    }
  }

  // KernelTable::product_int8.
  static void Product(const PanelProduct<float>& product) {
    if (product.rows_copy->version != product.version) Quantize(product);
    WithChunks(product.chunks, [&](auto chunks) {
      constexpr int kVectors = chunks.kValue * kChunk<float> / I::kColumns;
      for (ptrdiff_t tile = 0; tile < TilesOf(product.rows); tile++) {
        const ptrdiff_t row = TileBegin(product.rows, tile);
        WithRows<1, I::kMaxRows>(TileBegin(product.rows, tile + 1) - row,
                                 [&](auto rows) { TilesOfRows<rows.kValue, kVectors>(product, row); });
      }
    });
  }
};

}  // namespace
