// Inference one time step at a time with the state carried inside. Everything is allocated when it is made.
#ifndef CUDNN_RNN_CPU_RNN_STEPPER_H_
#define CUDNN_RNN_CPU_RNN_STEPPER_H_

#include <algorithm>
#include <vector>

#include "memory_block.h"
#include "recurrent_step.h"
#include "rnn_forward.h"
#include "shared_loops.h"

namespace cudnn_rnn {

template <typename T>
class Stepper {
 public:
  // Unidirectional networks only. int8: whether the weights it is run with are.
  Stepper(const Network<T>& network, ptrdiff_t batch, const ThreadPool& pool, bool int8)
      : network_(network),
        batch_(batch),
        members_(MembersFor(pool, 2.0 * batch * network.gates() * network.options().units * network.columns())),
        loops_(members_),
        int8_rows_(int8 ? pool.size() : 0) {
    Arena measure(nullptr);
    Carve(&measure);
    memory_ = MemoryBlock(measure.used());
    std::fill_n(memory_.data(), measure.used(), char{0});
    Arena arena(memory_.data());
    Carve(&arena);
  }

  // input [T,B,I] → output [T,B,C]
  void Run(const Engine<T>& engine, const Params<T>& params, const T* input, T* output, ptrdiff_t steps) {
    loops_.Reset();
    engine.pool->RunOrAlone(members_, [&](int index) {
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
      if (layer.cells != nullptr) std::fill_n(layer.cells + row * network_.padded_units(), network_.padded_units(), T{0});
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

  void StepLayer(SharedLoops::Member* member, const KernelTable<T>& kernels, const Params<T>& params, const Layer& layer,
                 int now, const T* x, ptrdiff_t x_stride, T* output, Int8Rows* int8_rows, uint64_t version) const {
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
    member->Run(network_.panels(), [&](ptrdiff_t panel) {
      T* z = layer.z + panel * step.z_panel_stride;
      StartPanel(params, layer, panel, x, x_stride, z);
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
      }
      step.RunPanel(panel);
      if (!projects) CopyColumns(step.h, panel, network_.panel_units(), output);
    }, now != 0);
    if (!projects) return;
    const ptrdiff_t width = layer.layout->projection.chunks * kChunk<T>;
    member->Run(layer.layout->projection.panels, [&](ptrdiff_t panel) {
      step.RunProjectionPanel(panel);
      CopyColumns(step.h, panel, width, output);
    });
  }

  // The columns of h that a panel has written, to the output of the last layer; null for the others.
  void CopyColumns(const T* h, ptrdiff_t panel, ptrdiff_t width, T* output) const {
    if (output == nullptr) return;
    const ptrdiff_t first = panel * width;
    const ptrdiff_t last = std::min(network_.columns(), first + width);
    for (ptrdiff_t row = 0; row < batch_; row++) {
      std::copy(h + row * network_.padded_columns() + first, h + row * network_.padded_columns() + last,
                output + row * network_.columns() + first);
    }
  }

  // Biases and, with skip_input, the input.
  void StartPanel(const Params<T>& params, const Layer& layer, ptrdiff_t panel, const T* x, ptrdiff_t x_stride, T* z) const {
    const ptrdiff_t input_width = network_.z_input_width();
    const ptrdiff_t width = layer.layout->recurrent.ChunksOf(panel) * kChunk<T>;
    const ptrdiff_t units = network_.panel_units();
    const ptrdiff_t valid = std::min(units, network_.options().units - panel * units);
    std::fill_n(z, network_.z_width(), T{0});
    for (ptrdiff_t k = 0; k < width; k++) {
      if (layer.layout->input_bias >= 0) z[k] += params.data[layer.layout->input_bias + panel * input_width + k];
      if (layer.layout->recurrent_bias >= 0) {
        z[network_.z_recurrent_begin() + k] += params.data[layer.layout->recurrent_bias + panel * input_width + k];
      }
    }
    for (ptrdiff_t row = 1; row < batch_; row++) std::copy_n(z, network_.z_width(), z + row * network_.z_width());
    if (layer.layout->input.present()) return;
    for (ptrdiff_t row = 0; row < batch_; row++) {
      for (ptrdiff_t gate = 0; gate < input_width; gate += units) {
        for (ptrdiff_t k = 0; k < valid; k++) z[row * network_.z_width() + gate + k] += x[row * x_stride + panel * units + k];
      }
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
  const int members_;
  SharedLoops loops_;
  std::vector<Layer> layers_;
  std::vector<Int8Rows> int8_rows_;  // by thread
  uint64_t version_ = 4;             // of the next step's states
  MemoryBlock memory_;
};

}  // namespace cudnn_rnn

#endif  // CUDNN_RNN_CPU_RNN_STEPPER_H_
