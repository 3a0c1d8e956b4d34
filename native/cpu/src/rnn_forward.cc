#include "rnn_forward.h"

#include <algorithm>
#include <cstring>

#include "dropout.h"

namespace cudnn_rnn {
namespace {

// Rows of the input product that share a panel of weights while it is in the cache.
constexpr ptrdiff_t kRowBlock = 96;
// Steps of the depth after which the input product starts over with the next rows.
constexpr ptrdiff_t kDepthBlock = 512;
// Pre-activations computed ahead of the recurrence in inference: they stay in the cache until the recurrence reads them.
constexpr ptrdiff_t kAheadBytes = 1 << 20;
// A step with fewer operations is done before a second thread has arrived.
constexpr double kOperationsPerMember = 30e3;

// One layer and direction of a pass.
template <typename T>
struct Lane {
  int pseudo_layer;
  int direction;
  const LayerLayout* layout;
  LayerRecord<T> record;
  T* bias;             // [panels][z_width]: what every pre-activation starts with
  ptrdiff_t z_rows;    // rows of a panel of z
};

template <typename T>
class Forward {
 public:
  Forward(const Engine<T>& engine, const ForwardPass<T>& pass)
      : engine_(engine),
        kernels_(*engine.kernels),
        pass_(pass),
        network_(*pass.network),
        directions_(network_.options().directions),
        training_(pass.tape != nullptr) {
    const ptrdiff_t row_bytes = network_.panels() * network_.z_width() * static_cast<ptrdiff_t>(sizeof(T)) * pass.batch;
    ahead_ = training_ ? pass.time : std::clamp<ptrdiff_t>(kAheadBytes / row_bytes, 1, pass.time);
    // Few rows make a poor product; many steps of them are worth the memory.
    if (!training_) ahead_ = std::min(pass.time, std::max(ahead_, (kRowBlock + pass.batch - 1) / pass.batch));
    if (training_) {
      pass.tape->dropout_position = pass.dropout_position;
      Arena measure(nullptr);
      pass.tape->Carve(network_, &measure);
      pass.tape->memory = engine.blocks->Take(measure.used());
      Arena arena(pass.tape->memory.data());
      pass.tape->Carve(network_, &arena);
    }
    Arena measure(nullptr);
    Carve(&measure);
    memory_ = engine.blocks->Take(measure.used());
    Arena arena(memory_.data());
    Carve(&arena);
  }

  ~Forward() { engine_.blocks->GiveBack(std::move(memory_)); }

  void Run() {
    const double operations = 2.0 * pass_.batch * network_.gates() * network_.options().units * network_.columns();
    const int members = std::max(MembersFor(*engine_.pool, operations), directions_ > 1 ? MembersFor(*engine_.pool, 2 * operations) : 1);
    engine_.pool->Run(members, [this](Team team) { RunLayers(team); });
  }

 private:
  void Carve(Arena* arena) {
    const ptrdiff_t rows = pass_.time * pass_.batch;
    lanes_.assign(network_.pseudo_layers(), {});
    for (int p = 0; p < network_.pseudo_layers(); p++) {
      Lane<T>& lane = lanes_[p];
      lane.pseudo_layer = p;
      lane.direction = p % directions_;
      lane.layout = &network_.layer(p);
      lane.bias = arena->Take<T>(network_.panels() * network_.z_width());
      lane.z_rows = ahead_ * pass_.batch;
      if (training_) {
        lane.record = pass_.tape->records[p];
        continue;
      }
      if (p >= directions_) {
        // Layers run one after another and may share.
        lane.record = lanes_[p - directions_].record;
        if (p >= 2 * directions_) continue;
      } else {
        lane.record.z = arena->Take<T>(network_.panels() * lane.z_rows * network_.z_width());
        lane.record.hidden = arena->Take<T>(2 * pass_.batch * network_.padded_columns());
        if (network_.has_cell_state()) lane.record.cells = arena->Take<T>(pass_.batch * network_.padded_units());
        if (network_.options().projection > 0) {
          lane.record.unprojected = arena->Take<T>(pass_.batch * network_.padded_units());
        }
      }
      if (lane.direction == 1 || pass_.lengths != nullptr) {
        lane.record.own_input = arena->Take<T>(lane.z_rows * lane.layout->input_size);
      }
    }
    outputs_.clear();
    for (int layer = 0; layer + 1 < network_.options().layers; layer++) {
      outputs_.push_back(training_ ? pass_.tape->outputs[layer]
                         : layer < 2 ? arena->Take<T>(rows * network_.output_size())
                                     : outputs_[layer - 2]);
    }
    outputs_.push_back(pass_.output);
  }

  void RunLayers(const Team& all) {
    // Two directions run side by side, each on its part of the threads.
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

    const T* input = pass_.input;
    for (int layer = 0; layer < network_.options().layers; layer++) {
      Lane<T>* lanes = &lanes_[layer * directions_];
      for (int d = 0; d < directions_; d++) FillBias(all, lanes[d]);
      for (ptrdiff_t begin = 0; begin < pass_.time; begin += ahead_) {
        const ptrdiff_t end = std::min(pass_.time, begin + ahead_);
        for (int d = 0; d < directions_; d++) Gather(all, lanes[d], input, begin, end);
        all.Wait();
        InputSide(all, lanes, begin, end);
        all.Wait();
        for (int d = group; d < directions_; d += groups) Recurrence(team, lanes[d], outputs_[layer], begin, end);
        all.Wait();
      }
      T* output = outputs_[layer];
      if (training_ && network_.options().dropout > 0 && layer + 1 < network_.options().layers) {
        const ptrdiff_t count = pass_.time * pass_.batch * network_.output_size();
        ApplyDropout(output, all.Begin(count), all.End(count), network_.options().dropout, network_.options().seed,
                     pass_.dropout_position + static_cast<uint64_t>(layer * count));
        all.Wait();
      }
      input = output;
    }
  }

  bool Cancelled() const { return engine_.cancelled != nullptr && engine_.cancelled->load(std::memory_order_relaxed); }

  // z starts with b_W + b_R, but b_R of GRU's new memory belongs to q_n alone; the order of the planes sees to that.
  void FillBias(const Team& team, const Lane<T>& lane) const {
    const ptrdiff_t input_width = network_.z_input_width();
    for (ptrdiff_t panel = team.Begin(network_.panels()); panel < team.End(network_.panels()); panel++) {
      T* bias = lane.bias + panel * network_.z_width();
      std::fill_n(bias, network_.z_width(), T{0});
      const ptrdiff_t width = lane.layout->recurrent.ChunksOf(panel) * kChunk<T>;
      for (ptrdiff_t k = 0; k < width; k++) {
        if (lane.layout->input_bias >= 0) bias[k] += pass_.params.data[lane.layout->input_bias + panel * input_width + k];
        if (lane.layout->recurrent_bias >= 0) {
          bias[network_.z_recurrent_begin() + k] += pass_.params.data[lane.layout->recurrent_bias + panel * input_width + k];
        }
      }
    }
  }

  // The length of a row, and the time of its step n.
  ptrdiff_t Length(ptrdiff_t row) const { return pass_.lengths == nullptr ? pass_.time : pass_.lengths[row]; }
  ptrdiff_t TimeOf(const Lane<T>& lane, ptrdiff_t n, ptrdiff_t row) const {
    return lane.direction == 0 ? n : Length(row) - 1 - n;
  }

  // Brings the input of the steps [begin, end) into walking order, with zeros where a row has ended.
  void Gather(const Team& team, Lane<T>& lane, const T* input, ptrdiff_t begin, ptrdiff_t end) const {
    const ptrdiff_t size = lane.layout->input_size;
    if (lane.record.own_input == nullptr) {
      if (team.index == 0) lane.record.input = input;
    } else {
      T* target = lane.record.own_input - (training_ ? 0 : begin * pass_.batch * size);
      for (ptrdiff_t n = begin + team.Begin(end - begin); n < begin + team.End(end - begin); n++) {
        for (ptrdiff_t row = 0; row < pass_.batch; row++) {
          T* to = target + (n * pass_.batch + row) * size;
          if (n < Length(row)) {
            std::memcpy(to, input + (TimeOf(lane, n, row) * pass_.batch + row) * size, size * sizeof(T));
          } else {
            std::fill_n(to, size, T{0});
          }
        }
      }
      if (team.index == 0) lane.record.input = target;
    }
    if (training_ && team.index == 0) pass_.tape->records[lane.pseudo_layer].input = lane.record.input;
  }

  T* RowsOfZ(const Lane<T>& lane, ptrdiff_t panel, ptrdiff_t row) const {
    return lane.record.z + (panel * lane.z_rows + row) * network_.z_width();
  }

  // z = x·Wᵀ + b of the steps [begin, end), block of rows by block of rows so that both stay in the cache.
  void InputSide(const Team& team, const Lane<T>* lanes, ptrdiff_t begin, ptrdiff_t end) const {
    const ptrdiff_t rows = (end - begin) * pass_.batch;
    const ptrdiff_t z_row = training_ ? begin * pass_.batch : 0;
    ptrdiff_t blocks = (rows + kRowBlock - 1) / kRowBlock;
    // Fewer panels than would keep all threads busy: smaller blocks.
    if (blocks * network_.panels() * directions_ < 4 * team.size) blocks = std::min<ptrdiff_t>(rows, 4 * team.size);
    const ptrdiff_t items = blocks * directions_ * network_.panels();
    for (ptrdiff_t item = team.Begin(items); item < team.End(items) && !Cancelled(); item++) {
      const ptrdiff_t block = item / (directions_ * network_.panels());
      const Lane<T>& lane = lanes[item / network_.panels() % directions_];
      const ptrdiff_t panel = item % network_.panels();
      const ptrdiff_t first = rows * block / blocks;
      const ptrdiff_t count = rows * (block + 1) / blocks - first;
      T* z = RowsOfZ(lane, panel, z_row + first);
      const T* x = lane.record.input + (begin * pass_.batch + first) * lane.layout->input_size;
      const T* bias = lane.bias + panel * network_.z_width();
      if (lane.layout->input.present()) {
        for (ptrdiff_t k = 0; k < lane.layout->input.depth; k += kDepthBlock) {
          PanelProduct<T> product{};
          product.a = x + k;
          product.a_stride = lane.layout->input_size;
          product.rows = count;
          product.depth = std::min(kDepthBlock, lane.layout->input.depth - k);
          product.init = k == 0 ? bias : z;
          product.init_stride = k == 0 ? 0 : network_.z_width();
          product.c = z;
          product.c_stride = network_.z_width();
          pass_.params.Multiply(kernels_, lane.layout->input, panel, k, product);
        }
      } else {
        SkipInput(x, bias, panel, count, z);
      }
      if (network_.options().cell == Cell::kGru) {
        for (ptrdiff_t row = 0; row < count; row++) {
          std::copy_n(bias + 3 * kChunk<T>, kChunk<T>, z + row * network_.z_width() + 3 * kChunk<T>);
        }
      }
    }
  }

  // With skip_input the input itself reaches every gate.
  void SkipInput(const T* x, const T* bias, ptrdiff_t panel, ptrdiff_t rows, T* z) const {
    const ptrdiff_t units = network_.panel_units();
    const ptrdiff_t valid = std::min(units, network_.options().units - panel * units);
    for (ptrdiff_t row = 0; row < rows; row++) {
      const T* source = x + row * network_.options().units + panel * units;
      T* target = z + row * network_.z_width();
      std::copy_n(bias, network_.z_input_width(), target);
      for (ptrdiff_t gate = 0; gate < network_.z_input_width(); gate += units) {
        for (ptrdiff_t k = 0; k < valid; k++) target[gate + k] += source[k];
      }
    }
  }

  // States before step n. Inference keeps two h, by turns, and one c.
  T* HiddenAt(const Lane<T>& lane, ptrdiff_t n) const {
    return lane.record.hidden + (training_ ? n : n & 1) * pass_.batch * network_.padded_columns();
  }
  T* CellsAt(const Lane<T>& lane, ptrdiff_t n) const {
    if (lane.record.cells == nullptr) return nullptr;
    return lane.record.cells + (training_ ? n : 0) * pass_.batch * network_.padded_units();
  }

  void Recurrence(const Team& team, const Lane<T>& lane, T* output, ptrdiff_t begin, ptrdiff_t end) const {
    if (begin == 0) {
      StartStates(team, lane);
      team.Wait();
    }
    for (ptrdiff_t n = begin; n < end; n++) {
      if (Cancelled()) {
        // Others may notice later: they still expect this member wherever a step meets.
        if (lane.layout->projection.present()) team.Wait();
        team.Wait();
        continue;
      }
      RecurrentStep<T> step{network_, kernels_, *lane.layout, pass_.params, pass_.batch};
      step.z = RowsOfZ(lane, 0, (n - (training_ ? 0 : begin)) * pass_.batch);
      step.z_panel_stride = lane.z_rows * network_.z_width();
      step.h_previous = HiddenAt(lane, n);
      step.h = HiddenAt(lane, n + 1);
      step.c_previous = CellsAt(lane, n);
      step.c = CellsAt(lane, n + 1);
      step.unprojected = lane.record.unprojected == nullptr
                             ? nullptr
                             : lane.record.unprojected + (training_ ? n : 0) * pass_.batch * network_.padded_units();
      step.keep = training_;
      step.Run(team);
      FinishStep(team, lane, output, n);
      team.Wait();
    }
  }

  void StartStates(const Team& team, const Lane<T>& lane) const {
    const ptrdiff_t columns = network_.columns();
    const ptrdiff_t units = network_.options().units;
    for (ptrdiff_t row = team.Begin(pass_.batch); row < team.End(pass_.batch); row++) {
      const ptrdiff_t state = lane.pseudo_layer * pass_.batch + row;
      T* h = HiddenAt(lane, 0) + row * network_.padded_columns();
      std::fill_n(h, network_.padded_columns(), T{0});
      if (pass_.h != nullptr) std::copy_n(pass_.h + state * columns, columns, h);
      T* c = CellsAt(lane, 0);
      if (c != nullptr) {
        c += row * network_.padded_units();
        std::fill_n(c, network_.padded_units(), T{0});
        if (pass_.c != nullptr) std::copy_n(pass_.c + state * units, units, c);
      }
      if (Length(row) > 0) continue;
      std::copy_n(h, columns, pass_.h_final + state * columns);
      if (c != nullptr) std::copy_n(c, units, pass_.c_final + state * units);
    }
  }

  // Copies this member's columns of h to the output and, at a row's last step, the states to the results; past a row's end
  // the states are zeros, which keeps whatever padding computes finite.
  void FinishStep(const Team& team, const Lane<T>& lane, T* output, ptrdiff_t n) const {
    ptrdiff_t begin, end;
    RecurrentStep<T>::OwnColumns(network_, *lane.layout, team, &begin, &end);
    const ptrdiff_t first_unit = std::min(network_.options().units, team.Begin(network_.panels()) * network_.panel_units());
    const ptrdiff_t last_unit = std::min(network_.options().units, team.End(network_.panels()) * network_.panel_units());
    T* cells = CellsAt(lane, n + 1);
    for (ptrdiff_t row = 0; row < pass_.batch; row++) {
      T* h = HiddenAt(lane, n + 1) + row * network_.padded_columns();
      T* c = cells == nullptr ? nullptr : cells + row * network_.padded_units();
      const bool active = n < Length(row);
      const ptrdiff_t time = active ? TimeOf(lane, n, row) : n;
      T* out = output + (time * pass_.batch + row) * network_.output_size() + lane.direction * network_.columns();
      if (active) {
        std::copy(h + begin, h + end, out + begin);
        if (n + 1 < Length(row)) continue;
        const ptrdiff_t state = lane.pseudo_layer * pass_.batch + row;
        std::copy(h + begin, h + end, pass_.h_final + state * network_.columns() + begin);
        if (c != nullptr) std::copy(c + first_unit, c + last_unit, pass_.c_final + state * network_.options().units + first_unit);
      } else {
        std::fill(h + begin, h + end, T{0});
        if (c != nullptr) std::fill(c + first_unit, c + last_unit, T{0});
        std::fill(out + begin, out + end, T{0});
      }
    }
  }

  const Engine<T>& engine_;
  const KernelTable<T>& kernels_;
  const ForwardPass<T>& pass_;
  const Network<T>& network_;
  const int directions_;
  const bool training_;
  ptrdiff_t ahead_;  // steps of the input product computed at once
  std::vector<Lane<T>> lanes_;
  std::vector<T*> outputs_;  // by layer
  std::vector<std::unique_ptr<Barrier>> group_barriers_;
  MemoryBlock memory_;
};

}  // namespace

int MembersFor(const ThreadPool& pool, double operations) {
  return std::clamp(static_cast<int>(operations / kOperationsPerMember), 1, pool.size());
}

template <typename T>
void RunForward(const Engine<T>& engine, const ForwardPass<T>& pass) {
  Forward<T>(engine, pass).Run();
}

template void RunForward(const Engine<float>&, const ForwardPass<float>&);
template void RunForward(const Engine<double>&, const ForwardPass<double>&);

}  // namespace cudnn_rnn
