// Products of int8 weights in integers: four weights of a column times four numbers at once, exactly.
//
// A row of a is brought to 16 bits, q = round(a / max|a| · 32767) + 32768, whose low and high bytes are multiplied
// apart, as the instruction takes unsigned bytes. The rounding of a is 2^-16 of its largest element; the weights
// have lost 2^-8.
//   Σ (q - 32768)·w = Σ low·w + 256·(Σ high·w - 128·Σ w)
// Or, if the copy is in bytes, to 8 bits, q = round(a / max|a| · 127) + 128, in half the instructions:
//   Σ (q - 128)·w = Σ q·w - 128·Σ w
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/dot_tiles_avx512.h"

namespace cudnn_rnn {
namespace {

constexpr float kLimit = 32767;
constexpr int kOffset = 32768;
constexpr int kByteOffset = 128;

// Quads of a block, and where the high bytes of a row's block begin.
constexpr ptrdiff_t kQuads = kInt8BlockRows / 4;

ptrdiff_t BlocksOf(ptrdiff_t depth) { return (depth + kInt8BlockRows - 1) / kInt8BlockRows; }

// One row of a block, in one digit or two. Returns the scale of the integers; NaN for a row that is not finite.
template <bool kInBytes>
float QuantizeBlock(const float* a, ptrdiff_t count, uint32_t* digits) {
  constexpr float kLargest = kInBytes ? kInt8Limit : kLimit;
  // The largest |a| by integer maximum: positive floats order as their bit patterns do, and NaN and infinity have the
  // largest patterns of all, so one comparison at the end finds them too.
  const __m512i magnitude = _mm512_set1_epi32(INT32_MAX);
  __m512i largest = _mm512_setzero_si512();
  for (ptrdiff_t k = 0; k < count; k += kLanes) {
    const __m512i bits = _mm512_castps_si512(_mm512_maskz_loadu_ps(LanesBelow(count - k), a + k));
    largest = _mm512_max_epi32(largest, _mm512_and_si512(bits, magnitude));
  }
  const float limit = _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(_mm512_reduce_max_epi32(largest))));
  const bool finite = limit <= 3.402823466e38f;
  // If the factor would overflow, the products are nothing beside any weight's rounding.
  const __m512 factor = _mm512_set1_ps(finite && limit > 1e-30f ? kLargest / limit : 0.0f);
  for (ptrdiff_t k = 0; k < count; k += kLanes) {
    // VCVTPS2DQ rounds to nearest even. The offset makes every q positive, as VPDPBUSD takes unsigned bytes on this
    // side.
    const __m512 x = _mm512_mul_ps(_mm512_maskz_loadu_ps(LanesBelow(count - k), a + k), factor);
    const __m512i q = _mm512_add_epi32(_mm512_cvtps_epi32(x), _mm512_set1_epi32(kInBytes ? kByteOffset : kOffset));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(digits + k / 4), _mm512_cvtepi32_epi8(q));
    if constexpr (!kInBytes) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(digits + kQuads + k / 4),
                       _mm512_cvtepi32_epi8(_mm512_srli_epi32(q, 8)));
    }
  }
  return finite ? limit / kLargest : kNaN;
}

// All rows of a, once for all panels that a thread multiplies with it.
template <bool kInBytes>
void Quantize(const PanelProduct<float>& p) {
  constexpr ptrdiff_t kBlockWords = kInBytes ? kQuads : 2 * kQuads;
  const ptrdiff_t blocks = BlocksOf(p.depth);
  for (ptrdiff_t row = 0; row < p.rows; row++) {
    for (ptrdiff_t block = 0; block < blocks; block++) {
      const ptrdiff_t first = block * kInt8BlockRows;
      const ptrdiff_t count = p.depth - first < kInt8BlockRows ? p.depth - first : kInt8BlockRows;
      p.rows_copy->factors[row * blocks + block] = QuantizeBlock<kInBytes>(
          p.a + row * p.a_stride + first, count, p.rows_copy->words + (row * blocks + block) * kBlockWords);
    }
  }
  p.rows_copy->version = p.version;
}

// Keeps a sum in one register: g++ 12 copies sums back and forth, and stores those that begin with equal values in
// every step.
inline void KeepInRegister(__m512i* value) {
#if defined(__GNUC__)
  asm("" : "+v"(*value));
#endif
}

// The product of rows in bytes, or in two digits.
template <bool kInBytes>
struct Int8Tile {
  // vpdpbusd multiplies four unsigned by four signed bytes and adds all four to an int32 (Intel Intrinsics Guide,
  // _mm512_dpbusd_epi32). A row of two digits has 2 · 4 sums: three rows would have 24, with 4 weights, 2 digits and
  // the offsets more than 32 registers.
  static constexpr int kMostRows = kInBytes ? 6 : 2;
  static constexpr int kDigits = kInBytes ? 1 : 2;

  // kRows x kChunks vectors, over the whole depth. A separate function, which scripts/checks/check_hot_loops.mjs finds.
  template <int kRows, int kChunks>
  [[gnu::noinline]] static void Multiply(const PanelProduct<float>& p, ptrdiff_t row) {
    const ptrdiff_t blocks = BlocksOf(p.depth);
    const ptrdiff_t row_words = blocks * kDigits * kQuads;
    for (ptrdiff_t block = 0; block < blocks; block++) {
      const ptrdiff_t first = block * kInt8BlockRows;
      const ptrdiff_t count = p.depth - first < kInt8BlockRows ? p.depth - first : kInt8BlockRows;
      const uint32_t* digits = p.rows_copy->words + row * row_words + block * kDigits * kQuads;
      const float* factors = p.rows_copy->factors + row * blocks + block;
      const int32_t* column_sums = p.column_sums + block * p.panel_stride;
      __m512i sums[kDigits][kRows][kChunks];
      CUDNN_RNN_UNROLL
      for (int j = 0; j < kChunks; j++) {
        // -128·Σw is where the sum of the high bytes starts: q - 32768 = low + 256·(high - 128).
        const __m512i offset = _mm512_slli_epi32(_mm512_loadu_si512(column_sums + j * kLanes), 7);
        CUDNN_RNN_UNROLL
        for (int i = 0; i < kRows; i++) {
          sums[0][i][j] = _mm512_setzero_si512();
          if constexpr (kInBytes) KeepInRegister(&sums[0][i][j]);
          if constexpr (!kInBytes) sums[1][i][j] = _mm512_sub_epi32(_mm512_setzero_si512(), offset);
        }
      }
      const Int8Quad* weights = static_cast<const Int8Quad*>(p.panel) + first / 4 * p.panel_stride;
      for (const uint32_t* end = digits + (count + 3) / 4; digits < end; digits++, weights += p.panel_stride) {
        __m512i w[kChunks];
        CUDNN_RNN_UNROLL
        for (int j = 0; j < kChunks; j++) w[j] = _mm512_loadu_si512(weights + j * kLanes);
        CUDNN_RNN_UNROLL
        for (int i = 0; i < kRows; i++) {
          // One broadcast of four bytes of a row is multiplied by 16 columns of four weights each: 64 products an
          // instruction.
          __m512i x[kDigits];
          CUDNN_RNN_UNROLL
          for (int d = 0; d < kDigits; d++) {
            x[d] = _mm512_set1_epi32(static_cast<int>(digits[i * row_words + d * kQuads]));
          }
          CUDNN_RNN_UNROLL
          for (int j = 0; j < kChunks; j++) {
            CUDNN_RNN_UNROLL
            for (int d = 0; d < kDigits; d++) {
              sums[d][i][j] = _mm512_dpbusd_epi32(sums[d][i][j], x[d], w[j]);
              if constexpr (!kInBytes) KeepInRegister(&sums[d][i][j]);
            }
          }
        }
      }
      CUDNN_RNN_UNROLL
      for (int i = 0; i < kRows; i++) {
        float* c = p.c + (row + i) * p.c_stride;
        // The blocks of the depth have different scales, so each is added to c in float32 rather than in integers.
        const float* init = first > 0 ? c : p.init == nullptr ? nullptr : p.init + (row + i) * p.init_stride;
        CUDNN_RNN_UNROLL
        for (int j = 0; j < kChunks; j++) {
          const __m512 start = init == nullptr ? _mm512_setzero_ps() : _mm512_loadu_ps(init + j * kLanes);
          // Each sum is below 2^25, so each conversion rounds at most once, and that of bytes, at most 1024 · 127 · 127
          // < 2^24, is exact; 256·high + low is one fused multiply-add.
          __m512 sum;
          if constexpr (kInBytes) {
            const __m512i offset = _mm512_slli_epi32(_mm512_loadu_si512(column_sums + j * kLanes), 7);
            sum = _mm512_cvtepi32_ps(_mm512_sub_epi32(sums[0][i][j], offset));
          } else {
            sum = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums[1][i][j]), _mm512_set1_ps(256),
                                  _mm512_cvtepi32_ps(sums[0][i][j]));
          }
          const __m512 scale =
              _mm512_mul_ps(_mm512_loadu_ps(p.scales + j * kLanes), _mm512_set1_ps(factors[i * blocks]));
          _mm512_storeu_ps(c + j * kLanes, _mm512_fmadd_ps(sum, scale, start));
        }
      }
    }
  }
};

template <bool kInBytes>
void Product(const PanelProduct<float>& p) {
  if (p.rows_copy->version != p.version) Quantize<kInBytes>(p);
  Tiles<Int8Tile<kInBytes>>(p);
}

}  // namespace

void ProductByInt8Dots(const PanelProduct<float>& p) { p.rows_copy->in_bytes ? Product<true>(p) : Product<false>(p); }

}  // namespace cudnn_rnn
