#include "passes/stepper_states.h"

#include <algorithm>

#include "memory/carved_block.h"
#include "passes/initial_cells.h"

namespace cudnn_rnn {
namespace {

template <typename T>
void MoveRow(T* own, T* other, ptrdiff_t count, bool into) {
  if (into) {
    std::copy_n(other, count, own);
  } else {
    std::copy_n(own, count, other);
  }
}

}  // namespace

template <typename T>
StepperStates<T>::StepperStates(const Network<T>& network, ptrdiff_t batch, bool alternate) : network_(network) {
  memory_ = CarvedBlock([&](Arena* arena) { Carve(arena, batch, alternate); });
}

template <typename T>
void StepperStates<T>::Carve(Arena* arena, ptrdiff_t batch, bool alternate) {
  layers_.clear();
  for (int l = 0; l < network_.options().layers; l++) {
    Layer layer{};
    layer.hidden[0] = arena->Take<T>(batch * network_.padded_columns());
    if (alternate) layer.hidden[1] = arena->Take<T>(batch * network_.padded_columns());
    if (network_.has_cell_state()) layer.cells = arena->Take<T>(batch * network_.padded_units());
    layers_.push_back(layer);
  }
}

template <typename T>
void StepperStates<T>::ResetRow(ptrdiff_t row) {
  for (const Layer& layer : layers_) {
    std::fill_n(layer.hidden[layer.now] + row * network_.padded_columns(), network_.padded_columns(), T{0});
    if (layer.cells != nullptr) {
      std::fill_n(layer.cells + row * network_.padded_units(), network_.padded_units(), T{0});
    }
  }
}

template <typename T>
void StepperStates<T>::Move(T* h, T* c, bool into, const BatchRows& rows) {
  const ptrdiff_t columns = network_.columns();
  const ptrdiff_t units = network_.options().units;
  for (size_t l = 0; l < layers_.size(); l++) {
    for (ptrdiff_t index = 0; index < rows.count; index++) {
      const ptrdiff_t row = rows[index];
      const ptrdiff_t state = static_cast<ptrdiff_t>(l) * rows.count + index;
      MoveRow(layers_[l].hidden[layers_[l].now] + row * network_.padded_columns(), h + state * columns, columns, into);
      if (c == nullptr) continue;
      T* own = layers_[l].cells + row * network_.padded_units();
      MoveRow(own, c + state * units, units, into);
      if (into) CopyInitialCells(own, units, static_cast<T>(network_.options().clip), own);
    }
  }
}

template class StepperStates<float>;
template class StepperStates<double>;

}  // namespace cudnn_rnn
