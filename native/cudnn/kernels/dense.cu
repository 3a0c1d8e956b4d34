// The dense operations of training except matrix products, compiled by NVRTC with -DREAL=float or -DREAL=double.
//
// Conventions: every kernel is one-dimensional in grid and block, takes pointers, `long long` counts and REAL scalars,
// and stays right for any grid (grid-stride loops) unless it says "one block per …". Blocks that reduce have BLOCK
// threads and use static __shared__ memory with __syncthreads(), which every thread of the block reaches. There are no
// warp intrinsics, and one atomic counter, by which a block knows that it ends last: results do not depend on scheduling.
//
// Kernels with REAL scalars take a last pointer, `live`: if it is not null, the scalars are read from there and not
// from the parameters, which are fixed in a graph. Updates take a `guard` before it: if it is not null and not
// finite, they change nothing.

#ifndef BLOCK
#define BLOCK 256
#endif

typedef long long Index;

#define EACH(index, count)                                                                            \
  for (Index index = (Index)blockIdx.x * blockDim.x + threadIdx.x, index##Stride = (Index)gridDim.x * blockDim.x; \
       index < (count); index += index##Stride)

// A launch takes up to four tensors, as launches take most of the time of a small step. Those that it lacks are others of
// its tensors, with a count of 0. Element k of all of them is one thread's, in the order of the tensors.
#define FOUR(type, name) type name##0, type name##1, type name##2, type name##3
#define LIST(name) {name##0, name##1, name##2, name##3}

static __device__ bool stopped(const REAL* guard) { return guard && *guard - *guard != 0; }

// ---- elementwise ----------------------------------------------------------------------------------------------------

extern "C" __global__ void fill(REAL* x, Index count, REAL value, const REAL* live) {
  if (live) value = live[0];
  EACH(k, count) x[k] = value;
}

// rows[n,o] = bias[o]: the operand C of a product with beta = 1.
extern "C" __global__ void broadcast_rows(REAL* rows, const REAL* bias, Index count, Index columns) {
  EACH(k, count) rows[k] = bias[k % columns];
}

// x ← x + scale·y
extern "C" __global__ void add_scaled(REAL* x, const REAL* y, Index count, REAL scale, const REAL* guard,
                                      const REAL* live) {
  if (stopped(guard)) return;
  if (live) scale = live[0];
  EACH(k, count) x[k] += scale * y[k];
}

// Clamps to ±limit; a comparison with NaN is false, so NaN stays.
extern "C" __global__ void clip_by_value(REAL* x, Index count, REAL limit, const REAL* live) {
  if (live) limit = live[0];
  EACH(k, count) x[k] = x[k] > limit ? limit : x[k] < -limit ? -limit : x[k];
}

// ---- half precision -------------------------------------------------------------------------------------------------

// To bfloat16, to the nearest, ties to even; NaN stays NaN.
extern "C" __global__ void to_bfloat16(unsigned short* y, const REAL* x, Index count) {
  EACH(k, count) {
    float value = (float)x[k];
    unsigned bits;
    memcpy(&bits, &value, 4);
    y[k] = value != value ? 0x7fff : (unsigned short)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
  }
}

extern "C" __global__ void from_bfloat16(REAL* y, const unsigned short* x, Index count) {
  EACH(k, count) {
    unsigned bits = (unsigned)x[k] << 16;
    float value;
    memcpy(&value, &bits, 4);
    y[k] = value;
  }
}

// To IEEE half, to the nearest, ties to even, in integer arithmetic, as NVRTC comes without cuda_fp16.h.
extern "C" __global__ void to_float16(unsigned short* y, const REAL* x, Index count) {
  EACH(k, count) {
    float value = (float)x[k];
    unsigned bits;
    memcpy(&bits, &value, 4);
    unsigned sign = (bits >> 16) & 0x8000, magnitude = bits & 0x7fffffff, half;
    if (magnitude > 0x7f800000) {
      half = 0x7fff;
    } else if (magnitude >= 0x477ff000) {  // rounds to 65536 or more: infinity
      half = 0x7c00;
    } else if (magnitude < 0x38800000) {  // below 2^-14: subnormal; adding 1/2 leaves its bits at the end of the mantissa
      float shifted;
      memcpy(&shifted, &magnitude, 4);
      shifted += 0.5f;
      memcpy(&half, &shifted, 4);
      half -= 0x3f000000;
    } else {
      half = (magnitude - 0x38000000 + 0xfff + ((magnitude >> 13) & 1)) >> 13;
    }
    y[k] = (unsigned short)(sign | half);
  }
}

extern "C" __global__ void from_float16(REAL* y, const unsigned short* x, Index count) {
  EACH(k, count) {
    unsigned sign = (unsigned)(x[k] & 0x8000) << 16, magnitude = x[k] & 0x7fff, bits;
    if (magnitude >= 0x7c00) {
      bits = 0x7f800000 | ((magnitude & 0x3ff) << 13);
    } else {
      // 2^112 moves the exponent from half's bias to float's, subnormals included.
      unsigned raised = magnitude << 13;
      float value;
      memcpy(&value, &raised, 4);
      value *= 5.192296858534828e33f;
      memcpy(&bits, &value, 4);
    }
    bits |= sign;
    float value;
    memcpy(&value, &bits, 4);
    y[k] = value;
  }
}

// ---- sequences ------------------------------------------------------------------------------------------------------

// y [T,B,C] = x if t < lengths[b], else 0. In place if y = x.
extern "C" __global__ void mask_sequence(REAL* y, const REAL* x, const int* lengths, Index count, Index batch,
                                         Index columns) {
  EACH(k, count) {
    Index step = k / (batch * columns), row = k / columns % batch;
    y[k] = step < lengths[row] ? x[k] : (REAL)0;
  }
}

// y [L,B,C] = x if lengths[b] > 0, else source (0 if source is null). In place if y = x.
extern "C" __global__ void replace_empty_rows(REAL* y, const REAL* x, const REAL* source, const int* lengths,
                                              Index count, Index batch, Index columns) {
  EACH(k, count) {
    Index row = k / columns % batch;
    y[k] = lengths[row] > 0 ? x[k] : source ? source[k] : (REAL)0;
  }
}

// y = x if |state| < limit, else 0: the gradient of a state that a clip holds. In place if y = x.
extern "C" __global__ void mask_clipped(REAL* y, const REAL* x, const REAL* state, Index count, REAL limit,
                                        const REAL* live) {
  if (live) limit = live[0];
  EACH(k, count) y[k] = state[k] >= limit || state[k] <= -limit ? (REAL)0 : x[k];
}

// ---- embedding ------------------------------------------------------------------------------------------------------

// rows[n,e] = table[ids[n],e]; an id outside the table gives NaN.
extern "C" __global__ void embedding(REAL* rows, const REAL* table, const int* ids, Index count, Index columns,
                                     Index vocabulary) {
  EACH(k, count) {
    Index id = ids[k / columns];
    rows[k] = id >= 0 && id < vocabulary ? table[id * columns + k % columns] : (REAL)(0.0 / 0.0);
  }
}

// The gradient of an embedding adds up the rows of each id. A stable radix sort by id finds them: order[N] are the
// positions n, sorted by ids[n] and then by n, so every run adds in the same order. A pass sorts by one digit of BLOCK values,
// and a block takes BLOCK positions: digit_counts, digit_offsets and sort_by_digit are one pass. `order` is null in the
// first pass: the identity. Ids outside the table sort behind all others.
static __device__ Index sort_key(const int* ids, const int* order, Index k, Index vocabulary) {
  int id = ids[order ? order[k] : k];
  return id >= 0 && id < vocabulary ? id : vocabulary;
}

// counts[block, digit] = how many of the block's positions have the digit (key / place) % BLOCK. One block per BLOCK
// positions.
extern "C" __global__ void digit_counts(int* counts, const int* ids, const int* order, Index count, Index vocabulary,
                                        Index place) {
  __shared__ int digits[BLOCK];
  Index first = (Index)blockIdx.x * BLOCK, k = first + threadIdx.x;
  Index size = count - first < BLOCK ? count - first : BLOCK;
  digits[threadIdx.x] = k < count ? (int)(sort_key(ids, order, k, vocabulary) / place % BLOCK) : -1;
  __syncthreads();
  int found = 0;
  for (Index i = 0; i < size; i++) found += digits[i] == (int)threadIdx.x;
  counts[first + threadIdx.x] = found;
}

// counts[block, digit] ← where the block's first position with the digit goes. One block.
extern "C" __global__ void digit_offsets(int* counts, Index blocks) {
  __shared__ int totals[BLOCK];
  int total = 0;
  for (Index b = 0; b < blocks; b++) total += counts[b * BLOCK + threadIdx.x];
  totals[threadIdx.x] = total;
  __syncthreads();
  int offset = 0;
  for (int digit = 0; digit < (int)threadIdx.x; digit++) offset += totals[digit];
  for (Index b = 0; b < blocks; b++) {
    int here = counts[b * BLOCK + threadIdx.x];
    counts[b * BLOCK + threadIdx.x] = offset;
    offset += here;
  }
}

// sorted = order, by the digit; equal digits keep their order. One block per BLOCK positions, one thread per digit.
extern "C" __global__ void sort_by_digit(int* sorted, const int* counts, const int* ids, const int* order, Index count,
                                         Index vocabulary, Index place) {
  __shared__ int digits[BLOCK];
  Index first = (Index)blockIdx.x * BLOCK, k = first + threadIdx.x;
  Index size = count - first < BLOCK ? count - first : BLOCK;
  digits[threadIdx.x] = k < count ? (int)(sort_key(ids, order, k, vocabulary) / place % BLOCK) : -1;
  __syncthreads();
  int offset = counts[first + threadIdx.x];
  for (Index i = 0; i < size; i++) {
    if (digits[i] == (int)threadIdx.x) sorted[offset++] = order ? order[first + i] : (int)(first + i);
  }
}

// table[v,e] = Σ over n with ids[n] = v of rows[n,e], in the order of n. One block per v.
// Without an order a block looks at all ids.
extern "C" __global__ void embedding_gradient(REAL* table, const int* ids, const int* order, const REAL* rows,
                                              Index count, Index columns, Index vocabulary) {
  Index id = blockIdx.x, low = 0, high = order ? count : 0;
  while (low < high) {
    Index middle = (low + high) / 2;
    if (sort_key(ids, order, middle, vocabulary) < id) low = middle + 1;
    else high = middle;
  }
  for (Index e = threadIdx.x; e < columns; e += blockDim.x) {
    REAL sum = 0;
    for (Index k = low; k < count; k++) {
      Index n = order ? order[k] : k;
      if (ids[n] == id) sum += rows[n * columns + e];
      else if (order) break;
    }
    table[id * columns + e] = sum;
  }
}

// ---- reductions -----------------------------------------------------------------------------------------------------

// The sum of `value` over the block's BLOCK threads, to all of them.
static __device__ double block_sum(double value) {
  __shared__ double parts[BLOCK];
  parts[threadIdx.x] = value;
  __syncthreads();
  for (int half = BLOCK / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  double sum = parts[0];
  __syncthreads();
  return sum;
}

static __device__ REAL block_max(REAL value) {
  __shared__ REAL parts[BLOCK];
  parts[threadIdx.x] = value;
  __syncthreads();
  for (int half = BLOCK / 2; half > 0; half /= 2) {
    if (threadIdx.x < half && !(parts[threadIdx.x] >= parts[threadIdx.x + half])) {
      parts[threadIdx.x] = parts[threadIdx.x + half];
    }
    __syncthreads();
  }
  REAL maximum = parts[0];
  __syncthreads();
  return maximum;
}

// Blocks of the launch that ended; the last resets it.
static __device__ unsigned ended;

// True in thread 0 of the block that ends last, and there alone, with the sum of the parts that thread 0 of each block, of
// launches before too, wrote. They are added in their order, so the sum does not depend on which block does it.
static __device__ bool sum_in_last_block(double* sum, const volatile double* parts, Index count) {
  __shared__ bool isLast;
  if (threadIdx.x == 0) {
    __threadfence();
    isLast = atomicAdd(&ended, 1u) == gridDim.x - 1;
    if (isLast) ended = 0;
  }
  __syncthreads();
  if (!isLast) return false;
  double value = 0;
  for (Index k = threadIdx.x; k < count; k += BLOCK) value += parts[k];
  *sum = block_sum(value);
  return threadIdx.x == 0;
}

// partial[first + blockIdx] = the block's share of Σ x². A launch with a `total` of partial sums is the last:
// norm = √(Σ partial).
extern "C" __global__ void global_norm(FOUR(const REAL*, x), FOUR(Index, count), REAL* norm, double* partial,
                                       Index first, Index total) {
  const REAL* const xs[] = LIST(x);
  const Index counts[] = LIST(count);
  double sum = 0;
#pragma unroll
  for (int t = 0; t < 4; t++) EACH(k, counts[t]) sum += (double)xs[t][k] * xs[t][k];
  sum = block_sum(sum);
  if (threadIdx.x == 0) partial[first + blockIdx.x] = sum;
  if (total > 0 && sum_in_last_block(&sum, partial, total)) *norm = (REAL)sqrt(sum);
}

// x ← x·limit/norm if norm > limit and finite.
extern "C" __global__ void clip_by_norm(FOUR(REAL*, x), FOUR(Index, count), const REAL* norm, REAL limit,
                                        const REAL* live) {
  if (live) limit = live[0];
  REAL current = *norm;
  if (!(current > limit) || current - current != 0) return;
  REAL* const xs[] = LIST(x);
  const Index counts[] = LIST(count);
  REAL scale = limit / current;
#pragma unroll
  for (int t = 0; t < 4; t++) EACH(k, counts[t]) xs[t][k] *= scale;
}

// guard = NaN if a or b is not finite, else 0: the condition of updates that depend on both. One thread.
extern "C" __global__ void both_finite(REAL* guard, const REAL* a, const REAL* b) {
  if (blockIdx.x == 0 && threadIdx.x == 0) *guard = (*a - *a) + (*b - *b);
}

// total = Σ x in double. One block.
extern "C" __global__ void sum(double* total, const REAL* x, Index count) {
  double value = 0;
  for (Index k = threadIdx.x; k < count; k += BLOCK) value += (double)x[k];
  value = block_sum(value);
  if (threadIdx.x == 0) *total = value;
}

// sums[c] = Σ x[n,c] over n, in a fixed order. One block per COLUMNS columns, each of which BLOCK / COLUMNS threads share.
#define COLUMNS 8
extern "C" __global__ void column_sums(REAL* sums, const REAL* x, Index rows, Index columns) {
  __shared__ REAL parts[BLOCK];
  Index column = (Index)blockIdx.x * COLUMNS + threadIdx.x % COLUMNS;
  REAL sum = 0;
  if (column < columns) {
    for (Index n = threadIdx.x / COLUMNS; n < rows; n += BLOCK / COLUMNS) sum += x[n * columns + column];
  }
  parts[threadIdx.x] = sum;
  for (int half = BLOCK / 2; half >= COLUMNS; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
  }
  if (threadIdx.x < COLUMNS && column < columns) sums[column] = parts[threadIdx.x];
}

// ---- softmax cross-entropy ------------------------------------------------------------------------------------------

// One block per row: rowLosses[n] = w·(log Σ exp(z - max z) - (z_label - max z)), gradient = w·(softmax(z) - onehot), with
// w = weights[n]/total (1/rows without weights; 0 if total is 0). A label outside the classes gives NaN. loss = Σ rowLosses.
// Exponentials are REAL, as GPUs other than the data center's have few units for double; sums and differences are
// double.
extern "C" __global__ void softmax_cross_entropy(REAL* gradient, REAL* loss, double* rowLosses, const REAL* logits,
                                                 const int* labels, const REAL* weights, const double* total,
                                                 Index rows, Index classes) {
  Index n = blockIdx.x;
  const REAL* z = logits + n * classes;
  REAL* g = gradient + n * classes;
  double sumOfWeights = weights ? *total : (double)rows;
  double weight = sumOfWeights == 0 ? 0 : (weights ? (double)weights[n] : 1.0) / sumOfWeights;
  REAL maximum = z[0];
  for (Index v = threadIdx.x; v < classes; v += BLOCK) maximum = z[v] > maximum ? z[v] : maximum;
  maximum = block_max(maximum);
  double sum = 0;
  for (Index v = threadIdx.x; v < classes; v += BLOCK) sum += (double)exp(z[v] - maximum);
  sum = block_sum(sum);
  double scale = 1 / sum;
  int label = labels[n];
  int valid = label >= 0 && label < classes;
  for (Index v = threadIdx.x; v < classes; v += BLOCK) {
    double share = (double)exp(z[v] - maximum) * scale - (v == label ? 1 : 0);
    g[v] = weight == 0 ? (REAL)0 : (REAL)(valid ? weight * share : 0.0 / 0.0);
  }
  if (threadIdx.x == 0) {
    rowLosses[n] = weight == 0 ? 0 : valid ? weight * (log(sum) - (double)(z[label] - maximum)) : 0.0 / 0.0;
  }
  if (sum_in_last_block(&sum, rowLosses, rows)) *loss = (REAL)sum;
}

// ---- optimizers -----------------------------------------------------------------------------------------------------

// v ← momentum·v + rateIn·g;  x ← x - rateOut·v, or with Nesterov's look-ahead x ← x - rateOut·(rateIn·g + momentum·v).
extern "C" __global__ void apply_momentum(REAL* x, REAL* v, const REAL* g, Index count, REAL momentum, REAL rateIn,
                                          REAL rateOut, Index nesterov, const REAL* guard, const REAL* live) {
  if (stopped(guard)) return;
  if (live) momentum = live[0], rateIn = live[1], rateOut = live[2];
  EACH(k, count) {
    REAL gradient = rateIn * g[k];
    REAL velocity = momentum * v[k] + gradient;
    v[k] = velocity;
    x[k] -= rateOut * (nesterov ? gradient + momentum * velocity : velocity);
  }
}

// 1/(1-βᵗ) of rest = 1-β, without the cancellation of small t: 1-βᵗ = -expm1(t·log(β)).
static __device__ REAL bias_correction(REAL rest, REAL step) { return -1 / expm1(step * log1p(-rest)); }

// Kingma & Ba's algorithm 1. The step is *steps if that is not null: a count of updates on the device, in which
// those that a guard stopped are missing. With epsilonHat, ε is added to √v before the bias correction.
extern "C" __global__ void apply_adam(FOUR(REAL*, x), FOUR(REAL*, m), FOUR(REAL*, v), FOUR(const REAL*, g),
                                      FOUR(Index, count), const REAL* steps, REAL rate, REAL beta1, REAL rest1,
                                      REAL beta2, REAL rest2, REAL step, REAL epsilon, Index epsilonHat,
                                      const REAL* guard, const REAL* live) {
  if (stopped(guard)) return;
  if (live) {
    rate = live[0], beta1 = live[1], rest1 = live[2], beta2 = live[3], rest2 = live[4];
    step = live[5], epsilon = live[6];
  }
  if (steps) step = *steps;
  REAL correction1 = bias_correction(rest1, step);
  REAL correction2 = bias_correction(rest2, step);
  if (epsilonHat) epsilon *= sqrt(correction2);
  REAL* const xs[] = LIST(x);
  REAL* const ms[] = LIST(m);
  REAL* const vs[] = LIST(v);
  const REAL* const gs[] = LIST(g);
  const Index counts[] = LIST(count);
#pragma unroll
  for (int t = 0; t < 4; t++) {
    EACH(k, counts[t]) {
      REAL gradient = gs[t][k];
      REAL first = beta1 * ms[t][k] + rest1 * gradient;
      REAL second = beta2 * vs[t][k] + rest2 * gradient * gradient;
      ms[t][k] = first;
      vs[t][k] = second;
      xs[t][k] -= rate * (first * correction1) / (sqrt(second * correction2) + epsilon);
    }
  }
}

static __device__ REAL root_of(REAL square, REAL epsilon, Index epsilonInRoot) {
  return epsilonInRoot ? sqrt(square + epsilon) : sqrt(square) + epsilon;
}

// s ← decay·s + rest·g²;  v ← momentum·v + rateIn·g/root(s);  x ← x - rateOut·v
extern "C" __global__ void apply_rms_prop(REAL* x, REAL* s, REAL* v, const REAL* g, Index count, REAL decay, REAL rest,
                                          REAL momentum, REAL rateIn, REAL rateOut, REAL epsilon, Index epsilonInRoot,
                                          const REAL* guard, const REAL* live) {
  if (stopped(guard)) return;
  if (live) {
    decay = live[0], rest = live[1], momentum = live[2], rateIn = live[3], rateOut = live[4], epsilon = live[5];
  }
  EACH(k, count) {
    REAL square = decay * s[k] + rest * g[k] * g[k];
    REAL velocity = momentum * v[k] + rateIn * g[k] / root_of(square, epsilon, epsilonInRoot);
    s[k] = square;
    v[k] = velocity;
    x[k] -= rateOut * velocity;
  }
}

// s ← s + g²;  x ← x - rate·g/root(s)
extern "C" __global__ void apply_adagrad(REAL* x, REAL* s, const REAL* g, Index count, REAL rate, REAL epsilon,
                                         Index epsilonInRoot, const REAL* guard, const REAL* live) {
  if (stopped(guard)) return;
  if (live) rate = live[0], epsilon = live[1];
  EACH(k, count) {
    REAL square = s[k] + g[k] * g[k];
    s[k] = square;
    x[k] -= rate * g[k] / root_of(square, epsilon, epsilonInRoot);
  }
}

// x ← x - rate·mask·x (mask 1 everywhere if it is null)
extern "C" __global__ void apply_weight_decay(REAL* x, const REAL* mask, Index count, REAL rate,
                                              const REAL* guard, const REAL* live) {
  if (stopped(guard)) return;
  if (live) rate = live[0];
  EACH(k, count) x[k] -= rate * (mask ? mask[k] : (REAL)1) * x[k];
}
