#include <algorithm>
#include <vector>

#include "passes/dropout.h"
#include "passes/pseudo_layer_backward.h"
#include "passes/rnn_backward_memory.h"
#include "passes/rnn_backward_schedule.h"
#include "passes/rnn_layer_gradients.h"
#include "passes/rnn_pass.h"
#include "passes/wavefront.h"
#include "threads/thread_teams.h"

namespace cudnn_rnn {
namespace {

// Threads for all of a pass: the products over its rows are worth every one, though MembersFor speaks of a single step.
template <typename T>
int ThreadsFor(const Engine<T>& engine, const BackwardPass<T>& pass, int lanes) {
  // Twice the operations of a forward's step: gradients of h and of the weights.
  const double step = 2 * lanes * StepOperations(*pass.network, pass.tape->batch);
  return MembersFor(*engine.pool, *engine.kernels, std::max(step, step * pass.tape->time / 16));
}

// Runs the stages of a schedule on all threads (backpropagation through time: Werbos 1990). Only dh and dc pass from
// step to step; the gradients of weights and input are products over many steps afterwards, at the peak rate of the
// multiply-add units.
template <typename T>
class Backward {
 public:
  Backward(const Engine<T>& engine, const BackwardPass<T>& pass)
      : engine_(engine),
        pass_(pass),
        network_(*pass.network),
        schedule_(network_, pass.tape->time, pass.tape->batch),
        memory_(engine, pass, schedule_),
        teams_(ThreadsFor(engine, pass, schedule_.lanes()), schedule_.lanes()) {}

  void Run() {
    engine_.pool->Run(teams_.threads(), [this](int thread) { RunStages(thread); });
  }

 private:
  // Body of every thread. All threads run the same loops in the same order; the loops hand out the work.
  void RunStages(int thread) {
    ThreadTeams::Member member(&teams_, thread);
    RowsCopy* const copies = memory_.copies(thread);
    const LayerGradients<T> gradients(engine_, pass_, memory_, copies);
    std::vector<TimeBlock> time_blocks;
    for (ptrdiff_t stage = 0; stage < schedule_.stages(); stage++) {
      schedule_.TimeBlocksOf(stage, &time_blocks);
      // Threads begin with different branches, by their team, and then help with the others.
      const int count = static_cast<int>(time_blocks.size());
      for (int k = 0; k < count; k++) {
        const TimeBlock& time_block = time_blocks[(member.first_branch() + k) % count];
        const int p = time_block.pseudo_layer;
        // A plain set of addresses, made by each thread for itself.
        PseudoLayerBackward<T>(engine_, pass_, p, memory_, copies)
            .RunSteps(member.branch(p % schedule_.lanes()), time_block, OutputGradient(LayerOf(p)));
      }
      // After all blocks are done: these products share all threads, and read dz that any thread wrote.
      for (const TimeBlock& time_block : time_blocks) {
        if (time_block.begin == 0) gradients.OfParams(member.all(), time_block.pseudo_layer);
      }
      for (const TimeBlock& time_block : time_blocks) {
        // OfInput adds both directions.
        if (time_block.pseudo_layer % network_.options().directions == 0)
          FinishInput(member.all(), gradients, time_block);
      }
    }
  }

  int LayerOf(int pseudo_layer) const { return pseudo_layer / network_.options().directions; }

  // [T,B,D·C]; null for zeros in the last layer only.
  const T* OutputGradient(int layer) const {
    return layer + 1 == network_.options().layers ? pass_.d_output : memory_.d_input(layer + 1);
  }

  // The gradient of a block's input, and for a layer above the first, of the output of the layer below before its
  // dropout: by the mask that the forward drew.
  void FinishInput(SharedLoops::Member* all, const LayerGradients<T>& gradients, const TimeBlock& time_block) const {
    const int layer = LayerOf(time_block.pseudo_layer);
    T* d_input = layer == 0 ? pass_.d_input : memory_.d_input(layer);
    gradients.OfInput(all, time_block, d_input);
    const NetworkOptions& options = network_.options();
    if (layer == 0 || options.dropout == 0) return;
    const ptrdiff_t row = pass_.tape->batch * network_.output_size();
    const ptrdiff_t mask = (layer - 1) * pass_.rows() * network_.output_size();
    ShareDropout(all, d_input, time_block.begin * row, time_block.end * row, options.dropout, options.seed,
                 pass_.tape->dropout_position + static_cast<uint64_t>(mask));
  }

  const Engine<T>& engine_;
  const BackwardPass<T>& pass_;
  const Network<T>& network_;
  const BackwardSchedule schedule_;
  BackwardMemory<T> memory_;
  ThreadTeams teams_;
};

}  // namespace

template <typename T>
void RunBackward(const Engine<T>& engine, const BackwardPass<T>& pass) {
  Backward<T>(engine, pass).Run();
}

template void RunBackward(const Engine<float>&, const BackwardPass<float>&);
template void RunBackward(const Engine<double>&, const BackwardPass<double>&);

}  // namespace cudnn_rnn
