// Products of int8 weights in integers: four weights of a column times four numbers at once, exactly, by an instruction
// that multiplies unsigned by signed bytes (VPDPBUSD). Included, after one vector_*.h, by the kernel files only.
//
// A row of a is brought to 16 bits, q = round(a / max|a| · 32767) + 32768, whose low and high bytes are multiplied
// apart, as the instruction takes unsigned bytes. The error of a's rounding is 2^-16 of its largest element, and the
// error of the weights 2^-8.
//   Σ (q - 32768)·w = Σ low·w + 256·(Σ high·w - 128·Σ w)
// Or, if the copy is in bytes, to 8 bits, q = round(a / max|a| · 127) + 128, in half the instructions:
//   Σ (q - 128)·w = Σ q·w - 128·Σ w
//
// Beside what dot_tiles.h names, D has
//   kTileVectors, kTwoDigitTileVectors   the widest tile of every number of rows, in vectors
//   LargestMagnitude                     of `count` elements, a NaN if there is one
//   StoreDigits                          the integers' low bytes, and their high bytes unless these are null
//   Zero, MinusTimes128, Sum, ToFloat    of registers of sums
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernels/dot_tiles.h"

namespace {

using namespace cudnn_rnn;

template <typename V, typename D>
struct Int8ByteDots {
  using Register = typename D::Register;

  // Quads of a block, and where the high bytes of a row's block begin.
  static constexpr ptrdiff_t kQuads = kInt8BlockRows / 4;

  static ptrdiff_t BlocksOf(ptrdiff_t depth) { return (depth + kInt8BlockRows - 1) / kInt8BlockRows; }
  static ptrdiff_t BlockRows(ptrdiff_t depth, ptrdiff_t block) {
    return Smaller(depth - block * kInt8BlockRows, kInt8BlockRows);
  }

  // The product of rows in bytes, or in two digits.
  template <bool kInBytes>
  struct Tile {
    static constexpr auto& kTileVectors = []() -> auto& {
      if constexpr (kInBytes) {
        return D::kTileVectors;
      } else {
        return D::kTwoDigitTileVectors;
      }
    }();
    static constexpr int kDigits = kInBytes ? 1 : 2;
    static constexpr float kLimit = kInBytes ? kInt8Limit : 32767;

    // All rows of a, once for all panels that a thread multiplies with it.
    static void Quantize(const PanelProduct<float>& p) {
      const ptrdiff_t blocks = BlocksOf(p.depth);
      uint32_t* words = p.rows_copy->words;
      for (ptrdiff_t place = 0; place < p.rows * blocks; place++, words += kDigits * kQuads) {
        const ptrdiff_t block = place % blocks;
        const float* a = p.a + place / blocks * p.a_stride + block * kInt8BlockRows;
        const ptrdiff_t count = BlockRows(p.depth, block);
        const float limit = D::LargestMagnitude(a, count);
        const bool finite = limit <= 3.402823466e38f;
        // If the factor would overflow, the products are nothing beside any weight's rounding.
        D::StoreDigits(a, count, finite && limit > 1e-30f ? kLimit / limit : 0.0f, words,
                       kInBytes ? nullptr : words + kQuads);
        // A row that is not finite gives NaN.
        p.rows_copy->factors[place] = finite ? limit / kLimit : kNaN;
      }
      p.rows_copy->version = p.version;
    }

    // kRows x kVectors vectors, over the whole depth. A separate function, which scripts/checks/check_hot_loops.mjs
    // finds.
    template <int kRows, int kVectors>
    [[gnu::noinline]] static void Multiply(const PanelProduct<float>& p, ptrdiff_t row, ptrdiff_t column) {
      const ptrdiff_t blocks = BlocksOf(p.depth);
      for (ptrdiff_t block = 0; block < blocks; block++) {
        const float* factors = p.rows_copy->factors + row * blocks + block;
        const int32_t* column_sums = p.column_sums + block * p.chunks * kChunk<float> + column;
        // -128·Σw of vector j: q - 32768 = low + 256·(high - 128), and of bytes q - 128.
        const auto offset = [&](int j) {
          return D::MinusTimes128(D::Load(reinterpret_cast<const uint32_t*>(column_sums) + j * V::kLanes));
        };
        Register sums[kDigits][kRows][kVectors];
        CUDNN_RNN_UNROLL
        for (int j = 0; j < kVectors; j++) {
          CUDNN_RNN_UNROLL
          for (int i = 0; i < kRows; i++) {
            D::Zero(&sums[0][i][j]);
            if constexpr (!kInBytes) sums[1][i][j] = offset(j);
          }
        }
        const DotRows rows = {p.rows_copy->words + (row * blocks + block) * kDigits * kQuads, blocks * kDigits * kQuads,
                              kQuads, (BlockRows(p.depth, block) + 3) / 4};
        AddDots<V, D>(p, rows, block * kQuads, column, sums);
        CUDNN_RNN_UNROLL
        for (int i = 0; i < kRows; i++) {
          float* c = p.c + (row + i) * p.c_stride + column;
          // The blocks of the depth have different scales, so each is added to c in float32 rather than in integers.
          const float* init = block > 0 ? c : p.init == nullptr ? nullptr : p.init + (row + i) * p.init_stride + column;
          CUDNN_RNN_UNROLL
          for (int j = 0; j < kVectors; j++) {
            const ptrdiff_t k = j * V::kLanes;
            // Each sum is below 2^25, so each conversion rounds at most once, and that of bytes, at most
            // 1024 · 127 · 127 < 2^24, is exact; 256·high + low is one fused multiply-add.
            V sum;
            if constexpr (kInBytes) {
              sum = D::ToFloat(D::Sum(sums[0][i][j], offset(j)));
            } else {
              sum = MultiplyAdd(D::ToFloat(sums[1][i][j]), V::Set(256), D::ToFloat(sums[0][i][j]));
            }
            const V scale = V::Load(p.scales + column + k) * V::Set(factors[i * blocks]);
            MultiplyAdd(sum, scale, init == nullptr ? V::Set(0) : V::Load(init + k)).Store(c + k);
          }
        }
      }
    }
  };

  template <typename Tile>
  static void Multiply(const PanelProduct<float>& p) {
    if (p.rows_copy->version != p.version) Tile::Quantize(p);
    DotTiles<V, Tile>(p);
  }

  // KernelTable::product_int8.
  static void Product(const PanelProduct<float>& p) {
    p.rows_copy->in_bytes ? Multiply<Tile<true>>(p) : Multiply<Tile<false>>(p);
  }
};

}  // namespace
