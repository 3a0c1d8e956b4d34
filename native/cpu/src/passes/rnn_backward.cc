#include "passes/rnn_backward.h"

#include <algorithm>

#include "passes/dropout.h"
#include "passes/pseudo_layer_backward.h"
#include "passes/rnn_backward_memory.h"
#include "passes/rnn_layer_gradients.h"
#include "threads/thread_teams.h"

namespace cudnn_rnn {
namespace {

// Threads for all of a pass: the products over its rows are worth every one, though MembersFor speaks of a single step.
template <typename T>
int ThreadsFor(const Engine<T>& engine, const BackwardPass<T>& pass) {
  const Network<T>& network = *pass.network;
  // Twice the operations of a forward's step: gradients of h and of the weights.
  const double step = 4.0 * pass.tape->batch * network.gates() * network.options().units * network.columns();
  return MembersFor(*engine.pool, *engine.kernels, std::max(step, step * pass.tape->time / 16));
}

// Runs the layers from the last to the first: both directions side by side, then the gradients of the layer
// (backpropagation through time: Werbos 1990). Only dh and dc pass from step to step; the gradients of weights and
// input are products over all steps afterwards, at the peak rate of the multiply-add units.
template <typename T>
class Backward {
 public:
  Backward(const Engine<T>& engine, const BackwardPass<T>& pass)
      : engine_(engine),
        pass_(pass),
        network_(*pass.network),
        memory_(engine, pass),
        teams_(ThreadsFor(engine, pass), network_.options().directions) {}

  void Run() {
    engine_.pool->Run(teams_.threads(), [this](int thread) { RunLayers(thread); });
  }

 private:
  void RunLayers(int thread) {
    ThreadTeams::Member member(&teams_, thread);
    const int directions = network_.options().directions;
    const LayerGradients<T> gradients(engine_, pass_, memory_);
    // [T,B,D·C]; null for zeros in the last layer only.
    const T* d_output = pass_.d_output;
    for (int layer = network_.options().layers - 1; layer >= 0; layer--) {
      for (int k = 0; k < directions; k++) {
        const int d = (member.first_branch() + k) % directions;
        // A plain set of addresses, made by each thread for itself.
        PseudoLayerBackward<T>(engine_, pass_, layer * directions + d, memory_).Run(member.branch(d), d_output);
      }
      // After both directions are done: these products share all threads, and both read dz that any thread wrote.
      for (int d = 0; d < directions; d++) gradients.OfParams(member.all(), layer * directions + d);
      T* d_input = layer == 0 ? pass_.d_input : memory_.d_input(layer);
      gradients.OfInput(member.all(), layer, d_input);
      // The gradient with respect to the output of the layer below before its dropout: the same mask again.
      if (layer > 0 && network_.options().dropout > 0) DropOut(member.all(), layer - 1, d_input);
      d_output = d_input;
    }
  }

  // By the mask that the forward drew for the output of the layer.
  void DropOut(SharedLoops::Member* all, int layer, T* d_output) const {
    const ptrdiff_t count = pass_.rows() * network_.output_size();
    ShareDropout(all, d_output, 0, count, network_.options().dropout, network_.options().seed,
                 pass_.tape->dropout_position + static_cast<uint64_t>(layer * count));
  }

  const Engine<T>& engine_;
  const BackwardPass<T>& pass_;
  const Network<T>& network_;
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
