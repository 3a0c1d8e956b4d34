// Products of int8 weights in integers: i32x4.dot_i16x8_s multiplies eight pairs of 16-bit integers and adds them two
// by two, exactly. Included by kernels_wasm.cc only.
//
// A row of a is brought to 15 bits, q = round(a / max|a| · 16383). The rounding of a is 2^-15 of its largest element;
// the weights have lost 2^-8. A sum of kInt8BlockRows products is at most 1024 · 16383 · 127 < 2^31.
//
// Eight weights take three instructions: a load that widens bytes to 16 bits, the products, the sum. Multiply-adds in
// float32 take two for four weights, and the conversion. The dot products of relaxed SIMD take 7-bit numbers, so that a
// row would be two digits of 14 bits together, by more instructions on processors without VNNI.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <wasm_simd128.h>

#include "kernels/int8_group.h"
#include "kernels/kernels.h"
#include "kernels/unroll.h"

namespace {

using namespace cudnn_rnn;

struct Int8Dots {
  static constexpr float kLimit = 16383;
  static constexpr ptrdiff_t kLanes = 4;
  static_assert(kInt8BlockRows * 16383 * 127 <= INT32_MAX);
  // Eight weights that lie side by side are those of four columns in two rows of the depth.
  static_assert(kInt8GroupRows == 2);

  static ptrdiff_t BlocksOf(ptrdiff_t depth) { return (depth + kInt8BlockRows - 1) / kInt8BlockRows; }
  static ptrdiff_t BlockRows(ptrdiff_t depth, ptrdiff_t first) {
    return depth - first < kInt8BlockRows ? depth - first : kInt8BlockRows;
  }
  // The integers of a row's block.
  static int16_t* Numbers(const PanelProduct<float>& p, ptrdiff_t row, ptrdiff_t block) {
    return reinterpret_cast<int16_t*>(p.int8_rows->digits) + (row * BlocksOf(p.depth) + block) * kInt8BlockRows;
  }

  // One row of a block. Returns the scale of the integers; NaN for a row that is not finite.
  static float QuantizeBlock(const float* a, ptrdiff_t count, int16_t* numbers) {
    // The largest |a| by integer maximum: positive floats order as their bit patterns do, and NaN and infinity have the
    // largest patterns of all.
    const v128_t magnitude = wasm_i32x4_const_splat(INT32_MAX);
    v128_t largest = wasm_i32x4_const_splat(0);
    ptrdiff_t k = 0;
    for (; k + kLanes <= count; k += kLanes) {
      largest = wasm_i32x4_max(largest, wasm_v128_and(wasm_v128_load(a + k), magnitude));
    }
    for (; k < count; k++) largest = wasm_i32x4_max(largest, wasm_v128_and(wasm_f32x4_splat(a[k]), magnitude));
    largest = wasm_i32x4_max(largest, wasm_i64x2_shuffle(largest, largest, 1, 0));
    largest = wasm_i32x4_max(largest, wasm_i32x4_shuffle(largest, largest, 1, 0, 3, 2));
    const float limit = wasm_f32x4_extract_lane(largest, 0);
    const bool finite = limit <= 3.402823466e38f;
    // Where the factor would overflow, the products are nothing beside any weight's rounding.
    const v128_t factor = wasm_f32x4_splat(finite && limit > 1e-30f ? kLimit / limit : 0.0f);
    // The sum is rounded to an integer, to nearest even, which its low 16 bits are.
    const v128_t offset = wasm_f32x4_const_splat(12582912.0f);
    for (k = 0; k + 2 * kLanes <= count; k += 2 * kLanes) {
      const v128_t low = wasm_f32x4_add(wasm_f32x4_mul(wasm_v128_load(a + k), factor), offset);
      const v128_t high = wasm_f32x4_add(wasm_f32x4_mul(wasm_v128_load(a + k + kLanes), factor), offset);
      wasm_v128_store(numbers + k, wasm_i16x8_shuffle(low, high, 0, 2, 4, 6, 8, 10, 12, 14));
    }
    for (; k < count; k++) {
      const v128_t sum = wasm_f32x4_add(wasm_f32x4_mul(wasm_f32x4_splat(a[k]), factor), offset);
      numbers[k] = wasm_i16x8_extract_lane(sum, 0);
    }
    for (; k % kInt8GroupRows != 0; k++) numbers[k] = 0;
    return finite ? limit / kLimit : __builtin_nanf("");
  }

  // All rows of a, once for all panels that a thread multiplies with it.
  static void Quantize(const PanelProduct<float>& p) {
    const ptrdiff_t blocks = BlocksOf(p.depth);
    for (ptrdiff_t row = 0; row < p.rows; row++) {
      for (ptrdiff_t block = 0; block < blocks; block++) {
        const ptrdiff_t first = block * kInt8BlockRows;
        p.int8_rows->factors[row * blocks + block] =
            QuantizeBlock(p.a + row * p.a_stride + first, BlockRows(p.depth, first), Numbers(p, row, block));
      }
    }
    p.int8_rows->version = p.version;
  }

  // kRows x kVectors vectors of four columns, over the whole depth.
  template <int kRows, int kVectors>
  [[gnu::noinline]] static void Tile(const PanelProduct<float>& p, ptrdiff_t row, ptrdiff_t column) {
    const ptrdiff_t blocks = BlocksOf(p.depth);
    const ptrdiff_t stride = kInt8GroupRows * p.panel_stride;
    const ptrdiff_t numbers_stride = blocks * kInt8BlockRows;
    const int8_t* weights = static_cast<const int8_t*>(p.panel) + kInt8GroupRows * column;
    for (ptrdiff_t block = 0; block < blocks; block++) {
      const ptrdiff_t first = block * kInt8BlockRows;
      const int16_t* numbers = Numbers(p, row, block);
      v128_t sums[kRows][kVectors];
      CUDNN_RNN_UNROLL
      for (int i = 0; i < kRows; i++) {
        CUDNN_RNN_UNROLL
        for (int j = 0; j < kVectors; j++) sums[i][j] = wasm_i32x4_const_splat(0);
      }
      // One pair of rows of the depth in a body: a second one's operands would need registers (vector_wasm.h).
      for (ptrdiff_t left = BlockRows(p.depth, first); left > 0; left -= kInt8GroupRows) {
        if constexpr (kRows < kVectors) {
          v128_t x[kRows];
          CUDNN_RNN_UNROLL
          for (int i = 0; i < kRows; i++) x[i] = wasm_v128_load32_splat(numbers + i * numbers_stride);
          CUDNN_RNN_UNROLL
          for (int j = 0; j < kVectors; j++) {
            const v128_t w = wasm_i16x8_load8x8(weights + 8 * j);
            CUDNN_RNN_UNROLL
            for (int i = 0; i < kRows; i++) {
              sums[i][j] = wasm_i32x4_add(sums[i][j], wasm_i32x4_dot_i16x8(w, x[i]));
            }
          }
        } else {
          v128_t w[kVectors];
          CUDNN_RNN_UNROLL
          for (int j = 0; j < kVectors; j++) w[j] = wasm_i16x8_load8x8(weights + 8 * j);
          CUDNN_RNN_UNROLL
          for (int i = 0; i < kRows; i++) {
            const v128_t x = wasm_v128_load32_splat(numbers + i * numbers_stride);
            CUDNN_RNN_UNROLL
            for (int j = 0; j < kVectors; j++) {
              sums[i][j] = wasm_i32x4_add(sums[i][j], wasm_i32x4_dot_i16x8(w[j], x));
            }
          }
        }
        numbers += kInt8GroupRows;
        weights += stride;
      }
      CUDNN_RNN_UNROLL
      for (int i = 0; i < kRows; i++) {
        float* c = p.c + (row + i) * p.c_stride + column;
        // The blocks of the depth have different scales, so each is added to c in float32 rather than in integers.
        const float* init = first > 0 ? c : p.init == nullptr ? nullptr : p.init + (row + i) * p.init_stride + column;
        const v128_t factor = wasm_f32x4_splat(p.int8_rows->factors[(row + i) * blocks + block]);
        CUDNN_RNN_UNROLL
        for (int j = 0; j < kVectors; j++) {
          const v128_t scale = wasm_f32x4_mul(wasm_v128_load(p.scales + column + kLanes * j), factor);
          const v128_t start = init == nullptr ? wasm_f32x4_const_splat(0) : wasm_v128_load(init + kLanes * j);
          const v128_t sum = wasm_f32x4_convert_i32x4(sums[i][j]);
          wasm_v128_store(c + kLanes * j, wasm_f32x4_add(wasm_f32x4_mul(sum, scale), start));
        }
      }
    }
  }

  // The tiles of `rows` <= kRows rows side by side over a panel of kVectors vectors: 1 x 8, 2 x 4, 3 x 3 and 4 x 2, or
  // the remainder.
  template <int kRows, int kVectors>
  static void TilesOfRows(const PanelProduct<float>& p, ptrdiff_t row, ptrdiff_t rows) {
    if constexpr (kRows > 1) {
      if (rows < kRows) return TilesOfRows<kRows - 1, kVectors>(p, row, rows);
    }
    constexpr int kWidest = kRows == 1 ? 8 : kRows == 2 ? 4 : kRows == 3 ? 3 : 2;
    constexpr int kTile = kVectors < kWidest ? kVectors : kWidest;
    for (int first = 0; first + kTile <= kVectors; first += kTile) Tile<kRows, kTile>(p, row, first * kLanes);
    if constexpr (kVectors % kTile != 0) {
      Tile<kRows, kVectors % kTile>(p, row, (kVectors - kVectors % kTile) * kLanes);
    }
  }

  template <int kChunks>
  static void Rows(const PanelProduct<float>& p) {
    constexpr int kVectors = kChunks * kChunk<float> / kLanes;
    // The tallest tile by whose width the panel can be divided.
    constexpr int kMaxRows = kVectors % 3 == 0 ? 3 : 4;
    // Tiles of equal height, as a tile of one row costs nearly as much as a full one.
    const ptrdiff_t tiles = (p.rows + kMaxRows - 1) / kMaxRows;
    for (ptrdiff_t tile = 0; tile < tiles; tile++) {
      const ptrdiff_t row = p.rows * tile / tiles;
      TilesOfRows<kMaxRows, kVectors>(p, row, p.rows * (tile + 1) / tiles - row);
    }
  }
};

// KernelTable::product_int8.
static void ProductByInt8Dots(const PanelProduct<float>& product) {
  if (product.int8_rows->version != product.version) Int8Dots::Quantize(product);
  switch (product.chunks) {
    case 1:
      return Int8Dots::Rows<1>(product);
    case 2:
      return Int8Dots::Rows<2>(product);
    case 3:
      return Int8Dots::Rows<3>(product);
    default:
      return Int8Dots::Rows<4>(product);
  }
}

}  // namespace
