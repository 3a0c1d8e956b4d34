// Back-propagation through time of one pseudo-layer: one layer in one direction.
//
// From the last step to the first: δh_n = δy_n + δz_{n+1}·R, then the cell gives δz_n and δc_{n-1}. Only this chain is
// sequential. δW = δzᵀ·x, δR = δzᵀ·h, δb = Σ δz and δx = δz·W are left to rnn_layer_gradients, as products over all
// rows of the pass, which run at the multiply-add peak. To that end δz overwrites the activations in the tape.
#pragma once

#include <algorithm>
#include <cstddef>

#include "passes/initial_cells.h"
#include "passes/last_panel.h"
#include "passes/rnn_backward_memory.h"
#include "passes/rnn_pass.h"
#include "threads/engine.h"
#include "threads/shared_loops.h"
#include "weights/divide_up.h"

namespace cudnn_rnn {

template <typename T>
class PseudoLayerBackward {
 public:
  // `copies`: the calling thread's (BackwardMemory).
  PseudoLayerBackward(const Engine<T>& engine, const BackwardPass<T>& pass, int pseudo_layer,
                      const BackwardMemory<T>& memory, RowsCopy* copies)
      : engine_(engine),
        pass_(pass),
        network_(*pass.network),
        pseudo_layer_(pseudo_layer),
        layout_(network_.layer(pseudo_layer)),
        record_(pass.tape->records[pseudo_layer]),
        memory_(memory.lane(pseudo_layer)),
        matrices_(memory.matrices(pseudo_layer)),
        copies_(copies),
        time_(pass.tape->time),
        batch_(pass.tape->batch),
        order_(pass.order(pseudo_layer % network_.options().directions)) {}

  // The steps of a time block, from the gradient of the layer's output [T,B,D·C], null for zeros. Leaves the gradients
  // of the pre-activations in z. Blocks come from the last to the first; the last call gives the gradients of the
  // initial states. Every thread must call this. With δz_n the gradient with respect to the pre-activations of step n:
  //   dh_n = dy_n + δz_(n+1)·R       (GRU: + u ⊙ dh_(n+1), which bypasses the matrix)
  //   d(o ⊙ tanh c)_n = dh_n·W_proj  (with a projection; else dh_n itself)
  //   δz_n, dc_(n-1) from dh_n and dc_n, by the equations of cell_kernels.h
  // Each step waits for the one after it: T products of B rows by the recurrent matrix, one after another. The
  // gradients of weights, biases and input have no such chain and follow as products over T·B rows
  // (rnn_layer_gradients.h).
  //
  // A step's panels need only their own columns of dh, so the product δz_(n+1)·R is fused with the cell of step n.
  void RunSteps(SharedLoops::Member* member, const TimeBlock& time_block, const T* d_output) const {
    const TransposedMatrix<T>& recurrent = matrices_.recurrent;
    const TransposedMatrix<T>& projection = matrices_.projection;
    const bool projects = layout_.projection.present();
    // Width of a part: of a packed transpose a whole panel, else a panel of units, so that CellPanels finds whole
    // panels in a part without a projection.
    const ptrdiff_t h_width =
        projects || recurrent.is_packed() ? TransposedMatrix<T>::kPanelColumns : network_.panel_units();
    const ptrdiff_t unit_width = projection.is_packed() ? TransposedMatrix<T>::kPanelColumns : network_.panel_units();

    if (time_block.end == time_) Start(member);
    for (ptrdiff_t n = time_block.end - 1; n >= time_block.begin; n--) {
      RunParts(member, n, network_.columns(), h_width, [&](const Part& part) {
        // Fused with the cell of step n: the part's dh stays in the first-level cache.
        if (n + 1 < time_) HiddenGradient(n + 1, part);
        AddOutputGradients(n, d_output, part);
        if (projects) {
          KeepProjected(n, part);
        } else {
          CellPanels(n, part);
        }
      });
      if (!projects) continue;
      RunParts(member, n, network_.options().units, unit_width, [&](const Part& part) {
        UnprojectedGradient(n, part);
        CellPanels(n, part);
      });
    }
    if (time_block.begin == 0) Finish(member, h_width);
  }

 private:
  // Rows of the batch, and columns of h or units.
  struct Part {
    ptrdiff_t row;
    ptrdiff_t rows;
    ptrdiff_t first;
    ptrdiff_t last;
  };

  // Calls body(part) for parts of B rows by `width` columns that cover `columns`. Every thread must call this.
  //
  // Steps read the matrix forwards and backwards alternately: each begins with the rows that the previous one left in
  // the cache. Always forwards, a matrix slightly larger than the cache would miss on every line (LRU replacement).
  template <typename Body>
  void RunParts(SharedLoops::Member* member, ptrdiff_t n, ptrdiff_t columns, ptrdiff_t width, const Body& body) const {
    // A grid of columns by `width` and rows by kStepRows, so that a step of few rows still has an item for each thread.
    // Items count columns slowest: neighboring items share a part of the matrix, and mostly run on the same thread.
    const ptrdiff_t groups = DivideUp(batch_, kStepRows);
    member->Run(
        DivideUp(columns, width) * groups,
        [&](ptrdiff_t item) {
          if (engine_.is_canceled()) return;
          const ptrdiff_t first = item / groups * width;
          const ptrdiff_t row = batch_ * (item % groups) / groups;
          const ptrdiff_t end = batch_ * (item % groups + 1) / groups;
          body({row, end - row, first, std::min(columns, first + width)});
        },
        n % 2 != 0);
  }

  void Start(SharedLoops::Member* member) const {
    const bool projects = layout_.projection.present();
    // The gradients after the last step. A row's own final-state gradient is added at its last step
    // (AddOutputGradients). One item, as the fill is small.
    member->Run(1, [&](ptrdiff_t) {
      std::fill_n(memory_.dh, batch_ * network_.padded_columns(), T{0});
      std::fill_n(memory_.dc, batch_ * network_.padded_units(), T{0});
      // Without a projection these are dh itself.
      if (projects) std::fill_n(memory_.dh_units, batch_ * network_.padded_units(), T{0});
    });
    const TransposedMatrix<T>& recurrent = matrices_.recurrent;
    const TransposedMatrix<T>& projection = matrices_.projection;
    member->Run(recurrent.items(), [&](ptrdiff_t item) { recurrent.Pack(item); });
    if (projects) member->Run(projection.items(), [&](ptrdiff_t item) { projection.Pack(item); });
  }

  // Before the first step: the gradients of the initial states.
  void Finish(SharedLoops::Member* member, ptrdiff_t h_width) const {
    RunParts(member, 1, network_.columns(), h_width, [&](const Part& part) {
      HiddenGradient(0, part);
      FinishHidden(part);
    });
    if (network_.has_cell_state()) member->Run(1, [&](ptrdiff_t) { FinishCells(); });
    if (order_.lengths != nullptr) member->Run(1, [&](ptrdiff_t) { ZeroPastEnd(); });
  }

  // The copy of dz of a part in a product that rounds, and the number of its contents. A thread keeps a copy of each
  // group of rows while the columns pass by.
  void PointAtCopy(ptrdiff_t n, const Part& part, bool projects, typename TransposedMatrix<T>::Product* product) const {
    if (copies_ == nullptr) return;
    product->rows_copy = copies_ + DivideUp(part.row * DivideUp(batch_, kStepRows), batch_);
    product->version = pass_.VersionOf(pseudo_layer_, n * batch_ + part.row) + (projects ? 1 : 0);
  }

  // One stage of a step each, for the rows and columns of a part. A part reads dz of all panels of step n+1 and writes
  // its own columns of dh, so parts of one step are independent.

  // dh before step n: dz·R, and for GRU the term u·dh that bypasses the matrix.
  void HiddenGradient(ptrdiff_t n, const Part& part) const {
    typename TransposedMatrix<T>::Product product{};
    // δz of the recurrent side: for GRU planes r, u, q_n of each panel, else all planes.
    product.a = record_.z + (n * batch_ + part.row) * network_.z_width() + network_.z_recurrent_begin();
    product.a_stride = network_.z_width();
    product.a_panel_stride = pass_.rows() * network_.z_width();
    product.rows = part.rows;
    product.c = memory_.dh + part.row * network_.padded_columns();
    product.c_stride = network_.padded_columns();
    // The GRU kernel has left u·dh in dh, to which the product is added; other cells overwrite dh.
    product.accumulate = network_.options().cell == Cell::kGru;
    // Run computes the gradient before step n in the loop of step n - 1, whose order RunParts sets.
    const ptrdiff_t width = part.last - part.first;
    product.next_column = n % 2 == 0 ? part.first - width : part.first + width;
    PointAtCopy(n, part, false, &product);
    matrices_.recurrent.Multiply(*engine_.kernels, product, part.first, part.last);
    // Past a row's end δz is 0, and its product is NaN if a weight is not finite.
    for (ptrdiff_t row = part.row; row < part.row + part.rows; row++) {
      if (n < order_.Length(row)) continue;
      std::fill_n(memory_.dh + row * network_.padded_columns() + part.first, width, T{0});
    }
  }

  // Adds the gradients of the loss with respect to the output of step n and, at a row's last step, to the final h.
  void AddOutputGradients(ptrdiff_t n, const T* d_output, const Part& part) const {
    const ptrdiff_t columns = network_.columns();
    for (ptrdiff_t row = part.row; row < part.row + part.rows; row++) {
      // Steps past a row's end have no output.
      if (n >= order_.Length(row)) continue;
      T* dh = memory_.dh + row * network_.padded_columns();
      if (d_output != nullptr) {
        const ptrdiff_t time = order_.TimeOf(n, row);
        // The columns of this direction within a row of [T,B,D·C].
        const T* from = d_output + (time * batch_ + row) * network_.output_size() + order_.direction * columns;
        for (ptrdiff_t k = part.first; k < part.last; k++) dh[k] += from[k];
      }
      if (n + 1 < order_.Length(row) || pass_.dh_final == nullptr) continue;
      const T* from = pass_.dh_final + (pseudo_layer_ * batch_ + row) * columns;
      for (ptrdiff_t k = part.first; k < part.last; k++) dh[k] += from[k];
    }
  }

  // With a projection: dh of every step is kept, as dW_proj = Σ_n dh_nᵀ·(o ⊙ tanh c)_n is one product over all steps.
  // The last part takes the padding along.
  void KeepProjected(ptrdiff_t n, const Part& part) const {
    const ptrdiff_t padded = network_.padded_columns();
    const ptrdiff_t last = part.last == network_.columns() ? padded : part.last;
    for (ptrdiff_t row = part.row; row < part.row + part.rows; row++) {
      const T* dh = memory_.dh + row * padded;
      std::copy(dh + part.first, dh + last, memory_.dh_projected + (n * batch_ + row) * padded + part.first);
    }
  }

  // h = (o ⊙ tanh c)·W_projᵀ in the forward, so the gradient of the cell's output is dh·W_proj: a product with the
  // transpose of the matrix that the forward multiplies by.
  void UnprojectedGradient(ptrdiff_t n, const Part& part) const {
    const ptrdiff_t padded = network_.padded_columns();
    typename TransposedMatrix<T>::Product product{};
    product.a = memory_.dh_projected + (n * batch_ + part.row) * padded;
    product.a_stride = padded;
    product.a_panel_stride = layout_.projection.chunks * kChunk<T>;
    product.rows = part.rows;
    product.c = memory_.dh_units + part.row * network_.padded_units();
    product.c_stride = network_.padded_units();
    product.accumulate = false;
    const ptrdiff_t width = part.last - part.first;
    product.next_column = n % 2 != 0 ? part.first - width : part.first + width;
    PointAtCopy(n, part, true, &product);
    matrices_.projection.Multiply(*engine_.kernels, product, part.first, part.last);
  }

  // δz_n from dh and dc by the cell's equations (cell_kernels.h), in place of the activations in z; dc becomes
  // step n-1's. The states before and after step n are entries n and n+1 of the tape.
  void CellPanels(ptrdiff_t n, const Part& part) const {
    // Elements of one state of all rows.
    const ptrdiff_t cells = batch_ * network_.padded_units();
    const ptrdiff_t hidden = batch_ * network_.padded_columns();
    if (network_.has_cell_state()) AddFinalCellGradients(n, part);
    for (ptrdiff_t first = part.first; first < part.last; first += network_.panel_units()) {
      const ptrdiff_t panel = first / network_.panel_units();
      const ptrdiff_t unit = part.row * network_.padded_units() + first;
      const ptrdiff_t column = part.row * network_.padded_columns() + first;
      CellBackward<T> step{};
      step.z = record_.z + (panel * pass_.rows() + n * batch_ + part.row) * network_.z_width();
      step.z_stride = network_.z_width();
      step.rows = part.rows;
      step.chunks = layout_.recurrent.ChunksOf(panel);
      // Entries n and n + 1 of the tape: the states before and after step n.
      step.c_previous = record_.cells == nullptr ? nullptr : record_.cells + n * cells + unit;
      step.c = record_.cells == nullptr ? nullptr : record_.cells + (n + 1) * cells + unit;
      step.h_previous = record_.hidden + n * hidden + column;
      step.h = record_.hidden + (n + 1) * hidden + column;
      step.state_stride = network_.padded_units();
      step.dh = memory_.dh_units + unit;
      step.dc = memory_.dc + unit;
      step.gradient_stride = network_.padded_units();
      step.clip = static_cast<T>(network_.options().clip);
      if (network_.IsPacked(panel)) {
        PackedCells(n, part, first, step);
        continue;
      }
      engine_.kernels->Of(network_.options().cell).backward(step);
      ZeroUnused(n, part, first, step);
    }
  }

  // A packed panel, by way of rows with a chunk for each plane.
  void PackedCells(ptrdiff_t n, const Part& part, ptrdiff_t first, const CellBackward<T>& all) const {
    alignas(64) T planes[kLastPanelRows * kLastPanelWidth<T>];
    CellBackward<T> step = all;
    step.z = planes;
    step.z_stride = kLastPanelWidth<T>;
    for (ptrdiff_t row = 0; row < all.rows; row += kLastPanelRows) {
      step.rows = std::min(kLastPanelRows, all.rows - row);
      T* z = all.z + row * all.z_stride;
      UnpackPlanes(network_, z, all.z_stride, step.rows, planes);
      step.c_previous = all.c_previous + row * all.state_stride;
      step.c = all.c + row * all.state_stride;
      step.h_previous = all.h_previous + row * all.state_stride;
      step.h = all.h + row * all.state_stride;
      step.dh = all.dh + row * all.gradient_stride;
      step.dc = all.dc + row * all.gradient_stride;
      engine_.kernels->Of(network_.options().cell).backward(step);
      ZeroUnused(n, {part.row + row, step.rows, part.first, part.last}, first, step);
      PackPlanes(network_, planes, step.rows, z, all.z_stride);
    }
  }

  // Past a row's end, and in the pseudo-layers beyond the last unit, every gradient is 0. The kernel multiplies that 0
  // by the forward's values, and 0 · NaN or 0 · ∞ is NaN: the gradients are overwritten instead.
  void ZeroUnused(ptrdiff_t n, const Part& part, ptrdiff_t first, const CellBackward<T>& step) const {
    const ptrdiff_t width = network_.is_gated() ? kChunk<T> : step.chunks * kChunk<T>;
    const ptrdiff_t planes = network_.is_gated() ? network_.z_width() / kChunk<T> : 1;
    // Units of the panel that exist; the rest is padding.
    const ptrdiff_t used = std::min(width, network_.options().units - first);
    for (ptrdiff_t k = 0; k < part.rows; k++) {
      const bool is_past_end = n >= order_.Length(part.row + k);
      if (!is_past_end && used == width) continue;
      const ptrdiff_t begin = is_past_end ? 0 : used;
      T* z = step.z + k * step.z_stride;
      for (ptrdiff_t plane = 0; plane < planes; plane++)
        std::fill(z + plane * width + begin, z + (plane + 1) * width, T{0});
      if (!is_past_end) continue;
      std::fill_n(step.dh + k * step.gradient_stride, used, T{0});
      std::fill_n(step.dc + k * step.gradient_stride, used, T{0});
    }
  }

  // The gradient with respect to the final c enters at each row's own last step.
  void AddFinalCellGradients(ptrdiff_t n, const Part& part) const {
    if (pass_.dc_final == nullptr) return;
    for (ptrdiff_t row = part.row; row < part.row + part.rows; row++) {
      if (n + 1 != order_.Length(row)) continue;
      T* dc = memory_.dc + row * network_.padded_units();
      const T* from = pass_.dc_final + (pseudo_layer_ * batch_ + row) * network_.options().units;
      for (ptrdiff_t k = part.first; k < part.last; k++) dc[k] += from[k];
    }
  }

  // A row without steps passes its state through, and so its gradient.
  void FinishHidden(const Part& part) const {
    const ptrdiff_t columns = network_.columns();
    for (ptrdiff_t row = part.row; row < part.row + part.rows; row++) {
      const ptrdiff_t state = pseudo_layer_ * batch_ + row;
      const T* dh = memory_.dh + row * network_.padded_columns();
      for (ptrdiff_t k = part.first; k < part.last; k++) {
        // d h_final / d h_initial is the identity for a row of length 0.
        const T through = pass_.dh_final == nullptr ? T{0} : pass_.dh_final[state * columns + k];
        pass_.dh[state * columns + k] = order_.Length(row) == 0 ? through : dh[k];
      }
    }
  }

  // After the last product dc is the gradient with respect to the initial c, which is entry 0 of the tape: every step
  // computes dc_(n-1) = f ⊙ dc_n.
  void FinishCells() const {
    const ptrdiff_t units = network_.options().units;
    const T clip = static_cast<T>(network_.options().clip);
    for (ptrdiff_t row = 0; row < batch_; row++) {
      const ptrdiff_t state = pseudo_layer_ * batch_ + row;
      const T* dc = memory_.dc + row * network_.padded_units();
      const T* c = record_.cells + row * network_.padded_units();
      for (ptrdiff_t k = 0; k < units; k++) {
        const T through = pass_.dc_final == nullptr ? T{0} : pass_.dc_final[state * units + k];
        const T gradient = order_.Length(row) == 0 ? through : dc[k];
        pass_.dc[state * units + k] = InitialCellGradient(c[k], clip, gradient);
      }
    }
  }

  // The weight gradients multiply the forward's values past a row's end by zeros. A value there is not finite if the
  // row's last state or a parameter is not.
  void ZeroPastEnd() const {
    const ptrdiff_t columns = network_.padded_columns();
    const ptrdiff_t units = network_.padded_units();
    for (ptrdiff_t row = 0; row < batch_; row++) {
      const ptrdiff_t length = order_.Length(row);
      // The states after it are zeros.
      if (length < time_) std::fill_n(record_.hidden + (length * batch_ + row) * columns, columns, T{0});
      if (record_.unprojected == nullptr) continue;
      for (ptrdiff_t n = length; n < time_; n++) {
        std::fill_n(record_.unprojected + (n * batch_ + row) * units, units, T{0});
      }
    }
  }

  const Engine<T>& engine_;
  const BackwardPass<T>& pass_;
  const Network<T>& network_;
  const int pseudo_layer_;
  const LayerLayout& layout_;
  const LayerRecord<T>& record_;
  const LaneMemory<T>& memory_;
  // Transposed views of the forward's matrices.
  const PseudoLayerMatrices<T>& matrices_;
  RowsCopy* const copies_;
  const ptrdiff_t time_;
  const ptrdiff_t batch_;
  const TimeOrder order_;
};

}  // namespace cudnn_rnn
