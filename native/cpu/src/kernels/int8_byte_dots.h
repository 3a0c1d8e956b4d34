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
//   Zero, MinusTimes128, Sum, ToFloat    of registers of sums
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernels/dot_panels.h"
#include "kernels/dot_tiles.h"
#include "kernels/int8_rows.h"

namespace {

using namespace cudnn_rnn;

template <typename V, typename D>
struct Int8ByteDots {
  using Register = typename D::Register;

  // Quads of a block, and where the high bytes of a row's block begin.
  static constexpr ptrdiff_t kQuads = kInt8BlockRows / 4;

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

    static void Quantize(const PanelProduct<float>& p) {
      const ptrdiff_t blocks = BlocksOf(p.depth);
      QuantizeRows(p, kLimit, [&](ptrdiff_t row, ptrdiff_t block, const int16_t* q, ptrdiff_t count) {
        auto* low = reinterpret_cast<uint8_t*>(p.rows_copy->words + (row * blocks + block) * kDigits * kQuads);
        // The offset makes every number positive.
        constexpr uint32_t kOffset = kInBytes ? 128 : 32768;
        for (ptrdiff_t k = 0; k < count; k++) low[k] = static_cast<uint8_t>(q[k] + kOffset);
        if constexpr (!kInBytes) {
          for (ptrdiff_t k = 0; k < count; k++) low[4 * kQuads + k] = static_cast<uint8_t>((q[k] + kOffset) >> 8);
        }
      });
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
    Tile::Quantize(p);
    DotTiles<V::kLanes, Tile>(p, p.rows);
  }

  // KernelTable::product_int8.
  static void Product(const PanelProduct<float>& p) {
    p.rows_copy->in_bytes ? Multiply<Tile<true>>(p) : Multiply<Tile<false>>(p);
  }
};

}  // namespace
