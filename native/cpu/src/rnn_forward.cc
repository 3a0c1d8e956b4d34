#include "rnn_forward.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "dropout.h"
#include "shared_loops.h"

namespace cudnn_rnn {
namespace {

// Rows of the input product that share a panel of weights while it is in the cache.
constexpr ptrdiff_t kRowBlock = 96;
constexpr ptrdiff_t kManyItems = 16;
// Pre-activations computed ahead of the recurrence in inference: they stay in the cache until the recurrence reads them.
constexpr ptrdiff_t kAheadBytes = 1 << 20;
// Layers of a network run side by side, each a few steps behind the one below, where threads would meet too often if they
// shared every step: as long as a step is brief and a layer's weights stay in the cache of one core.
constexpr double kWaveOperations = 4e6;
constexpr ptrdiff_t kWaveWeights = 1 << 18;
// Rows of the input product, and at least so many steps, that a layer is ahead of the next one.
constexpr ptrdiff_t kWaveRows = 12;
constexpr ptrdiff_t kWaveSteps = 4;
// Elements of a dropout mask drawn at once; a multiple of a block of the generator.
constexpr ptrdiff_t kDropoutPart = 1 << 14;
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
    operations_ = 2.0 * pass.batch * network_.gates() * network_.options().units * network_.columns();
    const ptrdiff_t weights = network_.gates() * network_.options().units * network_.columns();
    is_wave_ = directions_ == 1 && network_.options().layers > 1 && operations_ <= kWaveOperations && weights <= kWaveWeights;
    side_by_side_ = is_wave_ ? network_.options().layers : directions_;
    const ptrdiff_t row_bytes = network_.panels() * network_.z_width() * static_cast<ptrdiff_t>(sizeof(T)) * pass.batch;
    ahead_ = training_ ? pass.time : std::clamp<ptrdiff_t>(kAheadBytes / row_bytes, 1, pass.time);
    // Few rows make a poor product; many steps of them are worth the memory.
    if (!training_) ahead_ = std::min(pass.time, std::max(ahead_, (kRowBlock + pass.batch - 1) / pass.batch));
    if (is_wave_) ahead_ = std::min(pass.time, std::max(kWaveSteps, (kWaveRows + pass.batch - 1) / pass.batch));
    chunks_ = (pass.time + ahead_ - 1) / ahead_;
    if (training_) {
      pass.tape->dropout_position = pass.dropout_position;
      Arena measure(nullptr);
      pass.tape->Carve(network_, &measure);
      pass.tape->memory = engine.blocks->Take(measure.used());
      Arena arena(pass.tape->memory.data());
      pass.tape->Carve(network_, &arena);
    }
    if (pass.params.is_int8()) int8_rows_.resize(engine.pool->size());
    Arena measure(nullptr);
    Carve(&measure);
    memory_ = engine.blocks->Take(measure.used());
    Arena arena(memory_.data());
    Carve(&arena);
  }

  ~Forward() { engine_.blocks->GiveBack(std::move(memory_)); }

  // Every lane of those side by side may have threads of its own.
  void Run() {
    const int members = MembersFor(*engine_.pool, operations_ * side_by_side_);
    all_ = std::make_unique<SharedLoops>(members);
    const int groups = std::min(members, side_by_side_);
    for (int lane = 0; lane < side_by_side_; lane++) {
      lane_loops_.push_back(std::make_unique<SharedLoops>(std::max(1, members / groups)));
    }
    engine_.pool->Run(members, [this, members, groups](int index) { RunStages(index, members, groups); });
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
      lane.z_rows = (training_ ? pass_.time : ahead_) * pass_.batch;
      if (training_) {
        lane.record = pass_.tape->records[p];
        continue;
      }
      if (p >= directions_ && !is_wave_) {
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
    if constexpr (sizeof(T) == 4) {
      for (Int8Rows& rows : int8_rows_) rows = TakeInt8Rows(network_, std::max(kRowBlock, pass_.batch), arena);
    }
  }

  using Member = SharedLoops::Member;

  // The steps [begin, end) of a lane.
  struct Stretch {
    const Lane<T>* lane;
    const T* input;
    T* output;
    ptrdiff_t begin;
    ptrdiff_t end;
  };

  ptrdiff_t Stages() const {
    const ptrdiff_t layers = network_.options().layers;
    return is_wave_ ? chunks_ + layers - 1 : chunks_ * layers;
  }

  // What is computed side by side: both directions of a layer, or of a wave every layer's next steps.
  void StretchesOf(ptrdiff_t stage, std::vector<Stretch>* stretches) const {
    stretches->clear();
    const auto add = [&](ptrdiff_t layer, ptrdiff_t chunk) {
      const T* input = layer == 0 ? pass_.input : outputs_[layer - 1];
      for (int d = 0; d < directions_; d++) {
        stretches->push_back({&lanes_[layer * directions_ + d], input, outputs_[layer], chunk * ahead_,
                              std::min(pass_.time, (chunk + 1) * ahead_)});
      }
    };
    if (!is_wave_) return add(stage / chunks_, stage % chunks_);
    for (ptrdiff_t layer = 0; layer < network_.options().layers; layer++) {
      if (stage >= layer && stage - layer < chunks_) add(layer, stage - layer);
    }
  }

  void RunStages(int index, int members, int groups) {
    // Each lane on its part of the threads; who is done with its own helps with the others.
    const int per_group = std::max(1, members / groups);
    const int group = std::min(index / per_group, groups - 1);
    const int home = index - group * per_group;
    Member all(all_.get(), index);
    std::vector<Member> lane_members;
    for (int lane = 0; lane < side_by_side_; lane++) {
      lane_members.emplace_back(lane_loops_[lane].get(), lane % groups == group && home < per_group ? home : -1);
    }
    Int8Rows* int8_rows = int8_rows_.empty() ? nullptr : &int8_rows_[index];
    std::vector<Stretch> stretches;
    for (ptrdiff_t stage = 0; stage < Stages(); stage++) {
      StretchesOf(stage, &stretches);
      Prepare(&all, stretches);
      InputSide(&all, stretches, int8_rows);
      const int count = static_cast<int>(stretches.size());
      for (int k = 0; k < count; k++) {
        const Stretch& stretch = stretches[(group + k) % count];
        Recurrence(&lane_members[stretch.lane->pseudo_layer % side_by_side_], stretch, int8_rows);
      }
      if (training_ && network_.options().dropout > 0) DropOut(&all, stretches);
    }
  }

  // Starts lanes, and brings the inputs of those that walk in another order into theirs.
  void Prepare(Member* all, const std::vector<Stretch>& stretches) const {
    const ptrdiff_t count = static_cast<ptrdiff_t>(stretches.size());
    bool starts = false, gathers = false;
    for (const Stretch& stretch : stretches) {
      starts = starts || stretch.begin == 0;
      gathers = gathers || stretch.lane->record.own_input != nullptr;
    }
    if (starts) {
      all->Run(count, [&](ptrdiff_t k) {
        if (stretches[k].begin > 0) return;
        FillBias(*stretches[k].lane);
        StartStates(*stretches[k].lane);
      });
    }
    if (!gathers) return;
    all->Run(count * ahead_, [&](ptrdiff_t item) {
      const Stretch& stretch = stretches[item / ahead_];
      const ptrdiff_t step = stretch.begin + item % ahead_;
      if (step < stretch.end) Gather(*stretch.lane, stretch.input, stretch.begin, step);
    });
  }

  void DropOut(Member* all, const std::vector<Stretch>& stretches) const {
    const ptrdiff_t row = pass_.batch * network_.output_size();
    for (const Stretch& stretch : stretches) {
      const ptrdiff_t layer = stretch.lane->pseudo_layer / directions_;
      if (stretch.lane->direction > 0 || layer + 1 == network_.options().layers) continue;
      const ptrdiff_t begin = stretch.begin * row / kDropoutPart;
      const ptrdiff_t end = (stretch.end * row + kDropoutPart - 1) / kDropoutPart;
      all->Run(end - begin, [&](ptrdiff_t part) {
        const ptrdiff_t first = std::max(stretch.begin * row, (begin + part) * kDropoutPart);
        const ptrdiff_t last = std::min(stretch.end * row, (begin + part + 1) * kDropoutPart);
        ApplyDropout(stretch.output, first, last, network_.options().dropout, network_.options().seed,
                     pass_.dropout_position + static_cast<uint64_t>(layer * pass_.time * row));
      });
    }
  }

  bool Cancelled() const { return engine_.cancelled != nullptr && engine_.cancelled->load(std::memory_order_relaxed); }

  // z starts with b_W + b_R, but b_R of GRU's new memory belongs to q_n alone; the order of the planes sees to that.
  void FillBias(const Lane<T>& lane) const {
    const ptrdiff_t input_width = network_.z_input_width();
    for (ptrdiff_t panel = 0; panel < network_.panels(); panel++) {
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

  // The input of a lane in walking order; row 0 is step 0, though inference holds the steps from `begin` on only.
  const T* InputOf(const Lane<T>& lane, const T* input, ptrdiff_t begin) const {
    if (lane.record.own_input == nullptr) return input;
    return lane.record.own_input - (training_ ? 0 : begin * pass_.batch * lane.layout->input_size);
  }

  // Brings the input of step n into walking order, with zeros where a row has ended.
  void Gather(const Lane<T>& lane, const T* input, ptrdiff_t begin, ptrdiff_t n) const {
    if (lane.record.own_input == nullptr) return;
    const ptrdiff_t size = lane.layout->input_size;
    T* target = lane.record.own_input + (n - (training_ ? 0 : begin)) * pass_.batch * size;
    for (ptrdiff_t row = 0; row < pass_.batch; row++) {
      if (n < Length(row)) {
        std::memcpy(target + row * size, input + (TimeOf(lane, n, row) * pass_.batch + row) * size, size * sizeof(T));
      } else {
        std::fill_n(target + row * size, size, T{0});
      }
    }
  }

  T* RowsOfZ(const Lane<T>& lane, ptrdiff_t panel, ptrdiff_t row) const {
    return lane.record.z + (panel * lane.z_rows + row) * network_.z_width();
  }

  // Numbers for what products multiply: inputs from a row on, the state before a step, and, one more, what it projects.
  uint64_t InputVersion(const Lane<T>& lane, ptrdiff_t row) const {
    return 4 * static_cast<uint64_t>(lane.pseudo_layer * pass_.time * pass_.batch + row) + 1;
  }
  uint64_t StepVersion(const Lane<T>& lane, ptrdiff_t n) const { return InputVersion(lane, n * pass_.batch) + 1; }

  // z = x·Wᵀ + b, block of rows by block of rows so that both stay in the cache.
  void InputSide(Member* all, const std::vector<Stretch>& stretches, Int8Rows* int8_rows) const {
    // Of all stretches alike, though the last of a lane may be shorter. Their number must not depend on that of the threads,
    // as the last bits of a result depend on how many rows are summed side by side.
    const ptrdiff_t most_rows = std::min(ahead_, pass_.time) * pass_.batch;
    ptrdiff_t blocks = (most_rows + kRowBlock - 1) / kRowBlock;
    // Fewer panels than would keep all threads busy: smaller blocks. A wave's are small as they are.
    if (!is_wave_ && blocks * network_.panels() * directions_ < kManyItems) blocks = std::min(most_rows, kManyItems);
    const ptrdiff_t count = static_cast<ptrdiff_t>(stretches.size());
    all->Run(blocks * count * network_.panels(), [&](ptrdiff_t item) {
      if (Cancelled()) return;
      const ptrdiff_t block = item / (count * network_.panels());
      const Stretch& stretch = stretches[item / network_.panels() % count];
      const Lane<T>& lane = *stretch.lane;
      const ptrdiff_t panel = item % network_.panels();
      const ptrdiff_t rows = (stretch.end - stretch.begin) * pass_.batch;
      const ptrdiff_t first = rows * block / blocks;
      const ptrdiff_t count = rows * (block + 1) / blocks - first;
      if (count == 0) return;
      const ptrdiff_t begin = stretch.begin;
      T* z = RowsOfZ(lane, panel, (training_ ? begin * pass_.batch : 0) + first);
      const T* x = InputOf(lane, stretch.input, begin) + (begin * pass_.batch + first) * lane.layout->input_size;
      const T* bias = lane.bias + panel * network_.z_width();
      if (lane.layout->input.present()) {
        const ptrdiff_t depth = lane.layout->input.depth;
        const ptrdiff_t depth_block = pass_.params.DepthBlock(depth);
        for (ptrdiff_t k = 0; k < depth; k += depth_block) {
          PanelProduct<T> product{};
          product.a = x + k;
          product.a_stride = lane.layout->input_size;
          product.rows = count;
          product.depth = std::min(depth_block, depth - k);
          product.init = k == 0 ? bias : z;
          product.init_stride = k == 0 ? 0 : network_.z_width();
          product.c = z;
          product.c_stride = network_.z_width();
          product.int8_rows = int8_rows;
          product.version = InputVersion(lane, begin * pass_.batch + first);
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
    });
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

  void Recurrence(Member* member, const Stretch& stretch, Int8Rows* int8_rows) const {
    const Lane<T>& lane = *stretch.lane;
    const ptrdiff_t begin = stretch.begin;
    const bool projects = lane.layout->projection.present();
    for (ptrdiff_t n = begin; n < stretch.end; n++) {
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
      step.int8_rows = int8_rows;
      step.version = StepVersion(lane, n);
      step.PrefetchState();
      member->Run(network_.panels(), [&](ptrdiff_t panel) {
        if (Cancelled()) return;
        step.RunPanel(panel);
        const ptrdiff_t first = panel * network_.panel_units();
        const ptrdiff_t last = std::min(network_.options().units, first + network_.panel_units());
        if (step.c != nullptr) FinishCells(lane, n, first, last);
        if (!projects) FinishHidden(lane, stretch.output, n, first, last);
      }, n % 2 != 0);
      if (!projects) continue;
      const ptrdiff_t width = lane.layout->projection.chunks * kChunk<T>;
      member->Run(lane.layout->projection.panels, [&](ptrdiff_t panel) {
        if (Cancelled()) return;
        step.RunProjectionPanel(panel);
        FinishHidden(lane, stretch.output, n, panel * width, std::min(network_.columns(), (panel + 1) * width));
      });
    }
  }

  void StartStates(const Lane<T>& lane) const {
    const ptrdiff_t columns = network_.columns();
    const ptrdiff_t units = network_.options().units;
    for (ptrdiff_t row = 0; row < pass_.batch; row++) {
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

  // Copies the columns [first, last) of h to the output and, at a row's last step, to the final state. Past a row's end the
  // states are zeros, which keeps whatever padding computes finite.
  void FinishHidden(const Lane<T>& lane, T* output, ptrdiff_t n, ptrdiff_t first, ptrdiff_t last) const {
    for (ptrdiff_t row = 0; row < pass_.batch; row++) {
      T* h = HiddenAt(lane, n + 1) + row * network_.padded_columns();
      const bool active = n < Length(row);
      const ptrdiff_t time = active ? TimeOf(lane, n, row) : n;
      T* out = output + (time * pass_.batch + row) * network_.output_size() + lane.direction * network_.columns();
      if (!active) std::fill(h + first, h + last, T{0});
      std::copy(h + first, h + last, out + first);
      if (n + 1 != Length(row)) continue;
      const ptrdiff_t state = lane.pseudo_layer * pass_.batch + row;
      std::copy(h + first, h + last, pass_.h_final + state * network_.columns() + first);
    }
  }

  void FinishCells(const Lane<T>& lane, ptrdiff_t n, ptrdiff_t first, ptrdiff_t last) const {
    if (pass_.lengths == nullptr && n + 1 < pass_.time) return;
    for (ptrdiff_t row = 0; row < pass_.batch; row++) {
      T* c = CellsAt(lane, n + 1) + row * network_.padded_units();
      if (n >= Length(row)) std::fill(c + first, c + last, T{0});
      if (n + 1 != Length(row)) continue;
      const ptrdiff_t state = lane.pseudo_layer * pass_.batch + row;
      std::copy(c + first, c + last, pass_.c_final + state * network_.options().units + first);
    }
  }

  const Engine<T>& engine_;
  const KernelTable<T>& kernels_;
  const ForwardPass<T>& pass_;
  const Network<T>& network_;
  const int directions_;
  const bool training_;
  double operations_;    // of a step of one lane
  bool is_wave_;
  int side_by_side_;     // lanes
  ptrdiff_t ahead_;      // steps of a lane done at a stretch, and of the input product at once
  ptrdiff_t chunks_;     // stretches of a lane
  std::vector<Lane<T>> lanes_;
  std::vector<T*> outputs_;  // by layer
  std::vector<Int8Rows> int8_rows_;  // by thread; for int8 weights only
  std::unique_ptr<SharedLoops> all_;
  std::vector<std::unique_ptr<SharedLoops>> lane_loops_;
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
