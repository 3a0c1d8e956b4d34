#include "passes/layer_step.h"

#include <algorithm>

#include "passes/pre_activations.h"
#include "passes/quantized_row_step.h"

namespace cudnn_rnn {
namespace {

// A panel of gates has one chunk of units. A copy of a known size is a few instructions, one of any size a call of
// memmove, which takes as long as the cell of a row.
template <typename T>
void CopyChunk(const T* from, ptrdiff_t count, T* to) {
  if (count == kChunk<T>) {
    std::copy_n(from, kChunk<T>, to);
  } else {
    std::copy_n(from, count, to);
  }
}

// body(first, last) for all items: one thread alone takes them at once.
template <typename Body>
void RunRanges(SharedLoops::Member* member, ptrdiff_t items, const Body& body, bool backwards) {
  if (member->is_alone()) return body(0, items);
  member->Run(items, [&](ptrdiff_t item) { body(item, item + 1); }, backwards);
}

}  // namespace

template <typename T>
void LayerStep<T>::Run(SharedLoops::Member* member, bool backwards) const {
  if (rows.count == 1 && network.is_gated() && layout.input.present()) {
    if (params.quantized == nullptr) {
      const auto kernel = network.options().cell == Cell::kLstm ? kernels.lstm_row_step : kernels.gru_row_step;
      // Null if the registers are too few for it.
      if (kernel != nullptr) return RunRow(member, kernel, backwards);
    } else if constexpr (sizeof(T) == 4) {
      const QuantizedRowStep<T> kernel{network,      kernels,         layout,       params, z,
                                       input_copy(), input_version(), state_copy(), version};
      return RunRow(member, kernel, backwards);
    }
  }
  RunPanels(member, backwards);
}

// The memory that the recurrent products and the cells of a step read and write.
template <typename T>
RecurrentStep<T> LayerStep<T>::Recurrence() const {
  RecurrentStep<T> step{network, kernels, layout, params, rows.count};
  step.z = z + network.z_width();
  step.z_panel_stride = 0;
  step.h_previous = h_previous;
  step.h = h;
  step.h_stride = network.padded_columns();
  step.c_previous = step.c = cells;
  step.cell_rows = cell_rows;
  step.unprojected = unprojected;
  // Inference: the activations of the gates are not stored.
  step.keep = false;
  step.rows_copy = state_copy();
  step.version = version;
  return step;
}

// Input product, recurrent product and cell of each panel, one after the other while its pre-activations are in the
// cache; then the projection, which needs all units.
template <typename T>
void LayerStep<T>::RunPanels(SharedLoops::Member* member, bool backwards) const {
  const RecurrentStep<T> step = Recurrence();
  RecurrentPanels<T> panels(step);
  member->Run(network.panels(), [&](ptrdiff_t panel) { RunPanel(step, &panels, panel); }, backwards);
  if (layout.projection.present()) Project(member, step);
}

template <typename T>
void LayerStep<T>::RunPanel(const RecurrentStep<T>& step, RecurrentPanels<T>* panels, ptrdiff_t panel) const {
  const ptrdiff_t width = network.z_width();
  T* biases = z;
  T* sums = step.z;
  FillWithBiases(network, layout, params.data, panel, biases);
  if (layout.input.present()) {
    PanelProduct<T> product{};
    product.a = x;
    product.a_stride = x_stride;
    product.rows = rows.count;
    product.depth = layout.input.depth;
    // One row of biases, repeated: the sums begin with them, so adding them costs nothing.
    product.init = biases;
    product.c = sums;
    product.c_stride = width;
    product.rows_copy = input_copy();
    product.version = input_version();
    params.Multiply(kernels, layout.input, panel, 0, &product);
    // The planes that the input side does not write, q_n of GRU.
    for (ptrdiff_t k = product.chunks * kChunk<T>; k < width; k += kChunk<T>) {
      for (ptrdiff_t row = 0; row < rows.count; row++) std::copy_n(biases + k, kChunk<T>, sums + row * width + k);
    }
  } else {
    for (ptrdiff_t row = 0; row < rows.count; row++) std::copy_n(biases, width, sums + row * width);
    AddSkippedInput(network, panel, x, x_stride, rows.count, sums);
  }
  panels->Run(step, panel);
  if (!layout.projection.present()) CopyColumns(step.UnitsOf(panel));
}

// Like RunPanels, of one row.
template <typename T>
template <typename Kernel>
void LayerStep<T>::RunRow(SharedLoops::Member* member, const Kernel& kernel, bool backwards) const {
  const bool projects = layout.projection.present();
  RowStep<T> row{};
  row.x = x;
  row.x_depth = layout.input.depth;
  row.input_panels = params.data + layout.input.offset;
  row.h_previous = h_previous;
  row.h_depth = layout.recurrent.depth;
  row.recurrent_panels = params.data + layout.recurrent.offset;
  row.input_biases = layout.input_bias < 0 ? nullptr : params.data + layout.input_bias;
  row.recurrent_biases = layout.recurrent_bias < 0 ? nullptr : params.data + layout.recurrent_bias;
  // The cell kernel takes row numbers; one row needs its address alone.
  row.c = cells == nullptr || cell_rows == nullptr ? cells : cells + cell_rows[0] * network.padded_units();
  row.h = projects ? unprojected : h;
  row.clip = static_cast<T>(network.options().clip);
  row.backwards = backwards;
  RunRanges(
      member, network.panels(),
      [&](ptrdiff_t first, ptrdiff_t last) {
        // The kernel has sums of all gates of a chunk.
        const bool ends_packed = network.IsPacked(last - 1);
        const ptrdiff_t units = network.panel_units();
        row.first = first;
        row.last = ends_packed ? last - 1 : last;
        kernel(row);
        if (!projects) CopyColumns({first * units, std::min(network.options().units, row.last * units)});
        if (!ends_packed) return;
        const RecurrentStep<T> step = Recurrence();
        RecurrentPanels<T> panels(step);
        RunPanel(step, &panels, last - 1);
      },
      backwards);
  if (projects) Project(member, Recurrence());
}

template <typename T>
void LayerStep<T>::Project(SharedLoops::Member* member, const RecurrentStep<T>& step) const {
  member->Run(layout.projection.panels, [&](ptrdiff_t panel) {
    step.RunProjectionPanel(panel);
    CopyColumns(step.ProjectedColumnsOf(panel));
  });
}

// Copies the new h to the output and to the states of the rows: only the columns of the panel that was just computed,
// which are still in this thread's cache.
template <typename T>
void LayerStep<T>::CopyColumns(Columns columns) const {
  const ptrdiff_t padded = network.padded_columns();
  const ptrdiff_t count = columns.last - columns.first;
  for (ptrdiff_t row = 0; row < rows.count; row++) {
    const T* from = h + row * padded + columns.first;
    if (state != nullptr) CopyChunk(from, count, state + rows[row] * padded + columns.first);
    if (output != nullptr) CopyChunk(from, count, output + row * network.columns() + columns.first);
  }
}

template struct LayerStep<float>;
template struct LayerStep<double>;

}  // namespace cudnn_rnn
