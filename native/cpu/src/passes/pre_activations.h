// Initial values of a panel's pre-activations, in whole passes and in streams: the biases, and with skip_input the
// input itself, which then reaches every gate as it is.
#pragma once

#include <algorithm>
#include <cstddef>

#include "weights/network.h"

namespace cudnn_rnn {

// z [z_width] = b_W + b_R, but b_R of GRU's new memory belongs to q_n alone; the order of the planes sees to that.
template <typename T>
void FillWithBiases(const Network<T>& network, const LayerLayout& layout, const T* params, ptrdiff_t panel, T* z) {
  const ptrdiff_t begin = panel * network.z_input_width();
  const ptrdiff_t width = layout.recurrent.ChunksOf(panel) * kChunk<T>;
  const ptrdiff_t recurrent_begin = network.z_recurrent_begin();
  // Each chunk of z is the sum of two chunks; zeros stand for an absent bias and for the padding of the last panel, on
  // which kernels compute. The size of a chunk is a constant, so the compiler emits no calls of memmove: a step of one
  // row runs this loop for every panel.
  alignas(64) static constexpr T kZeros[kChunk<T>] = {};
  for (ptrdiff_t k = 0; k < network.z_width(); k += kChunk<T>) {
    const ptrdiff_t r = k - recurrent_begin;
    const T* input = layout.input_bias >= 0 && k < width ? params + layout.input_bias + begin + k : kZeros;
    const T* recurrent =
        layout.recurrent_bias >= 0 && r >= 0 && r < width ? params + layout.recurrent_bias + begin + r : kZeros;
    for (ptrdiff_t lane = 0; lane < kChunk<T>; lane++) z[k + lane] = input[lane] + recurrent[lane];
  }
}

// z [rows][z_width] = the biases [z_width], plus x [rows][H], x_stride apart, in every gate.
template <typename T>
void FillWithSkippedInput(const Network<T>& network, ptrdiff_t panel, const T* biases, const T* x, ptrdiff_t x_stride,
                          ptrdiff_t rows, T* z) {
  const ptrdiff_t units = network.panel_units(), width = network.z_width();
  // Units of the panel; x has no padding to read.
  const ptrdiff_t valid = std::min(units, network.options().units - panel * units);
  for (ptrdiff_t row = 0; row < rows; row++, x += x_stride, z += width) {
    std::copy_n(biases, width, z);
    for (ptrdiff_t gate = 0; gate < network.z_input_width(); gate += units) {
      const auto add = [&](ptrdiff_t first, ptrdiff_t count) {
        for (ptrdiff_t k = first; k < first + count; k++) z[gate + k] = biases[gate + k] + x[panel * units + k];
      };
      // Chunks, as in FillWithBiases.
      for (ptrdiff_t k = 0; k < valid; k += kChunk<T>) valid - k < kChunk<T> ? add(k, valid - k) : add(k, kChunk<T>);
    }
  }
}

// The gradient of that: the columns [first, last) of dx [rows][H] = the sums over the gates of dz [rows][z_width],
// whose panels are dz_panel_stride apart.
template <typename T>
void SkippedInputGradient(const Network<T>& network, const T* dz, ptrdiff_t dz_panel_stride, ptrdiff_t rows,
                          ptrdiff_t first, ptrdiff_t last, T* dx) {
  const ptrdiff_t units = network.panel_units();
  for (ptrdiff_t row = 0; row < rows; row++) {
    for (ptrdiff_t k = first; k < last; k++) {
      const T* gates = dz + k / units * dz_panel_stride + row * network.z_width() + k % units;
      T sum = 0;
      for (int gate = 0; gate < network.gates(); gate++) sum += gates[gate * units];
      dx[row * network.options().units + k] = sum;
    }
  }
}

}  // namespace cudnn_rnn
