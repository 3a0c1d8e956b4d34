// One time step of one layer and direction, shared by whole passes and streams.
#pragma once

#include <algorithm>
#include <cstddef>

#include "threads/spin_wait.h"
#include "weights/network.h"
#include "weights/params.h"
#include "weights/quantized_weights.h"

namespace cudnn_rnn {

// The cell's function in the table of the instruction set.
template <typename T>
void (*ForwardKernel(const KernelTable<T>& kernels, Cell cell))(const CellForward<T>&) {
  switch (cell) {
    case Cell::kLstm:
      return kernels.lstm_forward;
    case Cell::kGru:
      return kernels.gru_forward;
    case Cell::kRelu:
      return kernels.relu_forward;
    default:
      return kernels.tanh_forward;
  }
}

// The same for one row, with its product before it; null where there is none.
template <typename T>
void (*RowRecurrenceKernel(const KernelTable<T>& kernels, Cell cell))(const T*, ptrdiff_t, const T*,
                                                                      const CellForward<T>&) {
  switch (cell) {
    case Cell::kLstm:
      return kernels.lstm_row_recurrence;
    case Cell::kGru:
      return kernels.gru_row_recurrence;
    case Cell::kRelu:
      return kernels.relu_row_recurrence;
    default:
      return kernels.tanh_row_recurrence;
  }
}

template <typename T>
void (*BackwardKernel(const KernelTable<T>& kernels, Cell cell))(const CellBackward<T>&) {
  switch (cell) {
    case Cell::kLstm:
      return kernels.lstm_backward;
    case Cell::kGru:
      return kernels.gru_backward;
    case Cell::kRelu:
      return kernels.relu_backward;
    default:
      return kernels.tanh_backward;
  }
}

// Columns of h, or units.
struct Columns {
  ptrdiff_t first;
  ptrdiff_t last;
};

// One step: z += h·Rᵀ panel by panel, and the cell on each panel as soon as it is summed, while it is in the
// first-level cache. Fused like that, the pre-activations of a step are read from no further away.
//
// Where one step reads and writes. The panels of units are independent of each other; those of the projection come
// after all of them.
template <typename T>
struct RecurrentStep {
  const Network<T>& network;
  const KernelTable<T>& kernels;
  const LayerLayout& layout;
  Params<T> params;
  ptrdiff_t batch;
  T* z;  // of this step: [panels][B][z_width], z_panel_stride apart
  ptrdiff_t z_panel_stride;
  const T* h_previous;  // [B][padded columns]
  T* h;
  const T* c_previous;  // [B][padded units]
  T* c;
  const int32_t* cell_rows;  // of c and c_previous, one for each row of the batch; null for 0…B-1
  T* unprojected;            // [B][padded units], with a projection
  bool keep;
  // Elements: 8 KiB of float32, a part of the first-level cache.
  static constexpr ptrdiff_t kPrefetched = 2048;
  // The calling thread's, null where no kernel copies rows, and its own even number for every step.
  RowsCopy* rows_copy;
  uint64_t version;

  // The units that a panel writes; without a projection they are its columns of h.
  Columns UnitsOf(ptrdiff_t panel) const {
    const ptrdiff_t first = panel * network.panel_units();
    return {first, std::min(network.options().units, first + network.panel_units())};
  }
  // The columns of h that a panel of the projection writes.
  Columns ProjectedColumnsOf(ptrdiff_t panel) const {
    const ptrdiff_t width = layout.projection.chunks * kChunk<T>;
    return {panel * width, std::min(network.columns(), (panel + 1) * width)};
  }

  // Prefetches all of h, as other threads have written most of it: line by line each would be waited for.
  void PrefetchState() const {
    const ptrdiff_t count = std::min(batch * network.padded_columns(), kPrefetched);
    for (ptrdiff_t k = 0; k < count; k += kChunk<T>) Prefetch(h_previous + k);
  }

  // Adds R·h to the pre-activations of one panel and applies the cell. `next` is the panel that most likely follows on
  // this thread; one past either end stands for none.
  void RunPanel(ptrdiff_t panel, ptrdiff_t next = -1) const {
    T* pre = z + panel * z_panel_stride;
    const ptrdiff_t unit = panel * network.panel_units();
    CellForward<T> step{};
    step.z = pre;
    step.z_stride = network.z_width();
    step.rows = batch;
    step.chunks = layout.recurrent.ChunksOf(panel);
    step.c_previous = c_previous == nullptr ? nullptr : c_previous + unit;
    step.c = c == nullptr ? nullptr : c + unit;
    step.cell_rows = cell_rows;
    step.h_previous = h_previous + unit;
    // With a projection the cell's output o·tanh(c) is an intermediate; h is its projection.
    step.h = (layout.projection.present() ? unprojected : h) + unit;
    step.state_stride = network.padded_units();
    step.clip = static_cast<T>(network.options().clip);
    step.keep = keep;
    if (batch == 1 && params.quantized == nullptr) {
      const auto kernel = RowRecurrenceKernel(kernels, network.options().cell);
      if (kernel != nullptr)
        return kernel(h_previous, network.columns(), params.RowsOf(layout.recurrent, panel, 0), step);
    }
    PanelProduct<T> product{};
    product.a = h_previous;
    // Rows of h are whole chunks, with zeros past the last column.
    product.a_stride = network.padded_columns();
    product.rows = batch;
    product.depth = network.columns();
    product.c = pre + network.z_recurrent_begin();
    product.init = product.c;
    // The input side and the biases are in z already: the product adds to them in registers.
    product.init_stride = product.c_stride = network.z_width();
    product.rows_copy = rows_copy;
    product.version = version;
    if (next >= 0 && next < network.panels()) product.next = params.RowsOf(layout.recurrent, next, 0);
    params.MultiplyBlocks(kernels, layout.recurrent, panel, &product);
    // On the same thread, right after the product: z of the panel is in its first-level cache.
    ForwardKernel(kernels, network.options().cell)(step);
  }

  // h = (o·tanh(c))·W_projᵀ for one panel of columns (Sak, Senior and Beaufays 2014). After all panels of units.
  void RunProjectionPanel(ptrdiff_t panel) const {
    PanelProduct<T> product{};
    product.a = unprojected;
    product.a_stride = network.padded_units();
    product.rows = batch;
    product.depth = network.options().units;
    product.c = h + panel * layout.projection.chunks * kChunk<T>;
    product.c_stride = network.padded_columns();
    product.rows_copy = rows_copy;
    product.version = version + 1;
    params.Multiply(kernels, layout.projection, panel, 0, &product);
  }
};

}  // namespace cudnn_rnn
