// Fills the tables of kernels.h for the vectors of the vector_*.h included before.
#pragma once

#include "kernels/activations.h"
#include "kernels/cell_kernels.h"
#include "kernels/ctc_kernels.h"
#include "kernels/kernels.h"
#include "kernels/lstm_row_kernels.h"
#include "kernels/product_kernels.h"
#include "kernels/rounded_rows.h"
#include "kernels/row_step_kernels.h"
#include "kernels/streamed_kernels.h"
#include "kernels/transposed_kernels.h"

namespace {

using namespace cudnn_rnn;

// Activations of whole arrays, for dense layers. The recurrent cells apply the same functions in registers.
// count is a multiple of a chunk; x and y may be the same array.
template <typename V>
static void MapSigmoid(const typename V::Element* x, typename V::Element* y, ptrdiff_t count) {
  for (ptrdiff_t k = 0; k < count; k += V::kLanes) Sigmoid(V::Load(x + k)).Store(y + k);
}

// The same loop for tanh; both are within the error bounds of docs/numerics.md.
template <typename V>
static void MapTanh(const typename V::Element* x, typename V::Element* y, ptrdiff_t count) {
  for (ptrdiff_t k = 0; k < count; k += V::kLanes) Tanh(V::Load(x + k)).Store(y + k);
}

// One pass for the exponentials and their sum: a softmax is bound by memory for many classes. `offset` is the maximum
// of x, so no exponential exceeds 1.
template <typename V>
static typename V::Element ExpSum(const typename V::Element* x, typename V::Element offset, typename V::Element* y,
                                  ptrdiff_t count) {
  V sum = V::Set(0);
  for (ptrdiff_t k = 0; k < count; k += V::kLanes) {
    const V exponential = Exp(V::Load(x + k) - V::Set(offset));
    exponential.Store(y + k);
    sum = sum + exponential;
  }
  return Sum(sum);
}

// bfloat16 and int8 weights are widened to float32 in registers: they halve and quarter the bytes that a step reads,
// which bound it, not its arithmetic.
// The formats of an inference's weights exist in float32 only.
template <typename V>
static constexpr void (*Bfloat16Product())(const PanelProduct<typename V::Element>&) {
  if constexpr (sizeof(typename V::Element) == 4) {
    return Product<V, Bfloat16Pair, Operands::kRows>;
  } else {
    return nullptr;
  }
}

// WebAssembly has another kernel for int8 weights, and none that rounds rows.
template <typename V>
static constexpr void (*Int8Product())(const PanelProduct<typename V::Element>&) {
#if !defined(__wasm__)
  if constexpr (sizeof(typename V::Element) == 4) return WidenedInt8Product<V>;
#endif
  return nullptr;
}

template <typename V>
static constexpr Bfloat16Products<typename V::Element> RoundedProducts() {
#if !defined(__wasm__)
  if constexpr (sizeof(typename V::Element) == 4) {
    return {RoundedBfloat16Product<V, Bfloat16Pair>, CopyRoundedColumns<1>, RoundPairs, RoundTransposedPairs,
            RoundedBfloat16Product<V, float>};
  }
#endif
  return {};
}

template <typename V, typename Activation>
static constexpr CellKernels<typename V::Element> PlainKernels() {
  return {PlainForward<V, Activation>, RowKernel<V>(PlainRowRecurrence<V, Activation>), nullptr,
          PlainBackward<V, Activation>};
}

// The rate of a single row, which MembersFor uses, is the rate of reading weights: 100 GB/s from a second-level cache
// are 25 float32 multiply-adds a nanosecond, 50 operations. float64 moves half the elements in as many bytes.
// product_int8 is another function if the instruction set multiplies integers, and `bfloat16` others if it multiplies
// bfloat16.
template <typename V, typename T = typename V::Element>
static constexpr KernelTable<T> TableOf(double float32_operations_per_ns,
                                        void (*product_int8)(const PanelProduct<T>&) = Int8Product<V>(),
                                        const Bfloat16Products<T>& bfloat16 = RoundedProducts<V>()) {
  return {
      float32_operations_per_ns * 4 / sizeof(T),
      V::kPanelOrder,
      kPackedRows<V>,
      V::kCopyTileRows > 0,
      Product<V, T, Operands::kRows>,
      Bfloat16Product<V>(),
      product_int8,
      bfloat16,
      Product<V, T, Operands::kGradient>,
      Streamed<V>,
      Transposed<V>,
      {{LstmForward<V>, RowKernel<V>(LstmRowRecurrence<V>), RowKernel<V>(RowStepOf<V, 4, 0>), LstmBackward<V>},
       {GruForward<V>, RowKernel<V>(GruRowRecurrence<V>), RowKernel<V>(RowStepOf<V, 3, 1>), GruBackward<V>},
       PlainKernels<V, Relu>(),
       PlainKernels<V, HyperbolicTangent>()},
      LstmRowForwardOf<V>,
      LstmRowBackwardOf<V>,
      ColumnSums<V>,
      MapSigmoid<V>,
      MapTanh<V>,
      ExpSum<V>,
  };
}

}  // namespace
