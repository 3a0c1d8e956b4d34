// CUDA C on a CPU: the text before a kernel's source when the host's compiler compiles it in place of NVRTC.

#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
// Behind the source the name stands for its arguments: a field of the kernel.
#define __cluster_dims__(...)
#define __restrict__ __restrict
#define __align__(bytes) __attribute__((aligned(bytes)))
// All threads of a block run on one OS thread, so storage local to that thread is shared by the block.
#define __shared__ static thread_local

typedef unsigned long size_t;

extern "C" {
void* memcpy(void* to, const void* from, size_t bytes);
void* memset(void* to, int value, size_t bytes);
#define EMULATOR_MATH_1(name) \
  double name(double);    \
  float name##f(float);
#define EMULATOR_MATH_2(name)      \
  double name(double, double); \
  float name##f(float, float);
#define EMULATOR_UNARY(APPLY)                                                                                        \
  APPLY(sqrt)                                                                                                    \
  APPLY(exp) APPLY(exp2) APPLY(expm1) APPLY(log) APPLY(log2) APPLY(log10) APPLY(log1p) APPLY(tanh) APPLY(sinh)   \
      APPLY(cosh) APPLY(sin) APPLY(cos) APPLY(tan) APPLY(fabs) APPLY(floor) APPLY(ceil) APPLY(rint) APPLY(round) \
          APPLY(trunc) APPLY(erf) APPLY(cbrt)
#define EMULATOR_BINARY(APPLY) APPLY(pow) APPLY(fmin) APPLY(fmax) APPLY(fmod) APPLY(hypot) APPLY(atan2) APPLY(copysign)
EMULATOR_UNARY(EMULATOR_MATH_1)
EMULATOR_BINARY(EMULATOR_MATH_2)
double fma(double, double, double);
float fmaf(float, float, float);
}
#define EMULATOR_OVERLOAD_1(name) \
  inline float name(float x) { return name##f(x); }
#define EMULATOR_OVERLOAD_2(name) \
  inline float name(float x, float y) { return name##f(x, y); }
EMULATOR_UNARY(EMULATOR_OVERLOAD_1)
EMULATOR_BINARY(EMULATOR_OVERLOAD_2)
inline float fma(float x, float y, float z) { return fmaf(x, y, z); }
inline double rsqrt(double x) { return 1 / sqrt(x); }
inline float rsqrtf(float x) { return 1 / sqrtf(x); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline float __expf(float x) { return expf(x); }
inline float __logf(float x) { return logf(x); }
inline float __fdividef(float x, float y) { return x / y; }
inline bool isnan(double x) { return x != x; }
inline bool isinf(double x) { return x - x != 0 && x == x; }
inline bool isfinite(double x) { return x - x == 0; }
template <class T>
inline T min(T a, T b) {
  return b < a ? b : a;
}
template <class T>
inline T max(T a, T b) {
  return a < b ? b : a;
}
inline int abs(int x) { return x < 0 ? -x : x; }
inline float abs(float x) { return fabsf(x); }
inline double abs(double x) { return fabs(x); }

template <class To, class From>
inline To emulator_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}
inline unsigned __float_as_uint(float x) { return emulator_bits<unsigned>(x); }
inline int __float_as_int(float x) { return emulator_bits<int>(x); }
inline float __uint_as_float(unsigned x) { return emulator_bits<float>(x); }
inline float __int_as_float(int x) { return emulator_bits<float>(x); }
inline long long __double_as_longlong(double x) { return emulator_bits<long long>(x); }
inline double __longlong_as_double(long long x) { return emulator_bits<double>(x); }
template <class T>
inline T __ldg(const T* pointer) {
  return *pointer;
}

struct float2 {
  float x, y;
};
struct float4 {
  float x, y, z, w;
};
struct double2 {
  double x, y;
};
struct int2 {
  int x, y;
};
struct uint2 {
  unsigned x, y;
};
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

static thread_local emulator_kernel::ThreadState emulator_thread;
#define threadIdx emulator_thread.thread
#define blockIdx emulator_thread.block
#define blockDim emulator_thread.block_size
#define gridDim emulator_thread.grid_size
#define warpSize 32

inline void __syncthreads() { emulator_thread.wait(1); }
inline void __syncwarp(unsigned = 0xffffffffu) { emulator_thread.wait(0); }
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() {}

inline unsigned emulator_lane() { return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32; }
// Every lane leaves a value, all lanes catch up, and each takes the one it wants: the next exchange has other slots.
template <class T>
inline T emulator_exchange(T value, unsigned from) {
  static_assert(sizeof(T) <= 8);
  unsigned long long* const slots = emulator_thread.exchange;
  memcpy(&slots[emulator_lane()], &value, sizeof value);
  emulator_thread.wait(0);
  T taken;
  memcpy(&taken, &slots[from % 32], sizeof taken);
  return taken;
}
template <class T>
inline T __shfl_sync(unsigned, T value, int lane, int width = 32) {
  return emulator_exchange(value, emulator_lane() / width * width + lane % width);
}
template <class T>
inline T __shfl_xor_sync(unsigned, T value, int mask, int width = 32) {
  const unsigned from = emulator_lane() ^ mask;
  return emulator_exchange(value, from / width == emulator_lane() / width ? from : emulator_lane());
}
template <class T>
inline T __shfl_down_sync(unsigned, T value, unsigned delta, int width = 32) {
  const unsigned from = emulator_lane() + delta;
  return emulator_exchange(value, from / width == emulator_lane() / width ? from : emulator_lane());
}
template <class T>
inline T __shfl_up_sync(unsigned, T value, unsigned delta, int width = 32) {
  const unsigned lane = emulator_lane();
  return emulator_exchange(value, lane % width >= delta ? lane - delta : lane);
}
inline unsigned __ballot_sync(unsigned, int vote) {
  unsigned long long* const slots = emulator_thread.exchange;
  slots[emulator_lane()] = vote != 0;
  emulator_thread.wait(0);
  unsigned votes = 0;
  for (unsigned lane = 0; lane < 32; ++lane) votes |= unsigned(slots[lane] != 0) << lane;
  return votes;
}
inline int __any_sync(unsigned mask, int vote) { return __ballot_sync(mask, vote) != 0; }
inline int __all_sync(unsigned mask, int vote) { return __ballot_sync(mask, !vote) == 0; }
inline int __syncthreads_or(int vote) {
  int* const votes = emulator_thread.votes;
  *votes |= vote != 0;
  __syncthreads();
  return *votes;
}

// What native/cudnn/kernels/persistent.cu writes as PTX for a GPU.
#define CUDA_EMULATOR
inline void load_words(unsigned (&words)[4], const void* place) {
  if (reinterpret_cast<size_t>(place) % 16 != 0) __builtin_trap();
  memcpy(words, place, sizeof words);
}
inline void store_word(void* place, unsigned word) { emulator_thread.store(static_cast<unsigned*>(place), word); }
inline unsigned load_flag(const unsigned* place) { return __atomic_load_n(place, __ATOMIC_RELAXED); }
inline void raise_flag(unsigned* place) { __atomic_store_n(place, 1u, __ATOMIC_RELAXED); }
inline unsigned long long nanoseconds() { return emulator_thread.now(); }
inline void let_others_run() { emulator_thread.spin(); }
inline void keep_order() {}
inline void store_in_cluster(unsigned* place, int rank, unsigned word) {
  emulator_thread.store_in_cluster(place, rank, word);
}
inline void arrive_at_cluster() { emulator_thread.arrive_at_cluster(); }
inline void wait_for_cluster() { emulator_thread.wait_for_cluster(); }
inline unsigned to_tf32(float x) { return (__float_as_uint(x) + 0x1000u) & 0xffffe000u; }
inline float bfloat16_value(unsigned short x) { return __uint_as_float(static_cast<unsigned>(x) << 16); }
inline unsigned short bfloat16_bits(float x) {
  const unsigned bits = __float_as_uint(x);
  return x != x ? 0x7fff : static_cast<unsigned short>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}
inline float float16_value(unsigned short x) {
  const unsigned exponent = x >> 10 & 31, fraction = x & 1023;
  const float magnitude = exponent == 31   ? __uint_as_float(0x7f800000u | fraction << 13)
                          : exponent == 0 ? static_cast<float>(fraction) * 5.9604644775390625e-8f
                                          : __uint_as_float((exponent + 112) << 23 | fraction << 13);
  return x & 0x8000 ? -magnitude : magnitude;
}
inline unsigned short float16_bits(float x) {
  const unsigned short sign = __float_as_uint(x) >> 31 ? 0x8000 : 0;
  const float magnitude = fabsf(x);
  if (x != x) return 0x7fff;
  if (magnitude >= 65520.0f) return sign | 0x7c00;
  // Below the least normal number the steps are 2⁻²⁴; rintf rounds to nearest even.
  if (magnitude < 6.103515625e-5f) return sign | static_cast<unsigned short>(rintf(magnitude * 16777216.0f));
  const unsigned bits = __float_as_uint(magnitude);
  return sign | static_cast<unsigned short>((bits - 0x38000000u + 0xfffu + (bits >> 13 & 1)) >> 13);
}
// c [16,8] += a [16,K] · b [K,8], spread over the lanes as the PTX manual says for mma.sync. A tensor core multiplies
// exactly, and truncates as it adds. `value(word, k)`: number k of a word.
template <int numbers, class Value>
inline void emulator_matrix_product(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1, Value value) {
  const unsigned lane = emulator_lane();
  unsigned(*const operands)[6] = emulator_thread.operands;
  for (int k = 0; k < 4; ++k) operands[lane][k] = a[k];
  operands[lane][4] = b0;
  operands[lane][5] = b1;
  __syncwarp();
  for (unsigned r = 0; r < 4; ++r) {
    const unsigned row = lane / 4 + r / 2 * 8, column = lane % 4 * 2 + r % 2;
    double sum = c[r];
    for (unsigned q = 0; q < 4; ++q) {
      for (unsigned half = 0; half < 2; ++half) {
        const unsigned x = operands[row % 8 * 4 + q][row / 8 + half * 2], y = operands[column * 4 + q][4 + half];
        for (int k = 0; k < numbers; ++k) sum += static_cast<double>(value(x, k)) * value(y, k);
      }
    }
    float rounded = static_cast<float>(sum);
    if (fabs(static_cast<double>(rounded)) > fabs(sum)) rounded = __uint_as_float(__float_as_uint(rounded) - 1);
    c[r] = rounded;
  }
}
inline void multiply_bfloat16(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  emulator_matrix_product<2>(c, a, b0, b1, [](unsigned word, int k) { return bfloat16_value(word >> 16 * k); });
}
inline void multiply_float16(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  emulator_matrix_product<2>(c, a, b0, b1, [](unsigned word, int k) { return float16_value(word >> 16 * k); });
}
inline void multiply_tf32(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  emulator_matrix_product<1>(c, a, b0, b1, [](unsigned word, int) { return __uint_as_float(word & 0xffffe000u); });
}

// Kernels of two streams may run concurrently: these are atomic among OS threads.
inline int atomicAdd(int* place, int value) { return __atomic_fetch_add(place, value, __ATOMIC_RELAXED); }
inline unsigned atomicAdd(unsigned* place, unsigned value) {
  return __atomic_fetch_add(place, value, __ATOMIC_RELAXED);
}
inline unsigned long long atomicAdd(unsigned long long* place, unsigned long long value) {
  return __atomic_fetch_add(place, value, __ATOMIC_RELAXED);
}
inline int atomicMax(int* place, int value) {
  int seen = *place;
  while (seen < value && !__atomic_compare_exchange_n(place, &seen, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return seen;
}
inline unsigned atomicCAS(unsigned* place, unsigned expected, unsigned value) {
  __atomic_compare_exchange_n(place, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}
template <class T>
inline T emulator_atomic_add(T* place, T value) {
  T seen = *place;
  T sum;
  do {
    sum = seen + value;
  } while (!__atomic_compare_exchange(place, &seen, &sum, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return seen;
}
inline float atomicAdd(float* place, float value) { return emulator_atomic_add(place, value); }
inline double atomicAdd(double* place, double value) { return emulator_atomic_add(place, value); }

// A kernel's parameters, read off its type.
template <class T>
constexpr int emulator_kind = emulator_kernel::kValue;
template <class T>
constexpr int emulator_kind<T*> = emulator_kernel::kWritePointer;
template <class T>
constexpr int emulator_kind<const T*> = emulator_kernel::kReadPointer;
template <class T>
struct emulator_bare {
  using type = T;
};
template <class T>
struct emulator_bare<T* __restrict> {
  using type = T*;
};

template <unsigned... index>
struct emulator_indices {};
template <unsigned count, unsigned... index>
struct emulator_make_indices : emulator_make_indices<count - 1, count - 1, index...> {};
template <unsigned... index>
struct emulator_make_indices<0, index...> {
  using type = emulator_indices<index...>;
};

template <auto function>
struct emulator_entry;
template <class... T, void (*function)(T...)>
struct emulator_entry<function> {
  static constexpr unsigned sizes[] = {sizeof(T)..., 0};
  static constexpr int kinds[] = {emulator_kind<typename emulator_bare<T>::type>..., 0};
  template <unsigned... index>
  static void call(void** values, emulator_indices<index...>) {
    function(*static_cast<T*>(values[index])...);
  }
  static void run(void** values) { call(values, typename emulator_make_indices<sizeof...(T)>::type()); }
};
template <auto function>
struct emulator_count;
template <class... T, void (*function)(T...)>
struct emulator_count<function> {
  static constexpr int value = sizeof...(T);
};

#define EMULATOR_EXPRESSION(symbol, pointer, ...)                                                          \
  extern "C" __attribute__((visibility("default"))) const emulator_kernel::Kernel emulator_kernel_##symbol = { \
      emulator_count<pointer>::value, emulator_entry<pointer>::sizes, emulator_entry<pointer>::kinds, emulator_entry<pointer>::run, {__VA_ARGS__}};
#define EMULATOR_KERNEL(symbol, function, ...) EMULATOR_EXPRESSION(symbol, &function, __VA_ARGS__)
extern "C" __attribute__((visibility("default"))) emulator_kernel::ThreadState* emulator_thread_state() { return &emulator_thread; }
