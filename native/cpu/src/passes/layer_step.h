// One time step of one layer of a stream: both products of a panel follow each other, with one loop of the threads for
// both, since the next layer needs only h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "passes/batch_rows.h"
#include "passes/pre_activations.h"
#include "passes/quantized_row_step.h"
#include "passes/recurrent_panels.h"
#include "passes/recurrent_step.h"
#include "passes/rnn_stepper.h"
#include "threads/shared_loops.h"
#include "weights/network.h"
#include "weights/params.h"

namespace cudnn_rnn {

template <typename T>
struct LayerStep {
  const Network<T>& network;
  const KernelTable<T>& kernels;
  const Params<T>& params;
  const LayerLayout& layout;
  BatchRows rows;
  const T* x;  // [rows]
  ptrdiff_t x_stride;
  const T* h_previous;       // [rows][padded columns]
  T* h;                      // likewise
  T* cells;                  // of all rows of the batch; null without c
  const int32_t* cell_rows;  // null if the rows begin at `cells`
  T* state;                  // [B][padded columns], where h is copied to as well; null for none
  T* output;                 // [rows][columns]; null but for the last layer
  T* unprojected;            // [rows][padded units], with a projection
  T* z;                      // [1 + rows][z_width]: the calling thread's biases and pre-activations of a panel
  OperandCopies* copies;     // the calling thread's; null if no kernel copies rows
  // Version of h. h, its projection and x use consecutive versions, so each step advances by 4.
  uint64_t version;

  // The part of the calling thread. `backwards` as in SharedLoops.
  void Run(SharedLoops::Member* member, bool backwards) const {
    if (rows.count == 1 && network.is_gated() && layout.input.present()) {
      if (params.quantized == nullptr) {
        const auto kernel = kernels.Of(network.options().cell).row_step;
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

 private:
  // A panel of gates has one chunk of units. A copy of a known size is a few instructions, one of any size a call of
  // memmove, which takes as long as the cell of a row.
  static void CopyChunk(const T* from, ptrdiff_t count, T* to) {
    if (count == kChunk<T>) {
      std::copy_n(from, kChunk<T>, to);
    } else {
      std::copy_n(from, count, to);
    }
  }

  // body(first, last) for all items: one thread alone takes them at once.
  template <typename Body>
  static void RunRanges(SharedLoops::Member* member, ptrdiff_t items, const Body& body, bool backwards) {
    if (member->is_alone()) return body(0, items);
    member->Run(items, [&](ptrdiff_t item) { body(item, item + 1); }, backwards);
  }

  // The memory that the recurrent products and the cells of a step read and write.
  RecurrentStep<T> Recurrence() const {
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
  void RunPanels(SharedLoops::Member* member, bool backwards) const {
    const RecurrentStep<T> step = Recurrence();
    RecurrentPanels<T> panels(step);
    member->Run(network.panels(), [&](ptrdiff_t panel) { RunPanel(step, &panels, panel); }, backwards);
    if (layout.projection.present()) Project(member, step);
  }

  void RunPanel(const RecurrentStep<T>& step, RecurrentPanels<T>* panels, ptrdiff_t panel) const {
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
      FillWithSkippedInput(network, panel, biases, x, x_stride, rows.count, sums);
    }
    panels->Run(step, panel);
    if (!layout.projection.present()) CopyColumns(step.UnitsOf(panel));
  }

  // Like RunPanels, for one row.
  template <typename Kernel>
  void RunRow(SharedLoops::Member* member, const Kernel& kernel, bool backwards) const {
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

  void Project(SharedLoops::Member* member, const RecurrentStep<T>& step) const {
    member->Run(layout.projection.panels, [&](ptrdiff_t panel) {
      step.RunProjectionPanel(panel);
      CopyColumns(step.ProjectedColumnsOf(panel));
    });
  }

  // Copies the new h to the output and to the states of the rows: only the columns of the panel that was just computed,
  // which are still in this thread's cache.
  void CopyColumns(Columns columns) const {
    const ptrdiff_t padded = network.padded_columns();
    const ptrdiff_t count = columns.last - columns.first;
    for (ptrdiff_t row = 0; row < rows.count; row++) {
      const T* from = h + row * padded + columns.first;
      if (state != nullptr) CopyChunk(from, count, state + rows[row] * padded + columns.first);
      if (output != nullptr) CopyChunk(from, count, output + row * network.columns() + columns.first);
    }
  }

  // Another left operand than h, so another number: the kernel must copy it again.
  uint64_t input_version() const { return version + 2; }
  RowsCopy* input_copy() const { return copies == nullptr ? nullptr : &copies->input; }
  RowsCopy* state_copy() const { return copies == nullptr ? nullptr : &copies->state; }
};

}  // namespace cudnn_rnn
