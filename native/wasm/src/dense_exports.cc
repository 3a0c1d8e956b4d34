#include <algorithm>

#include "dense/ctc_loss.h"
#include "dense/dense_ops.h"
#include "dense/layer_ops.h"
#include "dense/optimizer_updates.h"
#include "module.h"

namespace cudnn_rnn {

// Shapes: dense/dense_ops.h.
CUDNN_RNN_EXPORT(linear)
void Linear(const Element* input, const Element* kernel, const Element* bias, Element* output, ptrdiff_t rows,
            ptrdiff_t inputs, ptrdiff_t outputs) {
  Multiply<Element>(TheEngine(), {input, inputs, 1}, {kernel, outputs, 1}, bias, output, rows, inputs, outputs);
}

CUDNN_RNN_EXPORT(linearGradients)
void LinearGradients(const Element* input, const Element* kernel, const Element* d_output, Element* d_input,
                     Element* d_kernel, Element* d_bias, ptrdiff_t rows, ptrdiff_t inputs, ptrdiff_t outputs) {
  const Operand<Element> d{d_output, outputs, 1};
  Multiply<Element>(TheEngine(), d, {kernel, 1, outputs}, nullptr, d_input, rows, outputs, inputs);
  Multiply<Element>(TheEngine(), {input, 1, inputs}, d, nullptr, d_kernel, inputs, rows, outputs);
  SumRows(d_output, d_bias, rows, outputs);
}

// c [rows, columns] += a [rows, depth] · b [depth, columns]; strides in elements
CUDNN_RNN_EXPORT(addProduct)
void AddProductOf(Element* c, ptrdiff_t c_stride, const Element* a, ptrdiff_t a_row_stride, ptrdiff_t a_column_stride,
                  const Element* b, ptrdiff_t b_row_stride, ptrdiff_t b_column_stride, ptrdiff_t rows,
                  ptrdiff_t columns, ptrdiff_t depth) {
  AddProduct<Element>(TheEngine(), {a, a_row_stride, a_column_stride}, {b, b_row_stride, b_column_stride}, c, c_stride,
                      rows, depth, columns);
}

// weights may be null. Returns the loss.
CUDNN_RNN_EXPORT(softmaxCrossEntropy)
double SoftmaxCrossEntropyOf(const Element* logits, const int32_t* labels, const Element* weights, Element* gradient,
                             ptrdiff_t rows, ptrdiff_t classes) {
  return SoftmaxCrossEntropy<Element>(TheEngine(), logits, labels, weights, gradient, rows, classes);
}

// sizes: time, batch, classes, most labels, blank, whether repeated labels are merged, infeasible rows. Returns the
// loss.
CUDNN_RNN_EXPORT(ctcLoss)
double CtcLossOf(const double* sizes, const Element* logits, const int32_t* labels, const int32_t* label_lengths,
                 const int32_t* logit_lengths, const double* row_weights, Element* row_losses, Element* gradient) {
  const auto size = [&](int k) { return static_cast<ptrdiff_t>(sizes[k]); };
  const CtcProblem<Element> problem{size(0),       size(1),
                                    size(2),       size(3),
                                    logits,        labels,
                                    label_lengths, logit_lengths,
                                    row_weights,   static_cast<int32_t>(sizes[4]),
                                    sizes[5] != 0, static_cast<InfeasibleRows>(size(6)),
                                    row_losses,    gradient};
  return CtcLoss(TheEngine(), kWasmCtcKernels, problem);
}

// Operands and numbers of the rules: UPDATE_RULES in packages/ops/src/executor/kernels/kernel_boundary.ts. All operands
// have `count` elements; absent ones are null.
CUDNN_RNN_EXPORT(update) void Update(int rule, ptrdiff_t count, void* const* operands, const double* numbers) {
  UpdateOperands<Element> of{};
  for (size_t k = 0; k < kMaxOperands; k++) of.data[k] = static_cast<Element*>(operands[k]);
  std::copy_n(numbers, kMaxNumbers, of.numbers);
  ApplyUpdate(static_cast<UpdateRule>(rule), of, 0, count);
}

// Operands and numbers of the operations: LAYER_OPS in the same file. lengths may be null.
CUDNN_RNN_EXPORT(layer) void Layer(int op, void* const* operands, const int32_t* lengths, const double* numbers) {
  LayerOperands<Element> of{};
  for (size_t k = 0; k < kMaxLayerOperands; k++) of.data[k] = static_cast<Element*>(operands[k]);
  of.lengths = lengths;
  std::copy_n(numbers, kMaxLayerNumbers, of.numbers);
  RunLayerOp(TheEngine(), static_cast<LayerOp>(op), of);
}

}  // namespace cudnn_rnn
