// Operations on tensors of any shape: loops over up to four groups of dimensions, of sizes n0 to n3, of which a tensor t
// has the strides t0 to t3, 0 if it repeats: packages/ops/src/executor/operations/walk.ts. The conventions are those
// of dense.cu, which precedes this file in the compiled source.

// The order of ELEMENT_FUNCTIONS.
enum {
  COPY, ADD, SUBTRACT, MULTIPLY, DIVIDE, MINIMUM, MAXIMUM, POWER, GREATER, LESS, EQUAL,
  EXP, LOG, SQRT, ABS, NEGATE, SQUARE, SIN, COS, SELECT
};

struct Place {
  Index i0, i1, i2, i3;
  // Most walks have one group, and divide nothing.
  __device__ Place(Index k, Index count, Index n1, Index n2, Index n3) : i0(0), i1(0), i2(0), i3(k) {
    if (n3 == count) return;
    i3 = k % n3, i2 = k / n3;
    i1 = i2 / n2, i2 %= n2;
    i0 = i1 / n1, i1 %= n1;
  }
  __device__ Index of(Index s0, Index s1, Index s2, Index s3) const { return i0 * s0 + i1 * s1 + i2 * s2 + i3 * s3; }
};

// y = f(a, b, c); operands that the function does not have are null.
extern "C" __global__ void elements(REAL* y, const REAL* a, const REAL* b, const REAL* c, Index count, Index rule,
                                    Index n1, Index n2, Index n3, Index yBegin, Index y0, Index y1, Index y2, Index y3,
                                    Index aBegin, Index a0, Index a1, Index a2, Index a3, Index b0, Index b1, Index b2,
                                    Index b3, Index c0, Index c1, Index c2, Index c3) {
  EACH(k, count) {
    Place at(k, count, n1, n2, n3);
    REAL u = a[aBegin + at.of(a0, a1, a2, a3)];
    REAL v = b ? b[at.of(b0, b1, b2, b3)] : u, w = c ? c[at.of(c0, c1, c2, c3)] : u;
    switch (rule) {
      case ADD: u = u + v; break;
      case SUBTRACT: u = u - v; break;
      case MULTIPLY: u = u * v; break;
      case DIVIDE: u = u / v; break;
      case MINIMUM: u = u < v || u != u ? u : v; break;
      case MAXIMUM: u = u > v || u != u ? u : v; break;
      case POWER: u = pow(u, v); break;
      case GREATER: u = u > v; break;
      case LESS: u = u < v; break;
      case EQUAL: u = u == v; break;
      case EXP: u = exp(u); break;
      case LOG: u = log(u); break;
      case SQRT: u = sqrt(u); break;
      case ABS: u = fabs(u); break;
      case NEGATE: u = -u; break;
      case SQUARE: u = u * u; break;
      case SIN: u = sin(u); break;
      case COS: u = cos(u); break;
      case SELECT: u = u != 0 ? v : w; break;
    }
    y[yBegin + at.of(y0, y1, y2, y3)] = u;
  }
}

// The order of REDUCTIONS.
enum { SUM_OF, MEAN_OF, MAX_OF };

static __device__ double reduced(double total, double value, Index rule) {
  if (rule != MAX_OF) return total + value;
  return value > total || value != value ? value : total;
}

// The sum of nothing, and a number below all others.
static __device__ double none_of(Index rule) { return rule == MAX_OF ? -1.0 / 0.0 : 0; }

// y[k] from the elements m of x from the place of k on; one thread for each.
extern "C" __global__ void reduce_each(REAL* y, const REAL* x, Index count, Index length, Index rule, Index n1, Index n2,
                                       Index n3, Index x0, Index x1, Index x2, Index x3, Index m1, Index m2, Index m3,
                                       Index z0, Index z1, Index z2, Index z3) {
  EACH(k, count) {
    const REAL* from = x + Place(k, count, n1, n2, n3).of(x0, x1, x2, x3);
    double total = none_of(rule);
    for (Index j = 0; j < length; j++) {
      total = reduced(total, (double)from[Place(j, length, m1, m2, m3).of(z0, z1, z2, z3)], rule);
    }
    y[k] = (REAL)(rule == MEAN_OF ? total / (double)length : total);
  }
}

// Like reduce_each, with one block for each k.
extern "C" __global__ void reduce_by_blocks(REAL* y, const REAL* x, Index count, Index length, Index rule, Index n1,
                                            Index n2, Index n3, Index x0, Index x1, Index x2, Index x3, Index m1,
                                            Index m2, Index m3, Index z0, Index z1, Index z2, Index z3) {
  __shared__ double parts[BLOCK];
  const REAL* from = x + Place(blockIdx.x, count, n1, n2, n3).of(x0, x1, x2, x3);
  double total = none_of(rule);
  for (Index j = threadIdx.x; j < length; j += BLOCK) {
    total = reduced(total, (double)from[Place(j, length, m1, m2, m3).of(z0, z1, z2, z3)], rule);
  }
  parts[threadIdx.x] = total;
  __syncthreads();
  for (int half = BLOCK / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) parts[threadIdx.x] = reduced(parts[threadIdx.x], parts[threadIdx.x + half], rule);
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = (REAL)(rule == MEAN_OF ? parts[0] / (double)length : parts[0]);
}

// y [...,classes]: 1 in the column of each id; count = all elements.
extern "C" __global__ void one_hot(REAL* y, const int* ids, Index count, Index classes) {
  EACH(k, count) y[k] = ids[k / classes] == k % classes;
}
