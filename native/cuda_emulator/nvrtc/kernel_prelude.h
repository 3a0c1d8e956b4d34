// CUDA C on a CPU: the text before a kernel's source when the host's compiler compiles it in place of NVRTC.

#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
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
// Every lane leaves a value, all lanes catch up, each takes the one it wants, all catch up again.
template <class T>
inline T emulator_exchange(T value, unsigned from) {
  static_assert(sizeof(T) <= 8);
  memcpy(&emulator_thread.exchange[emulator_lane()], &value, sizeof value);
  emulator_thread.wait(0);
  T taken;
  memcpy(&taken, &emulator_thread.exchange[from % 32], sizeof taken);
  emulator_thread.wait(0);
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
  emulator_thread.exchange[emulator_lane()] = vote != 0;
  emulator_thread.wait(0);
  unsigned votes = 0;
  for (unsigned lane = 0; lane < 32; ++lane) votes |= unsigned(emulator_thread.exchange[lane] != 0) << lane;
  emulator_thread.wait(0);
  return votes;
}
inline int __any_sync(unsigned mask, int vote) { return __ballot_sync(mask, vote) != 0; }
inline int __all_sync(unsigned mask, int vote) { return __ballot_sync(mask, !vote) == 0; }
inline int __syncthreads_or(int vote) {
  static thread_local int any;
  __syncthreads();
  any = 0;
  __syncthreads();
  any |= vote;
  __syncthreads();
  return any;
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

#define EMULATOR_EXPRESSION(symbol, pointer)                                                               \
  extern "C" __attribute__((visibility("default"))) const emulator_kernel::Kernel emulator_kernel_##symbol = { \
      emulator_count<pointer>::value, emulator_entry<pointer>::sizes, emulator_entry<pointer>::kinds, emulator_entry<pointer>::run};
#define EMULATOR_KERNEL(symbol, function) EMULATOR_EXPRESSION(symbol, &function)
extern "C" __attribute__((visibility("default"))) emulator_kernel::ThreadState* emulator_thread_state() { return &emulator_thread; }
