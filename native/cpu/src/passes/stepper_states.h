// The states that a stream carries from step to step.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "memory/arena.h"
#include "memory/carved_block.h"
#include "memory/memory_block.h"
#include "passes/batch_rows.h"
#include "passes/initial_cells.h"
#include "weights/network.h"

namespace cudnn_rnn {

// h and c of all layers, zeros at first.
template <typename T>
class StepperStates {
 public:
  // The states of one layer; rows of h are padded with zeros to whole chunks.
  struct Layer {
    T* hidden[2];  // [B][padded columns]; the second null unless they alternate
    T* cells;      // [B][padded units]; null without c
    int now;       // which of the two h is the present one
  };

  // alternate: steps of the whole batch write another h than they read.
  StepperStates(const Network<T>& network, ptrdiff_t batch, bool alternate) : network_(network) {
    memory_ = CarvedBlock([&](Arena* arena) { Carve(arena, batch, alternate); });
  }

  const std::vector<Layer>& layers() const { return layers_; }
  // Advances by `steps` steps of the whole batch.
  void Advance(ptrdiff_t steps) {
    for (Layer& layer : layers_) layer.now = (layer.now + steps) & 1;
  }

  // The state of one row becomes zeros, in all layers, as for a new sequence.
  void ResetRow(ptrdiff_t row) {
    for (const Layer& layer : layers_) {
      std::fill_n(layer.hidden[layer.now] + row * network_.padded_columns(), network_.padded_columns(), T{0});
      if (layer.cells != nullptr) {
        std::fill_n(layer.cells + row * network_.padded_units(), network_.padded_units(), T{0});
      }
    }
  }

  // Copies the states h [L,R,C] and c [L,R,H] (null without) of R rows out of the stream, or into it.
  void Move(T* h, T* c, bool into, const BatchRows& rows) {
    const ptrdiff_t columns = network_.columns();
    const ptrdiff_t units = network_.options().units;
    for (size_t l = 0; l < layers_.size(); l++) {
      for (ptrdiff_t index = 0; index < rows.count; index++) {
        const ptrdiff_t row = rows[index];
        const ptrdiff_t state = static_cast<ptrdiff_t>(l) * rows.count + index;
        MoveRow(layers_[l].hidden[layers_[l].now] + row * network_.padded_columns(), h + state * columns, columns,
                into);
        if (c == nullptr) continue;
        T* own = layers_[l].cells + row * network_.padded_units();
        MoveRow(own, c + state * units, units, into);
        if (into) CopyInitialCells(own, units, static_cast<T>(network_.options().clip), own);
      }
    }
  }

 private:
  static void MoveRow(T* own, T* other, ptrdiff_t count, bool into) {
    into ? std::copy_n(other, count, own) : std::copy_n(own, count, other);
  }

  void Carve(Arena* arena, ptrdiff_t batch, bool alternate) {
    layers_.clear();
    for (int l = 0; l < network_.options().layers; l++) {
      Layer layer{};
      layer.hidden[0] = arena->Take<T>(batch * network_.padded_columns());
      if (alternate) layer.hidden[1] = arena->Take<T>(batch * network_.padded_columns());
      if (network_.has_cell_state()) layer.cells = arena->Take<T>(batch * network_.padded_units());
      layers_.push_back(layer);
    }
  }

  const Network<T>& network_;
  std::vector<Layer> layers_;
  MemoryBlock memory_;
};

}  // namespace cudnn_rnn
