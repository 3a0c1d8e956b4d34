#include <algorithm>

#include "dense/ctc_loss.h"
#include "dense/dense_ops.h"
#include "dense/layer_ops.h"
#include "dense/optimizer_updates.h"
#include "module.h"

namespace cudnn_rnn {

// Shapes: dense/dense_ops.h.
CUDNN_RNN_EXPORT(linear)
void Linear(const void* input, const void* kernel, const void* bias, void* output, ptrdiff_t rows, ptrdiff_t inputs,
            ptrdiff_t outputs) {
  OfElementType([&]<typename T>() {
    Multiply<T>(EngineOf<T>(), {static_cast<const T*>(input), inputs, 1}, {static_cast<const T*>(kernel), outputs, 1},
                static_cast<const T*>(bias), static_cast<T*>(output), rows, inputs, outputs);
  });
}

CUDNN_RNN_EXPORT(linearGradients)
void LinearGradients(const void* input, const void* kernel, const void* d_output, void* d_input, void* d_kernel,
                     void* d_bias, ptrdiff_t rows, ptrdiff_t inputs, ptrdiff_t outputs) {
  OfElementType([&]<typename T>() {
    const auto* d = static_cast<const T*>(d_output);
    Multiply<T>(EngineOf<T>(), {d, outputs, 1}, {static_cast<const T*>(kernel), 1, outputs}, nullptr,
                static_cast<T*>(d_input), rows, outputs, inputs);
    Multiply<T>(EngineOf<T>(), {static_cast<const T*>(input), 1, inputs}, {d, outputs, 1}, nullptr,
                static_cast<T*>(d_kernel), inputs, rows, outputs);
    SumRows(d, static_cast<T*>(d_bias), rows, outputs);
  });
}

// c [rows, columns] += a [rows, depth] · b [depth, columns]; strides in elements
CUDNN_RNN_EXPORT(addProduct)
void AddProductOf(void* c, ptrdiff_t c_stride, const void* a, ptrdiff_t a_row_stride, ptrdiff_t a_column_stride,
                  const void* b, ptrdiff_t b_row_stride, ptrdiff_t b_column_stride, ptrdiff_t rows, ptrdiff_t columns,
                  ptrdiff_t depth) {
  OfElementType([&]<typename T>() {
    AddProduct<T>(EngineOf<T>(), {static_cast<const T*>(a), a_row_stride, a_column_stride},
                  {static_cast<const T*>(b), b_row_stride, b_column_stride}, static_cast<T*>(c), c_stride, rows, depth,
                  columns);
  });
}

// weights may be null. Returns the loss.
CUDNN_RNN_EXPORT(softmaxCrossEntropy)
double SoftmaxCrossEntropyOf(const void* logits, const int32_t* labels, const void* weights, void* gradient,
                             ptrdiff_t rows, ptrdiff_t classes) {
  return OfElementType([&]<typename T>() -> double {
    return SoftmaxCrossEntropy<T>(EngineOf<T>(), static_cast<const T*>(logits), labels, static_cast<const T*>(weights),
                                  static_cast<T*>(gradient), rows, classes);
  });
}

// sizes: time, batch, classes, most labels, blank, whether repeated labels are merged, infeasible rows. Returns the
// loss.
CUDNN_RNN_EXPORT(ctcLoss)
double CtcLossOf(const double* sizes, const void* logits, const int32_t* labels, const int32_t* label_lengths,
                 const int32_t* logit_lengths, const double* row_weights, void* row_losses, void* gradient) {
  return OfElementType([&]<typename T>() -> double {
    CtcProblem<T> problem{};
    problem.time = static_cast<ptrdiff_t>(sizes[0]);
    problem.batch = static_cast<ptrdiff_t>(sizes[1]);
    problem.classes = static_cast<ptrdiff_t>(sizes[2]);
    problem.max_labels = static_cast<ptrdiff_t>(sizes[3]);
    problem.blank = static_cast<int32_t>(sizes[4]);
    problem.merge_repeated = sizes[5] != 0;
    problem.infeasible = static_cast<InfeasibleRows>(static_cast<int>(sizes[6]));
    problem.logits = static_cast<const T*>(logits);
    problem.labels = labels;
    problem.label_lengths = label_lengths;
    problem.logit_lengths = logit_lengths;
    problem.row_weights = row_weights;
    problem.row_losses = static_cast<T*>(row_losses);
    problem.gradient = static_cast<T*>(gradient);
    return CtcLoss(EngineOf<T>(), kWasmCtcKernels, problem);
  });
}

// Operands and numbers of the rules: UPDATE_RULES in packages/ops/src/executor/kernels/kernel_boundary.ts. All operands
// have `count` elements; absent ones are null.
CUDNN_RNN_EXPORT(update) void Update(int rule, ptrdiff_t count, void* const* operands, const double* numbers) {
  OfElementType([&]<typename T>() {
    UpdateOperands<T> of{};
    for (size_t k = 0; k < kMaxOperands; k++) of.data[k] = static_cast<T*>(operands[k]);
    std::copy_n(numbers, kMaxNumbers, of.numbers);
    ApplyUpdate(static_cast<UpdateRule>(rule), of, 0, count);
  });
}

// Operands and numbers of the operations: LAYER_OPS in the same file. lengths may be null.
CUDNN_RNN_EXPORT(layer) void Layer(int op, void* const* operands, const int32_t* lengths, const double* numbers) {
  OfElementType([&]<typename T>() {
    LayerOperands<T> of{};
    for (size_t k = 0; k < kMaxLayerOperands; k++) of.data[k] = static_cast<T*>(operands[k]);
    of.lengths = lengths;
    std::copy_n(numbers, kMaxLayerNumbers, of.numbers);
    RunLayerOp(EngineOf<T>(), static_cast<LayerOp>(op), of);
  });
}

}  // namespace cudnn_rnn
