// NVRTC, the driver and cuBLAS: kernels compiled from CUDA C run on the emulator device with barriers, shuffles,
// atomics and shared memory; matrix products agree with the plain sum.

#include <cmath>
#include <cstring>
#include <numeric>

#include "test/device_array.h"

namespace {

struct Driver {
  DRIVER_FUNCTIONS(FUNCTION_MEMBER)
  Driver() {
    void* handle = OpenLibrary("libcuda.so.1");
    DRIVER_FUNCTIONS(FIND_FUNCTION)
  }
};
struct Nvrtc {
  NVRTC_FUNCTIONS(FUNCTION_MEMBER)
  Nvrtc() {
    void* handle = OpenLibrary("libnvrtc.so." + std::to_string(TheFolder().Cuda()));
    NVRTC_FUNCTIONS(FIND_FUNCTION)
  }
};
struct Cublas {
  CUBLAS_FUNCTIONS(FUNCTION_MEMBER)
  Cublas() {
    void* handle = OpenLibrary("libcublas.so." + std::to_string(TheFolder().Cuda()));
    CUBLAS_FUNCTIONS(FIND_FUNCTION)
  }
};
const Driver& driver() {
  static const Driver libraries;
  return libraries;
}
const Nvrtc& nvrtc() {
  static const Nvrtc libraries;
  return libraries;
}
const Cublas& blas() {
  static const Cublas libraries;
  return libraries;
}

const char* const kSource = R"(
extern "C" __global__ void scale(REAL* x, const REAL* y, long long count, REAL factor) {
  for (long long k = (long long)blockIdx.x * blockDim.x + threadIdx.x; k < count; k += (long long)gridDim.x * blockDim.x) {
    x[k] = y ? factor * y[k] : factor;
  }
}
static __device__ double block_sum(double value) {
  __shared__ double parts[256];
  parts[threadIdx.x] = value;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  return parts[0];
}
extern "C" __global__ void total(double* sums, const REAL* x, int count) {
  double sum = 0;
  for (int k = threadIdx.x; k < count; k += blockDim.x) sum += x[blockIdx.x * count + k];
  sum = block_sum(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}
extern "C" __global__ void warp_total(float* sums, const float* x) {
  float sum = x[blockIdx.x * blockDim.x + threadIdx.x];
  for (int delta = 16; delta > 0; delta /= 2) sum += __shfl_down_sync(0xffffffffu, sum, delta);
  if (threadIdx.x % 32 == 0) atomicAdd(&sums[blockIdx.x], sum);
}
extern "C" __global__ void reversed(int* y, const int* x) {
  extern __shared__ int staged[];
  staged[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = staged[blockDim.x - 1 - threadIdx.x];
}
extern "C" __global__ void divergent(int* y) {
  if (threadIdx.x % 2) __syncthreads(); else __syncwarp();
  y[0] = 1;
}
// Each block waits for the word of the block before it, adds one, and passes it on.
extern "C" __global__ void chain(unsigned* words, unsigned* stuck, long long patience) {
  extern __shared__ unsigned taken[];
  if (threadIdx.x == 0) {
    unsigned got[4] = {};
    const unsigned long long begin = nanoseconds();
    while (blockIdx.x > 0) {
      load_words(got, words + 4 * (blockIdx.x - 1));
      if (got[0] != ~0u || load_flag(stuck)) break;
      if (nanoseconds() - begin > patience) raise_flag(stuck);
      let_others_run();
    }
    taken[0] = got[0];
  }
  if (!__syncthreads_or(threadIdx.x == 40)) return;
  const unsigned sum = __shfl_xor_sync(~0u, taken[0], 1) + 1;
  if (threadIdx.x == 33) store_word(words + 4 * blockIdx.x, sum);
}
// Each block of a cluster of four stores its word, of this round and of the last, in all of them; the sums of both in `sums`.
extern "C" __global__ void __cluster_dims__(4, 1, 1) gather(unsigned* sums, int waits) {
  extern __shared__ unsigned words[];
  unsigned sum = 0;
  for (unsigned round = 0; round < 2; round++) {
    if (threadIdx.x < 4) store_in_cluster(words + 4 * round + blockIdx.x % 4, threadIdx.x, blockIdx.x + 100 * round);
    arrive_at_cluster();
    if (waits || round == 0) wait_for_cluster();
    for (unsigned k = 0; k < 4; k++) sum += words[4 * round + k];
  }
  if (waits) arrive_at_cluster();
  wait_for_cluster();
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}
// Ends before the others have stored in its memory.
extern "C" __global__ void __cluster_dims__(2, 1, 1) leave() {
  extern __shared__ unsigned words[];
  if (blockIdx.x == 0) store_in_cluster(words, 1, 7);
}
template <class T> __global__ void doubled(T* x) { x[threadIdx.x] *= 2; }
)";

// A compiled module for the test's GPU.
class Module {
 public:
  explicit Module(const char* source = kSource) {
    nvrtcProgram program = nullptr;
    CHECK_EQUAL(nvrtc().nvrtcCreateProgram(&program, source, "test.cu", 0, nullptr, nullptr), NVRTC_SUCCESS);
    CHECK_EQUAL(nvrtc().nvrtcAddNameExpression(program, "doubled<float>"), NVRTC_SUCCESS);
    const char* options[] = {"--gpu-architecture=sm_90", "-DREAL=float", "--std=c++17"};
    const nvrtcResult result = nvrtc().nvrtcCompileProgram(program, 3, options);
    CHECK_EQUAL(result, NVRTC_SUCCESS);
    std::size_t bytes = 0;
    nvrtc().nvrtcGetProgramLogSize(program, &bytes);
    std::string log(bytes, '\0');
    nvrtc().nvrtcGetProgramLog(program, log.data());
    if (result != NVRTC_SUCCESS) std::printf("%s\n", log.c_str());
    CHECK_EQUAL(nvrtc().nvrtcGetCUBINSize(program, &bytes), NVRTC_SUCCESS);
    std::vector<char> cubin(bytes);
    CHECK_EQUAL(nvrtc().nvrtcGetCUBIN(program, cubin.data()), NVRTC_SUCCESS);
    const char* lowered = nullptr;
    CHECK_EQUAL(nvrtc().nvrtcGetLoweredName(program, "doubled<float>", &lowered), NVRTC_SUCCESS);
    doubled = lowered;
    CHECK_EQUAL(nvrtc().nvrtcDestroyProgram(&program), NVRTC_SUCCESS);
    CHECK_EQUAL(driver().cuModuleLoadData(&module_, cubin.data()), CUDA_SUCCESS);
  }
  ~Module() { CHECK_EQUAL(driver().cuModuleUnload(module_), CUDA_SUCCESS); }

  CUfunction Function(const char* name) const {
    CUfunction function = nullptr;
    CHECK_EQUAL(driver().cuModuleGetFunction(&function, module_, name), CUDA_SUCCESS);
    return function;
  }

  std::string doubled;

 private:
  CUmodule module_ = nullptr;
};

CUresult Launch(CUfunction function, unsigned grid, unsigned block, unsigned shared, std::vector<void*> parameters) {
  return driver().cuLaunchKernel(function, grid, 1, 1, block, 1, 1, shared, nullptr, parameters.data(), nullptr);
}

TEST(elementwise, "cuLaunchKernel runs a grid-stride kernel, null pointers included") {
  const Module module;
  const DeviceArray<float> x(1000), y(1000, 3.0f);
  float* to = x.get();
  const float* from = y.get();
  long long count = 1000;
  float factor = 2;
  CHECK_EQUAL(Launch(module.Function("scale"), 3, 64, 0, {&to, &from, &count, &factor}), CUDA_SUCCESS);
  CHECK_EQUAL(x.Read()[999], 6.0f);
  from = nullptr;
  CHECK_EQUAL(Launch(module.Function("scale"), 3, 64, 0, {&to, &from, &count, &factor}), CUDA_SUCCESS);
  CHECK_EQUAL(x.Read()[999], 2.0f);
  CHECK_EQUAL(Launch(module.Function(module.doubled.c_str()), 1, 4, 0, {&to}), CUDA_SUCCESS);
  CHECK_EQUAL(x.Read()[3], 4.0f);
}

TEST(barriers, "__syncthreads makes block reductions right") {
  const Module module;
  std::vector<float> values(5 * 1000);
  std::iota(values.begin(), values.end(), 0.0f);
  const DeviceArray<float> x(values);
  const DeviceArray<double> sums(5);
  double* to = sums.get();
  const float* from = x.get();
  int count = 1000;
  CHECK_EQUAL(Launch(module.Function("total"), 5, 256, 0, {&to, &from, &count}), CUDA_SUCCESS);
  for (int block = 0; block < 5; ++block) {
    CHECK_EQUAL(sums.Read()[static_cast<std::size_t>(block)], 1000.0 * (1000.0 * block) + 499500);
  }
}

TEST(shuffles, "__shfl_down_sync and atomicAdd add up warps") {
  const Module module;
  const DeviceArray<float> x(2 * 128, 1.0f), sums(2, 0.0f);
  float* to = sums.get();
  const float* from = x.get();
  CHECK_EQUAL(Launch(module.Function("warp_total"), 2, 128, 0, {&to, &from}), CUDA_SUCCESS);
  CHECK_EQUAL(sums.Read()[1], 128.0f);
}

TEST(dynamic_shared, "extern __shared__ memory has the size of the launch") {
  const Module module;
  std::vector<int> values(64);
  std::iota(values.begin(), values.end(), 0);
  const DeviceArray<int> x(values), y(64);
  int* to = y.get();
  const int* from = x.get();
  CHECK_EQUAL(Launch(module.Function("reversed"), 1, 64, 64 * 4, {&to, &from}), CUDA_SUCCESS);
  CHECK_EQUAL(y.Read()[0], 63);
  CHECK_EQUAL(Launch(module.Function("reversed"), 1, 64, 64 << 10, {&to, &from}), CUDA_ERROR_INVALID_VALUE);
  CHECK_EQUAL(Launch(module.Function("reversed"), 1, 2048, 0, {&to, &from}), CUDA_ERROR_INVALID_VALUE);
}

TEST(cooperative, "blocks of a cooperative launch wait for each other, in any order of their turns") {
  const Module module;
  const CUfunction chain = module.Function("chain");
  const auto last_of = [&](const char* settings, unsigned blocks, CUresult expected = CUDA_SUCCESS) {
    Configure(settings);
    const DeviceArray<unsigned> words(4 * 132 * 33, ~0u), stuck(1, 0u);
    unsigned* to = words.get();
    unsigned* flag = stuck.get();
    long long patience = 1000 * 1000 * 1000;
    void* parameters[] = {&to, &flag, &patience};
    const CUresult result = driver().cuLaunchCooperativeKernel(chain, blocks, 1, 1, 64, 1, 1, 16, nullptr, parameters);
    CHECK_EQUAL(result, expected);
    CHECK_EQUAL(cuda().cudaDeviceSynchronize(), cudaSuccess);
    return stuck.Read()[0] != 0 ? 0u : words.Read()[4 * (blocks - 1)];
  };
  for (const char* settings : {"interleaving=1", "interleaving=2", "interleaving=3"}) CHECK_EQUAL(last_of(settings, 9), 9u);
  CHECK_EQUAL(last_of("missing_block=1", 9), 9u);  // it is the last of the chain, for which no block waits
  CHECK_EQUAL(last_of("missing_block=0; wrong_store=1", 9), (9u - 5) + (5u ^ 0x10000));
  // 32 blocks of 64 threads on each multiprocessor.
  CHECK_EQUAL(last_of("wrong_store=0; multiprocessors=1", 33, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE), ~0u);
  Configure("reset");
}

TEST(clusters, "blocks of a cluster store in the memory of one another, in any order of their turns") {
  const Module module;
  const CUfunction gather = module.Function("gather");
  for (const char* settings : {"interleaving=1", "interleaving=2", "interleaving=3; missing_block=1"}) {
    Configure(settings);
    const DeviceArray<unsigned> sums(8);
    unsigned* to = sums.get();
    int waits = 1;
    CHECK_EQUAL(Launch(gather, 8, 64, 32, {&to, &waits}), CUDA_SUCCESS);
    CHECK_EQUAL(cuda().cudaDeviceSynchronize(), cudaSuccess);
    for (unsigned block = 0; block < 8; ++block) CHECK_EQUAL(sums.Read()[block], block < 4 ? 412u : 444u);
    // Without the barrier not all words are there.
    waits = 0;
    CHECK_EQUAL(Launch(gather, 4, 64, 32, {&to, &waits}), CUDA_SUCCESS);
    CHECK_EQUAL(cuda().cudaDeviceSynchronize(), cudaSuccess);
    bool are_there = true;
    for (unsigned block = 0; block < 4; ++block) are_there &= sums.Read()[block] == 412u;
    CHECK_EQUAL(are_there, false);
  }
  Configure("reset");
  CHECK_EQUAL(Launch(module.Function("leave"), 2, 32, 32, {}), CUDA_SUCCESS);
  CHECK_EQUAL(cuda().cudaDeviceSynchronize(), cudaErrorLaunchFailure);
  Configure("reset");
}

TEST(cluster_sizes, "a cluster that does not divide the grid, or that the device has no room for, is refused") {
  const Module module;
  const CUfunction gather = module.Function("gather");
  const auto clusters = [&](unsigned threads, unsigned shared) {
    CUlaunchConfig config{4, 1, 1, threads, 1, 1, shared, nullptr, nullptr, 0};
    int count = -1;
    CHECK_EQUAL(driver().cuOccupancyMaxActiveClusters(&count, gather, &config), CUDA_SUCCESS);
    return count;
  };
  CHECK_EQUAL(clusters(1024, 0), 66);
  Configure("multiprocessors=3");
  CHECK_EQUAL(clusters(64, 200 << 10), 0);
  CHECK_EQUAL(driver().cuFuncSetAttribute(gather, 8, 200 << 10), CUDA_SUCCESS);
  unsigned* to = nullptr;
  int waits = 1;
  CHECK_EQUAL(Launch(gather, 4, 64, 200 << 10, {&to, &waits}), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  CHECK_EQUAL(Launch(gather, 6, 64, 32, {&to, &waits}), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  Configure("capability=8.0");
  CHECK_EQUAL(clusters(64, 0), 0);
  CHECK_EQUAL(Launch(gather, 4, 64, 32, {&to, &waits}), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  Configure("reset");
}

TEST(refusals, "a kernel with a host pointer or different barriers breaks the device") {
  {
    const Module module;
    float host[4] = {};
    float* to = host;
    const float* from = nullptr;
    long long count = 4;
    float factor = 2;
    CHECK_EQUAL(Launch(module.Function("scale"), 1, 4, 0, {&to, &from, &count, &factor}), CUDA_SUCCESS);
    CHECK_EQUAL(cuda().cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    Configure("reset");
    const DeviceArray<int> y(1);
    int* place = y.get();
    CHECK_EQUAL(Launch(module.Function("divergent"), 1, 64, 0, {&place}), CUDA_SUCCESS);
    CHECK_EQUAL(cuda().cudaDeviceSynchronize(), cudaErrorLaunchFailure);
    Configure("reset");
  }
  CUmodule module = nullptr;
  CHECK_EQUAL(
      driver().cuModuleLoadData(&module, "no image at all, but long enough to be looked at as if it were one......"),
      CUDA_ERROR_INVALID_IMAGE);
}

TEST(compile_errors, "nvrtcCompileProgram reports the errors of a program") {
  nvrtcProgram program = nullptr;
  nvrtc().nvrtcCreateProgram(&program, "extern \"C\" __global__ void f() { undefined(); }", "test.cu", 0, nullptr,
                             nullptr);
  const char* good[] = {"--gpu-architecture=sm_90"};
  CHECK_EQUAL(nvrtc().nvrtcCompileProgram(program, 1, good), NVRTC_ERROR_COMPILATION);
  std::size_t bytes = 0;
  nvrtc().nvrtcGetProgramLogSize(program, &bytes);
  std::string log(bytes, '\0');
  nvrtc().nvrtcGetProgramLog(program, log.data());
  CHECK(log.find("undefined") != std::string::npos);
  const char* bad[] = {"--no-such-option"};
  CHECK_EQUAL(nvrtc().nvrtcCompileProgram(program, 1, bad), NVRTC_ERROR_INVALID_OPTION);
  nvrtc().nvrtcDestroyProgram(&program);
}

TEST(no_library, "kernels find no standard library, as with NVRTC") {
  nvrtcProgram program = nullptr;
  nvrtc().nvrtcCreateProgram(&program, "#include <vector>\n", "test.cu", 0, nullptr, nullptr);
  const char* options[] = {"--gpu-architecture=sm_90"};
  CHECK_EQUAL(nvrtc().nvrtcCompileProgram(program, 1, options), NVRTC_ERROR_COMPILATION);
  nvrtc().nvrtcDestroyProgram(&program);
}

TEST(foreign_image, "cuModuleLoadData refuses a cubin of another architecture") {
  nvrtcProgram program = nullptr;
  nvrtc().nvrtcCreateProgram(&program, "extern \"C\" __global__ void f() {}", "test.cu", 0, nullptr, nullptr);
  const char* options[] = {"--gpu-architecture=sm_120"};
  CHECK_EQUAL(nvrtc().nvrtcCompileProgram(program, 1, options), NVRTC_SUCCESS);
  std::size_t bytes = 0;
  nvrtc().nvrtcGetCUBINSize(program, &bytes);
  std::vector<char> cubin(bytes);
  nvrtc().nvrtcGetCUBIN(program, cubin.data());
  nvrtc().nvrtcDestroyProgram(&program);
  CUmodule module = nullptr;
  CHECK_EQUAL(driver().cuModuleLoadData(&module, cubin.data()), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

// All combinations of transposition, odd sizes, leading dimensions larger than needed.
template <class T, class Gemm>
void CheckGemm(Gemm gemm) {
  const int m = 5, n = 7, k = 3;
  cublasHandle_t handle = nullptr;
  CHECK_EQUAL(blas().cublasCreate_v2(&handle), CUBLAS_STATUS_SUCCESS);
  for (const int op_a : {CUBLAS_OP_N, CUBLAS_OP_T}) {
    for (const int op_b : {CUBLAS_OP_N, CUBLAS_OP_T}) {
      const int lda = (op_a == CUBLAS_OP_N ? m : k) + 2, ldb = (op_b == CUBLAS_OP_N ? k : n) + 1, ldc = m + 3;
      std::vector<T> a(static_cast<std::size_t>(lda * (op_a == CUBLAS_OP_N ? k : m)));
      std::vector<T> b(static_cast<std::size_t>(ldb * (op_b == CUBLAS_OP_N ? n : k)));
      std::vector<T> c(static_cast<std::size_t>(ldc * n), T(1));
      for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<T>(std::sin(i + 1.0));
      for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<T>(std::cos(i + 1.0));
      const DeviceArray<T> da(a), db(b), dc(c);
      const T alpha = 2, beta = 3;
      CHECK_EQUAL(gemm(handle, op_a, op_b, m, n, k, &alpha, da.get(), lda, db.get(), ldb, &beta, dc.get(), ldc),
                  CUBLAS_STATUS_SUCCESS);
      cuda().cudaDeviceSynchronize();
      const std::vector<T> result = dc.Read();
      for (int row = 0; row < m; ++row) {
        for (int column = 0; column < n; ++column) {
          double sum = 3;
          for (int p = 0; p < k; ++p) {
            const T x = op_a == CUBLAS_OP_N ? a[static_cast<std::size_t>(p * lda + row)]
                                            : a[static_cast<std::size_t>(row * lda + p)];
            const T y = op_b == CUBLAS_OP_N ? b[static_cast<std::size_t>(column * ldb + p)]
                                            : b[static_cast<std::size_t>(p * ldb + column)];
            sum += 2.0 * x * y;
          }
          CHECK_NEAR(result[static_cast<std::size_t>(column * ldc + row)], sum, sizeof(T) == 8 ? 1e-13 : 1e-5);
        }
      }
      CHECK_EQUAL(result[static_cast<std::size_t>(m)], T(1));  // between columns nothing is written
    }
  }
  CHECK_EQUAL(blas().cublasDestroy_v2(handle), CUBLAS_STATUS_SUCCESS);
}

TEST(sgemm, "cublasSgemm multiplies column-major matrices") { CheckGemm<float>(blas().cublasSgemm_v2); }
TEST(dgemm, "cublasDgemm multiplies column-major matrices") { CheckGemm<double>(blas().cublasDgemm_v2); }
TEST(gemm_ex, "cublasGemmEx agrees, and refuses what cuBLAS does not have") {
  CheckGemm<double>([](cublasHandle_t handle, int op_a, int op_b, int m, int n, int k, const double* alpha,
                       const double* a, int lda, const double* b, int ldb, const double* beta, double* c, int ldc) {
    CHECK_EQUAL(blas().cublasGemmEx(handle, op_a, op_b, m, n, k, alpha, a, CUDA_R_64F, lda, b, CUDA_R_64F, ldb, beta, c,
                                    CUDA_R_64F, ldc, CUBLAS_COMPUTE_32F, -1),
                CUBLAS_STATUS_NOT_SUPPORTED);
    return blas().cublasGemmEx(handle, op_a, op_b, m, n, k, alpha, a, CUDA_R_64F, lda, b, CUDA_R_64F, ldb, beta, c,
                               CUDA_R_64F, ldc, CUBLAS_COMPUTE_64F, -1);
  });
}

TEST(geam, "cublasSgeam transposes") {
  cublasHandle_t handle = nullptr;
  blas().cublasCreate_v2(&handle);
  const DeviceArray<float> x({1, 2, 3, 4, 5, 6}), y(6);  // 2×3 column-major
  const float one = 1, zero = 0;
  CHECK_EQUAL(
      blas().cublasSgeam(handle, CUBLAS_OP_T, CUBLAS_OP_N, 3, 2, &one, x.get(), 2, &zero, y.get(), 3, y.get(), 3),
      CUBLAS_STATUS_SUCCESS);
  cuda().cudaDeviceSynchronize();
  CHECK(y.Read() == (std::vector<float>{1, 3, 5, 2, 4, 6}));
  blas().cublasDestroy_v2(handle);
  CHECK_EQUAL(Violations(), "[]");
}

}  // namespace

int main(int argc, char** argv) {
  UseFolder(argc, argv);
  cuda().cudaSetDevice(0);
  return check::RunTests();
}
