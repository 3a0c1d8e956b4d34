// Deterministic operands and comparisons shared by the tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <vector>

#include "kernels/instruction_sets.h"
#include "network_regions.h"
#include "threads/engine.h"
#include "weights/network.h"

namespace cudnn_rnn {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Samples of a sine of amplitude 0.3: no two neighbors are equal and no sum of them overflows. All of a step are the
// beginning of one sequence, which is kept: an emulator takes longer for the sines than for the products of them.
template <typename T>
std::vector<T> Sine(size_t count, double step) {
  static std::map<double, std::vector<T>> sequences;
  std::vector<T>& sequence = sequences[step];
  while (sequence.size() < count)
    sequence.push_back(static_cast<T>(0.3 * std::sin(step * static_cast<double>(sequence.size() + 1))));
  return {sequence.begin(), sequence.begin() + static_cast<ptrdiff_t>(count)};
}

// The product of `rows` rows of a, of `depth` elements, into as many rows of c.
template <typename T>
PanelProduct<T> ProductOf(const std::vector<T>& a, ptrdiff_t rows, ptrdiff_t depth, std::vector<T>* c) {
  PanelProduct<T> product{};
  product.a = a.data();
  product.a_stride = product.depth = depth;
  product.rows = rows;
  product.c = c->data();
  product.c_stride = static_cast<ptrdiff_t>(c->size()) / rows;
  return product;
}

// To the nearest bfloat16, ties to even, by scaling: none of the values is near the limits of float32.
inline std::vector<float> AsBfloat16(std::vector<float> values) {
  for (float& value : values) {
    int exponent;
    const float fraction = std::frexp(value, &exponent);
    value = std::ldexp(std::nearbyint(std::ldexp(fraction, 8)), exponent - 8);
  }
  return values;
}

// Parameters of `network` with zeros in the padding, as every opaque buffer has.
template <typename T>
std::vector<T> SineParams(const Network<T>& network) {
  std::vector<T> params(network.params_size());
  const auto& options = network.options();
  const ptrdiff_t widest = std::max(options.input_size, network.output_size());
  std::vector<T> values = Sine<T>(static_cast<size_t>(options.units * widest), 0.77);
  for (const Region& region : RegionsOf(network)) Move(network, region, params.data(), values.data(), true);
  return params;
}

template <typename T>
Engine<T> EngineOf(ThreadPool* pool, BlockCache* blocks, const Kernels& kernels) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return {pool, &kernels.f32, blocks, nullptr};
  } else {
    return {pool, &kernels.f64, blocks, nullptr};
  }
}

template <typename T>
const KernelTable<T>& TableOfType(const Kernels& kernels) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return kernels.f32;
  } else {
    return kernels.f64;
  }
}

// A network in the layout of the kernels.
template <typename T>
Network<T> NetworkFor(const Kernels& kernels, const NetworkOptions& options) {
  return Network<T>(options, TableOfType<T>(kernels).panel_order);
}

// A panel [depth, chunks] in the order of rows, as kernels of `order` read it. Elements of T, or words of the same
// size.
template <typename T, typename Element>
std::vector<Element> PanelFor(PanelOrder order, const std::vector<Element>& rows, ptrdiff_t depth, ptrdiff_t chunks) {
  const PanelStrides<T> strides(order, depth, chunks);
  std::vector<Element> panel(rows.size());
  for (ptrdiff_t k = 0; k < depth; k++) {
    for (ptrdiff_t column = 0; column < chunks * kChunk<T>; column++) {
      panel[static_cast<size_t>(k * strides.row + strides.ColumnAt(column))] =
          rows[static_cast<size_t>(k * chunks * kChunk<T> + column)];
    }
  }
  return panel;
}

// The largest difference, in units of the largest expected magnitude if that is above 1. NaN for a NaN.
template <typename T>
double Difference(const std::vector<T>& actual, const std::vector<T>& expected) {
  double magnitude = 1, difference = 0;
  for (size_t k = 0; k < expected.size(); k++) {
    magnitude = std::max(magnitude, std::abs(static_cast<double>(expected[k])));
    const double own = std::abs(static_cast<double>(actual[k]) - static_cast<double>(expected[k]));
    // Not std::max, which drops a NaN.
    if (!(own <= difference)) difference = own;
  }
  return difference / magnitude;
}

}  // namespace cudnn_rnn
