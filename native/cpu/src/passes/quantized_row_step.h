// One time step of one row of a gated layer by quantized weights: as the kernels of row_step_kernels.h, but by the
// products and the cell of single panels, which exist for every format and instruction set. Their arguments are
// prepared once: a product of int8 weights is so short that preparing them for every panel took a tenth of a step.
#pragma once

#include <cstddef>
#include <cstdint>

#include "passes/pre_activations.h"
#include "passes/recurrent_panels.h"
#include "weights/network.h"
#include "weights/params.h"

namespace cudnn_rnn {

template <typename T>
struct QuantizedRowStep {
  const Network<T>& network;
  const KernelTable<T>& kernels;
  const LayerLayout& layout;
  const Params<T>& params;
  T* z;  // [z_width], scratch memory
  // The calling thread's, null if no kernel copies rows, and another number for each operand.
  RowsCopy* input_copy;
  uint64_t input_version;
  RowsCopy* state_copy;
  uint64_t state_version;

  // Weights and biases are read from the panels of `params`, not of p.
  void operator()(const RowStep<T>& p) const {
    PanelProduct<T> input = ProductOf(p.x, p.x_depth, z, input_copy, input_version);
    PanelProduct<T> recurrent =
        ProductOf(p.h_previous, p.h_depth, z + network.z_recurrent_begin(), state_copy, state_version);
    const auto cell_kernel = kernels.Of(network.options().cell).forward;
    CellForward<T> cell{};
    cell.z = z;
    cell.rows = 1;
    cell.clip = p.clip;
    for (ptrdiff_t k = p.first; k < p.last; k++) {
      const ptrdiff_t panel = p.backwards ? p.first + p.last - 1 - k : k;
      FillWithBiases(network, layout, params.data, panel, z);
      params.Multiply(kernels, layout.input, panel, 0, &input);
      params.Multiply(kernels, layout.recurrent, panel, 0, &recurrent);
      const ptrdiff_t unit = panel * network.panel_units();
      cell.h_previous = p.h_previous + unit;
      cell.h = p.h + unit;
      if (p.c != nullptr) cell.c_previous = cell.c = p.c + unit;
      cell_kernel(cell);
    }
  }

 private:
  // sums += a · panel
  static PanelProduct<T> ProductOf(const T* a, ptrdiff_t depth, T* sums, RowsCopy* copy, uint64_t version) {
    PanelProduct<T> product{};
    product.a = a;
    product.rows = 1;
    product.depth = depth;
    product.init = product.c = sums;
    product.rows_copy = copy;
    product.version = version;
    return product;
  }
};

}  // namespace cudnn_rnn
