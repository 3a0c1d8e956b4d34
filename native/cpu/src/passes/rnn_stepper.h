// Inference one time step at a time with the state carried inside: the path of latency. A step of H 128 takes a few
// microseconds, so nothing is queued, allocated or woken that is not needed. Both products of a panel follow each other
// with one loop of the threads for both, since the next layer needs only h.
#pragma once

#include <algorithm>
#include <vector>

#include "memory/arena.h"
#include "memory/memory_block.h"
#include "passes/pre_activations.h"
#include "passes/recurrent_step.h"
#include "threads/engine.h"
#include "threads/shared_loops.h"
#include "weights/params.h"

namespace cudnn_rnn {

template <typename T>
class Stepper {
 public:
  // Unidirectional networks only. int8: whether the weights it is run with are.
  Stepper(const Network<T>& network, ptrdiff_t batch, const Engine<T>& engine, bool int8)
      : network_(network), batch_(batch), loops_(engine.pool->size()), int8_rows_(int8 ? engine.pool->size() : 0) {
    Arena measure(nullptr);
    Carve(&measure);
    memory_ = MemoryBlock(measure.used());
    std::fill_n(memory_.data(), measure.used(), char{0});
    Arena arena(memory_.data());
    Carve(&arena);
  }

  // input [T,B,I] → output [T,B,C]
  void Run(const Engine<T>& engine, const Params<T>& params, const T* input, T* output, ptrdiff_t steps) {
    // Asked at every run: what the pool knows of its threads improves over time.
    const int members = MembersFor(*engine.pool, *engine.kernels, OperationsOfLayer(network_, batch_));
    loops_.Reset(members);
    engine.pool->RunOrAlone(members, [&](int index) {
      SharedLoops::Member member(&loops_, index);
      for (ptrdiff_t t = 0; t < steps; t++) {
        const T* x = input + t * batch_ * network_.options().input_size;
        ptrdiff_t x_stride = network_.options().input_size;
        uint64_t l = 0;
        for (const Layer& layer : layers_) {
          const int now = (layer.now + t) & 1;
          T* own_output = &layer == &layers_.back() ? output + t * batch_ * network_.columns() : nullptr;
          StepLayer(&member, *engine.kernels, params, layer, now, x, x_stride, own_output,
                    int8_rows_.empty() ? nullptr : &int8_rows_[index], version_ + 4 * (t * layers_.size() + l++));
          x = layer.hidden[1 - now];
          x_stride = network_.padded_columns();
        }
      }
    });
    for (Layer& layer : layers_) layer.now = (layer.now + steps) & 1;
    version_ += 4 * static_cast<uint64_t>(steps) * layers_.size();
  }

  void ResetRow(ptrdiff_t row) {
    for (Layer& layer : layers_) {
      std::fill_n(layer.hidden[layer.now] + row * network_.padded_columns(), network_.padded_columns(), T{0});
      if (layer.cells != nullptr)
        std::fill_n(layer.cells + row * network_.padded_units(), network_.padded_units(), T{0});
    }
  }

  // Copies the states h [L,B,C] and c [L,B,H] (null without) out of the stream, or into it.
  void MoveState(T* h, T* c, bool into) {
    for (size_t l = 0; l < layers_.size(); l++) {
      for (ptrdiff_t row = 0; row < batch_; row++) {
        const ptrdiff_t state = static_cast<ptrdiff_t>(l) * batch_ + row;
        Move(layers_[l].hidden[layers_[l].now] + row * network_.padded_columns(), h + state * network_.columns(),
             network_.columns(), into);
        if (c == nullptr) continue;
        Move(layers_[l].cells + row * network_.padded_units(), c + state * network_.options().units,
             network_.options().units, into);
      }
    }
  }

 private:
  // Both products of a step of the first layer: threads meet once in each layer.
  static double OperationsOfLayer(const Network<T>& network, ptrdiff_t batch) {
    const ptrdiff_t depth = network.columns() + network.layer(0).input.depth;
    return 2.0 * static_cast<double>(batch * network.gates() * network.options().units * depth);
  }

  struct Layer {
    const LayerLayout* layout;
    T* z;
    T* hidden[2];
    T* cells;
    T* unprojected;
    int now;  // which of the two h is the present one
  };

  void Carve(Arena* arena) {
    layers_.clear();
    T* z = arena->Take<T>(network_.panels() * batch_ * network_.z_width());
    T* unprojected = network_.options().projection > 0 ? arena->Take<T>(batch_ * network_.padded_units()) : nullptr;
    for (int l = 0; l < network_.options().layers; l++) {
      Layer layer{&network_.layer(l), z, {}, nullptr, unprojected, 0};
      for (T*& hidden : layer.hidden) hidden = arena->Take<T>(batch_ * network_.padded_columns());
      if (network_.has_cell_state()) layer.cells = arena->Take<T>(batch_ * network_.padded_units());
      layers_.push_back(layer);
    }
    if constexpr (sizeof(T) == 4) {
      for (Int8Rows& rows : int8_rows_) rows = TakeInt8Rows(network_, batch_, arena);
    }
  }

  void StepLayer(SharedLoops::Member* member, const KernelTable<T>& kernels, const Params<T>& params,
                 const Layer& layer, int now, const T* x, ptrdiff_t x_stride, T* output, Int8Rows* int8_rows,
                 uint64_t version) const {
    RecurrentStep<T> step{network_, kernels, *layer.layout, params, batch_};
    step.z = layer.z;
    step.z_panel_stride = batch_ * network_.z_width();
    step.h_previous = layer.hidden[now];
    step.h = layer.hidden[1 - now];
    step.c_previous = step.c = layer.cells;
    step.unprojected = layer.unprojected;
    step.keep = false;
    step.int8_rows = int8_rows;
    step.version = version;
    const bool projects = layer.layout->projection.present();
    member->Run(
        network_.panels(),
        [&](ptrdiff_t panel) {
          T* z = layer.z + panel * step.z_panel_stride;
          FillWithBiases(network_, *layer.layout, params.data, panel, z);
          for (ptrdiff_t row = 1; row < batch_; row++) std::copy_n(z, network_.z_width(), z + row * network_.z_width());
          if (layer.layout->input.present()) {
            PanelProduct<T> product{};
            product.a = x;
            product.a_stride = x_stride;
            product.rows = batch_;
            product.depth = layer.layout->input.depth;
            product.init = product.c = z;
            product.init_stride = product.c_stride = network_.z_width();
            product.int8_rows = int8_rows;
            product.version = version + 2;
            params.Multiply(kernels, layer.layout->input, panel, 0, product);
          } else {
            AddSkippedInput(network_, panel, x, x_stride, batch_, z);
          }
          step.RunPanel(panel);
          if (!projects) CopyColumns(step.h, step.UnitsOf(panel), output);
        },
        now != 0);
    if (!projects) return;
    member->Run(layer.layout->projection.panels, [&](ptrdiff_t panel) {
      step.RunProjectionPanel(panel);
      CopyColumns(step.h, step.ProjectedColumnsOf(panel), output);
    });
  }

  // To the output of the last layer; null for the others.
  void CopyColumns(const T* h, Columns columns, T* output) const {
    if (output == nullptr) return;
    for (ptrdiff_t row = 0; row < batch_; row++) {
      const T* from = h + row * network_.padded_columns();
      std::copy(from + columns.first, from + columns.last, output + row * network_.columns() + columns.first);
    }
  }

  static void Move(T* own, T* other, ptrdiff_t count, bool into) {
    if (into) {
      std::copy_n(other, count, own);
    } else {
      std::copy_n(own, count, other);
    }
  }

  const Network<T>& network_;
  const ptrdiff_t batch_;
  SharedLoops loops_;
  std::vector<Layer> layers_;
  std::vector<Int8Rows> int8_rows_;  // by thread
  uint64_t version_ = 4;             // of the next step's states
  MemoryBlock memory_;
};

}  // namespace cudnn_rnn
