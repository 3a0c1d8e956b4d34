// The memory that the pseudo-layers of a forward pass read and write.
#pragma once

#include <cstddef>
#include <vector>

#include "memory/arena.h"
#include "memory/block_cache.h"
#include "memory/memory_block.h"
#include "passes/rnn_forward_schedule.h"
#include "passes/rnn_pass.h"
#include "threads/engine.h"

namespace cudnn_rnn {

// Training keeps every step of the record. Inference holds the pre-activations of one time block, two alternating
// buffers of h, and one of c.
template <typename T>
struct PseudoLayerMemory {
  LayerRecord<T> record;
  T* bias;           // [panels][z_width]: what every pre-activation starts with
  ptrdiff_t z_rows;  // rows of a panel of z
  const T* input;    // [T,B,in]
  T* output;         // [T,B,D·C]; a direction writes its columns
};

template <typename T>
class ForwardMemory {
 public:
  // Allocates the tape of a pass that has one.
  ForwardMemory(const Engine<T>& engine, const ForwardPass<T>& pass, const ForwardSchedule& schedule);
  ~ForwardMemory() { blocks_->GiveBack(std::move(block_)); }
  ForwardMemory(const ForwardMemory&) = delete;
  ForwardMemory& operator=(const ForwardMemory&) = delete;

  const PseudoLayerMemory<T>& pseudo_layer(int pseudo_layer) const { return pseudo_layers_[pseudo_layer]; }
  // Null if no kernel copies rows.
  RowsCopy* rows_copy(int thread) { return copies_.empty() ? nullptr : &copies_[thread]; }

 private:
  void Carve(const ForwardPass<T>& pass, const ForwardSchedule& schedule, Arena* arena);
  // The record of a pseudo-layer in inference, partly shared with the layer below.
  void CarveRecord(const ForwardPass<T>& pass, const ForwardSchedule& schedule, int pseudo_layer, Arena* arena);

  BlockCache* const blocks_;
  std::vector<PseudoLayerMemory<T>> pseudo_layers_;  // by pseudo-layer
  std::vector<RowsCopy> copies_;                     // by thread
  MemoryBlock block_;
};

}  // namespace cudnn_rnn
