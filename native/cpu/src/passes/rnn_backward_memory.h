// Scratch memory of a backward pass.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "memory/arena.h"
#include "memory/block_cache.h"
#include "memory/memory_block.h"
#include "passes/rnn_backward_schedule.h"
#include "passes/rnn_pass.h"
#include "passes/weight_gradient.h"
#include "threads/engine.h"
#include "weights/divide_up.h"
#include "weights/transposed_matrix.h"

namespace cudnn_rnn {

// Rows of a step that a thread takes at a time if there are many. The number of such parts must not depend on that
// of the threads, as the last bits of a result depend on how many rows are summed side by side.
inline constexpr ptrdiff_t kStepRows = 48;

// Gradients of the pseudo-layers of one lane of the schedule, which run one after another and share them.
template <typename T>
struct LaneMemory {
  T* dh;            // [B][padded columns]
  T* dc;            // [B][padded units]
  T* dh_units;      // [B][padded units]; without a projection dh itself
  T* dh_projected;  // [T·B][padded columns], with a projection: dh of every step
  T* dx;            // [T·B][in] in time order, backward direction only
};

// The matrices of a pseudo-layer.
template <typename T>
struct PseudoLayerMatrices {
  TransposedMatrix<T> input;
  TransposedMatrix<T> recurrent;
  TransposedMatrix<T> projection;
};

template <typename T>
class BackwardMemory {
 public:
  // One block for the whole pass, from the executor's cache: training repeats the same sizes, and pages that the
  // process has touched need no page faults.
  BackwardMemory(const Engine<T>& engine, const BackwardPass<T>& pass, const BackwardSchedule& schedule)
      : blocks_(engine.blocks),
        threads_(static_cast<size_t>(engine.pool->size())),
        rounding_(engine.rounds() ? &engine.kernels->bfloat16 : nullptr),
        lanes_(schedule.lanes()) {
    if (rounding_ != nullptr) copies_.resize(threads_ * DivideUp(pass.tape->batch, kStepRows));
    block_ = blocks_->TakeFor([&](Arena* arena) { Carve(pass, schedule, arena); });
  }

  ~BackwardMemory() { blocks_->GiveBack(std::move(block_)); }
  BackwardMemory(const BackwardMemory&) = delete;
  BackwardMemory& operator=(const BackwardMemory&) = delete;

  const LaneMemory<T>& lane(int pseudo_layer) const { return lanes_[pseudo_layer % lanes_.size()]; }
  const PseudoLayerMatrices<T>& matrices(int pseudo_layer) const { return matrices_[pseudo_layer]; }
  // The packed rows of the weight gradients, and rounded panels of dz or null.
  T* packed() const { return packed_; }
  T* rounded() const { return rounded_; }
  // Copies of the rows of dz of a thread's products that round, one for each group of rows of a step; null for others.
  RowsCopy* copies(int thread) { return copies_.empty() ? nullptr : &copies_[thread * copies_.size() / threads_]; }
  // [T,B,D·C], the gradient of a layer's input that is the output of the layer below.
  T* d_input(int layer) const { return d_inputs_[layer % 2]; }

 private:
  // Each runs twice, the first time only to measure.
  // dh and dc hold one step, as only they pass between steps; dh_projected and dx hold all T·B rows. Runs twice, first
  // over an arena that only measures (memory/arena.h).
  void Carve(const BackwardPass<T>& pass, const BackwardSchedule& schedule, Arena* arena) {
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
      lane.dx =
          is_backward ? arena->Take<T>(pass.rows() * std::max(options.input_size, network.output_size())) : nullptr;
    }
    // The deepest matrix: depth is I, D·C, C or H.
    const ptrdiff_t widest = std::max({options.input_size, network.output_size(), options.units});
    packed_ = arena->Take<T>(WeightGradient<T>::PackedSize(widest));
    rounded_ = rounding_ == nullptr ? nullptr
                                    : arena->Take<T>(WeightGradient<T>::RoundedSize(
                                          std::max(network.panels(), network.layer(0).projection.panels)));
    CarveCopies(pass, arena);
    CarveMatrices(pass, schedule, arena);
    for (int k = 0; k < 2; k++) {
      // Two buffers alternate: a layer reads its output's gradient and writes its input's, in a wavefront the
      // rows that the layer two above has left a stage ago. Layer 0 writes to the caller's d_input.
      d_inputs_[k] = options.layers > 2 - k ? arena->Take<T>(pass.rows() * network.output_size()) : nullptr;
    }
  }

  void CarveCopies(const BackwardPass<T>& pass, Arena* arena) {
    const Network<T>& network = *pass.network;
    const ptrdiff_t depth = std::max(network.panels() * network.z_width(), network.padded_columns());
    for (RowsCopy& copy : copies_) {
      auto* words = reinterpret_cast<uint32_t*>(arena->Take<T>(TransposedMatrix<T>::kMostRoundedRows * depth));
      copy = {0, nullptr, nullptr, words, false};
    }
  }

  // Pseudo-layers of a lane run one after another and share the memory of their copies. Null makes TransposedMatrix
  // read the stored matrix.
  void CarveMatrices(const BackwardPass<T>& pass, const BackwardSchedule& schedule, Arena* arena) {
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

  BlockCache* const blocks_;
  const size_t threads_;
  const Bfloat16Products<T>* const rounding_;  // null for exact products
  std::vector<LaneMemory<T>> lanes_;
  std::vector<PseudoLayerMatrices<T>> matrices_;  // by pseudo-layer
  T* packed_ = nullptr;
  T* rounded_ = nullptr;
  std::vector<RowsCopy> copies_;  // by thread and group of rows
  T* d_inputs_[2] = {};           // of even and of odd layers
  MemoryBlock block_;
};

}  // namespace cudnn_rnn
