// Back-propagation through time of one pseudo-layer: one layer in one direction.
//
// From the last step to the first: δh_n = δy_n + δz_{n+1}·R, then the cell gives δz_n and δc_{n-1}. Only this chain is
// sequential. δW = δzᵀ·x, δR = δzᵀ·h, δb = Σ δz and δx = δz·W are left to rnn_layer_gradients, as products over all
// rows of the pass, which run at the multiply-add peak. To that end δz overwrites the activations in the tape.
#pragma once

#include <cstddef>

#include "passes/rnn_backward_memory.h"
#include "passes/rnn_pass.h"
#include "passes/time_block.h"
#include "threads/engine.h"
#include "threads/shared_loops.h"

namespace cudnn_rnn {

template <typename T>
class PseudoLayerBackward {
 public:
  // `copies`: the calling thread's (BackwardMemory).
  PseudoLayerBackward(const Engine<T>& engine, const BackwardPass<T>& pass, int pseudo_layer,
                      const BackwardMemory<T>& memory, RowsCopy* copies);

  // The steps of a time block, from the gradient of the layer's output [T,B,D·C], null for zeros. Leaves the gradients
  // of the pre-activations in z. Blocks come from the last to the first; the last call gives the gradients of the
  // initial states. Every thread must call this.
  void RunSteps(SharedLoops::Member* member, const TimeBlock& time_block, const T* d_output) const;

 private:
  // Rows of the batch, and columns of h or units.
  struct Part {
    ptrdiff_t row;
    ptrdiff_t rows;
    ptrdiff_t first;
    ptrdiff_t last;
  };

  // Calls body(part) for parts of B rows by `width` columns that cover `columns`. Every thread must call this.
  template <typename Body>
  void RunParts(SharedLoops::Member* member, ptrdiff_t n, ptrdiff_t columns, ptrdiff_t width, const Body& body) const;

  void Start(SharedLoops::Member* member) const;
  void Finish(SharedLoops::Member* member, ptrdiff_t h_width) const;
  // The copy of dz of a part in a product that rounds, and the number of its contents.
  void PointAtCopy(ptrdiff_t n, const Part& part, bool projects, typename TransposedMatrix<T>::Product* product) const;
  // One stage of a step each, for the rows and columns of a part. A part reads dz of all panels of step n+1 and writes
  // its own columns of dh, so parts of one step are independent.
  void HiddenGradient(ptrdiff_t n, const Part& part) const;
  void AddOutputGradients(ptrdiff_t n, const T* d_output, const Part& part) const;
  void KeepProjected(ptrdiff_t n, const Part& part) const;
  void UnprojectedGradient(ptrdiff_t n, const Part& part) const;
  void CellPanels(ptrdiff_t n, const Part& part) const;
  void PackedCells(ptrdiff_t n, const Part& part, ptrdiff_t first, const CellBackward<T>& all) const;
  void ZeroUnused(ptrdiff_t n, const Part& part, ptrdiff_t first, const CellBackward<T>& step) const;
  void AddFinalCellGradients(ptrdiff_t n, const Part& part) const;
  void FinishHidden(const Part& part) const;
  void FinishCells() const;
  void ZeroPastEnd() const;

  const Engine<T>& engine_;
  const BackwardPass<T>& pass_;
  const Network<T>& network_;
  const int pseudo_layer_;
  const LayerLayout& layout_;
  const LayerRecord<T>& record_;
  const LaneMemory<T>& memory_;
  // Transposed views of the forward's matrices.
  const PseudoLayerMatrices<T>& matrices_;
  RowsCopy* const copies_;
  const ptrdiff_t time_;
  const ptrdiff_t batch_;
  const TimeOrder order_;
};

}  // namespace cudnn_rnn
