// Dense layers, and the rows of an embedding.
#pragma once

#include <algorithm>

#include "dense/dense_ops.h"
#include "dense/operations.h"

namespace cudnn_rnn {

// linear: y, x, kernel, bias; rows, inputs, outputs
// y [N,O] = bias + x [N,I] · kernel [I,O]
template <typename T>
void Linear(const Engine<T>& engine, const OperationOperands<T>& on) {
  const ptrdiff_t rows = on.size(0), inputs = on.size(1), outputs = on.size(2);
  Multiply<T>(engine, {on.data[1], inputs, 1}, {on.data[2], outputs, 1}, on.data[3], on.data[0], rows, inputs, outputs);
}

// linearGradients: dx, dkernel, dbias, x, kernel, dy; rows, inputs, outputs
// dx = dy·kernelᵀ   dkernel = xᵀ·dy   dbias = Σ rows of dy. The transposes are strides, not copies: {kernel, 1,
// outputs} is kernelᵀ.
template <typename T>
void LinearGradients(const Engine<T>& engine, const OperationOperands<T>& on) {
  const ptrdiff_t rows = on.size(0), inputs = on.size(1), outputs = on.size(2);
  const Operand<T> dy{on.data[5], outputs, 1};
  Multiply<T>(engine, dy, {on.data[4], 1, outputs}, nullptr, on.data[0], rows, outputs, inputs);
  Multiply<T>(engine, {on.data[3], 1, inputs}, dy, nullptr, on.data[1], inputs, rows, outputs);
  SumRows(on.data[5], on.data[2], rows, outputs);
}

// embedding: y, table, ids; columns, classes, rows
// y [N,E] = rows of the table [V,E] at ids [N].
template <typename T>
void Embedding(const Engine<T>&, const OperationOperands<T>& on) {
  const ptrdiff_t columns = on.size(0);
  for (ptrdiff_t n = 0; n < on.size(2); n++) {
    std::copy_n(on.data[1] + on.integers[n] * columns, columns, on.data[0] + n * columns);
  }
}

// embeddingGradient: dtable, dy, ids; columns, classes, rows
// Rows of dtable [V,E] at ids += dy [N,E], one after another if an id repeats.
template <typename T>
void EmbeddingGradient(const Engine<T>&, const OperationOperands<T>& on) {
  const ptrdiff_t columns = on.size(0);
  for (ptrdiff_t n = 0; n < on.size(2); n++) {
    T* row = on.data[0] + on.integers[n] * columns;
    for (ptrdiff_t k = 0; k < columns; k++) row[k] += on.data[1][n * columns + k];
  }
}

}  // namespace cudnn_rnn
