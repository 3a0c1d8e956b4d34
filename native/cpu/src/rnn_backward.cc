#include "rnn_backward.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "dropout.h"
#include "shared_loops.h"
#include "transposed_matrix.h"
#include "weight_gradient.h"

namespace cudnn_rnn {
namespace {

// Blocks of the product that gives the gradient of the input: both operands' parts stay in the second-level cache.
constexpr ptrdiff_t kRowBlock = 64;
constexpr ptrdiff_t kColumnBlock = 32;
// Rows of a step that a thread takes at a time where there are many. The number of such parts must not depend on that of the
// threads, as the last bits of a result depend on how many rows are summed side by side.
constexpr ptrdiff_t kStepRows = 48;

template <typename T>
class Backward {
 public:
  Backward(const Engine<T>& engine, const BackwardPass<T>& pass)
      : engine_(engine),
        kernels_(*engine.kernels),
        pass_(pass),
        network_(*pass.network),
        tape_(*pass.tape),
        directions_(network_.options().directions),
        rows_(tape_.time * tape_.batch) {
    Arena measure(nullptr);
    Carve(&measure);
    memory_ = engine.blocks->Take(measure.used());
    Arena arena(memory_.data());
    Carve(&arena);
  }

  ~Backward() { engine_.blocks->GiveBack(std::move(memory_)); }

  void Run() {
    // The products over all rows are worth every thread; MembersFor speaks of the recurrence.
    const double operations = 4.0 * tape_.batch * network_.gates() * network_.options().units * network_.columns();
    const int members = MembersFor(*engine_.pool, std::max(operations, operations * tape_.time / 16));
    all_ = std::make_unique<SharedLoops>(members);
    const int groups = std::min(members, directions_);
    for (int d = 0; d < directions_; d++) lane_loops_[d] = std::make_unique<SharedLoops>(std::max(1, members / groups));
    engine_.pool->Run(members, [this, members, groups](int index) { RunLayers(index, members, groups); });
  }

 private:
  struct Lane {
    T* dh;            // [B][padded columns]
    T* dc;            // [B][padded units]
    T* dh_units;      // [B][padded units], with a projection
    T* dh_projected;  // [T·B][padded columns], with a projection: dh of every step
    T* dx;            // [T·B][in] in walking order, backward direction only
  };
  // The matrices of a layer in one direction.
  struct Matrices {
    TransposedMatrix<T> input;
    TransposedMatrix<T> recurrent;
    TransposedMatrix<T> projection;
  };
  // Rows of the batch, and columns of h or units.
  struct Part {
    ptrdiff_t row;
    ptrdiff_t rows;
    ptrdiff_t first;
    ptrdiff_t last;
  };

  void Carve(Arena* arena) {
    const auto& options = network_.options();
    for (int d = 0; d < directions_; d++) {
      lanes_[d].dh = arena->Take<T>(tape_.batch * network_.padded_columns());
      lanes_[d].dc = arena->Take<T>(tape_.batch * network_.padded_units());
      lanes_[d].dh_units = lanes_[d].dh;
      lanes_[d].dh_projected = nullptr;
      if (options.projection > 0) {
        lanes_[d].dh_units = arena->Take<T>(tape_.batch * network_.padded_units());
        lanes_[d].dh_projected = arena->Take<T>(rows_ * network_.padded_columns());
      }
      lanes_[d].dx = d == 0 ? nullptr : arena->Take<T>(rows_ * std::max(options.input_size, network_.output_size()));
    }
    const ptrdiff_t widest = std::max({options.input_size, network_.output_size(), options.units});
    packed_ = arena->Take<T>(WeightGradient<T>::PackedSize(widest));
    CarveMatrices(arena);
    for (int k = 0; k < 2; k++) {
      d_between_[k] = options.layers > 2 - k ? arena->Take<T>(rows_ * network_.output_size()) : nullptr;
    }
  }

  // Layers run one after another and share the memory of their copies; directions run side by side.
  void CarveMatrices(Arena* arena) {
    const auto packed = [&](PanelMatrix LayerLayout::*matrix, int d, ptrdiff_t products, ptrdiff_t rows) -> T* {
      if (!TransposedMatrix<T>::IsWorthPacking(products, rows)) return nullptr;
      ptrdiff_t size = 0;
      for (int p = d; p < network_.pseudo_layers(); p += directions_) {
        size = std::max(size, TransposedMatrix<T>::PackedSize(network_.layer(p).*matrix));
      }
      return size == 0 ? nullptr : arena->Take<T>(size);
    };
    matrices_.resize(network_.pseudo_layers());
    for (int d = 0; d < directions_; d++) {
      T* input = packed(&LayerLayout::input, d, 1, rows_);
      T* recurrent = packed(&LayerLayout::recurrent, d, tape_.time, tape_.batch);
      T* projection = packed(&LayerLayout::projection, d, tape_.time, tape_.batch);
      for (int p = d; p < network_.pseudo_layers(); p += directions_) {
        const LayerLayout& layout = network_.layer(p);
        matrices_[p] = {{layout.input, pass_.params, input},
                        {layout.recurrent, pass_.params, recurrent},
                        {layout.projection, pass_.params, projection}};
      }
    }
  }

  using Member = SharedLoops::Member;

  void RunLayers(int index, int members, int groups) {
    const int per_group = std::max(1, members / groups);
    const int group = std::min(index / per_group, groups - 1);
    Member all(all_.get(), index);
    std::vector<Member> lane_members;
    for (int d = 0; d < directions_; d++) {
      const int home = index - group * per_group;
      lane_members.emplace_back(lane_loops_[d].get(), d % groups == group && home < per_group ? home : -1);
    }
    const T* d_output = pass_.d_output;
    for (int layer = network_.options().layers - 1; layer >= 0; layer--) {
      for (int k = 0; k < directions_; k++) {
        const int d = (group + k) % directions_;
        Recurrence(&lane_members[d], layer * directions_ + d, d_output);
      }
      for (int d = 0; d < directions_; d++) ParamGradients(&all, layer * directions_ + d);
      T* d_input = layer == 0 ? pass_.d_input : d_between_[layer % 2];
      InputGradient(&all, layer, d_input);
      if (layer > 0 && network_.options().dropout > 0) {
        const ptrdiff_t count = rows_ * network_.output_size();
        const ptrdiff_t parts = (count + kDropoutPart - 1) / kDropoutPart;
        all.Run(parts, [&](ptrdiff_t part) {
          ApplyDropout(d_input, part * kDropoutPart, std::min(count, (part + 1) * kDropoutPart), network_.options().dropout,
                       network_.options().seed, tape_.dropout_position + static_cast<uint64_t>((layer - 1) * count));
        });
      }
      d_output = d_input;
    }
  }

  bool Cancelled() const { return engine_.cancelled != nullptr && engine_.cancelled->load(std::memory_order_relaxed); }

  ptrdiff_t Length(ptrdiff_t row) const { return tape_.lengths.empty() ? tape_.time : tape_.lengths[row]; }
  ptrdiff_t TimeOf(int direction, ptrdiff_t n, ptrdiff_t row) const {
    return direction == 0 ? n : Length(row) - 1 - n;
  }

  // Back-propagation through time: leaves the gradients of the pre-activations in z. A step's panels need dh of their own
  // columns only, so each begins with the product that the step after owes it.
  void Recurrence(Member* member, int p, const T* d_output) const {
    const Matrices& matrices = matrices_[p];
    const bool projects = network_.layer(p).projection.present();
    const ptrdiff_t h_width =
        projects || matrices.recurrent.is_packed() ? TransposedMatrix<T>::kPanelColumns : network_.panel_units();
    const ptrdiff_t unit_width = matrices.projection.is_packed() ? TransposedMatrix<T>::kPanelColumns : network_.panel_units();

    member->Run(1, [&](ptrdiff_t) { StartGradients(p); });
    member->Run(matrices.recurrent.items(), [&](ptrdiff_t item) { matrices.recurrent.Pack(item); });
    if (projects) member->Run(matrices.projection.items(), [&](ptrdiff_t item) { matrices.projection.Pack(item); });
    for (ptrdiff_t n = tape_.time - 1; n >= 0; n--) {
      RunParts(member, network_.columns(), h_width, [&](const Part& part) {
        if (n + 1 < tape_.time) HiddenGradient(p, n + 1, part);
        AddOutputGradients(p, n, d_output, part);
        if (projects) {
          KeepProjected(p, n, part);
        } else {
          CellPanels(p, n, part);
        }
      });
      if (!projects) continue;
      RunParts(member, network_.options().units, unit_width, [&](const Part& part) {
        UnprojectedGradient(p, n, part);
        CellPanels(p, n, part);
      });
    }
    RunParts(member, network_.columns(), h_width, [&](const Part& part) {
      HiddenGradient(p, 0, part);
      FinishHidden(p, part);
    });
    if (network_.has_cell_state()) member->Run(1, [&](ptrdiff_t) { FinishCells(p); });
  }

  template <typename Body>
  void RunParts(Member* member, ptrdiff_t columns, ptrdiff_t width, const Body& body) const {
    const ptrdiff_t groups = (tape_.batch + kStepRows - 1) / kStepRows;
    member->Run((columns + width - 1) / width * groups, [&](ptrdiff_t item) {
      if (Cancelled()) return;
      const ptrdiff_t first = item / groups * width;
      const ptrdiff_t row = tape_.batch * (item % groups) / groups;
      const ptrdiff_t end = tape_.batch * (item % groups + 1) / groups;
      body({row, end - row, first, std::min(columns, first + width)});
    });
  }

  void StartGradients(int p) const {
    const Lane& lane = lanes_[p % directions_];
    std::fill_n(lane.dh, tape_.batch * network_.padded_columns(), T{0});
    std::fill_n(lane.dc, tape_.batch * network_.padded_units(), T{0});
    std::fill_n(lane.dh_units, tape_.batch * network_.padded_units(), T{0});
  }

  // dh before step n: dz·R, and for GRU what bypasses the matrix.
  void HiddenGradient(int p, ptrdiff_t n, const Part& part) const {
    const Lane& lane = lanes_[p % directions_];
    typename TransposedMatrix<T>::Product product{};
    product.a = tape_.records[p].z + (n * tape_.batch + part.row) * network_.z_width() + network_.z_recurrent_begin();
    product.a_stride = network_.z_width();
    product.a_panel_stride = rows_ * network_.z_width();
    product.rows = part.rows;
    product.c = lane.dh + part.row * network_.padded_columns();
    product.c_stride = network_.padded_columns();
    product.accumulate = network_.options().cell == Cell::kGru;
    matrices_[p].recurrent.Multiply(kernels_, product, part.first, part.last);
  }

  // Adds the gradients of the loss by the output of step n and, at a row's last step, by the final h.
  void AddOutputGradients(int p, ptrdiff_t n, const T* d_output, const Part& part) const {
    const ptrdiff_t columns = network_.columns();
    const int direction = p % directions_;
    for (ptrdiff_t row = part.row; row < part.row + part.rows; row++) {
      if (n >= Length(row)) continue;
      T* dh = lanes_[direction].dh + row * network_.padded_columns();
      if (d_output != nullptr) {
        const ptrdiff_t time = TimeOf(direction, n, row);
        const T* from = d_output + (time * tape_.batch + row) * network_.output_size() + direction * columns;
        for (ptrdiff_t k = part.first; k < part.last; k++) dh[k] += from[k];
      }
      if (n + 1 < Length(row) || pass_.dh_final == nullptr) continue;
      const T* from = pass_.dh_final + (p * tape_.batch + row) * columns;
      for (ptrdiff_t k = part.first; k < part.last; k++) dh[k] += from[k];
    }
  }

  // The last part takes the padding along.
  void KeepProjected(int p, ptrdiff_t n, const Part& part) const {
    const ptrdiff_t padded = network_.padded_columns();
    const ptrdiff_t last = part.last == network_.columns() ? padded : part.last;
    const Lane& lane = lanes_[p % directions_];
    for (ptrdiff_t row = part.row; row < part.row + part.rows; row++) {
      const T* dh = lane.dh + row * padded;
      std::copy(dh + part.first, dh + last, lane.dh_projected + (n * tape_.batch + row) * padded + part.first);
    }
  }

  // dh before the projection.
  void UnprojectedGradient(int p, ptrdiff_t n, const Part& part) const {
    const Lane& lane = lanes_[p % directions_];
    const ptrdiff_t padded = network_.padded_columns();
    typename TransposedMatrix<T>::Product product{};
    product.a = lane.dh_projected + (n * tape_.batch + part.row) * padded;
    product.a_stride = padded;
    product.a_panel_stride = network_.layer(p).projection.chunks * kChunk<T>;
    product.rows = part.rows;
    product.c = lane.dh_units + part.row * network_.padded_units();
    product.c_stride = network_.padded_units();
    product.accumulate = false;
    matrices_[p].projection.Multiply(kernels_, product, part.first, part.last);
  }

  void CellPanels(int p, ptrdiff_t n, const Part& part) const {
    const LayerRecord<T>& record = tape_.records[p];
    const Lane& lane = lanes_[p % directions_];
    const ptrdiff_t cells = tape_.batch * network_.padded_units();
    const ptrdiff_t hidden = tape_.batch * network_.padded_columns();
    if (network_.has_cell_state()) AddFinalCellGradients(p, n, part);
    for (ptrdiff_t first = part.first; first < part.last; first += network_.panel_units()) {
      const ptrdiff_t panel = first / network_.panel_units();
      const ptrdiff_t unit = part.row * network_.padded_units() + first;
      const ptrdiff_t column = part.row * network_.padded_columns() + first;
      CellBackward<T> step{};
      step.z = record.z + (panel * rows_ + n * tape_.batch + part.row) * network_.z_width();
      step.z_stride = network_.z_width();
      step.rows = part.rows;
      step.chunks = network_.layer(p).recurrent.ChunksOf(panel);
      step.c_previous = record.cells == nullptr ? nullptr : record.cells + n * cells + unit;
      step.c = record.cells == nullptr ? nullptr : record.cells + (n + 1) * cells + unit;
      step.h_previous = record.hidden + n * hidden + column;
      step.h = record.hidden + (n + 1) * hidden + column;
      step.state_stride = network_.padded_units();
      step.dh = lane.dh_units + unit;
      step.dc = lane.dc + unit;
      step.gradient_stride = network_.padded_units();
      step.clip = static_cast<T>(network_.options().clip);
      BackwardKernel(kernels_, network_.options().cell)(step);
    }
  }

  void AddFinalCellGradients(int p, ptrdiff_t n, const Part& part) const {
    if (pass_.dc_final == nullptr) return;
    const ptrdiff_t units = network_.options().units;
    for (ptrdiff_t row = part.row; row < part.row + part.rows; row++) {
      if (n + 1 != Length(row)) continue;
      T* dc = lanes_[p % directions_].dc + row * network_.padded_units();
      const T* from = pass_.dc_final + (p * tape_.batch + row) * units;
      for (ptrdiff_t k = part.first; k < part.last; k++) dc[k] += from[k];
    }
  }

  // A row without steps passes its state through, and so its gradient.
  void FinishHidden(int p, const Part& part) const {
    const ptrdiff_t columns = network_.columns();
    for (ptrdiff_t row = part.row; row < part.row + part.rows; row++) {
      const ptrdiff_t state = p * tape_.batch + row;
      const T* dh = lanes_[p % directions_].dh + row * network_.padded_columns();
      for (ptrdiff_t k = part.first; k < part.last; k++) {
        const T through = pass_.dh_final == nullptr ? T{0} : pass_.dh_final[state * columns + k];
        pass_.dh[state * columns + k] = Length(row) == 0 ? through : dh[k];
      }
    }
  }

  void FinishCells(int p) const {
    const ptrdiff_t units = network_.options().units;
    for (ptrdiff_t row = 0; row < tape_.batch; row++) {
      const ptrdiff_t state = p * tape_.batch + row;
      const T* dc = lanes_[p % directions_].dc + row * network_.padded_units();
      for (ptrdiff_t k = 0; k < units; k++) {
        const T through = pass_.dc_final == nullptr ? T{0} : pass_.dc_final[state * units + k];
        pass_.dc[state * units + k] = Length(row) == 0 ? through : dc[k];
      }
    }
  }

  void ParamGradients(Member* all, int p) const {
    const LayerLayout& layout = network_.layer(p);
    const LayerRecord<T>& record = tape_.records[p];
    const ptrdiff_t z_panel_stride = rows_ * network_.z_width();
    const T* recurrent_side = record.z + network_.z_recurrent_begin();
    const auto gradient = [&](const PanelMatrix& matrix, const T* x, ptrdiff_t x_stride, const T* dz, ptrdiff_t dz_stride,
                              ptrdiff_t dz_panel_stride) {
      WeightGradient<T>{kernels_, matrix,    rows_,           x,      x_stride, dz,
                        dz_stride, dz_panel_stride, pass_.d_params + matrix.offset, packed_}
          .Run(all);
    };
    if (layout.input.present()) {
      const T* x = record.own_input != nullptr ? record.own_input
                   : p < directions_           ? pass_.input
                                               : tape_.outputs[p / directions_ - 1];
      gradient(layout.input, x, layout.input_size, record.z, network_.z_width(), z_panel_stride);
    }
    gradient(layout.recurrent, record.hidden, network_.padded_columns(), recurrent_side, network_.z_width(), z_panel_stride);
    if (layout.projection.present()) {
      gradient(layout.projection, record.unprojected, network_.padded_units(), lanes_[p % directions_].dh_projected,
               network_.padded_columns(), layout.projection.chunks * kChunk<T>);
    }
    const ptrdiff_t width = network_.z_input_width();
    all->Run(network_.panels(), [&](ptrdiff_t panel) {
      const int chunks = layout.recurrent.ChunksOf(panel);
      if (layout.input_bias >= 0) {
        kernels_.column_sums(record.z + panel * z_panel_stride, network_.z_width(), rows_, chunks,
                             pass_.d_params + layout.input_bias + panel * width);
      }
      if (layout.recurrent_bias >= 0) {
        kernels_.column_sums(recurrent_side + panel * z_panel_stride, network_.z_width(), rows_, chunks,
                             pass_.d_params + layout.recurrent_bias + panel * width);
      }
    });
  }

  // d_input [T,B,in] = the sum over the directions of dz·W, in the order of time.
  void InputGradient(Member* all, int layer, T* d_input) const {
    const ptrdiff_t size = network_.layer(layer * directions_).input_size;
    for (int d = 0; d < directions_; d++) {
      const int p = layer * directions_ + d;
      const LayerLayout& layout = network_.layer(p);
      const LayerRecord<T>& record = tape_.records[p];
      // In the forward direction walking order is time order.
      T* dx = d == 0 ? d_input : lanes_[d].dx;
      const TransposedMatrix<T>& matrix = matrices_[p].input;
      if (layout.input.present()) all->Run(matrix.items(), [&](ptrdiff_t item) { matrix.Pack(item); });
      const ptrdiff_t width = matrix.is_packed() ? TransposedMatrix<T>::kPanelColumns : kColumnBlock;
      const ptrdiff_t row_blocks = (rows_ + kRowBlock - 1) / kRowBlock;
      const ptrdiff_t column_blocks = (size + width - 1) / width;
      all->Run(row_blocks * column_blocks, [&](ptrdiff_t item) {
        if (Cancelled()) return;
        const ptrdiff_t row = item / column_blocks * kRowBlock;
        const ptrdiff_t count = std::min(kRowBlock, rows_ - row);
        const ptrdiff_t first = item % column_blocks * width;
        const ptrdiff_t last = std::min(size, first + width);
        if (layout.input.present()) {
          typename TransposedMatrix<T>::Product product{};
          product.a = record.z + row * network_.z_width();
          product.a_stride = network_.z_width();
          product.a_panel_stride = rows_ * network_.z_width();
          product.rows = count;
          product.c = dx + row * size;
          product.c_stride = size;
          product.accumulate = false;
          matrix.Multiply(kernels_, product, first, last);
        } else {
          SkipInputGradient(record, row, count, first, last - first, dx);
        }
      });
      if (d == 0) continue;
      all->Run(tape_.time, [&](ptrdiff_t n) {
        for (ptrdiff_t row = 0; row < tape_.batch; row++) {
          if (n >= Length(row)) continue;
          const T* from = dx + (n * tape_.batch + row) * size;
          T* to = d_input + (TimeOf(d, n, row) * tape_.batch + row) * size;
          for (ptrdiff_t k = 0; k < size; k++) to[k] += from[k];
        }
      });
    }
  }

  void SkipInputGradient(const LayerRecord<T>& record, ptrdiff_t row, ptrdiff_t count, ptrdiff_t column,
                         ptrdiff_t columns, T* dx) const {
    const ptrdiff_t units = network_.panel_units();
    for (ptrdiff_t r = row; r < row + count; r++) {
      for (ptrdiff_t k = column; k < column + columns; k++) {
        const T* z = record.z + (k / units * rows_ + r) * network_.z_width() + k % units;
        T sum = 0;
        for (int gate = 0; gate < network_.gates(); gate++) sum += z[gate * units];
        dx[r * network_.options().units + k] = sum;
      }
    }
  }

  const Engine<T>& engine_;
  const KernelTable<T>& kernels_;
  const BackwardPass<T>& pass_;
  const Network<T>& network_;
  Tape<T>& tape_;
  const int directions_;
  const ptrdiff_t rows_;
  Lane lanes_[2];
  std::vector<Matrices> matrices_;  // by pseudo-layer
  T* packed_ = nullptr;  // of the weight gradients
  T* d_between_[2] = {};
  std::unique_ptr<SharedLoops> all_;
  std::unique_ptr<SharedLoops> lane_loops_[2];
  MemoryBlock memory_;
};

}  // namespace

template <typename T>
void RunBackward(const Engine<T>& engine, const BackwardPass<T>& pass) {
  Backward<T>(engine, pass).Run();
}

template void RunBackward(const Engine<float>&, const BackwardPass<float>&);
template void RunBackward(const Engine<double>&, const BackwardPass<double>&);

}  // namespace cudnn_rnn
