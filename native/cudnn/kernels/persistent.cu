// A recurrent layer over a whole sequence in one launch, compiled by NVRTC for one shape. The recurrent weights stay in
// registers; each step's h (forward) or gate gradients (backward) pass between the blocks through the L2 cache, or through the
// shared memory of a cluster. All blocks that exchange run at the same time: a cooperative launch, or a cluster.
// docs/persistent_kernels.md explains it.
//
//   CELL    0 LSTM (gates i f g o), 1 GRU (r z n, linear before reset), 2 tanh, 3 relu
//   KIND    0 float32 by FMA, 1 bfloat16, 2 TF32, 3 float16, 4 float32 as three TF32 products; 1 to 4 by tensor cores
//   HIDDEN  units of the layer;  UNITS  units of a block: gridDim.x = HIDDEN/UNITS
//   WARPS   of a block;          ROWS   batch rows of a pass; a block has PASSES of them in a step:
//                                       gridDim.y = ⌈batch/(ROWS·PASSES)⌉
//   CLUSTER 0: the grid exchanges through the L2 cache, 1: the blocks of gridDim.x are a cluster (sm_90 and later),
//           2: WARPS blocks of the grid are a cluster in the backward, see Note [Columns]; KIND 1 to 4
//   DIRECTIONS  of the network: a row of y has DIRECTIONS·HIDDEN columns
//
// A launch computes one direction of one layer, cuDNN's pseudo-layer. A row past its length keeps its state: y repeats it, and
// gradients pass through unchanged.
//
// The warps of a block divide the columns of its product among them; each waits only for the columns that it multiplies.
// Their sums meet in shared memory, then threads own (unit, row) pairs of one unit, whose states lie in shared memory.
// Weights that do not fit into the registers lie there too, if tensor cores multiply.
//
// Note [Exchange]. y (or dgates) is filled with kEmpty before the launch, and a reader polls the words that it needs. A
// word of 32 bits is written once, by one thread, so a word that is not empty is final: no flag, fence, counter or reset.
// kEmpty is a NaN; a NaN that is computed is stored as another one.
//
// Note [Cluster]. Each block has the values of the step before in its shared memory, where all blocks of the cluster store
// theirs; one barrier of the cluster a step stands between the stores and the reads. Even and odd steps have buffers of
// their own, so that a block may store while another still reads. No thread polls, and the hardware starts the blocks of a
// cluster together. Words go to y (or dgates) too, for the launches that follow.
//
// Note [Columns]. The gradients of the gates are 3 or 4 times h, so in the backward of many rows the L2 cache takes most of a
// step. A cluster of WARPS blocks divides the columns: a block loads its part of them once, into its shared memory, and
// multiplies it for all units of the cluster; warp k stores the sums for the units of the cluster's block k in the shared
// memory of that block. So each block has as many sums of a unit as without a cluster, from blocks in place of warps. One barrier
// of the cluster a pass stands between the stores of the sums and their addition; even and odd passes have separate buffers.
//
// Note [Watch]. A thread that waits longer than `patience` nanoseconds raises `*stuck`; all others see it. From then on
// no thread waits, and everything that is computed is NaN: no block that others might wait for ends early.

typedef long long Index;
#define DEVICE static __device__ __forceinline__
#define MEMBER __device__ __forceinline__

constexpr unsigned kEmpty = 0xffffffffu;
constexpr int kGates = CELL == 0 ? 4 : CELL == 1 ? 3 : 1;
// Biases with their own gradients: the recurrent one of a GRU's n is inside the reset gate.
constexpr int kBiases = kGates + (CELL == 1);
constexpr int kThreads = WARPS * 32;
constexpr int kStride = DIRECTIONS * HIDDEN;  // of a row of y
constexpr int kItems = (UNITS * ROWS + kThreads - 1) / kThreads;  // (unit, row) pairs of a thread in a pass
constexpr int kSlots = PASSES * kItems * kThreads;                // of the block in a step, each thread's own
static_assert(kThreads % UNITS == 0, "the pairs of a thread have one unit");
#if CLUSTER == 1
#define IN_CLUSTER __cluster_dims__(HIDDEN / UNITS, 1, 1)
#define IN_COLUMNS IN_CLUSTER
#elif CLUSTER == 2
#define IN_CLUSTER
#define IN_COLUMNS __cluster_dims__(WARPS, 1, 1)
#else
#define IN_CLUSTER
#define IN_COLUMNS
#endif

struct __align__(16) Words {
  unsigned w[4];
};

// ---- operations of the GPU; the emulator brings its own -------------------------------------------------------------

#ifndef CUDA_EMULATOR
// From the L2 cache, each word atomic on its own.
DEVICE void load_words(unsigned (&v)[4], const void* place) {
  asm volatile("ld.relaxed.gpu.global.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
               : "l"(place)
               : "memory");
}
DEVICE void store_word(void* place, unsigned word) {
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(place), "r"(word) : "memory");
}
// The flag is in memory of the host.
DEVICE unsigned load_flag(const unsigned* place) {
  unsigned word;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(word) : "l"(place) : "memory");
  return word;
}
DEVICE void raise_flag(unsigned* place) {
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(place), "r"(1) : "memory");
}
DEVICE unsigned long long nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}
DEVICE void let_others_run() {}
#if CLUSTER
// To the same place in the shared memory of a block of the cluster.
DEVICE void store_in_cluster(unsigned* place, int rank, unsigned word) {
  unsigned there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"((unsigned)__cvta_generic_to_shared(place)), "r"(rank));
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(there), "r"(word) : "memory");
}
// The two halves of a barrier of the cluster: behind the second, all words stored before the first are there. Lanes of a warp
// may arrive one after another, as an item is not of all lanes.
DEVICE void arrive_at_cluster() { asm volatile("barrier.cluster.arrive.release;" ::: "memory"); }
DEVICE void wait_for_cluster() { asm volatile("barrier.cluster.wait.acquire;" ::: "memory"); }
#endif
// The compiler moves no load across it, of which it would request too many at once.
DEVICE void keep_order() { asm volatile("" ::: "memory"); }
#define TENSOR_CORE(name, instruction)                                                                                 \
  DEVICE void name(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {                                  \
    asm volatile("mma.sync.aligned." instruction " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"              \
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                                      \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));                                      \
  }
#if KIND == 1
TENSOR_CORE(multiply_bfloat16, "m16n8k16.row.col.f32.bf16.bf16.f32")
DEVICE float bfloat16_value(unsigned short x) { return __uint_as_float((unsigned)x << 16); }
DEVICE unsigned short bfloat16_bits(float x) {
  unsigned short y;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y) : "f"(x));
  return y;
}
#elif KIND == 3
TENSOR_CORE(multiply_float16, "m16n8k16.row.col.f32.f16.f16.f32")
DEVICE float float16_value(unsigned short x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
  return y;
}
DEVICE unsigned short float16_bits(float x) {
  unsigned short y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
  return y;
}
#elif KIND == 2 || KIND == 4
TENSOR_CORE(multiply_tf32, "m16n8k8.row.col.f32.tf32.tf32.f32")
// Volatile, as the compiler would keep the parts of all weights in registers from step to step.
DEVICE unsigned to_tf32(float x) {
  unsigned y;
  asm volatile("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"(x));
  return y;
}
#endif
#endif

// The type of sequences, states and weights.
#if KIND == 1
typedef unsigned short Element;
DEVICE float value_of(Element x) { return bfloat16_value(x); }
DEVICE Element element_of(float x) { return bfloat16_bits(x); }
#elif KIND == 3
typedef unsigned short Element;
DEVICE float value_of(Element x) { return float16_value(x); }
DEVICE Element element_of(float x) { return float16_bits(x); }
#else
typedef float Element;
DEVICE float value_of(Element x) { return x; }
DEVICE Element element_of(float x) { return x; }
#endif

// ---- the exchange ---------------------------------------------------------------------------------------------------

DEVICE float nan_of() { return __uint_as_float(0x7fffffffu); }
DEVICE float sigmoid_of(float x) { return 1.0f / (1.0f + expf(-x)); }
DEVICE bool has_empty(const Words& v) {
  return v.w[0] == kEmpty || v.w[1] == kEmpty || v.w[2] == kEmpty || v.w[3] == kEmpty;
}

struct Watch {
  unsigned* stuck;
  unsigned long long patience, begin;
  int spins;
  bool is_over;
  // Whether to give up: looked at from time to time only.
  MEMBER bool gives_up() {
    if (is_over) return true;
    if (++spins % 256 != 0) return false;
    const unsigned long long now = nanoseconds();
    if (begin == 0) begin = now;
    is_over = load_flag(stuck) != 0;
    if (is_over || now - begin < patience) return is_over;
    raise_flag(stuck);
    return is_over = true;
  }
};

// Loads COUNT pieces until none has an empty word; false if the wait was given up. Without `waits` every word is final: an
// initial state of the caller may hold any NaN. `place(n)` is null for a piece of zeros.
// `IS_SHARED`: from shared memory, where every word is final.
template <bool IS_SHARED, int COUNT, class Place>
DEVICE bool fetch(Words (&got)[COUNT], const Place& place, bool waits, Watch& watch) {
  bool is_first = true, is_missing;
  do {
    // All requests are under way before the first answer is looked at.
#pragma unroll
    for (int n = 0; n < COUNT; n++) {
      const void* const from = place(n);
      if (!from) {
        got[n] = Words{};
      } else if (IS_SHARED) {
        got[n] = *(const Words*)from;
      } else if (is_first || has_empty(got[n])) {
        load_words(got[n].w, from);
      }
    }
    is_missing = false;
#pragma unroll
    for (int n = 0; n < COUNT; n++) is_missing |= has_empty(got[n]);
    is_missing = is_missing && waits;
    is_first = false;
    if (is_missing) {
      let_others_run();
      if (watch.gives_up()) return false;
    }
  } while (is_missing);
  watch.begin = 0;  // the patience is for one wait
  return true;
}

// `shared`: the place in the shared memory of the cluster's blocks.
DEVICE void store_for_others(Element* place, Element* shared, unsigned word) {
  store_word(place, word);
#if CLUSTER == 1
#pragma unroll
  for (int rank = 0; rank < HIDDEN / UNITS; rank++) store_in_cluster((unsigned*)shared, rank, word);
#endif
}

// Writes one element of an exchanged tensor. Threads of consecutive units, even and odd, call it together.
DEVICE void publish(Element* tensor, Index index, Element* shared, float value, bool is_mine) {
#if KIND == 1 || KIND == 3
  const float other = __shfl_xor_sync(0xffffffffu, value, 1);
  // A conversion makes 0x7fff of a NaN, so that no pair is empty.
  const unsigned word = element_of(value) | (unsigned)element_of(other) << 16;
  if (is_mine && index % 2 == 0) store_for_others(tensor + index, shared, word);
#else
  if (is_mine) store_for_others(tensor + index, shared, value != value ? 0x7fffffffu : __float_as_uint(value));
#endif
}

// ---- products -------------------------------------------------------------------------------------------------------

// sums [WARPS,ROWS,OUT] = W [OUT,COLUMNS] · v [COLUMNS,ROWS], by warp: each multiplies its own columns. The block's OUT rows
// of W are in registers; `weight(row, column)` gives an element. Rows of v are `stride` elements apart.
#if KIND == 0
// By FMA. A lane holds kOut rows of COLUMNS/WARPS/kShare columns; v passes through a piece of shared memory of its warp.
template <int OUT, int COLUMNS, bool BY_CLUSTER>
struct Product {
  static_assert(!BY_CLUSTER, "clusters divide products of tensor cores alone");
  static constexpr int kColumns = COLUMNS / WARPS;
  static constexpr int kShare = OUT > 16 ? 1 : OUT > 8 ? 2 : OUT > 4 ? 4 : OUT > 2 ? 8 : 16;  // lanes of a row
  static constexpr int kOut = (OUT * kShare + 31) / 32;
  static constexpr int kPieces = kColumns / kShare / 4;    // of four columns, in a lane
  static constexpr int kLoads = (kColumns / 4 + 31) / 32;  // of four columns, of a batch row, that a lane fetches
  static constexpr int kShared = ROWS * COLUMNS;           // floats of shared memory
  static_assert(kColumns % (4 * kShare) == 0, "columns of a lane come in fours");
  float w[kOut][kPieces * 4];

  static MEMBER int block(int) { return blockIdx.x; }

  template <class Weight>
  MEMBER void load(const Weight& weight, float*, int warp, int lane) {
#pragma unroll
    for (int i = 0; i < kOut; i++) {
      const int row = lane / kShare + i * (32 / kShare);
#pragma unroll
      for (int k = 0; k < kPieces * 4; k++) {
        const int column = warp * kColumns + (k / 4 * kShare + lane % kShare) * 4 + k % 4;
        w[i][k] = row < OUT ? weight(row, column) : 0.0f;
      }
    }
  }

  MEMBER bool run(float* sums, float* staging, const Element* v, Index stride, bool waits, int rows, int warp, int lane,
                  Watch& watch) {
    float* const mine = staging + warp * ROWS * kColumns;
    Words got[ROWS * kLoads];
    const auto place = [&](int n) -> const void* {
      const int piece = lane + n % kLoads * 32, b = n / kLoads;
      return b < rows && piece * 4 < kColumns ? v + b * stride + warp * kColumns + piece * 4 : nullptr;
    };
    const bool is_there = fetch<CLUSTER == 1>(got, place, waits, watch);
#pragma unroll
    for (int n = 0; n < ROWS * kLoads; n++) {
      const int piece = lane + n % kLoads * 32;
      if (piece * 4 < kColumns) *(Words*)(mine + n / kLoads * kColumns + piece * 4) = got[n];
    }
    __syncwarp();
    float total[kOut][ROWS];
#pragma unroll
    for (int b = 0; b < ROWS; b++) {
#pragma unroll
      for (int i = 0; i < kOut; i++) total[i][b] = 0.0f;
    }
#pragma unroll
    for (int p = 0; p < kPieces; p++) {
      keep_order();
#pragma unroll
      for (int b = 0; b < ROWS; b++) {
        const float4 x = *(const float4*)(mine + b * kColumns + (p * kShare + lane % kShare) * 4);
#pragma unroll
        for (int i = 0; i < kOut; i++) {
          total[i][b] = fmaf(w[i][p * 4 + 0], x.x, total[i][b]);
          total[i][b] = fmaf(w[i][p * 4 + 1], x.y, total[i][b]);
          total[i][b] = fmaf(w[i][p * 4 + 2], x.z, total[i][b]);
          total[i][b] = fmaf(w[i][p * 4 + 3], x.w, total[i][b]);
        }
      }
    }
#pragma unroll
    for (int b = 0; b < ROWS; b++) {
#pragma unroll
      for (int i = 0; i < kOut; i++) {
#pragma unroll
        for (int mask = kShare / 2; mask > 0; mask /= 2) total[i][b] += __shfl_xor_sync(0xffffffffu, total[i][b], mask);
        const int row = lane / kShare + i * (32 / kShare);
        if (lane % kShare == 0 && row < OUT) sums[(warp * ROWS + b) * OUT + row] = total[i][b];
      }
    }
    return is_there;
  }
};
#else
// By tensor cores. W is the left operand. A lane fetches 16 bytes of a row of v, which are its elements of two tiles: the
// order of the columns within a product is free, as long as both operands have it. BY_CLUSTER: see Note [Columns]; the columns
// of a warp are then the block's.
template <int OUT, int COLUMNS, bool BY_CLUSTER>
struct Product {
  static constexpr int kColumns = COLUMNS / WARPS;
  static constexpr int kPerLoad = 16 / (int)sizeof(Element);  // columns that a lane fetches at once
  static constexpr int kTiles = (OUT + 15) / 16;
  static constexpr int kChunks = kColumns / (4 * kPerLoad);
  // Chunks whose weights are in registers: the first ones. A thread reads the others from its own words of shared memory.
  static constexpr int kMost = (WARPS > 8 ? 4 : 16) * (KIND == 4 ? 4 : KIND == 2 ? 7 : 8) / (8 * kTiles);
  static constexpr int kHeld = kChunks < kMost ? kChunks : kMost;
  static constexpr int kAtOnce = kHeld < kChunks ? 4 : 8;  // that are under way, as registers are scarce
  static constexpr int kFetched = kChunks < kAtOnce ? kChunks : kAtOnce;
  static constexpr int kWeights = (kChunks - kHeld) * kTiles * 8 * kThreads;  // floats of them in shared memory
  static constexpr int kPart = kColumns + 64 / (int)sizeof(Element);         // elements of a row of the block's part
  static constexpr int kShared = kWeights + (BY_CLUSTER ? ROWS * kPart * (int)sizeof(Element) / 4 : 0);
  static_assert(kColumns % (4 * kPerLoad) == 0, "four lanes fetch a chunk of columns");
  unsigned w[kTiles][kHeld > 0 ? kHeld : 1][2][4];

  // The part of the columns that a warp multiplies, and the block for whose units it does.
  static MEMBER int part(int warp) { return BY_CLUSTER ? blockIdx.x % WARPS : warp; }
  static MEMBER int block(int warp) { return BY_CLUSTER ? blockIdx.x - part(warp) + warp : blockIdx.x; }

  static MEMBER int place_of(int m, int c, int s) {
    return (((c - kHeld) * kTiles + m) * 2 + s) * kThreads + threadIdx.x;
  }

  template <class Weight>
  MEMBER void load(const Weight& weight, float* shared, int warp, int lane) {
#pragma unroll
    for (int m = 0; m < kTiles; m++) {
#pragma unroll
      for (int c = 0; c < kChunks; c++) {
#pragma unroll
        for (int n = 0; n < 8; n++) {
          const int s = n / 4, r = n % 4, row = m * 16 + lane / 4 + r % 2 * 8;
          const int first = part(warp) * kColumns + c * 4 * kPerLoad + lane % 4 * kPerLoad + s * kPerLoad / 2;
          const auto at = [&](int column) { return row < OUT ? weight(row, column) : 0.0f; };
#if KIND == 1 || KIND == 3
          const unsigned word =
              element_of(at(first + r / 2 * 2)) | (unsigned)element_of(at(first + r / 2 * 2 + 1)) << 16;
#elif KIND == 2
          const unsigned word = to_tf32(at(first + r / 2));
#else
          const unsigned word = __float_as_uint(at(first + r / 2));
#endif
          if (c < kHeld) {
            w[m][c][s][r] = word;
          } else {
            ((Words*)shared)[place_of(m, c, s)].w[r] = word;
          }
        }
      }
    }
  }

  MEMBER bool run(float* sums, float* shared, const Element* v, Index stride, bool waits, int rows, int warp, int lane,
                  Watch& watch) {
    const int quad = lane % 4;
    bool is_there = true;
    v += part(warp) * kColumns;
    if (BY_CLUSTER) {
      Element* const mine = (Element*)(shared + kWeights);
      is_there = load_part(mine, v, stride, waits, rows, watch);
      v = mine, stride = kPart;
    }
    for (int n = 0; n < (ROWS + 7) / 8; n++) {
      const int mine = n * 8 + lane / 4;
      const Element* const row = v + mine * stride + quad * kPerLoad;
      float total[kTiles][4] = {};
#pragma unroll
      for (int first = 0; first < kChunks; first += kFetched) {
        Words x[kFetched];
        const auto place = [&](int c) -> const void* {
          return mine < rows && first + c < kChunks ? row + (first + c) * 4 * kPerLoad : nullptr;
        };
        if (!fetch<CLUSTER == 1 || BY_CLUSTER>(x, place, waits && !BY_CLUSTER, watch)) is_there = false;
        __syncwarp();
#pragma unroll
        for (int c = 0; c < kFetched && first + c < kChunks; c++) {
          if (first + c >= kHeld) keep_order();
#pragma unroll
          for (int m = 0; m < kTiles; m++) {
            if (first + c < kHeld) {
              multiply(total[m], w[m][first + c], x[c]);
            } else {
              Words there[2];
#pragma unroll
              for (int s = 0; s < 2; s++) there[s] = ((const Words*)shared)[place_of(m, first + c, s)];
              multiply(total[m], there, x[c]);
            }
          }
        }
      }
#pragma unroll
      for (int m = 0; m < kTiles; m++) {
#pragma unroll
        for (int r = 0; r < 4; r++) {
          const int row = m * 16 + lane / 4 + r / 2 * 8, b = n * 8 + quad * 2 + r % 2;
          if (row >= OUT || b >= ROWS) continue;
          float* const sum = sums + (part(warp) * ROWS + b) * OUT + row;
#if CLUSTER == 2
          if (BY_CLUSTER) {
            store_in_cluster((unsigned*)sum, warp, __float_as_uint(total[m][r]));
            continue;
          }
#endif
          *sum = total[m][r];
        }
      }
    }
    return is_there;
  }

  // Copies the columns of the block, from `v` on, into its shared memory.
  static MEMBER bool load_part(Element* part, const Element* v, Index stride, bool waits, int rows, Watch& watch) {
    constexpr int kPieces = kColumns / kPerLoad;
    bool is_there = true;
    for (int first = threadIdx.x; first < ROWS * kPieces; first += kAtOnce * kThreads) {
      Words got[kAtOnce];
      const auto place = [&](int n) -> const void* {
        const int piece = first + n * kThreads, b = piece / kPieces;
        return b < rows ? v + b * stride + piece % kPieces * kPerLoad : nullptr;
      };
      if (!fetch<false>(got, place, waits, watch)) is_there = false;
#pragma unroll
      for (int n = 0; n < kAtOnce; n++) {
        const int piece = first + n * kThreads;
        if (piece < ROWS * kPieces) *(Words*)(part + piece / kPieces * kPart + piece % kPieces * kPerLoad) = got[n];
      }
    }
    __syncthreads();
    return is_there;
  }

  template <class Weights>
  MEMBER static void multiply(float (&total)[4], const Weights& weights, const Words& x) {
#if KIND == 4
    // Tensor cores truncate as they add, so each chunk has its own sum.
    float part[4] = {};
#endif
#pragma unroll
    for (int s = 0; s < 2; s++) {
      unsigned a[4];
#pragma unroll
      for (int r = 0; r < 4; r++) a[r] = word_of(weights[s], r);
#if KIND == 1
      multiply_bfloat16(total, a, x.w[2 * s], x.w[2 * s + 1]);
#elif KIND == 3
      multiply_float16(total, a, x.w[2 * s], x.w[2 * s + 1]);
#elif KIND == 2
      multiply_tf32(total, a, to_tf32(__uint_as_float(x.w[2 * s])), to_tf32(__uint_as_float(x.w[2 * s + 1])));
#else
      // Low·low is below the last bit of float32.
      unsigned high[4], low[4], x_high[2], x_low[2];
#pragma unroll
      for (int r = 0; r < 4; r++) split(a[r], high[r], low[r]);
#pragma unroll
      for (int k = 0; k < 2; k++) split(x.w[2 * s + k], x_high[k], x_low[k]);
      multiply_tf32(part, high, x_low[0], x_low[1]);
      multiply_tf32(part, low, x_high[0], x_high[1]);
      multiply_tf32(part, high, x_high[0], x_high[1]);
#endif
    }
#if KIND == 4
#pragma unroll
    for (int r = 0; r < 4; r++) total[r] += part[r];
#endif
  }
  static MEMBER unsigned word_of(const unsigned (&words)[4], int r) { return words[r]; }
  static MEMBER unsigned word_of(const Words& words, int r) { return words.w[r]; }
#if KIND == 4
  // A float as the sum of two numbers of TF32.
  static MEMBER void split(unsigned word, unsigned& high, unsigned& low) {
    const float x = __uint_as_float(word);
    high = to_tf32(x);
    low = to_tf32(x - __uint_as_float(high));
  }
#endif
};
#endif

// Σ over the warps.
template <int OUT>
DEVICE float summed(const float* sums, int row, int b) {
  float total = 0.0f;
#pragma unroll
  for (int warp = 0; warp < WARPS; warp++) total += sums[(warp * ROWS + b) * OUT + row];
  return total;
}

// One direction of one layer. The second direction computes the last step of a sequence first.
struct Pass {
  Index time, batch, pseudo_layer;
  MEMBER Pass(Index time, Index batch, Index pseudo_layer) : time(time), batch(batch), pseudo_layer(pseudo_layer) {}
  // The first row of the block's p-th pass of a step, and the rows of it that there are.
  static MEMBER int first(int p) { return (blockIdx.y * PASSES + p) * ROWS; }
  MEMBER int rows(int p) const { return max(0, min(ROWS, (int)batch - first(p))); }
  MEMBER int direction() const { return DIRECTIONS == 2 ? (int)(pseudo_layer % 2) : 0; }
  // The place in the sequence of the step that is computed s-th.
  MEMBER Index step(int s) const { return direction() == 1 ? time - 1 - s : s; }
  // Elements of a tensor [T,B,DIRECTIONS,H] before a row.
  MEMBER Index row(Index t, int row) const { return (t * batch + row) * kStride + direction() * HIDDEN; }
  // The same of a tensor of states.
  MEMBER Index state(int row) const { return (pseudo_layer * batch + row) * HIDDEN; }
  // Rows of `saved` before this direction.
  MEMBER Index saved() const { return pseudo_layer * time * batch; }
};

// The unit and the row of the batch that a thread owns, the n-th of a pass.
struct Item {
  int unit, row, b, u, slot;
  bool is_mine;
  Index state;  // its place in a tensor of states
  MEMBER Item(int p, int n, const Pass& pass) {
    const int item = threadIdx.x + n * kThreads;
    u = item % UNITS, b = item / UNITS;
    unit = blockIdx.x * UNITS + u, row = pass.first(p) + b;
    is_mine = item < UNITS * pass.rows(p);
    state = pass.state(row) + unit;
    slot = p * kItems * kThreads + item;
  }
  // Whether the whole warp has none.
  static MEMBER bool is_none(int n) { return threadIdx.x / 32 * 32 + n * kThreads >= UNITS * ROWS; }
};

// See Note [Cluster]: [2,PASSES·ROWS,COLUMNS] of shared memory. Without a cluster the exchanged tensor has these values.
template <int COLUMNS>
struct Exchange {
  // Four lanes of two rows read from different banks.
  static constexpr int kRow = COLUMNS + 64 / (int)sizeof(Element);
  Element* const buffer;
  int count = 0;
  MEMBER explicit Exchange(float* buffer) : buffer((Element*)buffer) {}
  // The block has stored its values of the step before; until `wait` it needs nothing of the others.
  MEMBER void turn() {
    count++;
#if CLUSTER == 1
    arrive_at_cluster();
#endif
  }
  MEMBER void wait() const {
#if CLUSTER == 1
    wait_for_cluster();
#endif
  }
  MEMBER Element* row(int step, int row) const { return buffer + (step % 2 * PASSES * ROWS + row) * kRow; }
  MEMBER static Index stride(Index of_tensor) { return CLUSTER == 1 ? kRow : of_tensor; }
  // The values of the step before, of the p-th pass; `tensor` has them too.
  MEMBER const Element* last(const Element* tensor, int p) const {
    return CLUSTER == 1 ? row(count - 1, p * ROWS) : tensor;
  }
  MEMBER Element* mine(int p, const Item& item, int gate) const {
    return row(count, p * ROWS + item.b) + gate * HIDDEN + item.unit;
  }
};

// ---- forward --------------------------------------------------------------------------------------------------------

// products [T,B,gates,H] float32: W·x. weights: the parameters, with R [gates,H,H] at element `recurrent` and the biases
// [gates,H] at `bias` and `recurrentBias`. y [T,B,DIRECTIONS,H], from element `place` on, holds kEmpty. Null hx, cx: zeros;
// null lengths [B]: T. saved [L·D,T,B,gates+1,H] float32, null in inference: the gates after their activation, then the cell
// state (LSTM) or the recurrent product of n (GRU).
extern "C" __global__ void IN_CLUSTER __launch_bounds__(kThreads, 1)
    persistent_forward(Element* y, Element* hy, Element* cy, float* saved, const float* products, const Element* weights,
                       const Element* hx, const Element* cx, const int* lengths, Index time, Index batch, Index place,
                       Index pseudoLayer, Index recurrent, Index bias, Index recurrentBias, Index patience,
                       unsigned* stuck) {
  constexpr int kOut = kGates * UNITS;
  extern __shared__ Words shared_memory[];
  float* const sums = (float*)shared_memory;            // twice: of even and odd passes
  float* const shared = sums + 2 * WARPS * ROWS * kOut;  // of the product
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const Pass pass(time, batch, pseudoLayer);
  Watch watch{stuck, (unsigned long long)patience, 0, 0, false};

  Product<kOut, HIDDEN, false> product;
  product.load(
      [&](int row, int column) {
        const Index unit = row / UNITS * HIDDEN + blockIdx.x * UNITS + row % UNITS;
        return value_of(weights[recurrent + unit * HIDDEN + column]);
      },
      shared, warp, lane);

  float* const states = shared + product.kShared;  // c of an LSTM
  float* const lasts = states + kSlots;            // h
  Exchange<HIDDEN> exchange(lasts + kSlots);
  for (int p = 0; p < PASSES; p++) {
    for (int n = 0; n < kItems; n++) {
      const Item item(p, n, pass);
      states[item.slot] = item.is_mine && cx ? value_of(cx[item.state]) : 0.0f;
      lasts[item.slot] = item.is_mine && hx ? value_of(hx[item.state]) : 0.0f;
    }
  }
  float offset[kGates], inner_offset = 0.0f;
#pragma unroll
  for (int g = 0; g < kGates; g++) {
    const int unit = g * HIDDEN + blockIdx.x * UNITS + threadIdx.x % UNITS;
    offset[g] = value_of(weights[bias + unit]);
    const float other = value_of(weights[recurrentBias + unit]);
    if (CELL == 1 && g == 2) {
      inner_offset = other;
    } else {
      offset[g] += other;
    }
  }

  bool is_lost = false;
  int turn = 0;
#pragma unroll 1
  for (int step = 0; step < time * PASSES; step++) {
    const int s = step / PASSES, p = step % PASSES;
    if (p == 0) exchange.turn();
    if (pass.rows(p) == 0) continue;
    const Index t = pass.step(s);
    float* const now = sums + turn++ % 2 * WARPS * ROWS * kOut;
    // Requested before the wait for h, as they do not depend on it.
    float input[kItems][kGates], state[kItems], last[kItems];
    int length[kItems];
#pragma unroll
    for (int n = 0; n < kItems; n++) {
      const Item item(p, n, pass);
      state[n] = states[item.slot], last[n] = lasts[item.slot];
      length[n] = item.is_mine && lengths ? lengths[item.row] : (int)time;
#pragma unroll
      for (int g = 0; g < kGates; g++) {
        input[n][g] = item.is_mine ? products[((t * batch + item.row) * kGates + g) * HIDDEN + item.unit] : 0.0f;
      }
    }
    bool is_there = true;
    if (p == 0) exchange.wait();
    if (s > 0 || hx) {
      const int first = pass.first(p);
      const Element* const h =
          s > 0 ? exchange.last(y + place + pass.row(pass.step(s - 1), first), p) : hx + pass.state(first);
      const Index stride = s > 0 ? exchange.stride(kStride) : HIDDEN;
      is_there = product.run(now, shared, h, stride, s > 0 && CLUSTER != 1, pass.rows(p), warp, lane, watch);
    } else {
      for (int k = lane; k < ROWS * kOut; k += 32) now[warp * ROWS * kOut + k] = 0.0f;
    }
    // The other half of the sums is free again once all have passed here.
    if (__syncthreads_or(!is_there)) is_lost = true;
#pragma unroll
    for (int n = 0; n < kItems; n++) {
      if (Item::is_none(n)) continue;
      const Item item(p, n, pass);
      float z[kGates];
#pragma unroll
      for (int g = 0; g < kGates; g++) {
        z[g] = is_lost ? nan_of() : item.is_mine ? summed<kOut>(now, g * UNITS + item.u, item.b) : 0.0f;
      }
      const bool is_active = t < length[n];
      float h_now, keep[kGates + 1];
      if (CELL == 0) {
        const float i = sigmoid_of(z[0] + input[n][0] + offset[0]);
        const float f = sigmoid_of(z[1 % kGates] + input[n][1 % kGates] + offset[1 % kGates]);
        const float g = tanhf(z[2 % kGates] + input[n][2 % kGates] + offset[2 % kGates]);
        const float o = sigmoid_of(z[kGates - 1] + input[n][kGates - 1] + offset[kGates - 1]);
        if (is_active) state[n] = f * state[n] + i * g;
        h_now = o * tanhf(state[n]);
        keep[0] = i, keep[1 % kGates] = f, keep[2 % kGates] = g, keep[kGates - 1] = o, keep[kGates] = state[n];
      } else if (CELL == 1) {
        const float r = sigmoid_of(z[0] + input[n][0] + offset[0]);
        const float i = sigmoid_of(z[1 % kGates] + input[n][1 % kGates] + offset[1 % kGates]);
        const float inner = z[kGates - 1] + inner_offset;
        const float value = tanhf(input[n][kGates - 1] + offset[kGates - 1] + r * inner);
        h_now = (1.0f - i) * value + i * last[n];
        keep[0] = r, keep[1 % kGates] = i, keep[kGates - 1] = value, keep[kGates] = inner;
      } else {
        const float value = z[0] + input[n][0] + offset[0];
        h_now = CELL == 2 ? tanhf(value) : value < 0.0f ? 0.0f : value;
        keep[0] = keep[kGates] = 0.0f;
      }
      if (is_active) last[n] = h_now;
      states[item.slot] = state[n], lasts[item.slot] = last[n];
      publish(y, place + pass.row(t, item.row) + item.unit, exchange.mine(p, item, 0), last[n], item.is_mine);
      if (!item.is_mine) continue;
      if (saved && CELL < 2) {
        float* const kept = saved + (pass.saved() + t * batch + item.row) * (kGates + 1) * HIDDEN + item.unit;
#pragma unroll
        for (int g = 0; g <= kGates; g++) kept[g * HIDDEN] = keep[g];
      }
      if (s == time - 1) {
        hy[item.state] = element_of(last[n]);
        if (CELL == 0) cy[item.state] = element_of(state[n]);
      }
    }
  }
  // No block ends while others store in its memory.
  exchange.turn();
  exchange.wait();
}

// ---- backward -------------------------------------------------------------------------------------------------------

// dgates [T,B,gates,H] holds kEmpty and receives the gradients of the recurrent products, of which matrix products make dR,
// dx and dW. GRU: dx and dW have dnew [T,B,H], of n before its activation, in place of the last gate. dbias
// [gridDim.y,biases,H] float32: sums over the steps and the block's rows. Null dhy, dcy, hx, cx: zeros. The others are the
// forward's.
extern "C" __global__ void IN_COLUMNS __launch_bounds__(kThreads, 1)
    persistent_backward(Element* dgates, Element* dnew, float* dbias, Element* dhx, Element* dcx, const Element* dy,
                        const Element* dhy, const Element* dcy, const Element* weights, const float* saved,
                        const Element* y, const Element* hx, const Element* cx, const int* lengths, Index time,
                        Index batch, Index place, Index pseudoLayer, Index recurrent, Index patience, unsigned* stuck) {
  extern __shared__ Words shared_memory[];
  float* const sums = (float*)shared_memory;
  float* const shared = sums + 2 * WARPS * ROWS * UNITS;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const Pass pass(time, batch, pseudoLayer);
  Watch watch{stuck, (unsigned long long)patience, 0, 0, false};
  Product<UNITS, kGates * HIDDEN, CLUSTER == 2> product;
  // Transposed: column k of the product is row k of R.
  product.load(
      [&](int row, int column) {
        return value_of(weights[recurrent + (Index)column * HIDDEN + product.block(warp) * UNITS + row]);
      },
      shared, warp, lane);
  float* const carries = shared + product.kShared;  // LSTM: the gradient of c
  float* const besides = carries + kSlots;          // of h: the part that passes the gates by
  Exchange<kGates * HIDDEN> exchange(besides + kSlots);
  float total[kBiases];
#pragma unroll
  for (int g = 0; g < kBiases; g++) total[g] = 0.0f;
  for (int p = 0; p < PASSES; p++) {
    for (int n = 0; n < kItems; n++) {
      const Item item(p, n, pass);
      carries[item.slot] = CELL == 0 && item.is_mine && dcy ? value_of(dcy[item.state]) : 0.0f;
      besides[item.slot] = 0.0f;
    }
  }
  bool is_lost = false;
  // One more round than steps: the last one gives dhx.
  int turn = 0;
#pragma unroll 1
  for (int step = 0; step < (time + 1) * PASSES; step++) {
    const int s = (int)time - 1 - step / PASSES, p = step % PASSES;
    if (p == 0) exchange.turn();
    if (pass.rows(p) == 0) continue;
    const Index t = pass.step(s), t_before = pass.step(s - 1);
    float* const now = sums + turn++ % 2 * WARPS * ROWS * UNITS;
    // Requested before the wait.
    float gate[kItems][kGates + 1], before[kItems], dh[kItems], carry[kItems], beside[kItems];
    int length[kItems];
#pragma unroll
    for (int n = 0; n < kItems; n++) {
      const Item item(p, n, pass);
      carry[n] = carries[item.slot], beside[n] = besides[item.slot];
      length[n] = item.is_mine && lengths ? lengths[item.row] : (int)time;
      const bool is_read = item.is_mine && s >= 0;
      const Index row = pass.saved() + t * batch + item.row;
#pragma unroll
      for (int g = 0; g <= kGates; g++) {
        gate[n][g] = !is_read    ? 0.0f
                     : CELL >= 2 ? value_of(y[place + pass.row(t, item.row) + item.unit])
                                 : saved[(row * (kGates + 1) + g) * HIDDEN + item.unit];
      }
      before[n] = 0.0f;
      if (is_read && CELL == 0) {
        const Index row_before = pass.saved() + t_before * batch + item.row;
        before[n] = s > 0 ? saved[(row_before * (kGates + 1) + kGates) * HIDDEN + item.unit]
                    : cx  ? value_of(cx[item.state])
                          : 0.0f;
      }
      if (is_read && CELL == 1) {
        before[n] = s > 0 ? value_of(y[place + pass.row(t_before, item.row) + item.unit])
                    : hx  ? value_of(hx[item.state])
                          : 0.0f;
      }
      dh[n] = is_read && t < length[n] ? value_of(dy[pass.row(t, item.row) + item.unit]) : 0.0f;
    }
    bool is_there = true;
    if (p == 0) exchange.wait();
    if (s < time - 1) {
      const Element* const d = exchange.last(dgates + (pass.step(s + 1) * batch + pass.first(p)) * kGates * HIDDEN, p);
      const Index stride = exchange.stride(kGates * HIDDEN);
      is_there = product.run(now, shared, d, stride, CLUSTER != 1, pass.rows(p), warp, lane, watch);
    }
#if CLUSTER == 2
    arrive_at_cluster();
    wait_for_cluster();
#endif
    if (__syncthreads_or(!is_there)) is_lost = true;
#pragma unroll
    for (int n = 0; n < kItems; n++) {
      if (Item::is_none(n)) continue;
      const Item item(p, n, pass);
      if (item.is_mine) {
        if (s < time - 1) {
          dh[n] += summed<UNITS>(now, item.u, item.b);
        } else if (dhy) {
          dh[n] += value_of(dhy[item.state]);
        }
        dh[n] += beside[n];
        if (is_lost) dh[n] = carry[n] = nan_of();
      }
      if (s < 0) {
        if (item.is_mine) dhx[item.state] = element_of(dh[n]);
        if (item.is_mine && CELL == 0) dcx[item.state] = element_of(carry[n]);
        continue;
      }
      const bool is_active = t < length[n];
      beside[n] = !is_active ? dh[n] : CELL == 1 ? dh[n] * gate[n][1 % kGates] : 0.0f;
      float d[kBiases];
      if (CELL == 0) {
        const float i = gate[n][0], f = gate[n][1 % kGates], g = gate[n][2 % kGates], o = gate[n][kGates - 1];
        const float squashed = tanhf(gate[n][kGates]);
        const float dc = carry[n] + dh[n] * o * (1.0f - squashed * squashed);
        d[0] = dc * g * i * (1.0f - i);
        d[1 % kBiases] = dc * before[n] * f * (1.0f - f);
        d[2 % kBiases] = dc * i * (1.0f - g * g);
        d[kBiases - 1] = dh[n] * squashed * o * (1.0f - o);
        if (is_active) carry[n] = dc * f;
      } else if (CELL == 1) {
        const float r = gate[n][0], i = gate[n][1 % kGates], value = gate[n][2 % kGates], inner = gate[n][kGates];
        const float dvalue = dh[n] * (1.0f - i) * (1.0f - value * value);
        d[0] = dvalue * inner * r * (1.0f - r);
        d[1 % kBiases] = dh[n] * (before[n] - value) * i * (1.0f - i);
        d[2 % kBiases] = dvalue * r;
        d[kBiases - 1] = dvalue;
        const Index index = (t * batch + item.row) * HIDDEN + item.unit;
        if (item.is_mine) dnew[index] = element_of(is_active ? dvalue : 0.0f);
      } else {
        d[0] = CELL == 2 ? dh[n] * (1.0f - gate[n][0] * gate[n][0]) : gate[n][0] > 0.0f || is_lost ? dh[n] : 0.0f;
      }
      const Index index = (t * batch + item.row) * kGates * HIDDEN + item.unit;
#pragma unroll
      for (int g = 0; g < kGates; g++) {
        publish(dgates, index + g * HIDDEN, exchange.mine(p, item, g), is_active ? d[g] : 0.0f, item.is_mine);
      }
#pragma unroll
      for (int g = 0; g < kBiases; g++) total[g] += item.is_mine && is_active ? d[g] : 0.0f;
      carries[item.slot] = carry[n], besides[item.slot] = beside[n];
    }
  }
#pragma unroll
  for (int g = 0; g < kBiases; g++) {
    carries[threadIdx.x] = total[g];
    __syncthreads();
    if (threadIdx.x < UNITS) {
      float value = 0.0f;
      for (int k = threadIdx.x; k < kThreads; k += UNITS) value += carries[k];
      dbias[((Index)blockIdx.y * kBiases + g) * HIDDEN + blockIdx.x * UNITS + threadIdx.x] = value;
    }
    __syncthreads();
  }
  exchange.turn();
  exchange.wait();
}

// The gradients of both biases, at elements `bias` and `recurrentBias` of dw: Σ of dbias over the groups of rows.
extern "C" __global__ void __launch_bounds__(kThreads, 1)
    persistent_bias(Element* dw, const float* dbias, Index groups, Index bias, Index recurrentBias, unsigned* stuck) {
  for (int k = blockIdx.x * kThreads + threadIdx.x; k < kBiases * HIDDEN; k += gridDim.x * kThreads) {
    float total = 0.0f;
    for (int group = 0; group < groups; group++) total += dbias[(Index)group * kBiases * HIDDEN + k];
    // A GRU has one more sum: the last belongs to the input bias of n, the one before it to the recurrent bias.
    const bool is_inner = CELL == 1 && k / HIDDEN == 2, is_outer = CELL == 1 && k / HIDDEN == 3;
    if (!is_inner) dw[bias + (is_outer ? k - HIDDEN : k)] = element_of(total);
    if (!is_outer) dw[recurrentBias + k] = element_of(total);
  }
}
