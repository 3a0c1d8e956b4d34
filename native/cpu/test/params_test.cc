#include "weights/params.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "product_by_definition.h"
#include "test_values.h"
#include "tested_kernels.h"

namespace cudnn_rnn {
namespace {

constexpr ptrdiff_t kBlock = Params<float>::kDepthBlock;

// The products that a kernel was called with.
std::vector<PanelProduct<float>> products;
void Record(const PanelProduct<float>& product) { products.push_back(product); }

// A table of kernels that record their products and compute nothing.
KernelTable<float> RecordingKernels() {
  KernelTable<float> kernels = kPortableKernels.f32;
  kernels.product = Record;
  kernels.product_int8 = Record;
  kernels.product_bfloat16 = kernels.bfloat16.product = Record;
  products.clear();
  return kernels;
}

Network<float> NetworkOf(ptrdiff_t inputs, ptrdiff_t units = 20) {
  return Network<float>({Cell::kLstm, 1, 1, units, inputs, 0, false, true, true, INFINITY, 0, 0}, PanelOrder::kRows);
}

TEST_CASE("Params::Multiply points at rows of a panel, of which the last may be narrower") {
  // Six chunks of units are a panel of four and one of two.
  const Network<float> network({Cell::kTanh, 1, 1, 6 * 16, 10, 0, false, true, true, INFINITY, 0, 0},
                               PanelOrder::kRows);
  const PanelMatrix& matrix = network.layer(0).input;
  REQUIRE(matrix.panels == 2);
  const std::vector<float> data(static_cast<size_t>(network.params_size()));
  const Params<float> params{data.data()};
  const KernelTable<float> kernels = RecordingKernels();
  PanelProduct<float> product{};
  params.Multiply(kernels, matrix, 0, 3, &product);
  params.Multiply(kernels, matrix, 1, 7, &product);
  REQUIRE(products.size() == 2);
  CHECK(products[0].chunks == 4);
  CHECK(products[0].panel_stride == 64);
  CHECK(products[0].panel == data.data() + matrix.offset + 3 * 64);
  CHECK(products[0].panel == params.RowsOf(matrix, 0, 3));
  CHECK(products[1].chunks == 2);
  CHECK(products[1].panel_stride == 32);
  CHECK(products[1].panel == data.data() + matrix.offset + 10 * 64 + 7 * 32);
  CHECK(products[1].panel == params.RowsOf(matrix, 1, 7));
}

TEST_CASE("Params::Multiply points at rows of the chunks of a panel, where these are apart") {
  const Network<float> network({Cell::kTanh, 1, 1, 6 * 16, 10, 0, false, true, true, INFINITY, 0, 0},
                               PanelOrder::kChunks);
  const PanelMatrix& matrix = network.layer(0).input;
  const std::vector<float> data(static_cast<size_t>(network.params_size()));
  const Params<float> params{data.data()};
  const KernelTable<float> kernels = RecordingKernels();
  PanelProduct<float> product{};
  params.Multiply(kernels, matrix, 0, 3, &product);
  params.Multiply(kernels, matrix, 1, 7, &product);
  REQUIRE(products.size() == 2);
  for (const PanelProduct<float>& each : products) {
    CHECK(each.panel_stride == 16);
    CHECK(each.chunk_stride == 10 * 16);
  }
  CHECK(products[0].panel == data.data() + matrix.offset + 3 * 16);
  CHECK(products[1].panel == data.data() + matrix.offset + 10 * 64 + 7 * 16);
  CHECK(products[1].panel == params.RowsOf(matrix, 1, 7));
}

TEST_CASE("Params::MultiplyBlocks divides the depth, and adds each block to the sum of those before") {
  const ptrdiff_t depth = 2 * kBlock + 5;
  const Network<float> network = NetworkOf(depth);
  const PanelMatrix& matrix = network.layer(0).input;
  const std::vector<float> data(static_cast<size_t>(network.params_size()));
  const Params<float> params{data.data()};
  const KernelTable<float> kernels = RecordingKernels();
  const std::vector<float> a(static_cast<size_t>(depth));
  const float bias = 1, following = 2;
  float c = 0;
  PanelProduct<float> product{};
  product.a = a.data();
  product.a_stride = depth;
  product.depth = depth;
  product.init = &bias;
  product.next = &following;
  product.c = &c;
  product.c_stride = 64;
  params.MultiplyBlocks(kernels, matrix, 1, &product);
  REQUIRE(products.size() == 3);
  const ptrdiff_t depths[] = {kBlock, kBlock, 5};
  for (ptrdiff_t block = 0; block < 3; block++) {
    const PanelProduct<float>& each = products[static_cast<size_t>(block)];
    CAPTURE(block);
    CHECK(each.depth == depths[block]);
    CHECK(each.a == a.data() + block * kBlock);
    CHECK(each.a_stride == depth);
    CHECK(each.panel == params.RowsOf(matrix, 1, block * kBlock));
    CHECK(each.init == (block == 0 ? &bias : &c));
    CHECK(each.init_stride == (block == 0 ? 0 : 64));
    // The next block of the panel is prefetched, then the panel that the caller names.
    CHECK(each.next == (block == 2 ? &following : params.RowsOf(matrix, 1, (block + 1) * kBlock)));
  }
}

TEST_CASE("Params::MultiplyBlocks computes one product up to a block of depth, and none of no depth") {
  const Network<float> network = NetworkOf(kBlock);
  const std::vector<float> data(static_cast<size_t>(network.params_size()));
  const Params<float> params{data.data()};
  const KernelTable<float> kernels = RecordingKernels();
  for (const ptrdiff_t depth : {ptrdiff_t{1}, kBlock - 1, kBlock}) {
    products.clear();
    PanelProduct<float> product{};
    product.depth = depth;
    params.MultiplyBlocks(kernels, network.layer(0).input, 0, &product);
    REQUIRE(products.size() == 1);
    CHECK(products[0].depth == depth);
    CHECK(products[0].next == nullptr);
  }
  products.clear();
  PanelProduct<float> product{};
  params.MultiplyBlocks(kernels, network.layer(0).input, 0, &product);
  CHECK(products.empty());
}

TEST_CASE("Params::MultiplyBlocks multiplies a copy of the rows over all of the depth") {
  const ptrdiff_t depth = 2 * kBlock + 8;
  const Network<float> network = NetworkOf(depth);
  const std::vector<float> data = SineParams(network);
  const KernelTable<float> kernels = RecordingKernels();
  RowsCopy copy{};
  PanelProduct<float> product{};
  product.depth = depth;
  product.rows_copy = &copy;
  Params<float>{data.data()}.MultiplyBlocks(kernels, network.layer(0).input, 0, &product);
  REQUIRE(products.size() == 1);
  CHECK(products[0].depth == depth);
}

TEST_CASE("Params multiplies int8 weights over all of the depth, and bfloat16 ones in its blocks") {
  const ptrdiff_t depth = kBlock + 8;
  const Network<float> network = NetworkOf(depth);
  const PanelMatrix& matrix = network.layer(0).input;
  const std::vector<float> data = SineParams(network);
  const KernelTable<float> kernels = RecordingKernels();
  for (const WeightFormat format :
       {WeightFormat::kInt8, WeightFormat::kBfloat16, WeightFormat::kBfloat16Products, WeightFormat::kInt8Products}) {
    const QuantizedWeights quantized(network, data.data(), format);
    const Params<float> params{data.data(), &quantized};
    const bool is_int8 = IsInt8(format);
    CHECK(params.format() == format);
    CHECK(params.DepthBlock(depth) == (is_int8 ? depth : kBlock));
    // Their panels are in other memory than the buffer's.
    CHECK(params.RowsOf(matrix, 0, 0) == nullptr);
    products.clear();
    PanelProduct<float> product{};
    product.depth = depth;
    params.MultiplyBlocks(kernels, matrix, 0, &product);
    CHECK(products.size() == (is_int8 ? 1 : 2));
    for (const PanelProduct<float>& each : products) {
      const float* panel = static_cast<const float*>(each.panel);
      CHECK((panel < data.data() || panel >= data.data() + data.size()));
    }
  }
  CHECK(Params<float>{data.data()}.format() == WeightFormat::kNative);
  CHECK(Params<float>{data.data()}.DepthBlock(7) == 7);
}

TEST_CASE_TEMPLATE("Params::MultiplyBlocks is init + a · panel at every depth, on every instruction set", T, float,
                   double) {
  constexpr ptrdiff_t kRows = 3;
  const ptrdiff_t block = Params<T>::kDepthBlock;
  for (const ptrdiff_t depth : {ptrdiff_t{1}, block, block + 1, 2 * block + 37}) {
    const NetworkOptions options{Cell::kGru, 1, 1, 5, depth, 0, false, true, true, INFINITY, 0, 0};
    const Network<T> network(options, PanelOrder::kRows);
    const PanelMatrix& matrix = network.layer(0).input;
    const ptrdiff_t width = matrix.ChunksOf(0) * kChunk<T>;
    const std::vector<T> data = SineParams(network);
    const std::vector<T> a = Sine<T>(static_cast<size_t>(kRows * depth), 0.31);
    const std::vector<T> bias = Sine<T>(static_cast<size_t>(width), 0.7);
    std::vector<T> init;
    for (ptrdiff_t row = 0; row < kRows; row++) init.insert(init.end(), bias.begin(), bias.end());
    const auto rows_of_panel = data.begin() + matrix.template PanelBegin<T>(0);
    const std::vector<T> panel(rows_of_panel, rows_of_panel + depth * width);
    const std::vector<T> expected = ProductByDefinition(a, panel, init, kRows, depth, width);
    for (const Kernels* kernels : TestedKernels()) {
      std::vector<T> c(expected.size());
      PanelProduct<T> product = ProductOf(a, kRows, depth, &c);
      // One row of biases for all rows.
      product.init = bias.data();
      const KernelTable<T>& table = TableOfType<T>(*kernels);
      const Network<T> own(options, table.panel_order);
      const std::vector<T> params = SineParams(own);
      Params<T>{params.data()}.MultiplyBlocks(table, own.layer(0).input, 0, &product);
      INFO(kernels->name << " depth " << depth);
      CHECK(Difference(c, expected) <= SumTolerance<T>(depth));
    }
  }
}

}  // namespace
}  // namespace cudnn_rnn
