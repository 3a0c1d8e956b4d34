#include "rnn_backward.h"

#include <algorithm>

#include "dropout.h"
#include "weight_gradient.h"

namespace cudnn_rnn {
namespace {

// Blocks of the product that gives the gradient of the input: both operands' parts stay in the second-level cache.
constexpr ptrdiff_t kRowBlock = 64;
constexpr ptrdiff_t kColumnBlock = 32;

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
    engine_.pool->Run(members, [this](Team team) { RunLayers(team); });
  }

 private:
  struct Lane {
    T* dh;            // [B][padded columns]
    T* dc;            // [B][padded units]
    T* dh_units;      // [B][padded units], with a projection
    T* dh_projected;  // [T·B][padded columns], with a projection: dh of every step
    T* dx;            // [T·B][in] in walking order, backward direction only
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
    for (int k = 0; k < 2; k++) {
      d_between_[k] = options.layers > 2 - k ? arena->Take<T>(rows_ * network_.output_size()) : nullptr;
    }
  }

  void RunLayers(const Team& all) {
    const int groups = directions_ == 2 && all.size >= 2 ? 2 : 1;
    const int group = all.index * groups / all.size;
    const int first = (all.size * group + groups - 1) / groups;
    const int next = (all.size * (group + 1) + groups - 1) / groups;
    if (all.index == 0) {
      group_barriers_.clear();
      for (int g = 0; g < groups; g++) {
        const int begin = (all.size * g + groups - 1) / groups;
        group_barriers_.emplace_back(new Barrier((all.size * (g + 1) + groups - 1) / groups - begin));
      }
    }
    all.Wait();
    const Team team{all.index - first, next - first, group_barriers_[group].get()};

    const T* d_output = pass_.d_output;
    for (int layer = network_.options().layers - 1; layer >= 0; layer--) {
      for (int d = group; d < directions_; d += groups) Recurrence(team, layer * directions_ + d, d_output);
      all.Wait();
      for (int d = 0; d < directions_; d++) ParamGradients(all, layer * directions_ + d);
      T* d_input = layer == 0 ? pass_.d_input : d_between_[layer % 2];
      InputGradient(all, layer, d_input);
      all.Wait();
      if (layer > 0 && network_.options().dropout > 0) {
        const ptrdiff_t count = rows_ * network_.output_size();
        ApplyDropout(d_input, all.Begin(count), all.End(count), network_.options().dropout, network_.options().seed,
                     tape_.dropout_position + static_cast<uint64_t>((layer - 1) * count));
        all.Wait();
      }
      d_output = d_input;
    }
  }

  bool Cancelled() const { return engine_.cancelled != nullptr && engine_.cancelled->load(std::memory_order_relaxed); }

  ptrdiff_t Length(ptrdiff_t row) const { return tape_.lengths.empty() ? tape_.time : tape_.lengths[row]; }
  ptrdiff_t TimeOf(int direction, ptrdiff_t n, ptrdiff_t row) const {
    return direction == 0 ? n : Length(row) - 1 - n;
  }

  // Back-propagation through time: leaves the gradients of the pre-activations in z.
  void Recurrence(const Team& team, int p, const T* d_output) const {
    const LayerLayout& layout = network_.layer(p);
    const LayerRecord<T>& record = tape_.records[p];
    const Lane& lane = lanes_[p % directions_];
    const bool projects = layout.projection.present();
    const auto cell = BackwardKernel(kernels_, network_.options().cell);
    const ptrdiff_t columns = network_.columns();
    const ptrdiff_t padded = network_.padded_columns();
    const ptrdiff_t z_panel_stride = rows_ * network_.z_width();
    ptrdiff_t begin, end;
    RecurrentStep<T>::OwnColumns(network_, layout, team, &begin, &end);
    const ptrdiff_t first_unit = team.Begin(network_.panels()) * network_.panel_units();
    const ptrdiff_t last_unit = std::min(network_.options().units, team.End(network_.panels()) * network_.panel_units());

    const ptrdiff_t first_row = team.Begin(tape_.batch), last_row = team.End(tape_.batch);
    std::fill(lane.dh + first_row * padded, lane.dh + last_row * padded, T{0});
    std::fill(lane.dc + first_row * network_.padded_units(), lane.dc + last_row * network_.padded_units(), T{0});
    if (projects) {
      std::fill(lane.dh_units + first_row * network_.padded_units(), lane.dh_units + last_row * network_.padded_units(), T{0});
    }
    team.Wait();

    for (ptrdiff_t n = tape_.time - 1; n >= 0; n--) {
      if (Cancelled()) {
        if (projects) team.Wait();
        team.Wait();
        continue;
      }
      for (ptrdiff_t row = 0; row < tape_.batch; row++) {
        if (n >= Length(row)) continue;
        T* dh = lane.dh + row * padded;
        if (d_output != nullptr) {
          const T* from = d_output + (TimeOf(p % directions_, n, row) * tape_.batch + row) * network_.output_size() +
                          (p % directions_) * columns;
          for (ptrdiff_t k = begin; k < end; k++) dh[k] += from[k];
        }
        if (n + 1 < Length(row)) continue;
        const ptrdiff_t state = p * tape_.batch + row;
        if (pass_.dh_final != nullptr) {
          for (ptrdiff_t k = begin; k < end; k++) dh[k] += pass_.dh_final[state * columns + k];
        }
        if (network_.has_cell_state() && pass_.dc_final != nullptr) {
          T* dc = lane.dc + row * network_.padded_units();
          for (ptrdiff_t k = first_unit; k < last_unit; k++) dc[k] += pass_.dc_final[state * network_.options().units + k];
        }
      }
      if (projects) {
        T* projected = lane.dh_projected + n * tape_.batch * padded;
        const ptrdiff_t own_end = team.index == team.size - 1 ? padded : end;
        for (ptrdiff_t row = 0; row < tape_.batch; row++) {
          std::copy(lane.dh + row * padded + begin, lane.dh + row * padded + own_end, projected + row * padded + begin);
        }
        team.Wait();
        TransposedProduct<T> product = Transposed(layout.projection, projected, padded,
                                                  layout.projection.chunks * kChunk<T>, tape_.batch);
        product.column = first_unit;
        product.columns = std::max<ptrdiff_t>(0, last_unit - first_unit);
        product.c = lane.dh_units + first_unit;
        product.c_stride = network_.padded_units();
        kernels_.transposed_product(product);
      }
      for (ptrdiff_t panel = team.Begin(network_.panels()); panel < team.End(network_.panels()); panel++) {
        const ptrdiff_t unit = panel * network_.panel_units();
        const ptrdiff_t state = tape_.batch * network_.padded_units();
        CellBackward<T> step{};
        step.z = record.z + panel * z_panel_stride + n * tape_.batch * network_.z_width();
        step.z_stride = network_.z_width();
        step.rows = tape_.batch;
        step.chunks = layout.recurrent.ChunksOf(panel);
        step.c_previous = record.cells == nullptr ? nullptr : record.cells + n * state + unit;
        step.c = record.cells == nullptr ? nullptr : record.cells + (n + 1) * state + unit;
        step.h_previous = record.hidden + n * tape_.batch * padded + unit;
        step.h = record.hidden + (n + 1) * tape_.batch * padded + unit;
        step.state_stride = network_.padded_units();
        step.dh = lane.dh_units + unit;
        step.dc = lane.dc + unit;
        step.gradient_stride = network_.padded_units();
        step.clip = static_cast<T>(network_.options().clip);
        cell(step);
      }
      team.Wait();
      TransposedProduct<T> product =
          Transposed(layout.recurrent, record.z + n * tape_.batch * network_.z_width() + network_.z_recurrent_begin(),
                     network_.z_width(), z_panel_stride, tape_.batch);
      product.column = begin;
      product.columns = std::max<ptrdiff_t>(0, end - begin);
      product.c = lane.dh + begin;
      product.c_stride = padded;
      product.accumulate = network_.options().cell == Cell::kGru;
      kernels_.transposed_product(product);
    }

    for (ptrdiff_t row = 0; row < tape_.batch; row++) {
      const ptrdiff_t state = p * tape_.batch + row;
      const bool passes = Length(row) == 0;  // the state, and so its gradient
      for (ptrdiff_t k = begin; k < end; k++) {
        const T through = pass_.dh_final == nullptr ? T{0} : pass_.dh_final[state * columns + k];
        pass_.dh[state * columns + k] = passes ? through : lane.dh[row * padded + k];
      }
      if (!network_.has_cell_state()) continue;
      const ptrdiff_t units = network_.options().units;
      for (ptrdiff_t k = first_unit; k < last_unit; k++) {
        const T through = pass_.dc_final == nullptr ? T{0} : pass_.dc_final[state * units + k];
        pass_.dc[state * units + k] = passes ? through : lane.dc[row * network_.padded_units() + k];
      }
    }
  }

  TransposedProduct<T> Transposed(const PanelMatrix& matrix, const T* a, ptrdiff_t a_stride, ptrdiff_t a_panel_stride,
                                  ptrdiff_t rows) const {
    TransposedProduct<T> product{};
    product.a = a;
    product.a_stride = a_stride;
    product.a_panel_stride = a_panel_stride;
    product.rows = rows;
    product.panels = pass_.params + matrix.offset;
    product.panel_count = matrix.panels;
    product.chunks = matrix.chunks;
    product.last_chunks = matrix.last_chunks;
    product.depth = matrix.depth;
    return product;
  }

  void ParamGradients(const Team& all, int p) const {
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
    for (ptrdiff_t panel = all.Begin(network_.panels()); panel < all.End(network_.panels()); panel++) {
      const int chunks = layout.recurrent.ChunksOf(panel);
      if (layout.input_bias >= 0) {
        kernels_.column_sums(record.z + panel * z_panel_stride, network_.z_width(), rows_, chunks,
                             pass_.d_params + layout.input_bias + panel * width);
      }
      if (layout.recurrent_bias >= 0) {
        kernels_.column_sums(recurrent_side + panel * z_panel_stride, network_.z_width(), rows_, chunks,
                             pass_.d_params + layout.recurrent_bias + panel * width);
      }
    }
  }

  // d_input [T,B,in] = the sum over the directions of dz·W, in the order of time.
  void InputGradient(const Team& all, int layer, T* d_input) const {
    const ptrdiff_t size = network_.layer(layer * directions_).input_size;
    for (int d = 0; d < directions_; d++) {
      const int p = layer * directions_ + d;
      const LayerLayout& layout = network_.layer(p);
      const LayerRecord<T>& record = tape_.records[p];
      // In the forward direction walking order is time order.
      T* dx = d == 0 ? d_input : lanes_[d].dx;
      const ptrdiff_t row_blocks = (rows_ + kRowBlock - 1) / kRowBlock;
      const ptrdiff_t column_blocks = (size + kColumnBlock - 1) / kColumnBlock;
      const ptrdiff_t items = row_blocks * column_blocks;
      for (ptrdiff_t item = all.Begin(items); item < all.End(items) && !Cancelled(); item++) {
        const ptrdiff_t row = item / column_blocks * kRowBlock;
        const ptrdiff_t count = std::min(kRowBlock, rows_ - row);
        const ptrdiff_t column = item % column_blocks * kColumnBlock;
        const ptrdiff_t columns = std::min(kColumnBlock, size - column);
        if (layout.input.present()) {
          TransposedProduct<T> product = Transposed(layout.input, record.z + row * network_.z_width(), network_.z_width(),
                                                    rows_ * network_.z_width(), count);
          product.column = column;
          product.columns = columns;
          product.c = dx + row * size + column;
          product.c_stride = size;
          kernels_.transposed_product(product);
        } else {
          SkipInputGradient(record, row, count, column, columns, dx);
        }
      }
      if (d == 0) continue;
      all.Wait();
      for (ptrdiff_t n = all.Begin(tape_.time); n < all.End(tape_.time); n++) {
        for (ptrdiff_t row = 0; row < tape_.batch; row++) {
          if (n >= Length(row)) continue;
          const T* from = dx + (n * tape_.batch + row) * size;
          T* to = d_input + (TimeOf(d, n, row) * tape_.batch + row) * size;
          for (ptrdiff_t k = 0; k < size; k++) to[k] += from[k];
        }
      }
      all.Wait();
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
  T* packed_ = nullptr;
  T* d_between_[2] = {};
  std::vector<std::unique_ptr<Barrier>> group_barriers_;
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
