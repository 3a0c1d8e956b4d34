// What one pseudo-layer of a forward pass computes: one layer in one direction, time block by time block.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "passes/initial_cells.h"
#include "passes/pre_activations.h"
#include "passes/recurrent_panels.h"
#include "passes/recurrent_step.h"
#include "passes/rnn_forward_memory.h"
#include "passes/rnn_forward_schedule.h"
#include "passes/rnn_pass.h"
#include "passes/time_order.h"
#include "threads/engine.h"
#include "threads/shared_loops.h"

namespace cudnn_rnn {

template <typename T>
class PseudoLayerForward {
 public:
  PseudoLayerForward(const Engine<T>& engine, const ForwardPass<T>& pass, int pseudo_layer,
                     const PseudoLayerMemory<T>& memory)
      : engine_(engine),
        pass_(pass),
        network_(*pass.network),
        memory_(memory),
        pseudo_layer_(pseudo_layer),
        layout_(network_.layer(pseudo_layer)),
        order_{pass.time, pass.lengths, pseudo_layer % network_.options().directions},
        is_training_(pass.is_training()),
        output_is_hidden_(pass.output_is_hidden()) {}

  // Brings the biases, from which every pre-activation starts, and the initial states into place. Rows without steps
  // are done with that.
  void Start() const {
    for (ptrdiff_t panel = 0; panel < network_.panels(); panel++) {
      FillWithBiases(network_, layout_, pass_.params.data, panel, memory_.bias + panel * network_.z_width());
    }
    StartStates();
  }

  // Whether its input must be gathered: time order differs from the order in memory.
  bool gathers() const { return memory_.record.own_input != nullptr; }
  // Brings the input of step n of a time block into time order, with zeros if a row has ended. Layers of the forward
  // direction without lengths read their input in place.
  void Gather(const TimeBlock& time_block, ptrdiff_t n) const {
    if (!gathers()) return;
    const ptrdiff_t size = layout_.input_size;
    // Reversed or ragged rows are brought into the order of the steps once, so the input product reads consecutive
    // rows.
    T* target = memory_.record.own_input + RowsBefore(time_block, n) * size;
    for (ptrdiff_t row = 0; row < pass_.batch; row++) {
      if (n < order_.Length(row)) {
        const T* source = memory_.input + (order_.TimeOf(n, row) * pass_.batch + row) * size;
        std::memcpy(target + row * size, source, size * sizeof(T));
      } else {
        std::fill_n(target + row * size, size, T{0});
      }
    }
  }

  // z = x·Wᵀ + b of one panel, for the rows [first, last) of a time block's steps (GRU's candidate: without b_R). The
  // recurrent product is added later, step by step. Independent of the recurrence, so the rows of many steps form one
  // large product that runs at the peak rate of the multiply-add units.
  void MultiplyInput(const TimeBlock& time_block, ptrdiff_t panel, ptrdiff_t first, ptrdiff_t last,
                     RowsCopy* rows_copy) const {
    const ptrdiff_t z_width = network_.z_width();
    const ptrdiff_t rows = last - first;
    // Inference holds z and the gathered input of one time block, training of the whole pass: an index of the buffer,
    // against an index of the pass.
    const ptrdiff_t held_row = RowsBefore(time_block, time_block.begin) + first;
    const ptrdiff_t pass_row = time_block.begin * pass_.batch + first;
    const T* x = gathers() ? memory_.record.own_input + held_row * layout_.input_size
                           : memory_.input + pass_row * layout_.input_size;
    const T* bias = memory_.bias + panel * z_width;
    T* z = memory_.record.z + (panel * memory_.z_rows + held_row) * z_width;
    if (!layout_.input.present()) {
      FillWithSkippedInput(network_, panel, bias, x, layout_.input_size, rows, z);
      return;
    }
    PanelProduct<T> product{};
    product.a = x;
    product.a_stride = layout_.input_size;
    product.rows = rows;
    product.depth = layout_.input.depth;
    product.init = bias;
    product.c = z;
    product.c_stride = z_width;
    product.rows_copy = rows_copy;
    product.version = InputVersion(pass_row);
    product.next = pass_.params.RowsOf(layout_.input, (panel + 1) % network_.panels(), 0);
    pass_.params.MultiplyBlocks(*engine_.kernels, layout_.input, panel, &product);
    if (network_.options().cell != Cell::kGru) return;
    // q_n belongs to the recurrent side alone: the chunk after the input's.
    const ptrdiff_t q_n = layout_.input.ChunksOf(panel) * kChunk<T>;
    for (ptrdiff_t row = 0; row < rows; row++) {
      // GRU computes n = tanh(x_n + r ⊙ q_n) with q_n = R_n·h + b_Rn: the reset gate multiplies after the product
      // (linear before reset, as in cuDNN), so the input side must not reach q_n.
      std::copy_n(bias + q_n, kChunk<T>, z + row * z_width + q_n);
    }
  }

  // The recurrence, step by step. Every thread must call this.
  // Two barriers per step with a projection, else one: h = W_proj·(o ⊙ tanh c) needs the units of all
  // panels (Sak, Senior and Beaufays 2014).
  void RunSteps(SharedLoops::Member* member, const TimeBlock& time_block, RowsCopy* rows_copy) const {
    const bool projects = layout_.projection.present();
    const ptrdiff_t batch = pass_.batch;
    const ptrdiff_t panels = network_.panels();
    // Two threads would share three panels as two and one: halves of their rows are separate items. Their number does
    // not depend on the number of threads, and is one if all rows are copied or projected at once.
    const bool divides = panels % 2 == 1 && panels < kManyPanels && batch >= kDividedRows;
    const ptrdiff_t groups = divides && !projects && rows_copy == nullptr ? 2 : 1;
    RecurrentPanels<T> kernels(StepAt(time_block, time_block.begin, 0, batch, rows_copy));
    // Made by every thread for itself: plain addresses, cheaper than sharing them.
    std::vector<RecurrentStep<T>> parts;
    parts.reserve(static_cast<size_t>(groups));
    for (ptrdiff_t n = time_block.begin; n < time_block.end; n++) {
      parts.clear();
      for (ptrdiff_t k = 0; k < groups; k++) {
        parts.push_back(StepAt(time_block, n, batch * k / groups, batch * (k + 1) / groups, rows_copy));
        parts.back().PrefetchState();
      }
      const bool backwards = n % 2 != 0;
      member->Run(
          panels * groups,
          [&](ptrdiff_t item) {
            if (engine_.is_canceled()) return;
            const ptrdiff_t panel = item / groups;
            const ptrdiff_t k = item % groups;
            const RecurrentStep<T>& step = parts[static_cast<size_t>(k)];
            kernels.Run(step, panel, backwards ? panel - 1 : panel + 1);
            const Columns units = step.UnitsOf(panel);
            const ptrdiff_t first = batch * k / groups;
            if (step.c != nullptr) FinishCells(n, first, first + step.batch, units);
            if (!projects) FinishHidden(n, first, first + step.batch, units);
          },
          backwards);
      if (!projects) continue;
      member->Run(layout_.projection.panels, [&](ptrdiff_t panel) {
        if (engine_.is_canceled()) return;
        parts[0].RunProjectionPanel(panel);
        FinishHidden(n, 0, batch, parts[0].ProjectedColumnsOf(panel));
      });
    }
  }

 private:
  // Panels from which on an odd one costs two threads little, and rows from which on halves of them are tiles of four
  // and more, which the products compute at nearly their full rate.
  static constexpr ptrdiff_t kManyPanels = 8;
  static constexpr ptrdiff_t kDividedRows = 16;

  // h and c of entry 0, padded with zeros: products read whole chunks, and the recurrent matrix has zeros there too.
  void StartStates() const {
    const ptrdiff_t columns = network_.columns();
    const ptrdiff_t units = network_.options().units;
    for (ptrdiff_t row = 0; row < pass_.batch; row++) {
      const ptrdiff_t state = pseudo_layer_ * pass_.batch + row;
      T* h = HiddenAt(0) + row * HiddenStride();
      std::fill_n(h, HiddenStride(), T{0});
      if (pass_.h != nullptr) std::copy_n(pass_.h + state * columns, columns, h);
      T* c = CellsAt(0);
      if (c != nullptr) {
        c += row * network_.padded_units();
        std::fill_n(c, network_.padded_units(), T{0});
        const T clip = static_cast<T>(network_.options().clip);
        if (pass_.c != nullptr) CopyInitialCells(pass_.c + state * units, units, clip, c);
      }
      // A row of length 0 runs no step: its final state is its initial one.
      if (order_.Length(row) > 0) continue;
      std::copy_n(h, columns, pass_.h_final + state * columns);
      if (c != nullptr) std::copy_n(c, units, pass_.c_final + state * units);
    }
  }

  // The step of the rows [first, last) of the batch.
  RecurrentStep<T> StepAt(const TimeBlock& time_block, ptrdiff_t n, ptrdiff_t first, ptrdiff_t last,
                          RowsCopy* rows_copy) const {
    RecurrentStep<T> step{network_, *engine_.kernels, layout_, pass_.params, last - first};
    step.z = memory_.record.z + (RowsBefore(time_block, n) + first) * network_.z_width();
    step.z_panel_stride = memory_.z_rows * network_.z_width();
    // In inference n and n+1 are the two alternating buffers of h, and CellsAt(n) and CellsAt(n + 1) the same c.
    step.h_previous = HiddenAt(n) + first * HiddenStride();
    step.h_is_zero = n == 0 && pass_.h == nullptr;
    step.h = HiddenAt(n + 1) + first * HiddenStride();
    step.h_stride = HiddenStride();
    step.h_is_output = output_is_hidden_ && !layout_.projection.present();
    const ptrdiff_t cells = first * network_.padded_units();
    if (memory_.record.cells != nullptr) {
      step.c_previous = CellsAt(n) + cells;
      step.c = CellsAt(n + 1) + cells;
    }
    if (memory_.record.unprojected != nullptr) {
      step.unprojected =
          memory_.record.unprojected + (is_training_ ? n : 0) * pass_.batch * network_.padded_units() + cells;
    }
    // Training keeps the activated gates in z for the backward; inference need not store them.
    step.keep = is_training_;
    step.rows_copy = rows_copy;
    // Unique in the pass for every state, so a kernel copies each h once per thread and not once per panel.
    step.version = StepVersion(n);
    return step;
  }

  // Copies columns of h of the rows [begin, end) to the output and, at a row's last step, to the final state. Past a
  // row's end the states are zeros, which keeps the results of padding finite.
  void FinishHidden(ptrdiff_t n, ptrdiff_t begin, ptrdiff_t end, Columns columns) const {
    // Only the last step has a final state.
    if (output_is_hidden_ && n + 1 < pass_.time) return;
    const auto [first, last] = columns;
    for (ptrdiff_t row = begin; row < end; row++) {
      T* h = HiddenAt(n + 1) + row * HiddenStride();
      const bool active = n < order_.Length(row);
      // Past the end of a row its output is zeros, at the place that step n has without reversal: reversed order
      // permutes only the steps within the length.
      T* out = OutputAt(active ? order_.TimeOf(n, row) : n) + row * network_.output_size();
      if (!active) std::fill(h + first, h + last, T{0});
      if (!output_is_hidden_) std::copy(h + first, h + last, out + first);
      if (n + 1 != order_.Length(row)) continue;
      const ptrdiff_t state = pseudo_layer_ * pass_.batch + row;
      std::copy(h + first, h + last, pass_.h_final + state * network_.columns() + first);
    }
  }

  // The same for c, which has no output: only final states are copied.
  void FinishCells(ptrdiff_t n, ptrdiff_t begin, ptrdiff_t end, Columns units) const {
    // Without lengths only the last step has a final state.
    if (pass_.lengths == nullptr && n + 1 < pass_.time) return;
    const auto [first, last] = units;
    for (ptrdiff_t row = begin; row < end; row++) {
      T* c = CellsAt(n + 1) + row * network_.padded_units();
      if (n >= order_.Length(row)) std::fill(c + first, c + last, T{0});
      if (n + 1 != order_.Length(row)) continue;
      const ptrdiff_t state = pseudo_layer_ * pass_.batch + row;
      std::copy(c + first, c + last, pass_.c_final + state * network_.options().units + first);
    }
  }

  // The first step whose pre-activations and gathered input are held during a time block.
  ptrdiff_t FirstHeld(const TimeBlock& time_block) const { return is_training_ ? 0 : time_block.begin; }
  // Rows of z and of the gathered input before step n.
  ptrdiff_t RowsBefore(const TimeBlock& time_block, ptrdiff_t n) const {
    return (n - FirstHeld(time_block)) * pass_.batch;
  }
  // States before step n. Inference reads h from the output (ForwardPass::output_is_hidden) or alternates between two
  // h, because every panel of a step reads all of the old h while others write the new one, and keeps one c, which each
  // panel updates in place.
  T* HiddenAt(ptrdiff_t n) const {
    if (output_is_hidden_ && n > 0) return OutputAt(order_.TimeOf(n - 1, 0));
    return memory_.record.hidden + (is_training_ ? n : n & 1) * pass_.batch * network_.padded_columns();
  }
  // Elements between rows of h.
  ptrdiff_t HiddenStride() const { return output_is_hidden_ ? network_.output_size() : network_.padded_columns(); }
  // This direction's columns of the output.
  T* OutputAt(ptrdiff_t time) const {
    return memory_.output + time * pass_.batch * network_.output_size() + order_.direction * network_.columns();
  }
  T* CellsAt(ptrdiff_t n) const {
    if (memory_.record.cells == nullptr) return nullptr;
    return memory_.record.cells + (is_training_ ? n : 0) * pass_.batch * network_.padded_units();
  }
  // Version numbers of the products' left operands, by which kernels detect whether they have copied an operand
  // already: the inputs from a row on; the state before a step; that number plus one, the state that it projects.
  uint64_t InputVersion(ptrdiff_t row) const {
    return 4 * static_cast<uint64_t>(pseudo_layer_ * pass_.time * pass_.batch + row) + 1;
  }
  uint64_t StepVersion(ptrdiff_t n) const { return InputVersion(n * pass_.batch) + 1; }

  const Engine<T>& engine_;
  const ForwardPass<T>& pass_;
  const Network<T>& network_;
  const PseudoLayerMemory<T>& memory_;
  const int pseudo_layer_;
  const LayerLayout& layout_;
  const TimeOrder order_;
  const bool is_training_;
  const bool output_is_hidden_;
};

}  // namespace cudnn_rnn
