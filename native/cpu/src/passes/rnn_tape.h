// The intermediate values of a training forward for its backward: cuDNN's reserve space
// (https://docs.nvidia.com/deeplearning/cudnn/latest/api/cudnn-adv-library.html, cudnnGetRNNTempSpaceSizes).
#pragma once

#include <cstdint>
#include <vector>

#include "memory/arena.h"
#include "memory/memory_block.h"
#include "weights/network.h"

namespace cudnn_rnn {

// One layer in one direction. Steps are counted in time order (time_order.h). Gates are kept activated, not as sums:
// their derivatives follow from the values, σ' = σ(1 - σ) and tanh' = 1 - tanh², without another exponential.
template <typename T>
struct LayerRecord {
  T* z = nullptr;            // [panels][T·B][z_width]: the activations of the gates
  T* hidden = nullptr;       // [T+1][B][padded columns]: h before step n, and the last one
  T* cells = nullptr;        // [T+1][B][padded units], LSTM
  T* unprojected = nullptr;  // [T][B][padded units], with a projection
  T* own_input = nullptr;    // [T·B][in] in time order, if that is not the layer's input itself
};

template <typename T>
struct Tape {
  ptrdiff_t time;
  ptrdiff_t batch;
  std::vector<int32_t> lengths;         // empty: all rows have T steps
  uint64_t dropout_position = 0;        // of the first mask
  std::vector<LayerRecord<T>> records;  // by pseudo-layer
  std::vector<T*> outputs;              // [T·B][output size] of every layer but the last, after dropout
  MemoryBlock memory;

  // The places of the parts in `arena`; returns nothing new for an arena that only measures.
  void Carve(const Network<T>& network, Arena* arena) {
    const auto& options = network.options();
    // At H 512, T 100, B 32 in float32 an LSTM layer takes 26 MB for z and 6.5 MB each for h and c.
    const ptrdiff_t rows = time * batch;
    records.assign(network.pseudo_layers(), {});
    outputs.assign(options.layers - 1, nullptr);
    for (int p = 0; p < network.pseudo_layers(); p++) {
      LayerRecord<T>& record = records[p];
      record.z = arena->Take<T>(network.panels() * rows * network.z_width());
      record.hidden = arena->Take<T>((rows + batch) * network.padded_columns());
      if (network.has_cell_state()) record.cells = arena->Take<T>((rows + batch) * network.padded_units());
      if (options.projection > 0) record.unprojected = arena->Take<T>(rows * network.padded_units());
      if (p % options.directions == 1 || !lengths.empty()) {
        record.own_input = arena->Take<T>(rows * network.layer(p).input_size);
      }
    }
    for (T*& output : outputs) output = arena->Take<T>(rows * network.output_size());
  }
};

}  // namespace cudnn_rnn
