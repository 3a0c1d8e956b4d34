// The kernels before and after cudnnCTCLoss_v8. The conventions are those of dense.cu, which precedes this file in the same
// source. cuDNN's blank is class 0, so classes move: the blank comes first, the others keep their order. Logits are [T,B,K];
// a row has `lengths[row]` steps.

// y = x with the blank first, and 0 past a row's length, where logits may be anything. `count` is T·B·K.
extern "C" __global__ void ctc_activations(REAL* y, const REAL* x, const int* lengths, Index count, Index batch,
                                           Index classes, Index blank) {
  EACH(k, count) {
    Index column = k % classes, row = k / classes % batch, step = k / classes / batch;
    Index from = column == 0 ? blank : column <= blank ? column - 1 : column;
    y[k] = step < lengths[row] ? x[k - column + from] : (REAL)0;
  }
}

// gradient = weights·rows with the blank where it was; 0 past a row's length and in rows of weight 0. `count` is T·B·K.
extern "C" __global__ void ctc_gradient(REAL* gradient, const REAL* rows, const REAL* weights, const int* lengths,
                                        Index count, Index batch, Index classes, Index blank) {
  EACH(k, count) {
    Index column = k % classes, row = k / classes % batch, step = k / classes / batch;
    Index from = column == blank ? 0 : column < blank ? column + 1 : column;
    REAL weight = weights[row];
    gradient[k] = weight == 0 || step >= lengths[row] ? (REAL)0 : weight * rows[k - column + from];
  }
}

// rowLosses = costs, 0 in rows of weight 0; loss = sum of weights·rowLosses. One block. A cost of -0, of labels that are
// certain, becomes 0 by the addition.
extern "C" __global__ void ctc_row_losses(REAL* loss, REAL* rowLosses, const REAL* costs, const REAL* weights,
                                          Index count) {
  double sum = 0;
  for (Index k = threadIdx.x; k < count; k += BLOCK) {
    REAL cost = weights[k] == 0 ? (REAL)0 : costs[k] + (REAL)0;
    rowLosses[k] = cost;
    sum += (double)weights[k] * cost;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) *loss = (REAL)sum;
}
