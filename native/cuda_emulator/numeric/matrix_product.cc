#include "numeric/matrix_product.h"

#include <algorithm>
#include <vector>

namespace emulator {
namespace {

constexpr std::size_t kRows = 4;
constexpr std::size_t kColumns = 8;
constexpr std::size_t kDepth = 256;  // one panel of each factor stays in the first-level cache

using Lanes = double __attribute__((vector_size(32), aligned(8)));

// tile[4,8] += a panel [depth][4] · b panel [depth][8].
inline __attribute__((always_inline)) void MultiplyTile(std::size_t depth, const double* a, const double* b,
                                                        double* tile) {
  Lanes low[kRows] = {};
  Lanes high[kRows] = {};
  for (std::size_t p = 0; p < depth; ++p) {
    const Lanes b_low = *reinterpret_cast<const Lanes*>(b + p * kColumns);
    const Lanes b_high = *reinterpret_cast<const Lanes*>(b + p * kColumns + 4);
    for (std::size_t i = 0; i < kRows; ++i) {
      low[i] += a[p * kRows + i] * b_low;
      high[i] += a[p * kRows + i] * b_high;
    }
  }
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t j = 0; j < 4; ++j) {
      tile[i * kColumns + j] = low[i][j];
      tile[i * kColumns + 4 + j] = high[i][j];
    }
  }
}

using Multiply = void (*)(std::size_t, const double*, const double*, double*);

void MultiplyAnywhere(std::size_t depth, const double* a, const double* b, double* tile) {
  MultiplyTile(depth, a, b, tile);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void MultiplyAvx2(std::size_t depth, const double* a, const double* b,
                                                      double* tile) {
  MultiplyTile(depth, a, b, tile);
}

Multiply Best() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? MultiplyAvx2 : MultiplyAnywhere;
}
#else
Multiply Best() { return MultiplyAnywhere; }
#endif

// Panels of `width` lines of x side by side, zero-filled: out[panel][p][lane] = x(line, p).
template <std::size_t width, class At>
std::vector<double> Packed(std::size_t lines, std::size_t depth, At at) {
  const std::size_t panels = (lines + width - 1) / width;
  std::vector<double> packed(panels * depth * width);
  for (std::size_t line = 0; line < lines; ++line) {
    double* out = packed.data() + line / width * depth * width + line % width;
    for (std::size_t p = 0; p < depth; ++p) out[p * width] = at(line, p);
  }
  return packed;
}

}  // namespace

void AddProduct(std::size_t m, std::size_t n, std::size_t k, MatrixView a, MatrixView b, double* c,
                std::size_t stride) {
  static const Multiply multiply = Best();
  double tile[kRows * kColumns];
  for (std::size_t start = 0; start < k; start += kDepth) {
    const std::size_t depth = std::min(kDepth, k - start);
    const auto a_panels = Packed<kRows>(m, depth, [&](std::size_t i, std::size_t p) { return a(i, start + p); });
    const auto b_panels = Packed<kColumns>(n, depth, [&](std::size_t j, std::size_t p) { return b(start + p, j); });
    for (std::size_t j = 0; j < n; j += kColumns) {
      for (std::size_t i = 0; i < m; i += kRows) {
        multiply(depth, a_panels.data() + i * depth, b_panels.data() + j * depth, tile);
        const std::size_t rows = std::min(kRows, m - i);
        const std::size_t columns = std::min(kColumns, n - j);
        for (std::size_t r = 0; r < rows; ++r) {
          for (std::size_t s = 0; s < columns; ++s) c[(i + r) * stride + j + s] += tile[r * kColumns + s];
        }
      }
    }
  }
}

}  // namespace emulator
