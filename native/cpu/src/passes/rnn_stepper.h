// Inference one time step at a time with the state carried inside: the path of latency. A step of H 128 takes a few
// microseconds, so nothing is queued, allocated or woken that is not needed. Both products of a panel follow each other
// with one loop of the threads for both, since the next layer needs only h.
//
// A step of few rows shares the panels of each layer between the threads, which synchronize after every layer. A step
// of many rows cuts them into blocks, each of which one thread takes through all layers alone: no thread waits for
// another, and a block stays in the thread's cache. A step of some rows of the batch reads and writes their states
// alone: c in place; h is copied side by side first, as a product reads rows at equal distances, and written back panel
// by panel.
#pragma once

#include <algorithm>
#include <vector>

#include "memory/arena.h"
#include "memory/memory_block.h"
#include "passes/initial_cells.h"
#include "passes/pre_activations.h"
#include "passes/quantized_row_step.h"
#include "passes/recurrent_step.h"
#include "threads/engine.h"
#include "threads/shared_loops.h"
#include "weights/divide_up.h"
#include "weights/params.h"
#include "weights/rows_copy.h"

namespace cudnn_rnn {

// Batch rows: those listed or, without a list, `count` from `first` on.
struct BatchRows {
  const int32_t* list;
  ptrdiff_t first;
  ptrdiff_t count;

  ptrdiff_t operator[](ptrdiff_t index) const { return list == nullptr ? first + index : list[index]; }
  BatchRows Part(ptrdiff_t begin, ptrdiff_t end) const {
    return {list == nullptr ? nullptr : list + begin, first + begin, end - begin};
  }
};

// Not thread-safe: one step at a time. The network and the engine's pool must outlive it.
template <typename T>
class Stepper {
 public:
  // Unidirectional networks only. int8: whether the weights it is run with are.
  Stepper(const Network<T>& network, ptrdiff_t batch, const Engine<T>& engine, bool int8)
      : network_(network),
        batch_(batch),
        threads_(engine.pool->size()),
        loops_(threads_),
        scratch_(BlocksOf(batch) > 1 ? threads_ : 1),
        is_int8_(int8),
        copies_(NeedsRowsCopy(*engine.kernels, int8) ? threads_ : 0) {
    z_.resize(threads_);
    // The first pass over Carve() measures, the second one places: one allocation for the life of the stream, so a step
    // never allocates.
    Arena measure(nullptr);
    Carve(&measure);
    memory_ = MemoryBlock(measure.used());
    std::fill_n(memory_.data(), measure.used(), char{0});
    Arena arena(memory_.data());
    Carve(&arena);
  }

  // input [T,B,I] → output [T,B,C]
  void Run(const Engine<T>& engine, const Params<T>& params, const T* input, T* output, ptrdiff_t steps) {
    // Large batches are cut into blocks of rows, each of which one thread takes through all layers: its weights are
    // read once per block, and threads synchronize once. Small batches divide the panels of each layer instead.
    if (batch_ > kBlockRows) return RunRowsOf(engine, params, {nullptr, 0, batch_}, input, output, steps);
    // Computed at every run, because the pool's measurement of its threads improves over time.
    const int members = MembersFor(*engine.pool, *engine.kernels, OperationsOfLayer(batch_));
    RunShared(engine, members, [&](SharedLoops::Member* member, int index) {
      for (ptrdiff_t t = 0; t < steps; t++) StepAll(member, engine, params, input, output, t, index);
    });
    // After the run, as the threads read `now` during it.
    for (Layer& layer : layers_) layer.now = (layer.now + steps) & 1;
    version_ += 4 * static_cast<uint64_t>(steps) * layers_.size();
  }

  // One step of `count` distinct rows of the batch: input [count,I] → output [count,C]
  // Rows must be distinct: two threads could otherwise write the state of one row.
  void RunRows(const Engine<T>& engine, const Params<T>& params, const int32_t* rows, ptrdiff_t count, const T* input,
               T* output) {
    RunRowsOf(engine, params, {rows, 0, count}, input, output, 1);
  }

  // The state of one row becomes zeros, in all layers, as that of a new sequence.
  void ResetRow(ptrdiff_t row) {
    for (Layer& layer : layers_) {
      std::fill_n(layer.hidden[layer.now] + row * network_.padded_columns(), network_.padded_columns(), T{0});
      if (layer.cells != nullptr)
        std::fill_n(layer.cells + row * network_.padded_units(), network_.padded_units(), T{0});
    }
  }

  // Copies the states h [L,R,C] and c [L,R,H] (null without) of R rows out of the stream, or into it.
  void MoveState(T* h, T* c, bool into, const BatchRows& rows) {
    for (size_t l = 0; l < layers_.size(); l++) {
      for (ptrdiff_t index = 0; index < rows.count; index++) {
        const ptrdiff_t row = rows[index];
        const ptrdiff_t state = static_cast<ptrdiff_t>(l) * rows.count + index;
        Move(layers_[l].hidden[layers_[l].now] + row * network_.padded_columns(), h + state * network_.columns(),
             network_.columns(), into);
        if (c == nullptr) continue;
        T* own = layers_[l].cells + row * network_.padded_units();
        const ptrdiff_t units = network_.options().units;
        Move(own, c + state * units, units, into);
        if (into) CopyInitialCells(own, units, static_cast<T>(network_.options().clip), own);
      }
    }
  }

 private:
  // Rows of a block: their pre-activations of one panel and their h stay in the second-level cache beside a panel of
  // weights.
  static constexpr ptrdiff_t kBlockRows = 128;
  // Fewer rows than these do not repay a thread for reading all weights.
  static constexpr ptrdiff_t kLeastRows = 32;

  // Blocks that `count` rows are cut into; 1 where the threads share the panels of a layer.
  ptrdiff_t BlocksOf(ptrdiff_t count) const {
    const ptrdiff_t blocks = std::max(DivideUp(count, kBlockRows), std::min<ptrdiff_t>(threads_, count / kLeastRows));
    return std::max<ptrdiff_t>(blocks, 1);
  }

  // Both products of a step of the first layer: threads synchronize once in each layer.
  double OperationsOfLayer(ptrdiff_t rows) const {
    // 2 · rows · G·H · (C + I): a multiply-add counts as two operations.
    const ptrdiff_t depth = network_.columns() + network_.layer(0).input.depth;
    return 2.0 * static_cast<double>(rows * network_.gates() * network_.options().units * depth);
  }

  // The state of one layer; rows of h are padded with zeros to whole chunks.
  struct Layer {
    const LayerLayout* layout;
    T* hidden[2];  // [B][padded columns]; the second where the batch is one block
    T* cells;
    int now;  // which of the two h is the present one
  };

  // Scratch memory of one block of rows.
  struct Scratch {
    T* unprojected;  // [R][padded units]
    T* h_previous;   // [L][R][padded columns]: of the rows of the block
    T* h[2];         // [R][padded columns]: of this layer and of the one below
  };

  // The operands of one thread. Every panel multiplies by x and then by h: one place for both would be filled twice for
  // each panel.
  struct OperandCopies {
    RowsCopy input;
    RowsCopy state;  // h, then with a projection o·tanh(c)
  };

  // Operands of one layer's step.
  struct LayerStep {
    BatchRows rows;
    const T* x;
    ptrdiff_t x_stride;
    const T* h_previous;
    T* h;
    T* cells;                  // of all rows of the batch
    const int32_t* cell_rows;  // null where the rows begin at `cells`
    T* state;                  // [B][padded columns], where h is copied to as well; null for none
    T* output;                 // [rows][columns]; null but for the last layer
    uint64_t version;
  };

  // body(member, index) by `members` threads that share its loops.
  template <typename Body>
  void RunShared(const Engine<T>& engine, int members, const Body& body) {
    // No thread is inside the loops: the previous run has returned, and JavaScript's thread alone starts one.
    if (members > 1) loops_.Reset(members);
    engine.pool->RunOrAlone(members, [&](int index) {
      SharedLoops::Member member = members > 1 ? SharedLoops::Member(&loops_, index) : SharedLoops::Member();
      body(&member, index);
    });
  }

  // Step t of the whole batch.
  void StepAll(SharedLoops::Member* member, const Engine<T>& engine, const Params<T>& params, const T* input, T* output,
               ptrdiff_t t, int index) {
    const T* x = input + t * batch_ * network_.options().input_size;
    // The caller's rows are not padded; the states of the layers below are.
    ptrdiff_t x_stride = network_.options().input_size;
    uint64_t l = 0;
    for (const Layer& layer : layers_) {
      // Two h alternate, for the reason given at PseudoLayerForward::HiddenAt.
      const int now = (layer.now + t) & 1;
      LayerStep step{};
      step.rows = {nullptr, 0, batch_};
      step.x = x;
      step.x_stride = x_stride;
      step.h_previous = layer.hidden[now];
      step.h = layer.hidden[1 - now];
      step.cells = layer.cells;
      step.output = &layer == &layers_.back() ? output + t * batch_ * network_.columns() : nullptr;
      // Four numbers for each step of a layer: h, its projection, and the input (RecurrentStep, StepLayer).
      step.version = version_ + 4 * (t * layers_.size() + l++);
      StepLayer(member, *engine.kernels, params, layer, scratch_[0], step, index, now != 0);
      x = step.h;
      x_stride = network_.padded_columns();
    }
  }

  void Carve(Arena* arena) {
    const ptrdiff_t block = std::min(batch_, kBlockRows);
    // Carve() runs twice.
    layers_.clear();
    for (int l = 0; l < network_.options().layers; l++) {
      Layer layer{&network_.layer(l), {}, nullptr, 0};
      layer.hidden[0] = arena->Take<T>(batch_ * network_.padded_columns());
      if (batch_ <= kBlockRows) layer.hidden[1] = arena->Take<T>(batch_ * network_.padded_columns());
      if (network_.has_cell_state()) layer.cells = arena->Take<T>(batch_ * network_.padded_units());
      layers_.push_back(layer);
    }
    for (T*& z : z_) z = arena->Take<T>((1 + block) * network_.z_width());
    for (Scratch& scratch : scratch_) {
      scratch.unprojected =
          network_.options().projection > 0 ? arena->Take<T>(block * network_.padded_units()) : nullptr;
      scratch.h_previous = arena->Take<T>(network_.options().layers * block * network_.padded_columns());
      for (T*& h : scratch.h) h = arena->Take<T>(block * network_.padded_columns());
    }
    for (OperandCopies& copies : copies_) {
      copies.input = TakeRowsCopy(network_, is_int8_, block, arena);
      copies.state = TakeRowsCopy(network_, is_int8_, block, arena);
    }
  }

  // `steps` steps of the rows, whose inputs and outputs are side by side in every step.
  void RunRowsOf(const Engine<T>& engine, const Params<T>& params, const BatchRows& rows, const T* input, T* output,
                 ptrdiff_t steps) {
    const ptrdiff_t blocks = BlocksOf(rows.count);
    const auto step_block = [&](SharedLoops::Member* member, ptrdiff_t block, Scratch* scratch, int index) {
      // Blocks differ by at most one row.
      const ptrdiff_t begin = rows.count * block / blocks;
      const BatchRows part = rows.Part(begin, rows.count * (block + 1) / blocks);
      for (ptrdiff_t t = 0; t < steps; t++) {
        const ptrdiff_t row = t * rows.count + begin;
        StepRows(member, *engine.kernels, params, part, scratch, input + row * network_.options().input_size,
                 output + row * network_.columns(), index, version_ + 4 * (block * steps + t) * layers_.size());
      }
    };
    if (blocks > 1) {
      // Threads take blocks as they become free; each uses its own scratch memory, by `index`.
      const int members = static_cast<int>(std::min<ptrdiff_t>(threads_, blocks));
      loops_.Reset(members);
      engine.pool->RunOrAlone(members, [&](int index) {
        SharedLoops::Member(&loops_, index).Run(blocks, [&](ptrdiff_t block) {
          SharedLoops::Member alone;
          step_block(&alone, block, &scratch_[index], index);
        });
      });
    } else {
      const int members = MembersFor(*engine.pool, *engine.kernels, OperationsOfLayer(rows.count));
      RunShared(engine, members,
                [&](SharedLoops::Member* member, int index) { step_block(member, 0, &scratch_[0], index); });
    }
    version_ += 4 * static_cast<uint64_t>(blocks * steps) * layers_.size();
  }

  // One step of a block of rows through all layers.
  void StepRows(SharedLoops::Member* member, const KernelTable<T>& kernels, const Params<T>& params,
                const BatchRows& rows, Scratch* scratch, const T* input, T* output, int index, uint64_t version) {
    const ptrdiff_t columns = network_.padded_columns();
    const ptrdiff_t block = std::min(batch_, kBlockRows);
    member->Run(static_cast<ptrdiff_t>(layers_.size()), [&](ptrdiff_t l) {
      const T* state = layers_[l].hidden[layers_[l].now];
      // The rows' states are copied side by side, as products read their rows at one stride; c is not, because the cell
      // kernel takes row numbers. The copy is C elements of a row against 4·H·(I + C) multiply-adds.
      T* gathered = scratch->h_previous + l * block * columns;
      for (ptrdiff_t k = 0; k < rows.count; k++)
        std::copy_n(state + rows[k] * columns, columns, gathered + k * columns);
    });
    const T* x = input;
    ptrdiff_t x_stride = network_.options().input_size;
    for (size_t l = 0; l < layers_.size(); l++) {
      const Layer& layer = layers_[l];
      LayerStep step{};
      step.rows = rows;
      step.x = x;
      step.x_stride = x_stride;
      step.h_previous = scratch->h_previous + static_cast<ptrdiff_t>(l) * block * columns;
      // Two buffers alternate between layers: a layer reads the lower one's h while it writes its own.
      step.h = scratch->h[l & 1];
      step.cell_rows = rows.list;
      step.cells = layer.cells;
      // Without a list the rows of the block are consecutive, and the cells are addressed from the first of them.
      if (layer.cells != nullptr && rows.list == nullptr) step.cells += rows.first * network_.padded_units();
      // In blocks h is written to scratch memory and copied back, so `now` does not change.
      step.state = layer.hidden[layer.now];
      step.output = l + 1 == layers_.size() ? output : nullptr;
      step.version = version + 4 * l;
      StepLayer(member, kernels, params, layer, *scratch, step, index, (l & 1) != 0);
      x = step.h;
      x_stride = columns;
    }
  }

  // Input product, recurrent product and cell of each panel, one after the other while its pre-activations are in the
  // cache; then the projection, which needs all units.
  void StepLayer(SharedLoops::Member* member, const KernelTable<T>& kernels, const Params<T>& params,
                 const Layer& layer, const Scratch& scratch, const LayerStep& s, int index, bool backwards) {
    OperandCopies* copies = copies_.empty() ? nullptr : &copies_[index];
    RowsCopy* input_copy = copies == nullptr ? nullptr : &copies->input;
    RowsCopy* state_copy = copies == nullptr ? nullptr : &copies->state;
    // Another left operand than h, so another number: the kernel must copy it again.
    const uint64_t input_version = s.version + 2;
    if (s.rows.count == 1 && network_.is_gated() && layer.layout->input.present()) {
      if (params.quantized == nullptr) {
        const auto row_step = network_.options().cell == Cell::kLstm ? kernels.lstm_row_step : kernels.gru_row_step;
        // Null where the registers are too few for it.
        if (row_step != nullptr) {
          return StepRow(member, row_step, kernels, params, layer, scratch, s, nullptr, backwards);
        }
      } else if constexpr (sizeof(T) == 4) {
        const QuantizedRowStep<T> row_step{network_,   kernels,       *layer.layout, params,   z_[index],
                                           input_copy, input_version, state_copy,    s.version};
        return StepRow(member, row_step, kernels, params, layer, scratch, s, state_copy, backwards);
      }
    }
    const ptrdiff_t rows = s.rows.count;
    RecurrentStep<T> step{network_, kernels, *layer.layout, params, rows};
    const ptrdiff_t width = network_.z_width();
    T* biases = z_[index];
    T* z = biases + width;
    step.z = z;
    step.z_panel_stride = 0;
    step.h_previous = s.h_previous;
    step.h = s.h;
    step.c_previous = step.c = s.cells;
    step.cell_rows = s.cell_rows;
    step.unprojected = scratch.unprojected;
    // Inference: the activations of the gates are not stored.
    step.keep = false;
    step.rows_copy = state_copy;
    step.version = s.version;
    const bool projects = layer.layout->projection.present();
    member->Run(
        network_.panels(),
        [&](ptrdiff_t panel) {
          FillWithBiases(network_, *layer.layout, params.data, panel, biases);
          if (layer.layout->input.present()) {
            PanelProduct<T> product{};
            product.a = s.x;
            product.a_stride = s.x_stride;
            product.rows = rows;
            product.depth = layer.layout->input.depth;
            // One row of biases, repeated: the sums begin with them, so adding them costs nothing.
            product.init = biases;
            product.c = z;
            product.c_stride = width;
            product.rows_copy = input_copy;
            product.version = input_version;
            params.Multiply(kernels, layer.layout->input, panel, 0, &product);
            // The planes that the input side does not write, q_n of GRU.
            for (ptrdiff_t k = network_.z_input_width(); k < width; k += kChunk<T>) {
              for (ptrdiff_t row = 0; row < rows; row++) std::copy_n(biases + k, kChunk<T>, z + row * width + k);
            }
          } else {
            for (ptrdiff_t row = 0; row < rows; row++) std::copy_n(biases, width, z + row * width);
            AddSkippedInput(network_, panel, s.x, s.x_stride, rows, z);
          }
          step.RunPanel(panel);
          if (!projects) CopyColumns(s, step.UnitsOf(panel));
        },
        backwards);
    if (projects) Project(member, step, s);
  }

  void Project(SharedLoops::Member* member, const RecurrentStep<T>& step, const LayerStep& s) const {
    member->Run(step.layout.projection.panels, [&](ptrdiff_t panel) {
      step.RunProjectionPanel(panel);
      CopyColumns(s, step.ProjectedColumnsOf(panel));
    });
  }

  // As StepLayer, of one row. The copy is that of h.
  template <typename Kernel>
  void StepRow(SharedLoops::Member* member, const Kernel& kernel, const KernelTable<T>& kernels,
               const Params<T>& params, const Layer& layer, const Scratch& scratch, const LayerStep& s, RowsCopy* copy,
               bool backwards) {
    const LayerLayout& layout = *layer.layout;
    const bool projects = layout.projection.present();
    RowStep<T> row{};
    row.x = s.x;
    row.x_depth = layout.input.depth;
    row.input_panels = params.data + layout.input.offset;
    row.h_previous = s.h_previous;
    row.h_depth = layout.recurrent.depth;
    row.recurrent_panels = params.data + layout.recurrent.offset;
    row.input_biases = layout.input_bias < 0 ? nullptr : params.data + layout.input_bias;
    row.recurrent_biases = layout.recurrent_bias < 0 ? nullptr : params.data + layout.recurrent_bias;
    // The cell kernel takes row numbers; one row needs its address alone.
    row.c = s.cells == nullptr || s.cell_rows == nullptr ? s.cells : s.cells + s.cell_rows[0] * network_.padded_units();
    row.h = projects ? scratch.unprojected : s.h;
    row.clip = static_cast<T>(network_.options().clip);
    row.backwards = backwards;
    RunRanges(
        member, network_.panels(),
        [&](ptrdiff_t first, ptrdiff_t last) {
          row.first = first;
          row.last = last;
          kernel(row);
          const ptrdiff_t units = network_.panel_units();
          if (!projects) CopyColumns(s, {first * units, std::min(network_.options().units, last * units)});
        },
        backwards);
    if (!projects) return;
    RecurrentStep<T> step{network_, kernels, layout, params, 1};
    step.h = s.h;
    step.unprojected = scratch.unprojected;
    step.rows_copy = copy;
    step.version = s.version;
    Project(member, step, s);
  }

  // body(first, last) for all items: one thread alone takes them at once.
  template <typename Body>
  static void RunRanges(SharedLoops::Member* member, ptrdiff_t items, const Body& body, bool backwards) {
    if (member->is_alone()) return body(0, items);
    member->Run(items, [&](ptrdiff_t item) { body(item, item + 1); }, backwards);
  }

  // Of the new h to the output and to the states of the rows.
  // Only the columns of the panel that was just computed, which are still in this thread's cache.
  void CopyColumns(const LayerStep& s, Columns columns) const {
    const ptrdiff_t padded = network_.padded_columns();
    for (ptrdiff_t row = 0; row < s.rows.count; row++) {
      const T* from = s.h + row * padded + columns.first;
      const ptrdiff_t count = columns.last - columns.first;
      if (s.state != nullptr) CopyChunk(from, count, s.state + s.rows[row] * padded + columns.first);
      if (s.output != nullptr) CopyChunk(from, count, s.output + row * network_.columns() + columns.first);
    }
  }

  // A panel of gates has one chunk of units. A copy of a known size is a few instructions, one of any size a call of
  // memmove, which takes as long as the cell of a row.
  static void CopyChunk(const T* from, ptrdiff_t count, T* to) {
    if (count == kChunk<T>) {
      std::copy_n(from, kChunk<T>, to);
    } else {
      std::copy_n(from, count, to);
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
  const int threads_;
  SharedLoops loops_;
  std::vector<Layer> layers_;
  std::vector<Scratch> scratch_;  // by thread, where rows are cut into blocks
  // By thread: [1 + R][z_width], the biases and the pre-activations of the panel that it computes. One panel of 128
  // rows is as large as the first-level cache; of all panels, the pre-activations would pass through the second.
  std::vector<T*> z_;
  const bool is_int8_;
  std::vector<OperandCopies> copies_;  // by thread; none where no kernel copies rows
  uint64_t version_ = 4;               // of the next step's states
  MemoryBlock memory_;
};

}  // namespace cudnn_rnn
