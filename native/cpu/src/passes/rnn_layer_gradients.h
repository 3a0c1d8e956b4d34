// The gradients of a layer's parameters and of its input, each as products over all rows of a pass, from the gradients
// of the pre-activations that PseudoLayerBackward leaves in the tape's z.
#pragma once

#include <cstddef>

#include "passes/rnn_backward_memory.h"
#include "passes/rnn_pass.h"
#include "passes/time_block.h"
#include "threads/engine.h"
#include "threads/shared_loops.h"

namespace cudnn_rnn {

// Every thread must call these.
template <typename T>
class LayerGradients {
 public:
  // `copies`: the calling thread's (BackwardMemory).
  LayerGradients(const Engine<T>& engine, const BackwardPass<T>& pass, const BackwardMemory<T>& memory,
                 RowsCopy* copies)
      : engine_(engine),
        kernels_(*engine.kernels),
        pass_(pass),
        network_(*pass.network),
        memory_(memory),
        copies_(copies) {}

  // The gradients of the matrices and biases of one layer in one direction.
  void OfParams(SharedLoops::Member* all, int pseudo_layer) const;
  // The steps of a time block of d_input [T,B,in] = the sum over the directions of dz·W, in the order of time. For the
  // block of the forward direction; with two directions it has all steps.
  void OfInput(SharedLoops::Member* all, const TimeBlock& time_block, T* d_input) const;

 private:
  // b_W and b_R: sums over all rows of dz, of the planes of their side.
  void OfBiases(SharedLoops::Member* all, int pseudo_layer) const;
  // The steps of a time block of dx [T·B,in] of one direction, in its time order.
  void OfPseudoLayerInput(SharedLoops::Member* all, const TimeBlock& time_block, T* dx) const;
  void ClearPadding(ptrdiff_t row, ptrdiff_t rows, ptrdiff_t first, ptrdiff_t last, ptrdiff_t size, T* dx) const;
  void AddInTime(SharedLoops::Member* all, int direction, const T* dx, ptrdiff_t size, T* d_input) const;

  // Elements between panels of z, which are [T·B][z_width] each.
  ptrdiff_t z_panel_stride() const { return pass_.rows() * network_.z_width(); }

  const Engine<T>& engine_;
  const KernelTable<T>& kernels_;
  const BackwardPass<T>& pass_;
  const Network<T>& network_;
  const BackwardMemory<T>& memory_;
  RowsCopy* const copies_;
};

}  // namespace cudnn_rnn
