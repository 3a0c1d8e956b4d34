// The products of reduced precision of every instruction set, which multiply a copy of their rows, against the loop of
// their definition over the rounded factors.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "product_by_definition.h"
#include "test_values.h"
#include "tested_kernels.h"

namespace cudnn_rnn {
namespace {

// Rows below, at and above the tallest tile, odd and even.
constexpr ptrdiff_t kRowCounts[] = {1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 25};
// Elements past the last word, an odd number of words, more than the sums of integers go over.
constexpr ptrdiff_t kReducedDepths[] = {1, 2, 5, 8, 37, 64, 2 * kInt8BlockRows + 7};

// Words of the panel [depth, width], kCount rows of `bits` in each.
template <int kCount, typename Word, typename Bits>
std::vector<Word> PanelWords(const std::vector<float>& panel, ptrdiff_t depth, ptrdiff_t width, const Bits& bits) {
  std::vector<Word> words(static_cast<size_t>((depth + kCount - 1) / kCount * width));
  for (ptrdiff_t k = 0; k < depth; k++) {
    for (ptrdiff_t j = 0; j < width; j++)
      words[k / kCount * width + j].bits |= bits(panel[k * width + j]) << 32 / kCount * (k % kCount);
  }
  return words;
}

// c = init + a · panel of a kernel, of which `words` are the panel's, and the memory of a copy as TakeRowsCopy has it.
struct ReducedProduct {
  std::vector<float> init, c;
  std::vector<uint32_t> copied;
  std::vector<float> factors;
  std::vector<int32_t> sums;
  RowsCopy copy{};
  PanelProduct<float> product{};

  template <typename Word>
  ReducedProduct(const Kernels& kernels, const std::vector<float>& a, ptrdiff_t rows, ptrdiff_t depth, int chunks,
                 const std::vector<Word>& words, ptrdiff_t steps, ptrdiff_t copied_words) {
    const ptrdiff_t width = chunks * kChunk<float>;
    init = Sine<float>(static_cast<size_t>(rows * width), 0.05);
    c.resize(init.size());
    copied.resize(static_cast<size_t>(copied_words));
    const ptrdiff_t blocks = (depth + kInt8BlockRows - 1) / kInt8BlockRows;
    factors.resize(static_cast<size_t>(rows * blocks));
    sums.resize(factors.size());
    copy = {0, factors.data(), sums.data(), copied.data(), false};
    const PanelStrides<float> strides(kernels.f32.panel_order, steps, chunks);
    product.a = a.data();
    product.a_stride = depth;
    product.rows = rows;
    product.depth = depth;
    product.panel = words.data();
    product.panel_stride = strides.row;
    product.chunk_stride = strides.chunk;
    product.chunks = chunks;
    product.rows_copy = &copy;
    product.version = 1;
    product.init = init.data();
    product.init_stride = width;
    product.c = c.data();
    product.c_stride = width;
  }
};

template <typename Body>
void EachShape(const Body& body) {
  int index = 0;
  for (const ptrdiff_t rows : kRowCounts) {
    for (const ptrdiff_t depth : kReducedDepths) {
      index++;
      for (int chunks = 1; chunks <= 4; chunks++) {
        // The long depth takes most of the time.
        const bool is_left = depth > kInt8BlockRows ? (rows + chunks) % 3 != 0 : (index + chunks) % 2 == 0;
        if (is_left && !TestsEverything()) continue;
        INFO("rows " << rows << " depth " << depth << " chunks " << chunks);
        body(rows, depth, chunks);
      }
    }
  }
}

float LargestMagnitudeOf(const float* values, ptrdiff_t count) {
  float largest = 0;
  for (ptrdiff_t k = 0; k < count; k++) largest = std::max(largest, std::abs(values[k]));
  return largest;
}

// a with each row's blocks at multiples of their scale, as products of bytes by bytes round them.
std::vector<float> AsBytes(std::vector<float> a, ptrdiff_t rows, ptrdiff_t depth) {
  for (ptrdiff_t row = 0; row < rows; row++) {
    for (ptrdiff_t first = 0; first < depth; first += kInt8BlockRows) {
      float* const block = &a[row * depth + first];
      const ptrdiff_t count = std::min(kInt8BlockRows, depth - first);
      const float largest = LargestMagnitudeOf(block, count);
      for (ptrdiff_t k = 0; k < count; k++)
        block[k] = std::nearbyint(block[k] * (kInt8Limit / largest)) * (largest / kInt8Limit);
    }
  }
  return a;
}

TEST_CASE("KernelTable::product_int8 is init + a · panel, of rows in bytes and in more bits") {
  EachShape([](ptrdiff_t rows, ptrdiff_t depth, int chunks) {
    const ptrdiff_t width = chunks * kChunk<float>;
    const std::vector<float> a = Sine<float>(static_cast<size_t>(rows * depth), 0.31);
    // Integers times a scale that rounds nothing.
    constexpr float kScale = 1.0f / 512;
    std::vector<float> panel = Sine<float>(static_cast<size_t>(depth * width), 0.17);
    for (float& weight : panel) weight = std::nearbyint(weight * (kInt8Limit / 0.3f)) * kScale;
    const auto byte_of = [](float weight) { return static_cast<uint32_t>(static_cast<int>(weight / kScale)) & 255; };
    const ptrdiff_t steps = (depth + 3) / 4;
    const auto words = PanelWords<4, Int8Quad>(panel, depth, width, byte_of);
    const ptrdiff_t blocks = (depth + kInt8BlockRows - 1) / kInt8BlockRows;
    const std::vector<float> scales(static_cast<size_t>(width), kScale);
    std::vector<int32_t> column_sums(static_cast<size_t>(blocks * width));
    for (ptrdiff_t k = 0; k < depth; k++) {
      for (ptrdiff_t j = 0; j < width; j++)
        column_sums[k / kInt8BlockRows * width + j] += static_cast<int32_t>(panel[k * width + j] / kScale);
    }
    const ptrdiff_t copied_words = rows * std::max(blocks * kInt8BlockRows / 2, depth);
    const std::vector<float> init = Sine<float>(static_cast<size_t>(rows * width), 0.05);
    for (const bool in_bytes : {false, true}) {
      const auto expected =
          ProductByDefinition(in_bytes ? AsBytes(a, rows, depth) : a, panel, init, rows, depth, width);
      // In more bits the row is rounded to 15 of them or more, each element by at most a half of 0.3 · 2^-14.
      const double tolerance =
          SumTolerance<float>(depth) + (in_bytes ? 0 : 0.3 * 0x1p-15 * 0.25 * static_cast<double>(depth));
      for (const Kernels* kernels : ReducedKernels()) {
        const auto quads = PanelFor<float>(kernels->f32.panel_order, words, steps, chunks);
        ReducedProduct operands(*kernels, a, rows, depth, chunks, quads, steps, copied_words);
        operands.product.scales = scales.data();
        operands.product.column_sums = column_sums.data();
        operands.copy.in_bytes = in_bytes;
        kernels->f32.product_int8(operands.product);
        INFO(kernels->name << (in_bytes ? ", in bytes" : ""));
        REQUIRE(Difference(operands.c, expected) <= tolerance);
      }
    }
  });
}

TEST_CASE("Bfloat16Products::product is init + a · panel of rounded factors, of rows and of columns that were copied") {
  EachShape([](ptrdiff_t rows, ptrdiff_t depth, int chunks) {
    const ptrdiff_t width = chunks * kChunk<float>;
    const std::vector<float> a = Sine<float>(static_cast<size_t>(rows * depth), 0.31);
    const std::vector<float> panel = Sine<float>(static_cast<size_t>(depth * width), 0.17);
    const ptrdiff_t steps = (depth + 1) / 2;
    const auto expected = ProductByDefinition(AsBfloat16(a), AsBfloat16(panel),
                                              Sine<float>(static_cast<size_t>(rows * width), 0.05), rows, depth, width);
    std::vector<float> transposed(a.size());
    for (ptrdiff_t row = 0; row < rows; row++) {
      for (ptrdiff_t k = 0; k < depth; k++) transposed[k * rows + row] = a[row * depth + k];
    }
    for (const Kernels* kernels : RoundingKernels()) {
      INFO(kernels->name);
      std::vector<Bfloat16Pair> words(static_cast<size_t>(steps * width));
      kernels->f32.bfloat16.pairs(panel.data(), width, depth, width, &words[0].bits, width);
      const auto pairs = PanelFor<float>(kernels->f32.panel_order, words, steps, chunks);
      ReducedProduct operands(*kernels, a, rows, depth, chunks, pairs, steps, rows * depth);
      kernels->f32.bfloat16.product(operands.product);
      REQUIRE(Difference(operands.c, expected) <= SumTolerance<float>(depth));
      const std::vector<float> by_rows = std::exchange(operands.c, std::vector<float>(operands.c.size()));
      operands.product.c = operands.c.data();
      // aᵀ by its columns is the same copy.
      operands.product.version++;
      operands.copy.version = operands.product.version;
      std::fill(operands.copied.begin(), operands.copied.end(), 0);
      kernels->f32.bfloat16.copy_columns(transposed.data(), rows, depth, rows, operands.copied.data());
      kernels->f32.bfloat16.product(operands.product);
      REQUIRE(Difference(operands.c, by_rows) == 0);
    }
  });
}

}  // namespace
}  // namespace cudnn_rnn
