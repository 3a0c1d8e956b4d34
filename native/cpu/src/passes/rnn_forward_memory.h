// The memory that the pseudo-layers of a forward pass read and write.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "memory/arena.h"
#include "memory/block_cache.h"
#include "memory/memory_block.h"
#include "passes/rnn_forward_schedule.h"
#include "passes/rnn_pass.h"
#include "threads/engine.h"
#include "weights/rows_copy.h"

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
  ForwardMemory(const Engine<T>& engine, const ForwardPass<T>& pass, const ForwardSchedule& schedule)
      : blocks_(engine.blocks),
        copies_(NeedsRowsCopy(*engine.kernels, pass.params.format()) ? engine.pool->size() : 0) {
    if (pass.is_training()) {
      // Owned by the tape, which may outlive this pass by any time.
      pass.tape->memory = blocks_->TakeFor([&](Arena* arena) { pass.tape->Carve(*pass.network, arena); });
    }
    block_ = blocks_->TakeFor([&](Arena* arena) { Carve(pass, schedule, arena); });
  }

  ~ForwardMemory() { blocks_->GiveBack(std::move(block_)); }
  ForwardMemory(const ForwardMemory&) = delete;
  ForwardMemory& operator=(const ForwardMemory&) = delete;

  const PseudoLayerMemory<T>& pseudo_layer(int pseudo_layer) const { return pseudo_layers_[pseudo_layer]; }
  // Null if no kernel copies rows.
  RowsCopy* rows_copy(int thread) { return copies_.empty() ? nullptr : &copies_[thread]; }

 private:
  // Runs twice, first over an arena that only measures (memory/arena.h).
  void Carve(const ForwardPass<T>& pass, const ForwardSchedule& schedule, Arena* arena) {
    const Network<T>& network = *pass.network;
    const int layers = network.options().layers;
    const int directions = network.options().directions;
    pseudo_layers_.assign(network.pseudo_layers(), {});
    for (int p = 0; p < network.pseudo_layers(); p++) {
      pseudo_layers_[p].bias = arena->Take<T>(network.panels() * network.z_width());
      // Training keeps the activations of all steps; inference one time block's.
      pseudo_layers_[p].z_rows = (pass.is_training() ? pass.time : schedule.steps()) * pass.batch;
      if (pass.is_training()) {
        pseudo_layers_[p].record = pass.tape->records[p];
      } else {
        CarveRecord(pass, schedule, p, arena);
      }
    }
    std::vector<T*> outputs;  // by layer; inference needs two layers' at a time
    for (int layer = 0; layer + 1 < layers; layer++) {
      outputs.push_back(pass.is_training() ? pass.tape->outputs[layer]
                        : layer < 2        ? arena->Take<T>(pass.time * pass.batch * network.output_size())
                                           : outputs[layer - 2]);
    }
    outputs.push_back(pass.output);
    for (int p = 0; p < network.pseudo_layers(); p++) {
      const int layer = p / directions;
      pseudo_layers_[p].input = layer == 0 ? pass.input : outputs[layer - 1];
      pseudo_layers_[p].output = outputs[layer];
    }
    // The most rows that one product has: a block of the input product, or a step.
    const ptrdiff_t rows = std::max(ForwardSchedule::kRowBlock, pass.batch);
    for (RowsCopy& copy : copies_) copy = TakeRowsCopy(network, pass.params.format(), rows, arena);
  }

  // The record of a pseudo-layer in inference, partly shared with the layer below.
  // The memory of one pseudo-layer in inference: z of one time block, two states h and one c, against T of each in a
  // tape.
  void CarveRecord(const ForwardPass<T>& pass, const ForwardSchedule& schedule, int pseudo_layer, Arena* arena) {
    const Network<T>& network = *pass.network;
    const int directions = network.options().directions;
    PseudoLayerMemory<T>& lane = pseudo_layers_[pseudo_layer];
    if (pseudo_layer >= directions && !schedule.is_wavefront()) {
      // Layers run one after another and may share.
      lane.record = pseudo_layers_[pseudo_layer - directions].record;
      // All but the first have inputs of one size.
      if (pseudo_layer >= 2 * directions) return;
    } else {
      lane.record.z = arena->Take<T>(network.panels() * lane.z_rows * network.z_width());
      // Two buffers of h alternate: all panels of a step read the old one while they write the new one; of a layer
      // whose output is its h only the initial one is needed. c needs one buffer, as a panel reads only its own units.
      const ptrdiff_t columns = pass.output_is_hidden() ? network.output_size() : 2 * network.padded_columns();
      lane.record.hidden = arena->Take<T>(pass.batch * columns);
      if (network.has_cell_state()) lane.record.cells = arena->Take<T>(pass.batch * network.padded_units());
      if (network.options().projection > 0)
        lane.record.unprojected = arena->Take<T>(pass.batch * network.padded_units());
    }
    // A copy of the input in the order of the steps, for reversed or ragged rows only.
    if (pseudo_layer % directions == 1 || pass.lengths != nullptr) {
      lane.record.own_input = arena->Take<T>(lane.z_rows * network.layer(pseudo_layer).input_size);
    }
  }

  BlockCache* const blocks_;
  std::vector<PseudoLayerMemory<T>> pseudo_layers_;  // by pseudo-layer
  std::vector<RowsCopy> copies_;                     // by thread
  MemoryBlock block_;
};

}  // namespace cudnn_rnn
