// Every product of every instruction set against the loop of its definition.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "product_by_definition.h"
#include "test_values.h"
#include "tested_kernels.h"

namespace cudnn_rnn {
namespace {

// Rows below, at and above the tallest tile; depths that no unrolled loop divides.
constexpr ptrdiff_t kRows[] = {1, 2, 3, 5, 6, 7, 8, 13, 17, 50};
constexpr ptrdiff_t kDepths[] = {1, 3, 16, 37, 600};

// The panel has product.depth rows.
template <typename T>
void PointAt(const std::vector<T>& panel, PanelOrder order, int chunks, PanelProduct<T>* product) {
  const PanelStrides<T> strides(order, product->depth, chunks);
  product->panel = panel.data();
  product->panel_stride = strides.row;
  product->chunk_stride = strides.chunk;
  product->chunks = chunks;
}

// The memory of a RowsCopy of elements.
template <typename T>
struct CopiedRows {
  std::vector<T> elements;
  RowsCopy copy;

  explicit CopiedRows(ptrdiff_t count) : elements(count), copy{0, nullptr, nullptr, AsWords(elements.data())} {}
  static uint32_t* AsWords(T* elements) { return reinterpret_cast<uint32_t*>(elements); }
};

template <typename T>
void ProductsEqualTheirDefinition() {
  int index = 0;
  for (const ptrdiff_t rows : kRows) {
    for (const ptrdiff_t depth : kDepths) {
      index++;
      for (int chunks = 1; chunks <= 4; chunks++) {
        if (!TestsEverything() && (index + chunks) % 2 == 0) continue;
        const ptrdiff_t width = chunks * kChunk<T>;
        const std::vector<T> a = Sine<T>(static_cast<size_t>(rows * depth), 0.31);
        const std::vector<T> panel = Sine<T>(static_cast<size_t>(depth * width), 0.17);
        const std::vector<T> init = Sine<T>(static_cast<size_t>(rows * width), 0.05), zeros(init.size());
        const std::vector<T> expected = ProductByDefinition(a, panel, init, rows, depth, width);
        const std::vector<T> without_init = ProductByDefinition(a, panel, zeros, rows, depth, width);
        for (const Kernels* kernels : TestedKernels()) {
          const KernelTable<T>& table = TableOfType<T>(*kernels);
          const std::vector<T> stored = PanelFor<T>(table.panel_order, panel, depth, chunks);
          INFO(kernels->name << " rows " << rows << " depth " << depth << " chunks " << chunks);
          // With and without a copy of a, which other kernels than those that copy rows ignore.
          for (const bool copies : {false, true}) {
            std::vector<T> c(init.size());
            PanelProduct<T> product = ProductOf(a, rows, depth, &c);
            PointAt(stored, table.panel_order, chunks, &product);
            product.init = init.data();
            product.init_stride = width;
            CopiedRows<T> copied(rows * depth);
            product.rows_copy = copies ? &copied.copy : nullptr;
            product.version = 1;
            table.product(product);
            REQUIRE(Difference(c, expected) <= SumTolerance<T>(depth));
            product.init = nullptr;
            table.product(product);
            REQUIRE(Difference(c, without_init) <= SumTolerance<T>(depth));
          }
        }
      }
    }
  }
}

TEST_CASE_TEMPLATE("KernelTable::product is init + a · panel", T, float, double) { ProductsEqualTheirDefinition<T>(); }

TEST_CASE("KernelTable::product copies rows where the version is another one, and not for fewer than four") {
  constexpr ptrdiff_t kDepth = 37, kWidth = kChunk<float>;
  const std::vector<float> panel = Sine<float>(kDepth * kWidth, 0.17);
  for (const Kernels* kernels : TestedKernels()) {
    if (!kernels->f32.copies_rows) continue;
    for (const ptrdiff_t rows : {3, 4, 13}) {
      INFO(kernels->name << " rows " << rows);
      const std::vector<float> zeros(rows * kWidth), other = Sine<float>(static_cast<size_t>(rows * kDepth), 0.43);
      std::vector<float> a = Sine<float>(other.size(), 0.31), c(zeros.size());
      const std::vector<float> first = a;
      CopiedRows<float> copied(rows * kDepth);
      PanelProduct<float> product{};
      product.a = a.data();
      product.a_stride = kDepth;
      product.rows = rows;
      product.depth = kDepth;
      PointAt(panel, kernels->f32.panel_order, 1, &product);
      product.c = c.data();
      product.c_stride = kWidth;
      product.rows_copy = &copied.copy;
      const auto is_product_of = [&](const std::vector<float>& rows_of_a) {
        kernels->f32.product(product);
        const std::vector<float> expected = ProductByDefinition(rows_of_a, panel, zeros, rows, kDepth, kWidth);
        return Difference(c, expected) <= SumTolerance<float>(kDepth);
      };
      product.version = 5;
      CHECK(is_product_of(first));
      a = other;
      CHECK(is_product_of(rows < 4 ? other : first));
      product.version = 6;
      CHECK(is_product_of(other));
      CHECK(copied.copy.version == (rows < 4 ? 0 : 6));
    }
  }
}

TEST_CASE("KernelTable::product reads a from panels") {
  constexpr ptrdiff_t kWidth = 64, kInPanel = 32, kPanels = 3, kRowCount = 9, kDepth = kInPanel * kPanels;
  const std::vector<float> a = Sine<float>(kRowCount * kDepth, 0.31);
  const std::vector<float> panel = Sine<float>(kDepth * kWidth, 0.17);
  const std::vector<float> zeros(kRowCount * kWidth);
  // [panels][rows][columns of the panel]
  std::vector<float> in_panels(a.size());
  for (ptrdiff_t row = 0; row < kRowCount; row++) {
    for (ptrdiff_t k = 0; k < kDepth; k++) {
      in_panels[(k / kInPanel * kRowCount + row) * kInPanel + k % kInPanel] = a[row * kDepth + k];
    }
  }
  for (const Kernels* kernels : TestedKernels()) {
    const std::vector<float> stored = PanelFor<float>(kernels->f32.panel_order, panel, kDepth, 4);
    std::vector<float> c(zeros.size());
    PanelProduct<float> product{};
    product.a = in_panels.data();
    product.a_stride = kInPanel;
    product.a_panel_width = kInPanel;
    product.a_panel_stride = kRowCount * kInPanel;
    product.rows = kRowCount;
    product.depth = kDepth;
    PointAt(stored, kernels->f32.panel_order, 4, &product);
    product.c = c.data();
    product.c_stride = kWidth;
    kernels->f32.product(product);
    CHECK(Difference(c, ProductByDefinition(a, panel, zeros, kRowCount, kDepth, kWidth)) <=
          SumTolerance<float>(kDepth));
  }
}

template <typename T>
void PackedProductsEqualTheirDefinition(const Kernels& kernels) {
  const KernelTable<T>& table = TableOfType<T>(kernels);
  for (const ptrdiff_t rows : kRows) {
    for (const ptrdiff_t depth : kDepths) {
      const ptrdiff_t width = 4 * kChunk<T>;
      const std::vector<T> a = Sine<T>(static_cast<size_t>(rows * depth), 0.31);
      const std::vector<T> panel = Sine<T>(static_cast<size_t>(depth * width), 0.17);
      // [tiles][depth][rows of the tile]; kernels that multiply by lanes load a vector past the end.
      std::vector<T> packed(a.size() + kChunk<T>);
      T* to = packed.data();
      for (ptrdiff_t first = 0; first < rows; first += table.tile_rows) {
        const ptrdiff_t count = std::min(table.tile_rows, rows - first);
        for (ptrdiff_t k = 0; k < depth; k++) {
          for (ptrdiff_t row = first; row < first + count; row++) *to++ = a[row * depth + k];
        }
      }
      // c is in the order of the kernels, as the gradient of a panel of `rows` rows of the depth is.
      const PanelStrides<T> strides(table.panel_order, rows, 4);
      std::vector<T> c(static_cast<size_t>(rows * width));
      PanelProduct<T> product{};
      product.a = packed.data();
      product.rows = rows;
      product.depth = depth;
      product.panel = panel.data();
      product.panel_stride = width;
      product.chunks = 4;
      product.c = c.data();
      product.c_stride = strides.row;
      product.c_chunk_stride = strides.chunk;
      table.product_packed(product);
      INFO(kernels.name << " rows " << rows << " depth " << depth);
      const auto expected = ProductByDefinition(a, panel, std::vector<T>(c.size()), rows, depth, width);
      REQUIRE(Difference(c, PanelFor<T>(table.panel_order, expected, rows, 4)) <= SumTolerance<T>(depth));
    }
  }
}

TEST_CASE("KernelTable::product_packed is the same of packed rows") {
  for (const Kernels* kernels : TestedKernels()) {
    PackedProductsEqualTheirDefinition<float>(*kernels);
    PackedProductsEqualTheirDefinition<double>(*kernels);
  }
}

// Rows of a, b and c apart, elements of a apart, columns that no vector divides.
template <typename T>
void StreamedProductsEqualTheirDefinition(const Kernels& kernels) {
  constexpr ptrdiff_t kGap = 3, kApart = 2;
  for (const ptrdiff_t rows : {1, 2, 3, 4, 7}) {
    for (const ptrdiff_t depth : {1, 8, 37}) {
      for (const ptrdiff_t columns : {1, 16, 77}) {
        const ptrdiff_t stride = columns + kGap;
        const std::vector<T> a = Sine<T>(static_cast<size_t>(rows * depth * kApart), 0.31);
        const std::vector<T> b = Sine<T>(static_cast<size_t>(depth * stride), 0.17);
        std::vector<T> c = Sine<T>(static_cast<size_t>(rows * stride), 0.05);
        std::vector<T> expected = c;
        for (ptrdiff_t row = 0; row < rows; row++) {
          for (ptrdiff_t j = 0; j < columns; j++) {
            double sum = c[row * stride + j];
            for (ptrdiff_t k = 0; k < depth; k++) {
              sum += static_cast<double>(a[(row * depth + k) * kApart]) * b[k * stride + j];
            }
            expected[row * stride + j] = static_cast<T>(sum);
          }
        }
        StreamedProduct<T> product{};
        product.a = a.data();
        product.a_stride = depth * kApart;
        product.a_column_stride = kApart;
        product.rows = rows;
        product.depth = depth;
        product.b = b.data();
        product.b_stride = stride;
        product.columns = columns;
        product.c = c.data();
        product.c_stride = stride;
        TableOfType<T>(kernels).streamed_product(product);
        INFO(kernels.name << " rows " << rows << " depth " << depth << " columns " << columns);
        // The gaps between the rows of c are compared too.
        REQUIRE(Difference(c, expected) <= SumTolerance<T>(depth));
      }
    }
  }
}

TEST_CASE("KernelTable::streamed_product adds a · b, and writes nothing beside c") {
  for (const Kernels* kernels : TestedKernels()) {
    StreamedProductsEqualTheirDefinition<float>(*kernels);
    StreamedProductsEqualTheirDefinition<double>(*kernels);
  }
}

template <typename T>
void TransposedProductsEqualTheirDefinition(const Kernels& kernels, PanelOrder order) {
  for (const ptrdiff_t rows : {1, 2, 7, 13}) {
    for (const ptrdiff_t depth : {1, 5, 37}) {
      for (const int last_chunks : {1, 4}) {
        constexpr ptrdiff_t kPanels = 3;
        const ptrdiff_t full = 4 * kChunk<T>;
        const ptrdiff_t outputs = (kPanels - 1) * full + last_chunks * kChunk<T>;
        const std::vector<T> matrix = Sine<T>(static_cast<size_t>(outputs * depth), 0.17);
        const std::vector<T> a = Sine<T>(static_cast<size_t>(kPanels * rows * full), 0.31);
        std::vector<T> c = Sine<T>(static_cast<size_t>(rows * depth), 0.05);
        std::vector<T> expected(c.size());
        for (ptrdiff_t row = 0; row < rows; row++) {
          for (ptrdiff_t k = 0; k < depth; k++) {
            double sum = c[row * depth + k];
            for (ptrdiff_t panel = 0; panel < kPanels; panel++) {
              const ptrdiff_t width = panel == kPanels - 1 ? last_chunks * kChunk<T> : full;
              for (ptrdiff_t j = 0; j < width; j++) {
                sum += static_cast<double>(a[(panel * rows + row) * full + j]) *
                       matrix[panel * depth * full + k * width + j];
              }
            }
            expected[row * depth + k] = static_cast<T>(sum);
          }
        }
        std::vector<T> stored;
        for (ptrdiff_t panel = 0; panel < kPanels; panel++) {
          const ptrdiff_t chunks = panel == kPanels - 1 ? last_chunks : 4;
          const auto begin = matrix.begin() + panel * depth * full;
          const std::vector<T> rows_of_panel(begin, begin + depth * chunks * kChunk<T>);
          const std::vector<T> as_read = PanelFor<T>(order, rows_of_panel, depth, chunks);
          stored.insert(stored.end(), as_read.begin(), as_read.end());
        }
        TransposedProduct<T> product{};
        product.a = a.data();
        product.a_stride = full;
        product.a_panel_stride = rows * full;
        product.rows = rows;
        product.panels = stored.data();
        product.order = order;
        product.panel_count = kPanels;
        product.chunks = 4;
        product.last_chunks = last_chunks;
        product.depth = depth;
        product.columns = depth;
        product.c = c.data();
        product.c_stride = depth;
        product.accumulate = true;
        TableOfType<T>(kernels).transposed_product(product);
        INFO(kernels.name << " rows " << rows << " depth " << depth << " last chunks " << last_chunks);
        REQUIRE(Difference(c, expected) <= SumTolerance<T>(outputs));
      }
    }
  }
}

TEST_CASE("KernelTable::transposed_product adds a · panelᵀ over all panels") {
  for (const Kernels* kernels : TestedKernels()) {
    // Dense layers have the order of rows with any kernels.
    for (const PanelOrder order : {PanelOrder::kRows, kernels->f32.panel_order}) {
      TransposedProductsEqualTheirDefinition<float>(*kernels, order);
      TransposedProductsEqualTheirDefinition<double>(*kernels, order);
    }
  }
}

TEST_CASE("KernelTable::product_bfloat16 multiplies by the upper halves of float32") {
  for (const ptrdiff_t depth : {1, 2, 7, 40}) {
    for (const ptrdiff_t rows : {1, 6, 13}) {
      constexpr ptrdiff_t kWidth = 64;
      std::vector<float> panel = Sine<float>(static_cast<size_t>(depth * kWidth), 0.17);
      std::vector<Bfloat16Pair> pairs(static_cast<size_t>((depth + 1) / 2 * kWidth));
      for (ptrdiff_t k = 0; k < depth; k++) {
        for (ptrdiff_t j = 0; j < kWidth; j++) {
          float& weight = panel[k * kWidth + j];
          uint32_t bits;
          std::memcpy(&bits, &weight, sizeof bits);
          bits &= 0xffff0000u;
          std::memcpy(&weight, &bits, sizeof bits);
          pairs[k / 2 * kWidth + j].bits |= bits >> 16 << 16 * (k % 2);
        }
      }
      const std::vector<float> a = Sine<float>(static_cast<size_t>(rows * depth), 0.31);
      const std::vector<float> expected =
          ProductByDefinition(a, panel, std::vector<float>(static_cast<size_t>(rows * kWidth)), rows, depth, kWidth);
      for (const Kernels* kernels : ReducedKernels()) {
        const std::vector<Bfloat16Pair> stored = PanelFor<float>(kernels->f32.panel_order, pairs, (depth + 1) / 2, 4);
        const PanelStrides<float> strides(kernels->f32.panel_order, (depth + 1) / 2, 4);
        std::vector<float> c(expected.size());
        PanelProduct<float> product = ProductOf(a, rows, depth, &c);
        product.panel = stored.data();
        product.panel_stride = strides.row;
        product.chunk_stride = strides.chunk;
        product.chunks = 4;
        kernels->f32.product_bfloat16(product);
        INFO(kernels->name << " rows " << rows << " depth " << depth);
        REQUIRE(Difference(c, expected) <= SumTolerance<float>(depth));
      }
    }
  }
}

TEST_CASE("KernelTable::column_sums is the sum over the rows") {
  constexpr ptrdiff_t kRowCount = 131, kWidth = 64;
  const std::vector<float> z = Sine<float>(kRowCount * kWidth, 0.31);
  std::vector<float> expected(kWidth);
  for (ptrdiff_t j = 0; j < kWidth; j++) {
    double sum = 0;
    for (ptrdiff_t row = 0; row < kRowCount; row++) sum += z[row * kWidth + j];
    expected[j] = static_cast<float>(sum);
  }
  for (const Kernels* kernels : TestedKernels()) {
    std::vector<float> sums(kWidth);
    kernels->f32.column_sums(z.data(), kWidth, kRowCount, 4, sums.data());
    CHECK(Difference(sums, expected) <= SumTolerance<float>(kRowCount));
  }
}

TEST_CASE("activations saturate, keep NaN, and are odd or complementary") {
  const float values[] = {0.0f, -0.0f, 1e-8f, -3.0f, 200.0f, -200.0f, INFINITY, -INFINITY, NAN};
  for (const Kernels* kernels : TestedKernels()) {
    std::vector<float> x(16, 0.0f), sigmoid(16), tanh(16);
    std::copy(std::begin(values), std::end(values), x.begin());
    kernels->f32.sigmoid(x.data(), sigmoid.data(), 16);
    kernels->f32.tanh(x.data(), tanh.data(), 16);
    INFO(std::string(kernels->name));
    CHECK(sigmoid[0] == 0.5f);
    CHECK(std::signbit(tanh[1]));
    CHECK(tanh[2] == doctest::Approx(1e-8));
    CHECK(sigmoid[4] == 1.0f);
    CHECK(tanh[5] == -1.0f);
    CHECK(tanh[6] == 1.0f);
    CHECK(std::isnan(sigmoid[8]));
    CHECK(std::isnan(tanh[8]));
  }
}

}  // namespace
}  // namespace cudnn_rnn
