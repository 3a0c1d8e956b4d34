// The gradients of a layer's parameters and of its input, each as products over all rows of a pass, from the gradients
// of the pre-activations that PseudoLayerBackward leaves in the tape's z.
#pragma once

#include <algorithm>
#include <cstddef>

#include "passes/pre_activations.h"
#include "passes/rnn_backward_memory.h"
#include "passes/rnn_pass.h"
#include "passes/weight_gradient.h"
#include "threads/engine.h"
#include "threads/shared_loops.h"
#include "weights/divide_up.h"

namespace cudnn_rnn {

// Every thread must call these.
template <typename T>
class LayerGradients {
 public:
  // `copies`: the calling thread's (BackwardMemory).
  LayerGradients(const Engine<T>& engine, const BackwardPass<T>& pass, const BackwardMemory<T>& memory,
                 RowsCopy* copies)
      : engine_(engine),
        kernels_(*engine.kernels),
        pass_(pass),
        network_(*pass.network),
        memory_(memory),
        copies_(copies) {}

  // The gradients of the matrices and biases of one layer in one direction.
  // δW = δzᵀ·x, δR = δzᵀ·h, δW_proj = δhᵀ·(o·tanh c), over all T·B rows: the bulk of a backward's operations, none of
  // it sequential.
  void OfParams(SharedLoops::Member* all, int pseudo_layer) const {
    const int directions = network_.options().directions;
    const LayerLayout& layout = network_.layer(pseudo_layer);
    const LayerRecord<T>& record = pass_.tape->records[pseudo_layer];
    const auto gradient = [&](const PanelMatrix& matrix, const T* x, ptrdiff_t x_stride, const T* dz,
                              ptrdiff_t dz_stride, ptrdiff_t dz_panel_stride) {
      WeightGradient<T>{kernels_,
                        matrix,
                        pass_.rows(),
                        x,
                        x_stride,
                        dz,
                        dz_stride,
                        dz_panel_stride,
                        pass_.d_params + matrix.offset,
                        memory_.packed(),
                        memory_.rounded()}
          .Run(all);
    };
    if (layout.input.present()) {
      // The layer's input in the order of the steps: the gathered copy if the forward made one, else the pass's input,
      // else the output of the layer below after dropout, as the tape holds it.
      const T* x = record.own_input != nullptr ? record.own_input
                   : pseudo_layer < directions ? pass_.input
                                               : pass_.tape->outputs[pseudo_layer / directions - 1];
      gradient(layout.input, x, layout.input_size, record.z, network_.z_width(), z_panel_stride());
    }
    // Rows n of z and of hidden belong together: hidden[n] is h before step n.
    gradient(layout.recurrent, record.hidden, network_.padded_columns(), record.z + network_.z_recurrent_begin(),
             network_.z_width(), z_panel_stride());
    if (layout.projection.present()) {
      gradient(layout.projection, record.unprojected, network_.padded_units(), memory_.lane(pseudo_layer).dh_projected,
               network_.padded_columns(), layout.projection.chunks * kChunk<T>);
    }
    OfBiases(all, pseudo_layer);
  }

  // The steps of a time block of d_input [T,B,in] = the sum over the directions of dz·W, in the order of time. For the
  // block of the forward direction; with two directions it has all steps.
  // The input's gradient is the sum of those by both directions. The forward direction writes it and the other one
  // adds: in this order, so the sum has the same bits in every run.
  void OfInput(SharedLoops::Member* all, const TimeBlock& time_block, T* d_input) const {
    // In the forward direction time order is the order of time.
    OfPseudoLayerInput(all, time_block, d_input);
    for (int d = 1; d < network_.options().directions; d++) {
      // In the reversed order of its steps.
      const int p = time_block.pseudo_layer + d;
      T* dx = memory_.lane(p).dx;
      OfPseudoLayerInput(all, {p, time_block.begin, time_block.end}, dx);
      AddInTime(all, d, dx, network_.layer(p).input_size, d_input);
    }
  }

 private:
  // Blocks of the product that gives the gradient of the input: both operands' parts stay in the second-level cache.
  static constexpr ptrdiff_t kRowBlock = 64;
  static constexpr ptrdiff_t kColumnBlock = 32;

  // b_W and b_R: sums over all rows of dz, of the planes of their side.
  // δb = Σ δz over the T·B rows. cuDNN's two biases of a gate are added in the forward, so both have this gradient;
  // only GRU's candidate gate differs, where r multiplies the recurrent bias.
  void OfBiases(SharedLoops::Member* all, int pseudo_layer) const {
    const LayerLayout& layout = network_.layer(pseudo_layer);
    const T* input_side = pass_.tape->records[pseudo_layer].z;
    const T* recurrent_side = input_side + network_.z_recurrent_begin();
    all->Run(network_.panels(), [&](ptrdiff_t panel) {
      const auto sum = [&](const T* dz, ptrdiff_t bias) {
        // Absent in this bias mode.
        if (bias < 0) return;
        kernels_.column_sums(dz + panel * z_panel_stride(), network_.z_width(), pass_.rows(),
                             layout.recurrent.ChunksOf(panel),
                             pass_.d_params + bias + panel * network_.z_input_width());
      };
      sum(input_side, layout.input_bias);
      sum(recurrent_side, layout.recurrent_bias);
    });
  }

  // The steps of a time block of dx [T·B,in] of one direction, in its time order.
  void OfPseudoLayerInput(SharedLoops::Member* all, const TimeBlock& time_block, T* dx) const {
    const LayerLayout& layout = network_.layer(time_block.pseudo_layer);
    const TransposedMatrix<T>& matrix = memory_.matrices(time_block.pseudo_layer).input;
    // The first block of the pass holds the last steps.
    const bool is_first = time_block.end == pass_.tape->time;
    if (is_first && layout.input.present()) all->Run(matrix.items(), [&](ptrdiff_t item) { matrix.Pack(item); });
    const ptrdiff_t first_row = time_block.begin * pass_.tape->batch;
    const ptrdiff_t last_row = time_block.end * pass_.tape->batch;
    const ptrdiff_t size = layout.input_size;
    // A packed matrix is read by whole panels; a stored one by any columns.
    const ptrdiff_t width = matrix.is_packed() ? TransposedMatrix<T>::kPanelColumns : kColumnBlock;
    const ptrdiff_t row_blocks = DivideUp(last_row - first_row, kRowBlock);
    const ptrdiff_t column_blocks = DivideUp(size, width);
    all->Run(row_blocks * column_blocks, [&](ptrdiff_t item) {
      if (engine_.is_canceled()) return;
      // Columns vary fastest, so a block of rows of δz is read once from memory.
      const ptrdiff_t row = first_row + item / column_blocks * kRowBlock;
      const ptrdiff_t rows = std::min(kRowBlock, last_row - row);
      const ptrdiff_t first = item % column_blocks * width;
      const ptrdiff_t last = std::min(size, first + width);
      const T* dz = pass_.tape->records[time_block.pseudo_layer].z + row * network_.z_width();
      if (!layout.input.present()) {
        return SkippedInputGradient(network_, dz, z_panel_stride(), rows, first, last, dx + row * size);
      }
      typename TransposedMatrix<T>::Product product{};
      product.a = dz;
      product.a_stride = network_.z_width();
      product.a_panel_stride = z_panel_stride();
      product.rows = rows;
      product.c = dx + row * size;
      product.c_stride = size;
      product.accumulate = false;
      // The next item's columns.
      product.next_column = last < size ? last : 0;
      product.rows_copy = copies_;
      product.version = pass_.VersionOf(time_block.pseudo_layer, row) + 2;
      matrix.Multiply(kernels_, product, first, last);
      ClearPadding(row, rows, first, last, size, dx);
    });
  }

  // Columns [first, last) of the rows [row, row + rows) of dx [T·B][size] that are past a row's steps: the product of
  // their zeros is NaN if a weight is not finite.
  void ClearPadding(ptrdiff_t row, ptrdiff_t rows, ptrdiff_t first, ptrdiff_t last, ptrdiff_t size, T* dx) const {
    if (pass_.tape->lengths.empty()) return;
    const ptrdiff_t batch = pass_.tape->batch;
    for (ptrdiff_t k = row; k < row + rows; k++) {
      if (k / batch >= pass_.tape->lengths[k % batch]) std::fill(dx + k * size + first, dx + k * size + last, T(0));
    }
  }

  // Adds dx [T·B][size] in time order to d_input [T,B,size].
  // Step n of a row is time TimeOf(n, row): a permutation of the row's own steps, so this is a scatter without
  // conflicts.
  void AddInTime(SharedLoops::Member* all, int direction, const T* dx, ptrdiff_t size, T* d_input) const {
    const TimeOrder order = pass_.order(direction);
    const ptrdiff_t batch = pass_.tape->batch;
    // By steps: step n of a row is one time of that row, so two items never write the same element.
    all->Run(order.time, [&](ptrdiff_t n) {
      for (ptrdiff_t row = 0; row < batch; row++) {
        if (n >= order.Length(row)) continue;
        const T* from = dx + (n * batch + row) * size;
        T* to = d_input + (order.TimeOf(n, row) * batch + row) * size;
        for (ptrdiff_t k = 0; k < size; k++) to[k] += from[k];
      }
    });
  }

  // Elements between panels of z, which are [T·B][z_width] each.
  ptrdiff_t z_panel_stride() const { return pass_.rows() * network_.z_width(); }

  const Engine<T>& engine_;
  const KernelTable<T>& kernels_;
  const BackwardPass<T>& pass_;
  const Network<T>& network_;
  const BackwardMemory<T>& memory_;
  RowsCopy* const copies_;
};

}  // namespace cudnn_rnn
