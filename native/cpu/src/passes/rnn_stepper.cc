#include "passes/rnn_stepper.h"

#include <algorithm>

#include "memory/carved_block.h"
#include "passes/layer_step.h"
#include "weights/divide_up.h"
#include "weights/rows_copy.h"

namespace cudnn_rnn {
namespace {

// Rows of a block: their pre-activations of one panel and their h stay in the second-level cache beside a panel of
// weights.
constexpr ptrdiff_t kBlockRows = 128;
// Fewer rows than these do not repay a thread for reading all weights.
constexpr ptrdiff_t kLeastRows = 32;
// Numbers of states that a step of a layer takes (LayerStep::version).
constexpr uint64_t kVersions = 4;

}  // namespace

template <typename T>
Stepper<T>::Stepper(const Network<T>& network, ptrdiff_t batch, const Engine<T>& engine, WeightFormat format)
    : network_(network),
      batch_(batch),
      threads_(engine.pool->size()),
      states_(network, batch, batch <= kBlockRows),
      loops_(threads_),
      scratch_(BlocksOf(batch) > 1 ? threads_ : 1),
      z_(threads_),
      format_(format),
      copies_(NeedsRowsCopy(*engine.kernels, format) ? threads_ : 0) {
  // Allocated for the life of the stream, so a step never allocates.
  memory_ = CarvedBlock([&](Arena* arena) { Carve(arena); });
}

template <typename T>
void Stepper<T>::Carve(Arena* arena) {
  const ptrdiff_t block = std::min(batch_, kBlockRows);
  for (T*& z : z_) z = arena->Take<T>((1 + block) * network_.z_width());
  for (Scratch& scratch : scratch_) {
    scratch.unprojected = network_.options().projection > 0 ? arena->Take<T>(block * network_.padded_units()) : nullptr;
    scratch.h_previous = arena->Take<T>(network_.options().layers * block * network_.padded_columns());
    for (T*& h : scratch.h) h = arena->Take<T>(block * network_.padded_columns());
  }
  for (OperandCopies& copies : copies_) {
    copies.input = TakeRowsCopy(network_, format_, block, arena);
    copies.state = TakeRowsCopy(network_, format_, block, arena);
  }
}

// Blocks that `count` rows are cut into; 1 if the threads share the panels of a layer.
template <typename T>
ptrdiff_t Stepper<T>::BlocksOf(ptrdiff_t count) const {
  const ptrdiff_t blocks = std::max(DivideUp(count, kBlockRows), std::min<ptrdiff_t>(threads_, count / kLeastRows));
  return std::max<ptrdiff_t>(blocks, 1);
}

// Both products of a step of the first layer: threads synchronize once in each layer.
template <typename T>
double Stepper<T>::OperationsOfLayer(ptrdiff_t rows) const {
  // 2 · rows · G·H · (C + I): a multiply-add counts as two operations.
  const ptrdiff_t depth = network_.columns() + network_.layer(0).input.depth;
  return 2.0 * static_cast<double>(rows * network_.gates() * network_.options().units * depth);
}

// body(place) by the threads that share the panels of steps of `rows` rows.
template <typename T>
template <typename Body>
void Stepper<T>::RunShared(const Engine<T>& engine, ptrdiff_t rows, const Body& body) {
  // Computed at every run, because the pool's measurement of its threads improves over time.
  const int members = MembersFor(*engine.pool, *engine.kernels, OperationsOfLayer(rows));
  // No thread is inside the loops: the previous run has returned, and JavaScript's thread alone starts one.
  if (members > 1) loops_.Reset(members);
  engine.pool->RunOrAlone(members, [&](int index) {
    SharedLoops::Member member = members > 1 ? SharedLoops::Member(&loops_, index) : SharedLoops::Member();
    body(Place{&member, index});
  });
}

template <typename T>
void Stepper<T>::Run(const Engine<T>& engine, const Params<T>& params, const T* input, T* output, ptrdiff_t steps) {
  // Large batches are cut into blocks of rows, each of which one thread takes through all layers: its weights are read
  // once per block, and threads synchronize once. Small batches divide the panels of each layer instead.
  if (batch_ > kBlockRows) return RunBlocks(engine, params, {nullptr, 0, batch_}, input, output, steps);
  RunShared(engine, batch_, [&](const Place& place) {
    for (ptrdiff_t t = 0; t < steps; t++) StepBatch(place, engine, params, input, output, t);
  });
  // Must follow the run: its threads read `now`.
  states_.Advance(steps);
  version_ += kVersions * static_cast<uint64_t>(steps) * states_.layers().size();
}

// `steps` steps of the rows, whose inputs and outputs are side by side in every step.
template <typename T>
void Stepper<T>::RunBlocks(const Engine<T>& engine, const Params<T>& params, const BatchRows& rows, const T* input,
                           T* output, ptrdiff_t steps) {
  const ptrdiff_t blocks = BlocksOf(rows.count);
  const size_t layers = states_.layers().size();
  const auto step_block = [&](const Place& place, ptrdiff_t block, const Scratch& scratch) {
    // Blocks differ by at most one row.
    const ptrdiff_t begin = rows.count * block / blocks;
    const BatchRows part = rows.Part(begin, rows.count * (block + 1) / blocks);
    for (ptrdiff_t t = 0; t < steps; t++) {
      const ptrdiff_t row = t * rows.count + begin;
      StepBlock(place, engine, params, part, scratch, input + row * network_.options().input_size,
                output + row * network_.columns(), version_ + kVersions * (block * steps + t) * layers);
    }
  };
  if (blocks > 1) {
    // Threads take blocks as they become free; each uses its own scratch memory, by `index`.
    const int members = static_cast<int>(std::min<ptrdiff_t>(threads_, blocks));
    loops_.Reset(members);
    engine.pool->RunOrAlone(members, [&](int index) {
      SharedLoops::Member(&loops_, index).Run(blocks, [&](ptrdiff_t block) {
        SharedLoops::Member alone;
        step_block({&alone, index}, block, scratch_[index]);
      });
    });
  } else {
    RunShared(engine, rows.count, [&](const Place& place) { step_block(place, 0, scratch_[0]); });
  }
  version_ += kVersions * static_cast<uint64_t>(blocks * steps) * layers;
}

// The step of a layer, with the fields that do not depend on how h is stored.
template <typename T>
LayerStep<T> Stepper<T>::StepOf(const Place& place, const Engine<T>& engine, const Params<T>& params, size_t layer,
                                const BatchRows& rows, const Scratch& scratch) {
  LayerStep<T> step{network_, *engine.kernels, params, network_.layer(static_cast<int>(layer)), rows};
  step.cells = states_.layers()[layer].cells;
  step.unprojected = scratch.unprojected;
  step.z = z_[place.index];
  step.copies = copies_.empty() ? nullptr : &copies_[place.index];
  return step;
}

// Step t of the whole batch.
template <typename T>
void Stepper<T>::StepBatch(const Place& place, const Engine<T>& engine, const Params<T>& params, const T* input,
                           T* output, ptrdiff_t t) {
  const T* x = input + t * batch_ * network_.options().input_size;
  // The caller's rows are not padded; the states of the layers below are.
  ptrdiff_t x_stride = network_.options().input_size;
  const size_t layers = states_.layers().size();
  for (size_t l = 0; l < layers; l++) {
    const auto& layer = states_.layers()[l];
    // Two h alternate, for the reason given at PseudoLayerForward::HiddenAt.
    const int now = (layer.now + t) & 1;
    LayerStep<T> step = StepOf(place, engine, params, l, {nullptr, 0, batch_}, scratch_[0]);
    step.x = x;
    step.x_stride = x_stride;
    step.h_previous = layer.hidden[now];
    step.h = layer.hidden[1 - now];
    if (l + 1 == layers) step.output = output + t * batch_ * network_.columns();
    step.version = version_ + kVersions * (t * layers + l);
    step.Run(place.member, now != 0);
    x = step.h;
    x_stride = network_.padded_columns();
  }
}

// One step of a block of rows through all layers.
template <typename T>
void Stepper<T>::StepBlock(const Place& place, const Engine<T>& engine, const Params<T>& params, const BatchRows& rows,
                           const Scratch& scratch, const T* input, T* output, uint64_t version) {
  const ptrdiff_t columns = network_.padded_columns();
  const ptrdiff_t block = std::min(batch_, kBlockRows);
  const size_t layers = states_.layers().size();
  place.member->Run(static_cast<ptrdiff_t>(layers), [&](ptrdiff_t l) {
    const auto& layer = states_.layers()[l];
    const T* state = layer.hidden[layer.now];
    // The rows' states are copied side by side, as products read their rows at one stride; c is not, because the cell
    // kernel takes row numbers. The copy is C elements of a row against 4·H·(I + C) multiply-adds.
    T* gathered = scratch.h_previous + l * block * columns;
    for (ptrdiff_t k = 0; k < rows.count; k++) std::copy_n(state + rows[k] * columns, columns, gathered + k * columns);
  });
  const T* x = input;
  ptrdiff_t x_stride = network_.options().input_size;
  for (size_t l = 0; l < layers; l++) {
    const auto& layer = states_.layers()[l];
    LayerStep<T> step = StepOf(place, engine, params, l, rows, scratch);
    step.x = x;
    step.x_stride = x_stride;
    step.h_previous = scratch.h_previous + static_cast<ptrdiff_t>(l) * block * columns;
    // Two buffers alternate between layers: a layer reads the lower one's h while it writes its own.
    step.h = scratch.h[l & 1];
    step.cell_rows = rows.list;
    // Without a list the rows of the block are consecutive, and the cells are addressed from the first of them.
    if (step.cells != nullptr && rows.list == nullptr) step.cells += rows.first * network_.padded_units();
    // In blocks h is written to scratch memory and copied back, so `now` does not change.
    step.state = layer.hidden[layer.now];
    if (l + 1 == layers) step.output = output;
    step.version = version + kVersions * l;
    step.Run(place.member, (l & 1) != 0);
    x = step.h;
    x_stride = columns;
  }
}

template class Stepper<float>;
template class Stepper<double>;

}  // namespace cudnn_rnn
