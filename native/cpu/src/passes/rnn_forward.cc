#include <algorithm>
#include <vector>

#include "passes/dropout.h"
#include "passes/pseudo_layer_forward.h"
#include "passes/rnn_forward_memory.h"
#include "passes/rnn_forward_schedule.h"
#include "passes/rnn_pass.h"
#include "threads/shared_loops.h"
#include "threads/thread_teams.h"
#include "weights/quantized_weights.h"

namespace cudnn_rnn {
namespace {

// Runs the stages of a schedule on all threads. A stage's loops over all time blocks together come
// first.
template <typename T>
class Forward {
 public:
  // The memory of the pass is allocated here, on one thread: a failure throws before any thread has started.
  Forward(const Engine<T>& engine, const ForwardPass<T>& pass)
      : engine_(engine),
        pass_(pass),
        network_(*pass.network),
        schedule_(network_, pass.time, pass.batch, pass.is_training()),
        memory_(engine, pass, schedule_),
        teams_(MembersFor(*engine.pool, *engine.kernels, schedule_.Operations(network_, pass.h == nullptr),
                          schedule_.loops()),
               schedule_.side_by_side()) {
    for (int p = 0; p < network_.pseudo_layers(); p++)
      pseudo_layers_.emplace_back(engine, pass, p, memory_.pseudo_layer(p));
  }

  void Run() {
    engine_.pool->Run(teams_.threads(), [this](int thread) { RunStages(thread); });
  }

 private:
  // Body of every thread. All threads run the same loops in the same order; the loops hand out the work.
  void RunStages(int thread) {
    ThreadTeams::Member member(&teams_, thread);
    RowsCopy* rows_copy = memory_.rows_copy(thread);
    // Time blocks of a stage belong to different pseudo-layers, several steps apart in a wavefront, and do not depend
    // on each other.
    std::vector<TimeBlock> time_blocks;
    for (ptrdiff_t stage = 0; stage < schedule_.stages(); stage++) {
      schedule_.TimeBlocksOf(stage, &time_blocks);
      Start(member.all(), time_blocks);
      Gather(member.all(), time_blocks);
      MultiplyInput(member.all(), time_blocks, rows_copy);
      // Threads begin with different branches, by their team, and then help with the others.
      const int count = static_cast<int>(time_blocks.size());
      for (int k = 0; k < count; k++) {
        const TimeBlock& time_block = time_blocks[(member.first_branch() + k) % count];
        PseudoLayerOf(time_block)
            .RunSteps(member.branch(time_block.pseudo_layer % schedule_.side_by_side()), time_block, rows_copy);
      }
      if (pass_.is_training() && network_.options().dropout > 0) DropOut(member.all(), time_blocks);
    }
  }

  const PseudoLayerForward<T>& PseudoLayerOf(const TimeBlock& time_block) const {
    return pseudo_layers_[time_block.pseudo_layer];
  }

  // Only at the first time block of a pseudo-layer. The test is the same on all threads, so they skip the loop
  // together.
  void Start(SharedLoops::Member* all, const std::vector<TimeBlock>& time_blocks) const {
    bool starts = false;
    for (const TimeBlock& time_block : time_blocks) starts = starts || time_block.begin == 0;
    if (!starts) return;
    all->Run(static_cast<ptrdiff_t>(time_blocks.size()), [&](ptrdiff_t k) {
      if (time_blocks[k].begin == 0) PseudoLayerOf(time_blocks[k]).Start();
    });
  }

  void Gather(SharedLoops::Member* all, const std::vector<TimeBlock>& time_blocks) const {
    bool gathers = false;
    for (const TimeBlock& time_block : time_blocks) gathers = gathers || PseudoLayerOf(time_block).gathers();
    if (!gathers) return;
    // The same number of items for every time block; surplus items of a shorter last block do nothing.
    const ptrdiff_t steps = schedule_.steps();
    all->Run(static_cast<ptrdiff_t>(time_blocks.size()) * steps, [&](ptrdiff_t item) {
      const TimeBlock& time_block = time_blocks[item / steps];
      const ptrdiff_t n = time_block.begin + item % steps;
      if (n < time_block.end) PseudoLayerOf(time_block).Gather(time_block, n);
    });
  }

  // Block of rows by block of rows: 96 rows of x (192 KiB at I 512) and a panel (128 KiB) stay in the second-level
  // cache, if all panels go by before the next rows.
  void MultiplyInput(SharedLoops::Member* all, const std::vector<TimeBlock>& time_blocks, RowsCopy* rows_copy) const {
    // The same number for all time blocks, though the last one of a pseudo-layer may be shorter.
    const ptrdiff_t blocks = schedule_.input_blocks();
    const ptrdiff_t panels = network_.panels();
    const ptrdiff_t count = static_cast<ptrdiff_t>(time_blocks.size());
    all->Run(blocks * count * panels, [&](ptrdiff_t item) {
      if (engine_.is_canceled()) return;
      const ptrdiff_t block = item / (count * panels);
      const TimeBlock& time_block = time_blocks[item / panels % count];
      const ptrdiff_t rows = (time_block.end - time_block.begin) * pass_.batch;
      const ptrdiff_t first = rows * block / blocks;
      const ptrdiff_t last = rows * (block + 1) / blocks;
      if (first < last) PseudoLayerOf(time_block).MultiplyInput(time_block, item % panels, first, last, rows_copy);
    });
  }

  // Drops elements of every layer but the last, once for both directions.
  // After both directions of a layer have written their columns of the output, in place, before the next layer reads
  // it. One mask over [T,B,D·C] for each layer: cuDNN too drops between layers only.
  void DropOut(SharedLoops::Member* all, const std::vector<TimeBlock>& time_blocks) const {
    const NetworkOptions& options = network_.options();
    const ptrdiff_t row = pass_.batch * network_.output_size();
    for (const TimeBlock& time_block : time_blocks) {
      const ptrdiff_t layer = time_block.pseudo_layer / options.directions;
      if (time_block.pseudo_layer % options.directions > 0 || layer + 1 == options.layers) continue;
      ShareDropout(all, memory_.pseudo_layer(time_block.pseudo_layer).output, time_block.begin * row,
                   time_block.end * row, options.dropout, options.seed,
                   pass_.dropout_position + static_cast<uint64_t>(layer * pass_.time * row));
    }
  }

  const Engine<T>& engine_;
  const ForwardPass<T>& pass_;
  const Network<T>& network_;
  const ForwardSchedule schedule_;
  ForwardMemory<T> memory_;
  ThreadTeams teams_;
  std::vector<PseudoLayerForward<T>> pseudo_layers_;  // by pseudo-layer
};

// The parameters change at every step of a training, so that their copy lives as long as the pass.
void RunRoundedTraining(const Engine<float>& engine, ForwardPass<float> pass) {
  const QuantizedWeights rounded(*pass.network, engine.blocks);
  const int members = static_cast<int>(std::min<ptrdiff_t>(engine.pool->size(), rounded.items()));
  RunLoop(engine, members, rounded.items(),
          [&](ptrdiff_t item, int) { rounded.RoundPanel(engine.kernels->bfloat16, pass.params.data, item); });
  pass.params.quantized = &rounded;
  Forward<float>(engine, pass).Run();
}

}  // namespace

template <typename T>
void RunForward(const Engine<T>& engine, const ForwardPass<T>& pass) {
  if (!pass.is_training()) return Forward<T>(engine, pass).Run();
  pass.tape->dropout_position = pass.dropout_position;
  if constexpr (sizeof(T) == sizeof(float)) {
    if (engine.rounds()) return RunRoundedTraining(engine, pass);
  }
  Forward<T>(engine, pass).Run();
}

template void RunForward(const Engine<float>&, const ForwardPass<float>&);
template void RunForward(const Engine<double>&, const ForwardPass<double>&);

}  // namespace cudnn_rnn
