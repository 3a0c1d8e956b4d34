// The layers around a recurrent network. The conventions are dense.cu's, which precedes this file in the
// compiled source. Equations: packages/reference/src/layer_ops.ts. Sequences are [T,B,E]; `lengths` is null if every
// row has T steps.

// ---- activations ----------------------------------------------------------------------------------------------------

// The order of ACTIVATIONS in packages/ops; softmax has its own kernels.
enum { TANH, SIGMOID, RELU, ELU, SOFTPLUS };

static __device__ REAL sigmoid_of(REAL x) { return 1 / (1 + exp(-x)); }

// y = f(x)
extern "C" __global__ void activate(REAL* y, const REAL* x, Index count, Index activation) {
  EACH(k, count) {
    REAL value = x[k];
    switch (activation) {
      case TANH: value = tanh(value); break;
      case SIGMOID: value = sigmoid_of(value); break;
      case RELU: value = value < 0 ? (REAL)0 : value; break;
      case ELU: value = value < 0 ? expm1(value) : value; break;
      case SOFTPLUS: value = (value > 0 ? value : (REAL)0) + log1p(exp(value > 0 ? -value : value)); break;
    }
    y[k] = value;
  }
}

// dx = dy·f', from the result y
extern "C" __global__ void activation_gradient(REAL* dx, const REAL* y, const REAL* dy, Index count, Index activation) {
  EACH(k, count) {
    REAL value = y[k], slope = 1;
    switch (activation) {
      case TANH: slope = 1 - value * value; break;
      case SIGMOID: slope = value * (1 - value); break;
      case RELU: slope = value > 0 ? (REAL)1 : (REAL)0; break;
      case ELU: slope = value < 0 ? value + 1 : (REAL)1; break;
      case SOFTPLUS: slope = -expm1(-value); break;
    }
    dx[k] = dy[k] * slope;
  }
}

// y = min(max(x, 0), maximum); NaN stays NaN
extern "C" __global__ void bounded_relu(REAL* y, const REAL* x, Index count, REAL maximum, const REAL* live) {
  if (live) maximum = live[0];
  EACH(k, count) y[k] = x[k] < 0 ? (REAL)0 : x[k] > maximum ? maximum : x[k];
}

// dx = dy if 0 < y < maximum, else 0
extern "C" __global__ void bounded_relu_gradient(REAL* dx, const REAL* y, const REAL* dy, Index count, REAL maximum,
                                                 const REAL* live) {
  if (live) maximum = live[0];
  EACH(k, count) dx[k] = y[k] > 0 && y[k] < maximum ? dy[k] : (REAL)0;
}

// y = softmax of `count` elements that stand `stride` apart. Every thread of the block calls it.
static __device__ void softmax_line(REAL* y, const REAL* x, Index stride, Index count) {
  if (count == 0) return;
  REAL maximum = x[0];
  for (Index k = threadIdx.x; k < count; k += BLOCK) maximum = x[k * stride] > maximum ? x[k * stride] : maximum;
  maximum = block_max(maximum);
  double sum = 0;
  for (Index k = threadIdx.x; k < count; k += BLOCK) sum += (double)exp(x[k * stride] - maximum);
  double scale = 1 / block_sum(sum);
  for (Index k = threadIdx.x; k < count; k += BLOCK) y[k * stride] = (REAL)((double)exp(x[k * stride] - maximum) * scale);
}

// dx = y·(dy - Σ y·dy). Every thread of the block calls it.
static __device__ void softmax_line_gradient(REAL* dx, const REAL* y, const REAL* dy, Index stride, Index count) {
  double overlap = 0;
  for (Index k = threadIdx.x; k < count; k += BLOCK) overlap += (double)y[k * stride] * dy[k * stride];
  overlap = block_sum(overlap);
  for (Index k = threadIdx.x; k < count; k += BLOCK) dx[k * stride] = (REAL)(y[k * stride] * (dy[k * stride] - overlap));
}

// One block per row.
extern "C" __global__ void softmax_rows(REAL* y, const REAL* x, Index columns) {
  Index begin = (Index)blockIdx.x * columns;
  softmax_line(y + begin, x + begin, 1, columns);
}

// One block per row.
extern "C" __global__ void softmax_rows_gradient(REAL* dx, const REAL* y, const REAL* dy, Index columns) {
  Index begin = (Index)blockIdx.x * columns;
  softmax_line_gradient(dx + begin, y + begin, dy + begin, 1, columns);
}

// ---- dropout --------------------------------------------------------------------------------------------------------

static __device__ unsigned philox_word(Index position, unsigned key0, unsigned key1, unsigned x2, unsigned x3) {
  unsigned x0 = (unsigned)(position / 4), x1 = (unsigned)((unsigned long long)(position / 4) >> 32);
  for (int round = 0; round < 10; round++) {
    unsigned long long product0 = 0xd2511f53ull * x0, product1 = 0xcd9e8d57ull * x2;
    x0 = (unsigned)(product1 >> 32) ^ x1 ^ key0;
    x1 = (unsigned)product1;
    x2 = (unsigned)(product0 >> 32) ^ x3 ^ key1;
    x3 = (unsigned)product0;
    key0 += 0x9e3779b9u;
    key1 += 0xbb67ae85u;
  }
  switch (position % 4) {
    case 0: return x0;
    case 1: return x1;
    case 2: return x2;
    default: return x3;
  }
}

// y = x·mask: DropoutMask in packages/ops. The number of the mask comes in two halves that REAL holds exactly.
extern "C" __global__ void dropout(REAL* y, const REAL* x, Index count, Index seedLow, Index seedHigh, Index threshold,
                                   REAL kept, REAL drawLow, REAL drawHigh, const REAL* live) {
  if (live) kept = live[0], drawLow = live[1], drawHigh = live[2];
  unsigned x2 = (unsigned)drawLow, x3 = (1u << 25) + (unsigned)drawHigh;
  EACH(k, count) {
    unsigned word = philox_word(k, (unsigned)seedLow, (unsigned)seedHigh, x2, x3);
    y[k] = (Index)(word >> 8) < threshold ? (REAL)0 : x[k] * kept;
  }
}

// Numbers in 0..1, or of the standard normal distribution (Box and Muller): drawnBy in packages/ops.
extern "C" __global__ void random_numbers(REAL* y, Index count, Index isNormal, Index seedLow, Index seedHigh,
                                          REAL drawLow, REAL drawHigh, const REAL* live) {
  if (live) drawLow = live[0], drawHigh = live[1];
  unsigned x2 = (unsigned)drawLow, x3 = (1u << 26) + (unsigned)drawHigh;
  EACH(k, count) {
    if (!isNormal) {
      y[k] = (REAL)((philox_word(k, (unsigned)seedLow, (unsigned)seedHigh, x2, x3) >> 8) * 0x1p-24);
      continue;
    }
    Index first = k / 2 * 2;
    double radius = (philox_word(first, (unsigned)seedLow, (unsigned)seedHigh, x2, x3) >> 8) * 0x1p-24;
    double angle = (philox_word(first + 1, (unsigned)seedLow, (unsigned)seedHigh, x2, x3) >> 8) * 0x1p-24;
    angle *= 6.283185307179586;
    y[k] = (REAL)(sqrt(-2 * log(1 - radius)) * (k == first ? cos(angle) : sin(angle)));
  }
}

// ---- layer normalization --------------------------------------------------------------------------------------------

// The mean of a row, and one over the root of its variance, to every thread of the block.
static __device__ void moments(const REAL* x, Index columns, double epsilon, double* mean, double* scale) {
  double sum = 0, squares = 0;
  for (Index k = threadIdx.x; k < columns; k += BLOCK) sum += (double)x[k];
  *mean = block_sum(sum) / (double)columns;
  for (Index k = threadIdx.x; k < columns; k += BLOCK) squares += ((double)x[k] - *mean) * ((double)x[k] - *mean);
  *scale = 1 / sqrt(block_sum(squares) / (double)columns + epsilon);
}

// One block per row.
extern "C" __global__ void layer_norm(REAL* y, const REAL* x, const REAL* gamma, const REAL* beta, Index columns,
                                      REAL epsilon, const REAL* live) {
  if (live) epsilon = live[0];
  Index begin = (Index)blockIdx.x * columns;
  double mean, scale;
  moments(x + begin, columns, (double)epsilon, &mean, &scale);
  for (Index k = threadIdx.x; k < columns; k += BLOCK) {
    y[begin + k] = (REAL)(((double)x[begin + k] - mean) * scale * gamma[k] + beta[k]);
  }
}

// dx, and normalized·dy, whose sums over the rows are gamma's gradient. One block per row.
extern "C" __global__ void layer_norm_gradient(REAL* dx, REAL* dgammaRows, const REAL* x, const REAL* gamma,
                                               const REAL* dy, Index columns, REAL epsilon, const REAL* live) {
  if (live) epsilon = live[0];
  Index begin = (Index)blockIdx.x * columns;
  double mean, scale, sum = 0, overlap = 0;
  moments(x + begin, columns, (double)epsilon, &mean, &scale);
  for (Index k = threadIdx.x; k < columns; k += BLOCK) {
    double z = ((double)x[begin + k] - mean) * scale, g = (double)gamma[k] * dy[begin + k];
    sum += g;
    overlap += g * z;
    dgammaRows[begin + k] = (REAL)(z * dy[begin + k]);
  }
  sum = block_sum(sum) / (double)columns;
  overlap = block_sum(overlap) / (double)columns;
  for (Index k = threadIdx.x; k < columns; k += BLOCK) {
    double z = ((double)x[begin + k] - mean) * scale, g = (double)gamma[k] * dy[begin + k];
    dx[begin + k] = (REAL)(scale * (g - sum - z * overlap));
  }
}

// ---- sequences ------------------------------------------------------------------------------------------------------

static __device__ Index length_of(const int* lengths, Index row, Index time) {
  if (!lengths) return time;
  Index length = lengths[row];
  return length < 0 ? 0 : length > time ? time : length;
}

// y[t,b] = x[t,b], or x[length-1-t,b] if it `reverses`, within a row's length, else 0.
extern "C" __global__ void reverse_sequence(REAL* y, const REAL* x, const int* lengths, Index count, Index time,
                                            Index batch, Index columns, Index reverses) {
  EACH(k, count) {
    Index t = k / (batch * columns), b = k / columns % batch, length = length_of(lengths, b, time);
    Index from = reverses ? length - 1 - t : t;
    y[k] = t < length ? x[(from * batch + b) * columns + k % columns] : (REAL)0;
  }
}

// The order of POOLINGS.
enum { LAST, MEAN, MAX };

// The step that LAST or MAX takes: of equal ones the first, and of NaN the first.
static __device__ Index chosen_step(const REAL* x, Index stride, Index length, Index pooling, bool isReversed) {
  if (pooling == LAST) return isReversed ? 0 : length - 1;
  Index chosen = 0;
  REAL best = x[0];
  for (Index t = 1; t < length; t++) {
    REAL value = x[t * stride];
    if (value > best || (value != value && best == best)) chosen = t, best = value;
  }
  return chosen;
}

// y [B,E] from x [T,B,E]; count = B·E.
extern "C" __global__ void pool_sequence(REAL* y, const REAL* x, const int* lengths, Index count, Index time,
                                         Index columns, Index pooling, Index reversedFrom) {
  EACH(k, count) {
    Index length = length_of(lengths, k / columns, time);
    REAL value = 0;
    if (length > 0 && pooling == MEAN) {
      double sum = 0;
      for (Index t = 0; t < length; t++) sum += (double)x[t * count + k];
      value = (REAL)(sum / (double)length);
    } else if (length > 0) {
      value = x[chosen_step(x + k, count, length, pooling, k % columns >= reversedFrom) * count + k];
    }
    y[k] = value;
  }
}

// dx [T,B,E] from dy [B,E]; count = B·E.
extern "C" __global__ void pool_sequence_gradient(REAL* dx, const REAL* x, const int* lengths, const REAL* dy,
                                                  Index count, Index time, Index columns, Index pooling,
                                                  Index reversedFrom) {
  EACH(k, count) {
    Index length = length_of(lengths, k / columns, time), chosen = -1;
    if (length > 0 && pooling != MEAN) {
      chosen = chosen_step(x + k, count, length, pooling, k % columns >= reversedFrom);
    }
    for (Index t = 0; t < time; t++) {
      REAL share = pooling == MEAN ? (t < length ? dy[k] / (REAL)length : (REAL)0) : t == chosen ? dy[k] : (REAL)0;
      dx[t * count + k] = share;
    }
  }
}

// ---- attention ------------------------------------------------------------------------------------------------------

// weights [T,B] = softmax of the scores over a row's steps, 0 past its length. One block per row of the batch.
extern "C" __global__ void attention_weights(REAL* weights, const REAL* scores, const int* lengths, Index time,
                                             Index batch) {
  Index b = blockIdx.x, length = length_of(lengths, b, time);
  softmax_line(weights + b, scores + b, batch, length);
  for (Index t = length + threadIdx.x; t < time; t += BLOCK) weights[t * batch + b] = 0;
}

// output [B,E] = Σ_t weights[t,b]·x[t,b]; count = B·E. Elements of x without a weight may hold any value, NaN included.
extern "C" __global__ void attend(REAL* output, const REAL* x, const REAL* weights, const int* lengths, Index count,
                                  Index time, Index batch, Index columns) {
  EACH(k, count) {
    Index b = k / columns, length = length_of(lengths, b, time);
    REAL sum = 0;
    for (Index t = 0; t < length; t++) sum += weights[t * batch + b] * x[t * count + k];
    output[k] = sum;
  }
}

// dx[t,b] = weights[t,b]·dy[b]; count = T·B·E.
extern "C" __global__ void attention_input_gradient(REAL* dx, const REAL* weights, const REAL* dy, Index count,
                                                    Index batch, Index columns) {
  EACH(k, count) dx[k] = weights[k / columns] * dy[k % (batch * columns)];
}

// dweights[t,b] = Σ_e x[t,b,e]·dy[b,e], 0 without a weight: x may hold any value there. One block per step of a row.
extern "C" __global__ void attention_weight_gradient(REAL* dweights, const REAL* x, const REAL* weights, const REAL* dy,
                                                     Index batch, Index columns) {
  Index n = blockIdx.x, b = n % batch;
  double sum = 0;
  Index count = weights[n] == 0 ? 0 : columns;
  for (Index k = threadIdx.x; k < count; k += BLOCK) sum += (double)x[n * columns + k] * dy[b * columns + k];
  sum = block_sum(sum);
  if (threadIdx.x == 0) dweights[n] = (REAL)sum;
}

// The gradient of the scores [T,B]. One block per row of the batch.
extern "C" __global__ void attention_score_gradient(REAL* dscores, const REAL* weights, const REAL* dweights, Index time,
                                                    Index batch) {
  Index b = blockIdx.x;
  softmax_line_gradient(dscores + b, weights + b, dweights + b, batch, time);
}

// ---- phased gates ---------------------------------------------------------------------------------------------------

// The gate of one unit at one time. Equations: packages/cells/src/graph/time_gate.ts. In float64, so that the branch is the
// host's.
struct PhasedGate {
  double remainder, phi, ratio;
  __device__ PhasedGate(REAL time, REAL period, REAL phase, REAL ratioOn) : ratio(ratioOn) {
    double shifted = (double)time - phase;
    remainder = shifted - period * floor(shifted / period);
    phi = remainder / period;
  }
  __device__ double open(REAL leak) const {
    return phi < ratio / 2 ? 2 * phi / ratio : phi < ratio ? 2 - 2 * phi / ratio : leak * phi;
  }
  __device__ double slope(REAL leak) const { return phi < ratio / 2 ? 2 / ratio : phi < ratio ? -2 / ratio : leak; }
};

// open [B,U] from times [B] and the variables [U]; count = B·U.
extern "C" __global__ void phased_gate(REAL* open, const REAL* times, const REAL* period, const REAL* phase,
                                       const REAL* ratioOn, Index count, Index units, REAL leak, const REAL* live) {
  if (live) leak = live[0];
  EACH(k, count) {
    Index u = k % units;
    open[k] = (REAL)PhasedGate(times[k / units], period[u], phase[u], ratioOn[u]).open(leak);
  }
}

// The gradients of the variables [U]: sums over the rows, in their order.
extern "C" __global__ void phased_gate_gradients(REAL* dperiod, REAL* dphase, REAL* dratioOn, const REAL* times,
                                                 const REAL* period, const REAL* phase, const REAL* ratioOn,
                                                 const REAL* dopen, Index batch, Index units, REAL leak,
                                                 const REAL* live) {
  if (live) leak = live[0];
  EACH(u, units) {
    double byPeriod = 0, byPhase = 0, byRatio = 0, tau = period[u];
    for (Index b = 0; b < batch; b++) {
      PhasedGate gate(times[b], period[u], phase[u], ratioOn[u]);
      double dphi = dopen[b * units + u] * gate.slope(leak);
      byPhase -= dphi / tau;
      byPeriod -= dphi * gate.remainder / (tau * tau);
      if (gate.phi < gate.ratio) byRatio -= dphi * gate.phi / gate.ratio;
    }
    dperiod[u] = (REAL)byPeriod;
    dphase[u] = (REAL)byPhase;
    dratioOn[u] = (REAL)byRatio;
  }
}

// dtimes[b], the sum over the units.
extern "C" __global__ void phased_gate_time_gradient(REAL* dtimes, const REAL* times, const REAL* period,
                                                     const REAL* phase, const REAL* ratioOn, const REAL* dopen,
                                                     Index batch, Index units, REAL leak, const REAL* live) {
  if (live) leak = live[0];
  EACH(b, batch) {
    double sum = 0;
    for (Index u = 0; u < units; u++) {
      sum += dopen[b * units + u] * PhasedGate(times[b], period[u], phase[u], ratioOn[u]).slope(leak) / period[u];
    }
    dtimes[b] = (REAL)sum;
  }
}

// ---- losses ---------------------------------------------------------------------------------------------------------

// The order of ELEMENT_LOSSES.
enum { SQUARED_ERROR, ABSOLUTE_ERROR, SIGMOID_CROSS_ENTROPY };

// One block per row: rowLosses[n] = w·Σ_o l(p,y), gradient = w·l'(p,y), with w = weights[n]/(total·columns)
// (1/(rows·columns) without weights; 0 if total is 0). loss = Σ rowLosses.
extern "C" __global__ void element_loss(REAL* gradient, REAL* loss, double* rowLosses, const REAL* predictions,
                                        const REAL* targets, const REAL* weights, const double* total, Index rows,
                                        Index columns, Index rule) {
  Index n = blockIdx.x;
  double sumOfWeights = weights ? *total : (double)rows, sum = 0;
  double weight = sumOfWeights == 0 ? 0 : (weights ? (double)weights[n] : 1.0) / sumOfWeights / (double)columns;
  for (Index k = n * columns + threadIdx.x; k < (n + 1) * columns; k += BLOCK) {
    double p = predictions[k], y = targets[k], value = 0, slope = 0;
    switch (rule) {
      case SQUARED_ERROR: value = (p - y) * (p - y), slope = 2 * (p - y); break;
      case ABSOLUTE_ERROR: value = p > y ? p - y : y - p, slope = p > y ? 1 : p < y ? -1 : p - y; break;
      case SIGMOID_CROSS_ENTROPY:
        value = (p > 0 ? p : 0) - p * y + log1p(exp(p > 0 ? -p : p));
        slope = 1 / (1 + exp(-p)) - y;
        break;
    }
    // An element of weight 0 may hold any value, and 0·NaN is NaN.
    gradient[k] = weight == 0 ? (REAL)0 : (REAL)(weight * slope);
    if (weight != 0) sum += weight * value;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) rowLosses[n] = sum;
  if (sum_in_last_block(&sum, rowLosses, rows)) *loss = (REAL)sum;
}
