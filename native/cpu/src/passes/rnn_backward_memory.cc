#include "passes/rnn_backward_memory.h"

#include <algorithm>

#include "memory/arena.h"
#include "passes/weight_gradient.h"
#include "threads/engine.h"
#include "weights/divide_up.h"

namespace cudnn_rnn {
namespace {

// The most panels that a matrix has.
template <typename T>
ptrdiff_t MostPanels(const Network<T>& network) {
  return std::max(network.panels(), network.layer(0).projection.panels);
}

}  // namespace

// One block for the whole pass, from the executor's cache: training repeats the same sizes, and pages that the process
// has touched need no page faults.
template <typename T>
BackwardMemory<T>::BackwardMemory(const Engine<T>& engine, const BackwardPass<T>& pass,
                                  const BackwardSchedule& schedule)
    : blocks_(engine.blocks),
      threads_(static_cast<size_t>(engine.pool->size())),
      rounding_(engine.rounds() ? &engine.kernels->bfloat16 : nullptr),
      lanes_(schedule.lanes()) {
  if (rounding_ != nullptr) copies_.resize(threads_ * DivideUp(pass.tape->batch, kStepRows));
  block_ = blocks_->TakeFor([&](Arena* arena) { Carve(pass, schedule, arena); });
}

// dh and dc hold one step, as only they pass between steps; dh_projected and dx hold all T·B rows. Runs twice, first
// over an arena that only measures (memory/arena.h).
template <typename T>
void BackwardMemory<T>::Carve(const BackwardPass<T>& pass, const BackwardSchedule& schedule, Arena* arena) {
  const Network<T>& network = *pass.network;
  const NetworkOptions& options = network.options();
  const ptrdiff_t batch = pass.tape->batch;
  for (int k = 0; k < schedule.lanes(); k++) {
    LaneMemory<T>& lane = lanes_[k];
    lane.dh = arena->Take<T>(batch * network.padded_columns());
    lane.dc = arena->Take<T>(batch * network.padded_units());
    // Without a projection C = H, and the gradient of h is the cell output's.
    lane.dh_units = lane.dh;
    lane.dh_projected = nullptr;
    if (options.projection > 0) {
      lane.dh_units = arena->Take<T>(batch * network.padded_units());
      lane.dh_projected = arena->Take<T>(pass.rows() * network.padded_columns());
    }
    // The forward direction writes d_input itself; the other one's dx is in reversed order and is added afterwards.
    const bool is_backward = k % options.directions == 1;
    lane.dx = is_backward ? arena->Take<T>(pass.rows() * std::max(options.input_size, network.output_size())) : nullptr;
  }
  // The deepest matrix: depth is I, D·C, C or H.
  const ptrdiff_t widest = std::max({options.input_size, network.output_size(), options.units});
  packed_ = arena->Take<T>(WeightGradient<T>::PackedSize(widest));
  rounded_ = rounding_ == nullptr ? nullptr : arena->Take<T>(WeightGradient<T>::RoundedSize(MostPanels(network)));
  CarveCopies(pass, arena);
  CarveMatrices(pass, schedule, arena);
  for (int k = 0; k < 2; k++) {
    // Two buffers alternate: a layer reads its output's gradient and writes its input's, in a wavefront the
    // rows that the layer two above has left a stage ago. Layer 0 writes to the caller's d_input.
    d_inputs_[k] = options.layers > 2 - k ? arena->Take<T>(pass.rows() * network.output_size()) : nullptr;
  }
}

template <typename T>
void BackwardMemory<T>::CarveCopies(const BackwardPass<T>& pass, Arena* arena) {
  const Network<T>& network = *pass.network;
  const ptrdiff_t depth = std::max(network.panels() * network.z_width(), network.padded_columns());
  for (RowsCopy& copy : copies_) {
    auto* words = reinterpret_cast<uint32_t*>(arena->Take<T>(TransposedMatrix<T>::kMostRoundedRows * depth));
    copy = {0, nullptr, nullptr, words, false};
  }
}

// Pseudo-layers of a lane run one after another and share the memory of their copies. Null makes TransposedMatrix read
// the stored matrix.
template <typename T>
void BackwardMemory<T>::CarveMatrices(const BackwardPass<T>& pass, const BackwardSchedule& schedule, Arena* arena) {
  const Network<T>& network = *pass.network;
  const ptrdiff_t batch = pass.tape->batch;
  const int lanes = schedule.lanes();
  // Elements of the largest copy of a lane; 0 if the stored matrix is read.
  const auto size_of = [&](PanelMatrix LayerLayout::* matrix, int lane, ptrdiff_t products, ptrdiff_t rows) {
    ptrdiff_t size = 0;
    if (rounding_ == nullptr && !TransposedMatrix<T>::IsWorthPacking(products, rows)) return size;
    for (int p = lane; p < network.pseudo_layers(); p += lanes) {
      size = std::max(size, TransposedMatrix<T>::PackedSize(network.layer(p).*matrix));
    }
    return size;
  };
  matrices_.resize(network.pseudo_layers());
  for (int lane = 0; lane < lanes; lane++) {
    const ptrdiff_t input_size = size_of(&LayerLayout::input, lane, schedule.time_blocks(), schedule.steps() * batch);
    const ptrdiff_t recurrent_size = size_of(&LayerLayout::recurrent, lane, pass.tape->time, batch);
    const ptrdiff_t projection_size = size_of(&LayerLayout::projection, lane, pass.tape->time, batch);
    // The gradient of a layer's input is a product after its last step, when the copy of R has been read; in a
    // wavefront, after each time block.
    const bool is_wavefront = schedule.is_wavefront();
    T* copy = arena->Take<T>(is_wavefront ? recurrent_size : std::max(input_size, recurrent_size));
    T* input = input_size == 0 ? nullptr : is_wavefront ? arena->Take<T>(input_size) : copy;
    T* recurrent = recurrent_size == 0 ? nullptr : copy;
    T* projection = projection_size == 0 ? nullptr : arena->Take<T>(projection_size);
    for (int p = lane; p < network.pseudo_layers(); p += lanes) {
      const LayerLayout& layout = network.layer(p);
      matrices_[p] = {{layout.input, pass.params, input, rounding_},
                      {layout.recurrent, pass.params, recurrent, rounding_},
                      {layout.projection, pass.params, projection, rounding_}};
    }
  }
}

template class BackwardMemory<float>;
template class BackwardMemory<double>;

}  // namespace cudnn_rnn
