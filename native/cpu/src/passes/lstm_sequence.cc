#include "passes/lstm_sequence.h"

#include <algorithm>

#include "memory/arena.h"
#include "memory/memory_block.h"
#include "threads/spin_wait.h"
#include "weights/divide_up.h"
#include "weights/network.h"
#include "weights/transposed_matrix.h"

namespace cudnn_rnn {
namespace {

// Layer norms of a step: of the gates i, g, f and o, and of the new cell state.
constexpr int kNorms = 5;

template <typename T>
inline constexpr ptrdiff_t kPanelWidth = kPanelChunks * kChunk<T>;

// The recurrent matrix: the last panel is as wide as whole chunks need, with zeros beyond column 4H.
// Panels of four chunks of columns; the kernel [H,4H] is copied to them (Pack).
template <typename T>
PanelMatrix RecurrentMatrix(ptrdiff_t units, PanelOrder order) {
  const ptrdiff_t columns = 4 * units;
  PanelMatrix matrix;
  matrix.order = order;
  // Offsets are within panels_, not within an opaque buffer.
  matrix.offset = 0;
  matrix.depth = units;
  matrix.panels = DivideUp(columns, kPanelWidth<T>);
  matrix.chunks = kPanelChunks;
  const ptrdiff_t last = columns - (matrix.panels - 1) * kPanelWidth<T>;
  matrix.last_chunks = static_cast<int>(DivideUp(last, kChunk<T>));
  return matrix;
}

// Unlike the networks of weights/network.h, gates are in TensorFlow's order, [T·B,4H] with four blocks of H columns, so
// a panel of the matrix may span two gates.
template <typename T>
class LstmSteps {
 public:
  // `gradients` is set in a backward.
  LstmSteps(const Engine<T>& engine, const LstmSequence<T>& sequence, const LstmSequenceGradients<T>& gradients = {})
      : engine_(engine),
        s_(sequence),
        g_(gradients),
        columns_(4 * sequence.units),
        state_size_(sequence.batch * sequence.units),
        matrix_(RecurrentMatrix<T>(sequence.units, engine.kernels->panel_order)),
        // Depends on the work of one step, 2·B·H·4H operations: threads synchronize twice in each step.
        members_(MembersFor(*engine.pool, *engine.kernels,
                            2.0 * static_cast<double>(sequence.batch) * static_cast<double>(sequence.units) *
                                static_cast<double>(columns_))) {}

  // The input side, z = x·W + b of all steps, is the caller's product; only the part below depends on the step before.
  // Per step: z += h·R panel by panel, then all gates of a row, as a norm needs a gate whole. The threads synchronize
  // twice in each step: h of step t is complete only when every row is, and all panels of step t+1 read all of it.
  void RunForward() {
    // One block for the whole pass, returned to the executor's cache at its end.
    MemoryBlock memory = engine_.blocks->TakeFor([&](Arena* arena) {
      panels_ = arena->Take<T>(panels_size());
      tiles_ = arena->Take<T>(is_padded() ? s_.batch * kPanelWidth<T> : 0);
    });
    RunLoops(engine_, members_, [&](SharedLoops::Member& member, int) {
      member.Run(matrix_.panels, [&](ptrdiff_t panel) { Pack(panel); });
      for (ptrdiff_t t = 0; t < s_.time; t++) {
        PrefetchState(t);
        member.Run(
            matrix_.panels,
            [&](ptrdiff_t panel) {
              // A canceled pass still runs the loops, empty, so that all threads reach its end.
              if (!engine_.is_canceled()) MultiplyPanel(t, panel);
            },
            t % 2 != 0);
        // A norm needs all units of a row, so a row is one item.
        member.Run(s_.batch, [&](ptrdiff_t row) {
          if (!engine_.is_canceled()) RunForwardRow(t, row);
        });
      }
    });
    engine_.blocks->GiveBack(std::move(memory));
  }

  // Per step, from the last: the gates' gradients of each row, then dh += dz·Rᵀ. The gradients of the kernel and of the
  // input, which are products over all T·B rows, follow outside of this pass, from z, which holds dz when it ends.
  void RunBackward() {
    // Packing the transpose pays from a few rows on; with fewer, dot products along the stored rows are faster.
    const bool packs = TransposedMatrix<T>::IsWorthPacking(s_.time, s_.batch);
    // δγ and δβ are kept for each row apart, so threads never add to one sum.
    const ptrdiff_t norm_size = s_.gamma == nullptr ? 0 : kNorms * s_.units;
    T* packed = nullptr;
    MemoryBlock memory = engine_.blocks->TakeFor([&](Arena* arena) {
      panels_ = arena->Take<T>(panels_size());
      packed = packs ? arena->Take<T>(TransposedMatrix<T>::PackedSize(matrix_)) : nullptr;
      arriving_ = arena->Take<T>(state_size_);
      scratch_ = s_.gamma == nullptr ? nullptr : arena->Take<T>(s_.batch * columns_);
      padded_ = is_padded() ? arena->Take<T>(s_.batch * padded_columns()) : nullptr;
      d_gammas_ = arena->Take<T>(s_.batch * norm_size);
      d_betas_ = arena->Take<T>(s_.batch * norm_size);
    });
    std::fill_n(d_gammas_, s_.batch * norm_size, T{0});
    std::fill_n(d_betas_, s_.batch * norm_size, T{0});
    const TransposedMatrix<T> transposed(matrix_, panels_, packed);
    const ptrdiff_t parts = DivideUp(s_.units, kPart);
    RunLoops(engine_, members_, [&](SharedLoops::Member& member, int) {
      member.Run(matrix_.panels, [&](ptrdiff_t panel) { Pack(panel); });
      // Packing reads the panels, so it follows the loop that makes them; a loop ends only when all its items are done.
      member.Run(transposed.items(), [&](ptrdiff_t item) { transposed.Pack(item); });
      for (ptrdiff_t t = s_.time - 1; t >= 0; t--) {
        member.Run(s_.batch, [&](ptrdiff_t row) {
          if (!engine_.is_canceled()) RunBackwardRow(t, row);
        });
        member.Run(
            parts,
            [&](ptrdiff_t part) {
              if (!engine_.is_canceled()) MultiplyPart(transposed, t, part * kPart);
            },
            t % 2 != 0);
      }
    });
    // In the order of the rows, for any number of threads.
    for (ptrdiff_t row = 0; row < s_.batch; row++) {
      for (ptrdiff_t k = 0; k < norm_size; k++) {
        g_.d_gamma[k] += d_gammas_[row * norm_size + k];
        g_.d_beta[k] += d_betas_[row * norm_size + k];
      }
    }
    engine_.blocks->GiveBack(std::move(memory));
  }

 private:
  // A row of step t whose sequence has ended before.
  bool HasEnded(ptrdiff_t t, ptrdiff_t row) const { return s_.lengths != nullptr && t >= s_.lengths[row]; }
  // z of one row at step t: [4H].
  T* GatesAt(ptrdiff_t t, ptrdiff_t row) const { return s_.z + (t * s_.batch + row) * columns_; }
  // Offset of a row in [T,B,H], or of state t in hidden and cells [T+1,B,H].
  ptrdiff_t RowAt(ptrdiff_t t, ptrdiff_t row) const { return (t * s_.batch + row) * s_.units; }
  // The operands of both directions.
  LstmRowStep<T> RowStepOf(ptrdiff_t t, ptrdiff_t row) const {
    const ptrdiff_t before = RowAt(t, row);
    LstmRowStep<T> step{};
    step.z = GatesAt(t, row);
    step.units = s_.units;
    step.gate_activation = s_.gate_activation;
    step.forget_bias = s_.forget_bias;
    step.dropout = s_.dropout == nullptr ? nullptr : s_.dropout + before;
    step.c_previous = s_.cells + before;
    step.c = s_.cells + RowAt(t + 1, row);
    if (s_.gamma == nullptr) return step;
    step.gamma = s_.gamma;
    step.beta = s_.beta;
    step.epsilon = s_.epsilon;
    step.normalized_c = s_.normalized_c + before;
    step.inverses = s_.inverses + (t * s_.batch + row) * kNorms;
    return step;
  }

  ptrdiff_t PanelWidthOf(ptrdiff_t panel) const { return matrix_.ChunksOf(panel) * kChunk<T>; }
  // Columns of the matrix in a panel: without the padding of the last one.
  ptrdiff_t ValidColumnsOf(ptrdiff_t panel) const {
    return std::min(kPanelWidth<T>, columns_ - panel * kPanelWidth<T>);
  }

  ptrdiff_t panels_size() const {
    return matrix_.template PanelBegin<T>(matrix_.panels - 1) + s_.units * PanelWidthOf(matrix_.panels - 1);
  }
  // Why a copy: the kernel's rows are 4H apart, so a panel of 64 columns would touch a new page at each row of the
  // depth (H 1024: 16 KiB apart). The data TLB of Zen 4 has 72 entries, Golden Cove's 96 (Agner Fog, The
  // microarchitecture of Intel, AMD and VIA CPUs, https://www.agner.org/optimize/).
  // Copies a panel of the kernel. The steps read the panels from end to end, T times; the copy costs the time of a few.
  // Each pass makes its own, in memory that the next one uses again: a tape would hold it for as long as JavaScript
  // holds the tape.
  void Pack(ptrdiff_t panel) const {
    const ptrdiff_t width = PanelWidthOf(panel);
    const ptrdiff_t valid = ValidColumnsOf(panel);
    const PanelStrides<T> strides = matrix_.template StridesOf<T>(panel);
    T* to = panels_ + matrix_.template PanelBegin<T>(panel);
    const T* from = s_.kernel + panel * kPanelWidth<T>;
    for (ptrdiff_t k = 0; k < s_.units; k++, to += strides.row, from += columns_) {
      for (ptrdiff_t column = 0; column < width; column += kChunk<T>) {
        T* chunk = to + strides.ColumnAt(column);
        const ptrdiff_t count = std::clamp<ptrdiff_t>(valid - column, 0, kChunk<T>);
        std::copy_n(from + column, count, chunk);
        std::fill(chunk + count, chunk + kChunk<T>, T{0});
      }
    }
  }

  // Whether the last panel is wider than the columns that are left for it.
  // Only for H whose 4H elements are not a multiple of 64 bytes.
  bool is_padded() const { return columns_ % kChunk<T> != 0; }

  // Prefetches h, as other threads have written a part of it.
  void PrefetchState(ptrdiff_t t) const {
    constexpr ptrdiff_t kPrefetched = 2048;
    const T* h = s_.hidden + t * state_size_;
    for (ptrdiff_t k = 0; k < std::min(state_size_, kPrefetched); k += kChunk<T>) Prefetch(h + k);
  }

  // z_t += h_t·R for the columns of one panel. z holds x·W + b before.
  void MultiplyPanel(ptrdiff_t t, ptrdiff_t panel) const {
    const ptrdiff_t width = PanelWidthOf(panel);
    const ptrdiff_t valid = ValidColumnsOf(panel);
    T* z = GatesAt(t, 0) + panel * kPanelWidth<T>;
    PanelProduct<T> product{};
    product.a = s_.hidden + t * state_size_;
    product.a_stride = s_.units;
    product.rows = s_.batch;
    product.depth = s_.units;
    matrix_.template StridesOf<T>(panel).Point(&product, panels_ + matrix_.template PanelBegin<T>(panel));
    product.chunks = matrix_.ChunksOf(panel);
    const bool in_place = valid == width;
    // Only the last panel passes through the tile: no other item uses it.
    // The product accumulates: c is also its initial value.
    product.c = in_place ? z : tiles_;
    product.c_stride = in_place ? columns_ : kPanelWidth<T>;
    product.init = product.c;
    product.init_stride = product.c_stride;
    for (ptrdiff_t row = 0; !in_place && row < s_.batch; row++) {
      T* tile = tiles_ + row * kPanelWidth<T>;
      std::copy_n(z + row * columns_, valid, tile);
      std::fill(tile + valid, tile + width, T{0});
    }
    engine_.kernels->product(product);
    for (ptrdiff_t row = 0; !in_place && row < s_.batch; row++) {
      std::copy_n(tiles_ + row * kPanelWidth<T>, valid, z + row * columns_);
    }
  }

  // The cell of one row: (h, c) of entry t → entry t+1. A row that has ended repeats its state, as tf.nn.dynamic_rnn
  // does.
  void RunForwardRow(ptrdiff_t t, ptrdiff_t row) const {
    const ptrdiff_t before = RowAt(t, row);
    const ptrdiff_t after = RowAt(t + 1, row);
    if (HasEnded(t, row)) {
      std::copy_n(s_.hidden + before, s_.units, s_.hidden + after);
      std::copy_n(s_.cells + before, s_.units, s_.cells + after);
      return;
    }
    LstmRowStep<T> step = RowStepOf(t, row);
    step.h = s_.hidden + after;
    engine_.kernels->lstm_row_forward(step);
  }

  // Columns of dh that one item computes.
  static constexpr ptrdiff_t kPart = TransposedMatrix<T>::kPanelColumns;

  ptrdiff_t padded_columns() const { return DivideUp(columns_, kChunk<T>) * kChunk<T>; }

  void RunBackwardRow(ptrdiff_t t, ptrdiff_t row) const {
    const ptrdiff_t before = RowAt(t, row);
    T* z = GatesAt(t, row);
    // The step of an ended row changes nothing: dh and dc stay for the steps before.
    if (HasEnded(t, row)) {
      std::fill_n(z, columns_, T{0});
    } else {
      RunActiveRow(t, row, before);
    }
    if (!is_padded()) return;
    T* padded = padded_ + row * padded_columns();
    std::copy_n(z, columns_, padded);
    std::fill(padded + columns_, padded + padded_columns(), T{0});
  }

  void RunActiveRow(ptrdiff_t t, ptrdiff_t row, ptrdiff_t before) const {
    T* dh = g_.dh + row * s_.units;
    T* arriving = arriving_ + row * s_.units;
    // Moves the gradient with respect to h of this step out of dh. The product then adds the one of the h before.
    for (ptrdiff_t k = 0; k < s_.units; k++) arriving[k] = dh[k] + g_.d_output[before + k];
    std::fill_n(dh, s_.units, T{0});
    LstmRowStep<T> step = RowStepOf(t, row);
    step.dh = arriving;
    step.dc = g_.dc + row * s_.units;
    if (s_.gamma != nullptr) {
      step.d_gamma = d_gammas_ + row * kNorms * s_.units;
      step.d_beta = d_betas_ + row * kNorms * s_.units;
      step.scratch = scratch_ + row * columns_;
    }
    engine_.kernels->lstm_row_backward(step);
  }

  void MultiplyPart(const TransposedMatrix<T>& transposed, ptrdiff_t t, ptrdiff_t first) const {
    // dh_{t-1} += dz_t·Rᵀ for the columns [first, first + kPart) of h.
    typename TransposedMatrix<T>::Product product{};
    product.a = is_padded() ? padded_ : GatesAt(t, 0);
    product.a_stride = is_padded() ? padded_columns() : columns_;
    // Gates are side by side in a row of z, so the next panel of outputs begins one panel's width further on.
    product.a_panel_stride = kPanelWidth<T>;
    product.rows = s_.batch;
    product.c = g_.dh;
    product.c_stride = s_.units;
    product.accumulate = true;
    transposed.Multiply(*engine_.kernels, product, first, std::min(s_.units, first + kPart));
  }

  const Engine<T>& engine_;
  const LstmSequence<T>& s_;
  // dh and dc are updated in place, from the final state to the initial one.
  const LstmSequenceGradients<T> g_;
  const ptrdiff_t columns_;  // 4H
  const ptrdiff_t state_size_;
  const PanelMatrix matrix_;
  const int members_;
  T* panels_ = nullptr;  // the recurrent matrix, in memory of the pass
  // [B] rows of one panel, for the last panel if 4H is not whole chunks: kernels write whole chunks, which would
  // overwrite the next row of z.
  T* tiles_ = nullptr;
  T* arriving_ = nullptr;  // [B,H] the gradient with respect to h of the step
  T* scratch_ = nullptr;   // [B,4H]
  T* padded_ = nullptr;    // [B] rows of dz in whole chunks
  // [B][5][H]: each row sums its own steps, in their order.
  T* d_gammas_ = nullptr;
  T* d_betas_ = nullptr;
};

}  // namespace

template <typename T>
void RunLstmForward(const Engine<T>& engine, const LstmSequence<T>& sequence) {
  LstmSteps<T>(engine, sequence).RunForward();
}

template <typename T>
void RunLstmBackward(const Engine<T>& engine, const LstmSequence<T>& sequence,
                     const LstmSequenceGradients<T>& gradients) {
  LstmSteps<T>(engine, sequence, gradients).RunBackward();
}

#define CUDNN_RNN_INSTANTIATE_LSTM_SEQUENCE(T)                            \
  template void RunLstmForward(const Engine<T>&, const LstmSequence<T>&); \
  template void RunLstmBackward(const Engine<T>&, const LstmSequence<T>&, const LstmSequenceGradients<T>&);

CUDNN_RNN_INSTANTIATE_LSTM_SEQUENCE(float)
CUDNN_RNN_INSTANTIATE_LSTM_SEQUENCE(double)

}  // namespace cudnn_rnn
