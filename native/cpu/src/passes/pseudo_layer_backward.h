// Back-propagation through time of one lane: one layer in one direction.
#pragma once

#include <cstddef>

#include "passes/rnn_backward_memory.h"
#include "passes/rnn_pass.h"
#include "threads/engine.h"
#include "threads/shared_loops.h"

namespace cudnn_rnn {

template <typename T>
class PseudoLayerBackward {
 public:
  PseudoLayerBackward(const Engine<T>& engine, const BackwardPass<T>& pass, int pseudo_layer,
                      const BackwardMemory<T>& memory);

  // From the gradient of the layer's output [T,B,D·C], null for zeros, to those of the initial states, and leaves the
  // gradients of the pre-activations in z. Every thread must call this.
  void Run(SharedLoops::Member* member, const T* d_output) const;

 private:
  // Rows of the batch, and columns of h or units.
  struct Part {
    ptrdiff_t row;
    ptrdiff_t rows;
    ptrdiff_t first;
    ptrdiff_t last;
  };

  template <typename Body>
  void RunParts(SharedLoops::Member* member, ptrdiff_t n, ptrdiff_t columns, ptrdiff_t width, const Body& body) const;

  void Start() const;
  void HiddenGradient(ptrdiff_t n, const Part& part) const;
  void AddOutputGradients(ptrdiff_t n, const T* d_output, const Part& part) const;
  void KeepProjected(ptrdiff_t n, const Part& part) const;
  void UnprojectedGradient(ptrdiff_t n, const Part& part) const;
  void CellPanels(ptrdiff_t n, const Part& part) const;
  void ZeroUnused(ptrdiff_t n, const Part& part, ptrdiff_t first, const CellBackward<T>& step) const;
  void AddFinalCellGradients(ptrdiff_t n, const Part& part) const;
  void FinishHidden(const Part& part) const;
  void FinishCells() const;

  const Engine<T>& engine_;
  const BackwardPass<T>& pass_;
  const Network<T>& network_;
  const int pseudo_layer_;
  const LayerLayout& layout_;
  const LayerRecord<T>& record_;
  const DirectionMemory<T>& memory_;
  const PseudoLayerMatrices<T>& matrices_;
  const ptrdiff_t time_;
  const ptrdiff_t batch_;
  const TimeOrder order_;
};

}  // namespace cudnn_rnn
