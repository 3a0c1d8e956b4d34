#include "passes/rnn_backward_memory.h"

#include <algorithm>

#include "memory/arena.h"
#include "passes/weight_gradient.h"
#include "threads/engine.h"

namespace cudnn_rnn {

// One block for the whole pass, from the executor's cache: training repeats the same sizes, and pages that the process
// has touched need no page faults.
template <typename T>
BackwardMemory<T>::BackwardMemory(const Engine<T>& engine, const BackwardPass<T>& pass) : blocks_(engine.blocks) {
  block_ = blocks_->TakeFor([&](Arena* arena) { Carve(pass, arena); });
}

// dh and dc hold one step, as only they pass between steps; dh_projected and dx hold all T·B rows. Runs twice, first
// over an arena that only measures (memory/arena.h).
template <typename T>
void BackwardMemory<T>::Carve(const BackwardPass<T>& pass, Arena* arena) {
  const Network<T>& network = *pass.network;
  const NetworkOptions& options = network.options();
  const ptrdiff_t batch = pass.tape->batch;
  for (int d = 0; d < options.directions; d++) {
    DirectionMemory<T>& direction = directions_[d];
    direction.dh = arena->Take<T>(batch * network.padded_columns());
    direction.dc = arena->Take<T>(batch * network.padded_units());
    // Without a projection C = H, and the gradient of h is that of the cell's output.
    direction.dh_units = direction.dh;
    direction.dh_projected = nullptr;
    if (options.projection > 0) {
      direction.dh_units = arena->Take<T>(batch * network.padded_units());
      direction.dh_projected = arena->Take<T>(pass.rows() * network.padded_columns());
    }
    // The forward direction writes d_input itself; the other one's dx is in reversed order and is added afterwards.
    direction.dx = d == 0 ? nullptr : arena->Take<T>(pass.rows() * std::max(options.input_size, network.output_size()));
  }
  // The deepest matrix: depth is I, D·C, C or H.
  const ptrdiff_t widest = std::max({options.input_size, network.output_size(), options.units});
  packed_ = arena->Take<T>(WeightGradient<T>::PackedSize(widest));
  CarveMatrices(pass, arena);
  for (int k = 0; k < 2; k++) {
    // Two buffers alternate: a layer reads the gradient of its output and writes that of its input. Layer 0 writes to
    // the caller's d_input.
    d_inputs_[k] = options.layers > 2 - k ? arena->Take<T>(pass.rows() * network.output_size()) : nullptr;
  }
}

// Layers run one after another and share the memory of their copies; directions run side by side. Null makes
// TransposedMatrix read the stored matrix.
template <typename T>
void BackwardMemory<T>::CarveMatrices(const BackwardPass<T>& pass, Arena* arena) {
  const Network<T>& network = *pass.network;
  const int directions = network.options().directions;
  // Elements of the largest copy of the layers; 0 where the stored matrix is read.
  const auto size_of = [&](PanelMatrix LayerLayout::* matrix, int d, ptrdiff_t products, ptrdiff_t rows) {
    ptrdiff_t size = 0;
    if (!TransposedMatrix<T>::IsWorthPacking(products, rows)) return size;
    for (int p = d; p < network.pseudo_layers(); p += directions) {
      size = std::max(size, TransposedMatrix<T>::PackedSize(network.layer(p).*matrix));
    }
    return size;
  };
  matrices_.resize(network.pseudo_layers());
  for (int d = 0; d < directions; d++) {
    const ptrdiff_t input_size = size_of(&LayerLayout::input, d, 1, pass.rows());
    const ptrdiff_t recurrent_size = size_of(&LayerLayout::recurrent, d, pass.tape->time, pass.tape->batch);
    const ptrdiff_t projection_size = size_of(&LayerLayout::projection, d, pass.tape->time, pass.tape->batch);
    // The gradient of a layer's input is a product after its last step, when the copy of R has been read.
    T* copy = arena->Take<T>(std::max(input_size, recurrent_size));
    T* input = input_size == 0 ? nullptr : copy;
    T* recurrent = recurrent_size == 0 ? nullptr : copy;
    T* projection = projection_size == 0 ? nullptr : arena->Take<T>(projection_size);
    for (int p = d; p < network.pseudo_layers(); p += directions) {
      const LayerLayout& layout = network.layer(p);
      matrices_[p] = {{layout.input, pass.params, input},
                      {layout.recurrent, pass.params, recurrent},
                      {layout.projection, pass.params, projection}};
    }
  }
}

template class BackwardMemory<float>;
template class BackwardMemory<double>;

}  // namespace cudnn_rnn
