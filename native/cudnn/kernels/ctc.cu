// The kernels before and after cudnnCTCLoss_v8. The conventions are dense.cu's, which precedes this file in the
// same source. cuDNN's blank is class 0, so classes move: the blank comes first, the others keep their order. Logits
// are [T,B,K]; a row has `lengths[row]` steps.

// marks = NaN for a row that has a frame without a softmax: with NaN or +infinity, or of nothing but -infinity; 0 for
// the others. Added to the results of a row. One block.
extern "C" __global__ void ctc_marks(REAL* marks, const REAL* x, const int* lengths, Index batch, Index classes) {
  for (Index row = 0; row < batch; row++) {
    double sum = 0;
    for (Index step = threadIdx.x; step < lengths[row]; step += BLOCK) {
      const REAL* frame = x + (step * batch + row) * classes;
      REAL most = frame[0];
      for (Index k = 1; k < classes; k++) most = frame[k] > most || frame[k] != frame[k] ? frame[k] : most;
      sum += most - most;
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) marks[row] = (REAL)sum;
    __syncthreads();
  }
}

// y = x with the blank first; 0 in marked rows and past a row's length, where logits may be anything. `count` is T·B·K.
extern "C" __global__ void ctc_activations(REAL* y, const REAL* x, const int* lengths, const REAL* marks, Index count,
                                           Index batch, Index classes, Index blank) {
  EACH(k, count) {
    Index column = k % classes, row = k / classes % batch, step = k / classes / batch;
    Index from = column == 0 ? blank : column <= blank ? column - 1 : column;
    y[k] = step < lengths[row] && marks[row] == 0 ? x[k - column + from] : (REAL)0;
  }
}

// The gradient of a row of cost infinity: INFEASIBLE_ROWS of packages/ops.
#define CTC_INFINITE 0
#define CTC_NAN 1
#define CTC_ZERO 2

static __device__ bool is_infinite(REAL x) { return x == x && x - x != 0; }

static __device__ REAL softmax_at(const REAL* x, Index at, Index classes) {
  REAL most = x[0];
  double sum = 0;
  for (Index k = 1; k < classes; k++) most = x[k] > most ? x[k] : most;
  for (Index k = 0; k < classes; k++) sum += exp((double)x[k] - most);
  return (REAL)(exp((double)x[at] - most) / sum);
}

// gradient = weights·rows with the blank where it was; 0 past a row's length and in rows of weight 0. `count` is T·B·K.
extern "C" __global__ void ctc_gradient(REAL* gradient, const REAL* rows, const REAL* x, const REAL* costs,
                                        const REAL* marks, const REAL* weights, const int* lengths, Index count,
                                        Index batch, Index classes, Index blank, Index infeasible) {
  EACH(k, count) {
    Index column = k % classes, row = k / classes % batch, step = k / classes / batch;
    Index from = column == blank ? 0 : column < blank ? column + 1 : column;
    REAL weight = weights[row];
    if (weight == 0 || step >= lengths[row]) {
      gradient[k] = 0;
    } else if (!is_infinite(costs[row])) {
      gradient[k] = weight * (rows[k - column + from] + marks[row]);
    } else if (infeasible == CTC_INFINITE) {
      gradient[k] = weight * softmax_at(x + k - column, column, classes);
    } else {
      gradient[k] = infeasible == CTC_ZERO ? (REAL)0 : costs[row] - costs[row];
    }
  }
}

// rowLosses = costs, 0 in rows of weight 0 and where infinity counts as 0; loss = sum of weights·rowLosses. One block.
// A cost of -0, of labels that are certain, becomes 0 by the addition of the mark.
extern "C" __global__ void ctc_row_losses(REAL* loss, REAL* rowLosses, const REAL* costs, const REAL* marks,
                                          const REAL* weights, Index count, Index infeasible) {
  double sum = 0;
  for (Index k = threadIdx.x; k < count; k += BLOCK) {
    bool is_dropped = weights[k] == 0 || (infeasible == CTC_ZERO && is_infinite(costs[k]));
    REAL cost = is_dropped ? (REAL)0 : costs[k] + marks[k];
    rowLosses[k] = cost;
    sum += (double)weights[k] * cost;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) *loss = (REAL)sum;
}
