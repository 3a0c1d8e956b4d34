#include <algorithm>

#include "dense/ctc_loss.h"
#include "dense/dense_ops.h"
#include "dense/operations.h"
#include "module.h"

namespace cudnn_rnn {

// c [rows, columns] += a [rows, depth] · b [depth, columns]; strides in elements
CUDNN_RNN_EXPORT(addProduct)
void AddProductOf(Element* c, ptrdiff_t c_stride, const Element* a, ptrdiff_t a_row_stride, ptrdiff_t a_column_stride,
                  const Element* b, ptrdiff_t b_row_stride, ptrdiff_t b_column_stride, ptrdiff_t rows,
                  ptrdiff_t columns, ptrdiff_t depth) {
  AddProduct<Element>(TheEngine(), {a, a_row_stride, a_column_stride}, {b, b_row_stride, b_column_stride}, c, c_stride,
                      rows, depth, columns);
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

// Operands and numbers of the operations: KERNEL_OPERATIONS in packages/ops/src/executor/kernels/kernel_boundary.ts.
// count: elements of the first operand. Absent operands and integers are null.
CUDNN_RNN_EXPORT(run)
void Run(int operation, ptrdiff_t count, void* const* operands, const int32_t* integers, const double* numbers) {
  OperationOperands<Element> on{};
  for (size_t k = 0; k < kMaxOperands; k++) on.data[k] = static_cast<Element*>(operands[k]);
  on.count = count;
  on.integers = integers;
  std::copy_n(numbers, kMaxNumbers, on.numbers);
  RunOperation(TheEngine(), static_cast<Operation>(operation), on);
}

}  // namespace cudnn_rnn
