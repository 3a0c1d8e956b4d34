// The panels of units of a time step, on one thread.
#pragma once

#include <cstddef>

#include "passes/last_panel.h"
#include "passes/recurrent_step.h"
#include "weights/network.h"

namespace cudnn_rnn {

// z += h·Rᵀ panel by panel, and the cell on each panel as soon as it is summed, while it is in the first-level cache.
// Fused like that, the pre-activations of a step are read from no further away.
//
// Holds the arguments of both kernels. The ones that all panels of all steps share are filled once: a product of
// one row is so short that filling them for each panel took a fiftieth of it.
template <typename T>
class RecurrentPanels {
 public:
  // For steps that differ from `step` in the places of z, h, c and unprojected, the rows and the version alone.
  explicit RecurrentPanels(const RecurrentStep<T>& step)
      : cell_kernel_(step.kernels.Of(step.network.options().cell).forward),
        row_kernel_(step.batch == 1 && step.params.quantized == nullptr
                        ? step.kernels.Of(step.network.options().cell).row_recurrence
                        : nullptr) {
    cell_.z_stride = step.network.z_width();
    cell_.cell_rows = step.cell_rows;
    cell_.state_stride = step.network.padded_units();
    cell_.h_stride = step.layout.projection.present() ? step.network.padded_units() : step.h_stride;
    cell_.clip = static_cast<T>(step.network.options().clip);
    cell_.keep = step.keep;
    product_.a_stride = step.h_stride;
    product_.init_stride = product_.c_stride = step.network.z_width();
    product_.rows_copy = step.rows_copy;
  }

  // Adds R·h to the pre-activations of one panel and applies the cell. `next` is the panel that most likely follows on
  // this thread; one past either end stands for none.
  void Run(const RecurrentStep<T>& step, ptrdiff_t panel, ptrdiff_t next = -1) {
    const Network<T>& network = step.network;
    const PanelMatrix& matrix = step.layout.recurrent;
    const ptrdiff_t unit = panel * network.panel_units();
    cell_.z = step.z + panel * step.z_panel_stride;
    cell_.rows = product_.rows = step.batch;
    cell_.chunks = matrix.ChunksOf(panel);
    if (step.c != nullptr) {
      cell_.c_previous = step.c_previous + unit;
      cell_.c = step.c + unit;
    }
    cell_.h_previous = step.h_previous + unit;
    // With a projection the cell's output o·tanh(c) is an intermediate; h is its projection.
    cell_.h = (step.layout.projection.present() ? step.unprojected : step.h) + unit;
    const bool is_packed = network.IsPacked(panel);
    const bool h_overflows =
        step.h_is_output && panel + 1 == network.panels() && network.padded_units() > network.options().units;
    const auto run = [&](const auto& cell_of_rows) {
      if (!is_packed && !h_overflows) return cell_of_rows(cell_);
      RunLastPanel(network, cell_, unit, is_packed, h_overflows, cell_of_rows);
    };
    if (step.h_is_zero) return run(cell_kernel_);
    if (row_kernel_ != nullptr && !is_packed) {
      const T* weights = step.params.RowsOf(matrix, panel, 0);
      return run([&](const CellForward<T>& cell) { row_kernel_(step.h_previous, network.columns(), weights, cell); });
    }
    if (step.h_is_output) PrefetchOutput(network.panel_units());
    product_.a = step.h_previous;
    product_.depth = network.columns();
    // The input side and the biases are in z already: the product adds to them in registers.
    product_.init = product_.c = cell_.z + network.z_recurrent_begin();
    product_.next = next >= 0 && next < network.panels() ? step.params.RowsOf(matrix, next, 0) : nullptr;
    product_.version = step.version;
    step.params.MultiplyBlocks(step.kernels, matrix, panel, &product_);
    // On the same thread, right after the product: z of the panel is in its first-level cache.
    run(cell_kernel_);
  }

 private:
  // Begins to bring the rows of h that the cell writes near, while the product runs: a result of a whole pass is in
  // memory that the caches have not seen for long, and the next step reads it.
  void PrefetchOutput(ptrdiff_t units) const {
    for (ptrdiff_t row = 0; row < cell_.rows; row++) {
      for (ptrdiff_t k = 0; k < units; k += kChunk<T>) PrefetchToWrite(cell_.h + row * cell_.h_stride + k);
    }
  }

  void (*const cell_kernel_)(const CellForward<T>&);
  // One row with its product before it; null if there is none.
  void (*const row_kernel_)(const T*, ptrdiff_t, const T*, const CellForward<T>&);
  CellForward<T> cell_{};
  PanelProduct<T> product_{};
};

}  // namespace cudnn_rnn
