#include "weights/quantized_weights.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "test_values.h"
#include "weights/params.h"
#include "weights/quantized_slot.h"

namespace cudnn_rnn {
namespace {

constexpr ptrdiff_t kTestUnits = 37;
constexpr ptrdiff_t kTestInputs = 21;

Network<float> TestNetwork(Cell cell = Cell::kLstm) {
  return Network<float>({cell, 1, 1, kTestUnits, kTestInputs, 0, false, true, true, INFINITY, 0, 0}, PanelOrder::kRows);
}

// The rows of a panel as the portable kernels read them: products with the unit vectors.
std::vector<float> WeightsOf(const Params<float>& params, const PanelMatrix& matrix, ptrdiff_t panel) {
  const ptrdiff_t width = matrix.ChunksOf(panel) * kChunk<float>;
  std::vector<float> weights(static_cast<size_t>(matrix.depth * width));
  std::vector<float> units(static_cast<size_t>(matrix.depth * matrix.depth));
  for (ptrdiff_t k = 0; k < matrix.depth; k++) units[static_cast<size_t>(k * matrix.depth + k)] = 1;
  PanelProduct<float> product{};
  product.a = units.data();
  product.a_stride = matrix.depth;
  product.rows = matrix.depth;
  product.depth = matrix.depth;
  product.c = weights.data();
  product.c_stride = width;
  params.Multiply(kPortableKernels.f32, matrix, panel, 0, &product);
  return weights;
}

// Compares every weight of the network with its quantized copy, column by column.
template <typename Check>
void EachColumn(const Network<float>& network, const std::vector<float>& params, WeightFormat format,
                const Check& check) {
  const QuantizedWeights quantized(network, params.data(), format);
  for (const PanelMatrix& matrix : {network.layer(0).input, network.layer(0).recurrent}) {
    for (ptrdiff_t panel = 0; panel < matrix.panels; panel++) {
      const size_t width = static_cast<size_t>(matrix.ChunksOf(panel) * kChunk<float>);
      const std::vector<float> exact = WeightsOf({params.data()}, matrix, panel);
      const std::vector<float> rounded = WeightsOf({params.data(), &quantized}, matrix, panel);
      for (size_t column = 0; column < width; column++) {
        std::vector<float> expected, actual;
        for (size_t k = column; k < exact.size(); k += width) {
          expected.push_back(exact[k]);
          actual.push_back(rounded[k]);
        }
        check(expected, actual);
      }
    }
  }
}

float LargestOf(const std::vector<float>& values) {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

TEST_CASE("QuantizedWeights in int8 are within half a step of a column's largest weight") {
  for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kTanh}) {
    const Network<float> network = TestNetwork(cell);
    EachColumn(network, SineParams(network), WeightFormat::kInt8, [](const auto& expected, const auto& actual) {
      const float step = LargestOf(expected) / 127;
      for (size_t k = 0; k < expected.size(); k++) {
        CHECK(std::abs(actual[k] - expected[k]) <= 0.5001f * step);
        // A column of zeros, such as one of padding, has the scale 0.
        if (step == 0) CHECK(actual[k] == 0);
      }
      // Both ends of the range keep their value: -127 and 127 times the scale.
      CHECK(LargestOf(actual) == doctest::Approx(LargestOf(expected)).epsilon(1e-6));
    });
  }
}

TEST_CASE("QuantizedWeights in bfloat16 have eight bits of precision") {
  const Network<float> network = TestNetwork();
  EachColumn(network, SineParams(network), WeightFormat::kBfloat16, [](const auto& expected, const auto& actual) {
    for (size_t k = 0; k < expected.size(); k++) {
      CHECK(std::abs(actual[k] - expected[k]) <= std::abs(expected[k]) * 0x1p-8f);
      CHECK(std::signbit(actual[k]) == std::signbit(expected[k]));
    }
  });
}

// `value` as a bfloat16 of a weight.
float RoundedToBfloat16(float value) {
  const Network<float> network({Cell::kTanh, 1, 1, 1, 1, 0, false, true, true, INFINITY, 0, 0}, PanelOrder::kRows);
  std::vector<float> params(static_cast<size_t>(network.params_size()));
  network.MoveWeight(params.data(), &value, 0, Side::kInput, 0, true);
  const QuantizedWeights quantized(network, params.data(), WeightFormat::kBfloat16);
  return WeightsOf({params.data(), &quantized}, network.layer(0).input, 0)[0];
}

// A bfloat16 has 7 fraction bits: 1 + 2^-8 is half-way between 1 and 1 + 2^-7.
TEST_CASE("QuantizedWeights round to the nearest bfloat16, ties to even") {
  CHECK(RoundedToBfloat16(1.5f) == 1.5f);
  CHECK(RoundedToBfloat16(1 + 0x1p-8f) == 1.0f);
  CHECK(RoundedToBfloat16(1 + 0x1p-8f + 0x1p-20f) == 1 + 0x1p-7f);
  CHECK(RoundedToBfloat16(1 + 3 * 0x1p-8f) == 1 + 0x1p-6f);
  CHECK(RoundedToBfloat16(-(1 + 0x1p-8f)) == -1.0f);
  // Above the largest bfloat16 the nearest is infinity.
  CHECK(RoundedToBfloat16(std::numeric_limits<float>::max()) == INFINITY);
  CHECK(RoundedToBfloat16(-INFINITY) == -INFINITY);
  CHECK(std::isnan(RoundedToBfloat16(std::numeric_limits<float>::quiet_NaN())));
}

TEST_CASE("QuantizedWeights keep matrices of at most a mebibyte as rounded float32 too, if kernels multiply these") {
  // W of 4 · 32 x 2048 elements is a mebibyte, and one column more is larger; R is small.
  for (const ptrdiff_t inputs : {2048, 2049}) {
    const Network<float> network({Cell::kLstm, 1, 1, 32, inputs, 0, false, true, true, INFINITY, 0, 0},
                                 PanelOrder::kChunks);
    const std::vector<float> params = SineParams(network);
    const LayerLayout& layout = network.layer(0);
    const QuantizedWeights kept(network, params.data(), WeightFormat::kBfloat16Products, true);
    CHECK((kept.RoundedOf(layout.input) != nullptr) == (inputs == 2048));
    const float* recurrent = kept.RoundedOf(layout.recurrent);
    REQUIRE(recurrent != nullptr);
    for (ptrdiff_t k = 0; k < 4 * 32 * 32; k++) {
      const float weight = params[layout.recurrent.offset + k];
      CHECK(std::abs(recurrent[k] - weight) <= std::abs(weight) * 0x1p-8f);
    }
    CHECK(QuantizedWeights(network, params.data(), WeightFormat::kBfloat16Products).RoundedOf(layout.input) == nullptr);
    CHECK(QuantizedWeights(network, params.data(), WeightFormat::kBfloat16, true).RoundedOf(layout.input) == nullptr);
  }
}

TEST_CASE("QuantizedSlot is shared by all holders of a key and ends with the last") {
  const auto first = QuantizedSlot::Shared("slot test: a");
  CHECK(QuantizedSlot::Shared("slot test: a") == first);
  CHECK(QuantizedSlot::Shared("slot test: b") != first);
  const Network<float> network = TestNetwork();
  const std::vector<float> params = SineParams(network);
  const auto make = [&] { return std::make_unique<QuantizedWeights>(network, params.data(), WeightFormat::kInt8); };
  {
    const auto held = QuantizedSlot::Shared("slot test: c");
    held->FillOnce(make);
    CHECK(QuantizedSlot::Shared("slot test: c")->get() == held->get());
  }
  CHECK(QuantizedSlot::Shared("slot test: c")->get() == nullptr);
}

TEST_CASE("QuantizedSlot is filled once, also after an attempt that threw") {
  QuantizedSlot slot;
  const Network<float> network = TestNetwork();
  const std::vector<float> params = SineParams(network);
  int calls = 0;
  const auto fails = [&]() -> std::unique_ptr<QuantizedWeights> {
    calls++;
    throw std::runtime_error("no memory");
  };
  CHECK_THROWS_AS(slot.FillOnce(fails), std::runtime_error);
  CHECK(slot.get() == nullptr);
  slot.FillOnce([&] { return std::make_unique<QuantizedWeights>(network, params.data(), WeightFormat::kBfloat16); });
  const QuantizedWeights* filled = slot.get();
  REQUIRE(filled != nullptr);
  slot.FillOnce(fails);
  CHECK(slot.get() == filled);
  CHECK(calls == 1);
}

}  // namespace
}  // namespace cudnn_rnn
