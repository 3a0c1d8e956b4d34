// Scratch memory of a backward pass.
#pragma once

#include <cstddef>
#include <vector>

#include "memory/arena.h"
#include "memory/block_cache.h"
#include "memory/memory_block.h"
#include "passes/rnn_backward_schedule.h"
#include "passes/rnn_pass.h"
#include "threads/engine.h"
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
  BackwardMemory(const Engine<T>& engine, const BackwardPass<T>& pass, const BackwardSchedule& schedule);
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
  void Carve(const BackwardPass<T>& pass, const BackwardSchedule& schedule, Arena* arena);
  void CarveCopies(const BackwardPass<T>& pass, Arena* arena);
  void CarveMatrices(const BackwardPass<T>& pass, const BackwardSchedule& schedule, Arena* arena);

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
