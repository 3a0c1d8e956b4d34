#include "host_device.h"

#include <cstdlib>
#include <cstring>

namespace cudnn_rnn {
namespace {

HostDevice* device = nullptr;

/// A call without arguments that matter.
int Plain(const char* function) { return device->Note({function, {}, {}}); }

template <typename T>
int Created(const char* function, const char* kind, T* result) {
  const int status = Plain(function);
  if (status == 0) *result = reinterpret_cast<T>(device->Make(kind));
  return status;
}

template <typename T>
int Destroyed(const char* function, const char* kind, T object) {
  const int status = Plain(function);
  return status != 0 ? status : device->Destroy(kind, reinterpret_cast<void*>(object));
}

int Allocated(const char* function, const char* kind, void** pointer, std::size_t bytes) {
  const int status = device->Note({function, {static_cast<double>(bytes)}, {}});
  if (status != 0) return status;
  if (device->used + bytes > device->capacity) return cudaErrorMemoryAllocation;
  device->used += bytes;
  *pointer = device->Make(kind, bytes);
  return 0;
}

void BindCudart(CudartTable& t) {
  t.cudaRuntimeGetVersion = [](int* version) { return *version = 12040, Plain("cudaRuntimeGetVersion"); };
  t.cudaDriverGetVersion = [](int* version) { return *version = 12050, Plain("cudaDriverGetVersion"); };
  t.cudaGetDeviceCount = [](int* count) { return *count = 1, Plain("cudaGetDeviceCount"); };
  t.cudaSetDevice = [](int ordinal) { return device->Note({"cudaSetDevice", {double(ordinal)}, {}}); };
  t.cudaDeviceGetAttribute = [](int* value, int attribute, int) {
    *value = attribute == cudaDevAttrComputeCapabilityMajor   ? 9
             : attribute == cudaDevAttrComputeCapabilityMinor ? 0
             : attribute == cudaDevAttrMultiProcessorCount    ? 132
                                                              : static_cast<int>(device->has_pools);
    return Plain("cudaDeviceGetAttribute");
  };
  t.cudaGetLastError = [] { return Plain("cudaGetLastError"); };
  t.cudaGetErrorName = [](cudaError_t error) {
    return error == 2 ? "cudaErrorMemoryAllocation" : "cudaErrorOfTheTest";
  };
  t.cudaGetErrorString = [](cudaError_t) { return "text of the runtime"; };
  t.cudaMemGetInfo = [](std::size_t* free_bytes, std::size_t* total) {
    *free_bytes = device->capacity - device->used;
    *total = device->capacity;
    return Plain("cudaMemGetInfo");
  };
  t.cudaMalloc = [](void** pointer, std::size_t bytes) { return Allocated("cudaMalloc", "memory", pointer, bytes); };
  t.cudaFree = [](void* pointer) {
    return pointer == nullptr ? Plain("cudaFree(null)") : Destroyed("cudaFree", "memory", pointer);
  };
  t.cudaMallocAsync = [](void** pointer, std::size_t bytes, cudaStream_t) {
    return Allocated("cudaMallocAsync", "memory", pointer, bytes);
  };
  t.cudaFreeAsync = [](void* pointer, cudaStream_t) { return Destroyed("cudaFreeAsync", "memory", pointer); };
  t.cudaDeviceGetDefaultMemPool = [](cudaMemPool_t* pool, int) {
    static int pools = 0;
    *pool = reinterpret_cast<cudaMemPool_t>(&pools);
    return Plain("cudaDeviceGetDefaultMemPool");
  };
  t.cudaMemPoolSetAttribute = [](cudaMemPool_t, int, void*) { return Plain("cudaMemPoolSetAttribute"); };
  t.cudaMemPoolTrimTo = [](cudaMemPool_t, std::size_t) { return Plain("cudaMemPoolTrimTo"); };
  t.cudaMallocHost = [](void** pointer, std::size_t bytes) {
    const int status = device->Note({"cudaMallocHost", {static_cast<double>(bytes)}, {}});
    if (status == 0) *pointer = device->Make("pinned", bytes);
    return status;
  };
  t.cudaFreeHost = [](void* pointer) { return Destroyed("cudaFreeHost", "pinned", pointer); };
  t.cudaMemcpyAsync = [](void* to, const void* from, std::size_t bytes, int kind, cudaStream_t) {
    const int status = device->Note({"cudaMemcpyAsync", {static_cast<double>(bytes), double(kind)}, {to, from}});
    if (status == 0) std::memcpy(to, from, bytes);
    return status;
  };
  t.cudaMemsetAsync = [](void* to, int value, std::size_t bytes, cudaStream_t) {
    const int status = device->Note({"cudaMemsetAsync", {static_cast<double>(bytes)}, {to}});
    if (status == 0) std::memset(to, value, bytes);
    return status;
  };
  t.cudaStreamCreateWithFlags = [](cudaStream_t* stream, unsigned) {
    return Created("cudaStreamCreateWithFlags", "stream", stream);
  };
  t.cudaStreamDestroy = [](cudaStream_t stream) { return Destroyed("cudaStreamDestroy", "stream", stream); };
  t.cudaStreamSynchronize = [](cudaStream_t) { return Plain("cudaStreamSynchronize"); };
  t.cudaStreamQuery = [](cudaStream_t) { return device->query(); };
  t.cudaEventCreateWithFlags = [](cudaEvent_t* event, unsigned) {
    return Created("cudaEventCreateWithFlags", "event", event);
  };
  t.cudaEventRecord = [](cudaEvent_t, cudaStream_t) { return Plain("cudaEventRecord"); };
  t.cudaEventQuery = [](cudaEvent_t) { return device->query(); };
  t.cudaEventSynchronize = [](cudaEvent_t) { return Plain("cudaEventSynchronize"); };
  t.cudaEventElapsedTime = [](float* milliseconds, cudaEvent_t, cudaEvent_t) {
    *milliseconds = 1.5F;
    return Plain("cudaEventElapsedTime");
  };
  t.cudaEventDestroy = [](cudaEvent_t event) { return Destroyed("cudaEventDestroy", "event", event); };
  t.cudaStreamBeginCapture = [](cudaStream_t, int) {
    const int status = Plain("cudaStreamBeginCapture");
    device->is_capturing = status == 0;
    return status;
  };
  t.cudaStreamEndCapture = [](cudaStream_t, cudaGraph_t* graph) {
    device->is_capturing = false;
    return Created("cudaStreamEndCapture", "template", graph);
  };
  t.cudaGraphInstantiateWithFlags = [](cudaGraphExec_t* executable, cudaGraph_t, unsigned long long) {
    return Created("cudaGraphInstantiateWithFlags", "graph", executable);
  };
  t.cudaGraphLaunch = [](cudaGraphExec_t, cudaStream_t) { return Plain("cudaGraphLaunch"); };
  t.cudaGraphExecDestroy = [](cudaGraphExec_t graph) { return Destroyed("cudaGraphExecDestroy", "graph", graph); };
  t.cudaGraphDestroy = [](cudaGraph_t graph) { return Destroyed("cudaGraphDestroy", "template", graph); };
}

void BindDriver(DriverTable& t) {
  t.cuInit = [](unsigned) { return Plain("cuInit"); };
  t.cuDeviceGet = [](CUdevice* ordinal, int asked) { return *ordinal = asked, Plain("cuDeviceGet"); };
  t.cuDeviceGetName = [](char* name, int length, CUdevice) {
    std::strncpy(name, "Host device", static_cast<std::size_t>(length));
    return Plain("cuDeviceGetName");
  };
  t.cuGetErrorName = [](CUresult error, const char** text) {
    if (error != 999) *text = "CUDA_ERROR_OF_THE_TEST";
    return error == 999 ? 1 : 0;
  };
  t.cuGetErrorString = [](CUresult error, const char** text) {
    if (error != 999) *text = "text of the driver";
    return error == 999 ? 1 : 0;
  };
  t.cuModuleLoadData = [](CUmodule* module, const void* image) {
    device->Note({"image of " + std::string(static_cast<const char*>(image)), {}, {}});
    return Created("cuModuleLoadData", "module", module);
  };
  t.cuModuleUnload = [](CUmodule module) { return Destroyed("cuModuleUnload", "module", module); };
  t.cuModuleGetFunction = [](CUfunction* function, CUmodule, const char* name) {
    // Functions are distinguished by their names in the test.
    *function = reinterpret_cast<CUfunction>(const_cast<char*>(name));
    return Plain("cuModuleGetFunction");
  };
  t.cuFuncSetAttribute = [](CUfunction, int attribute, int value) {
    return device->Note({"cuFuncSetAttribute", {double(attribute), double(value)}, {}});
  };
  t.cuOccupancyMaxActiveBlocksPerMultiprocessor = [](int* blocks, CUfunction, int, std::size_t bytes) {
    *blocks = bytes > 1000 ? 1 : 2;
    return Plain("cuOccupancyMaxActiveBlocksPerMultiprocessor");
  };
  t.cuOccupancyMaxActiveClusters = [](int* clusters, CUfunction, const CUlaunchConfig* config) {
    *clusters = 7;
    return device->Note({"cuOccupancyMaxActiveClusters",
                         {double(config->gridDimX), double(config->blockDimX), double(config->sharedMemBytes)},
                         {}});
  };
  t.cuLaunchCooperativeKernel = [](CUfunction function, unsigned x, unsigned y, unsigned, unsigned threads, unsigned,
                                   unsigned, unsigned bytes, CUstream, void** parameters) {
    const int status = device->Note({"cuLaunchCooperativeKernel",
                                     {double(x), double(y), double(threads), double(bytes)},
                                     {reinterpret_cast<const void*>(function)}});
    if (status == 0 && device->kernel) device->kernel(x, threads, parameters);
    return status;
  };
  t.cuLaunchKernel = [](CUfunction function, unsigned x, unsigned, unsigned, unsigned threads, unsigned, unsigned,
                        unsigned, CUstream, void** parameters, void**) {
    const int status =
        device->Note({"cuLaunchKernel", {double(x), double(threads)}, {reinterpret_cast<const void*>(function)}});
    if (status == 0 && device->kernel) device->kernel(x, threads, parameters);
    return status;
  };
}

void BindCublas(CublasTable& t) {
  t.cublasCreate_v2 = [](cublasHandle_t* handle) { return Created("cublasCreate_v2", "cublas", handle); };
  t.cublasDestroy_v2 = [](cublasHandle_t handle) { return Destroyed("cublasDestroy_v2", "cublas", handle); };
  t.cublasSetStream_v2 = [](cublasHandle_t, cudaStream_t) { return Plain("cublasSetStream_v2"); };
  t.cublasSetWorkspace_v2 = [](cublasHandle_t, void*, std::size_t) { return Plain("cublasSetWorkspace_v2"); };
  t.cublasGetVersion_v2 = [](cublasHandle_t, int* version) { return *version = 120500, Plain("cublasGetVersion_v2"); };
  t.cublasGetStatusName = [](cublasStatus_t) { return "CUBLAS_STATUS_OF_THE_TEST"; };
  t.cublasGemmEx = [](cublasHandle_t, int op_a, int op_b, int m, int n, int k, const void* alpha, const void* a,
                      int type, int lda, const void* b, int, int ldb, const void* beta, void* c, int, int ldc,
                      int compute, int) {
    const auto real = [&](const void* at) {
      return type == 1 ? *static_cast<const double*>(at) : double(*static_cast<const float*>(at));
    };
    return device->Note({"cublasGemmEx",
                         {double(op_a), double(op_b), double(m), double(n), double(k), real(alpha), double(lda),
                          double(ldb), real(beta), double(ldc), double(type), double(compute)},
                         {a, b, c}});
  };
  t.cublasGemmStridedBatchedEx = [](cublasHandle_t, int, int, int m, int n, int k, const void*, const void* a, int, int,
                                    long long stride_a, const void* b, int, int, long long stride_b, const void*,
                                    void* c, int, int, long long stride_c, int count, int, int) {
    return device->Note(
        {"cublasGemmStridedBatchedEx",
         {double(m), double(n), double(k), double(stride_a), double(stride_b), double(stride_c), double(count)},
         {a, b, c}});
  };
}

void BindNvrtc(NvrtcTable& t) {
  t.nvrtcGetErrorString = [](nvrtcResult) { return "NVRTC_ERROR_OF_THE_TEST"; };
  t.nvrtcVersion = [](int* major, int* minor) { return *major = 12, *minor = 4, Plain("nvrtcVersion"); };
}

void BindCudnn(CudnnTable& t) {
  t.cudnnGetVersion = [] { return std::size_t{90100}; };
  t.cudnnGetErrorString = [](cudnnStatus_t status) { return status == 12345 ? nullptr : "CUDNN_STATUS_OF_THE_TEST"; };
  t.cudnnGetLastErrorString = [](char* message, std::size_t room) { std::strncpy(message, "text of cuDNN", room); };
  t.cudnnCreate = [](cudnnHandle_t* handle) { return Created("cudnnCreate", "cudnn", handle); };
  t.cudnnDestroy = [](cudnnHandle_t handle) { return Destroyed("cudnnDestroy", "cudnn", handle); };
  t.cudnnSetStream = [](cudnnHandle_t, cudaStream_t) { return Plain("cudnnSetStream"); };
  t.cudnnDropoutGetStatesSize = [](cudnnHandle_t, std::size_t* bytes) {
    return *bytes = 4096, Plain("cudnnDropoutGetStatesSize");
  };
#define DESCRIPTOR(name)                                                                                  \
  t.cudnnCreate##name = [](auto* descriptor) { return Created("cudnnCreate" #name, #name, descriptor); }; \
  t.cudnnDestroy##name = [](auto descriptor) { return Destroyed("cudnnDestroy" #name, #name, descriptor); };
  DESCRIPTOR(TensorDescriptor)
  DESCRIPTOR(DropoutDescriptor)
  DESCRIPTOR(RNNDescriptor)
  DESCRIPTOR(RNNDataDescriptor)
  DESCRIPTOR(CTCLossDescriptor)
#undef DESCRIPTOR
  t.cudnnSetTensorNdDescriptor = [](cudnnTensorDescriptor_t, int dtype, int rank, const int dims[],
                                    const int strides[]) {
    RecordedCall call{"cudnnSetTensorNdDescriptor", {double(dtype)}, {}};
    call.numbers.insert(call.numbers.end(), dims, dims + rank);
    call.numbers.insert(call.numbers.end(), strides, strides + rank);
    return device->Note(call);
  };
  t.cudnnGetTensorNdDescriptor = [](cudnnTensorDescriptor_t, int, int* dtype, int* rank, int dims[], int strides[]) {
    *dtype = 0;
    *rank = 3;
    for (int k = 0; k < 3; k++) {
      dims[k] = k + 1;
      strides[k] = 1;
    }
    return Plain("cudnnGetTensorNdDescriptor");
  };
  t.cudnnSetDropoutDescriptor = [](cudnnDropoutDescriptor_t, cudnnHandle_t, float rate, void* states, std::size_t bytes,
                                   unsigned long long seed) {
    return device->Note({"cudnnSetDropoutDescriptor",
                         {double(rate), double(bytes), double(seed >> 32), double(seed & 0xffffffff)},
                         {states}});
  };
  t.cudnnSetRNNDescriptor_v8 = [](cudnnRNNDescriptor_t, int algo, int cell, int bias, int direction, int input,
                                  int data, int precision, int math, std::int32_t inputs, std::int32_t units,
                                  std::int32_t projection, std::int32_t layers, cudnnDropoutDescriptor_t dropout,
                                  std::uint32_t flags) {
    return device->Note(
        {"cudnnSetRNNDescriptor_v8",
         {double(algo), double(cell), double(bias), double(direction), double(input), double(data), double(precision),
          double(math), double(inputs), double(units), double(projection), double(layers), double(flags)},
         {reinterpret_cast<const void*>(dropout)}});
  };
  t.cudnnRNNSetClip_v8 = [](cudnnRNNDescriptor_t, int mode, int nan, double left, double right) {
    return device->Note({"cudnnRNNSetClip_v8", {double(mode), double(nan), left, right}, {}});
  };
  t.cudnnRNNSetClip_v9 = [](cudnnRNNDescriptor_t, int mode, double left, double right) {
    return device->Note({"cudnnRNNSetClip_v9", {double(mode), left, right}, {}});
  };
  t.cudnnSetRNNDataDescriptor = [](cudnnRNNDataDescriptor_t, int dtype, int layout, int time, int batch, int vector,
                                   const int lengths[], void* fill) {
    RecordedCall call{"cudnnSetRNNDataDescriptor",
                      {double(dtype), double(layout), double(time), double(batch), double(vector)},
                      {fill}};
    call.numbers.insert(call.numbers.end(), lengths, lengths + batch);
    if (fill != nullptr) {
      float single = 0;
      std::memcpy(&single, fill, sizeof single);
      double wide = 0;
      std::memcpy(&wide, fill, sizeof wide);
      call.numbers.push_back(dtype == 1 ? wide : single);
    }
    return device->Note(call);
  };
  t.cudnnGetRNNWeightSpaceSize = [](cudnnHandle_t, cudnnRNNDescriptor_t, std::size_t* bytes) {
    return *bytes = (std::size_t{1} << 33) + 5, Plain("cudnnGetRNNWeightSpaceSize");
  };
  // Matrix of id k at byte 8·k; no bias for odd ids.
  t.cudnnGetRNNWeightParams = [](cudnnHandle_t, cudnnRNNDescriptor_t, std::int32_t layer, std::size_t bytes,
                                 const void* space, std::int32_t id, cudnnTensorDescriptor_t, void** matrix,
                                 cudnnTensorDescriptor_t, void** bias) {
    auto* base = static_cast<char*>(const_cast<void*>(space));
    *matrix = base + 8 * id;
    *bias = id % 2 == 1 ? nullptr : base + 8 * id + 4;
    return device->Note({"cudnnGetRNNWeightParams", {double(layer), double(bytes), double(id)}, {}});
  };
  t.cudnnGetRNNTempSpaceSizes = [](cudnnHandle_t, cudnnRNNDescriptor_t, int mode, cudnnRNNDataDescriptor_t,
                                   std::size_t* work, std::size_t* reserve) {
    *work = 100;
    *reserve = mode == 0 ? 0 : 300;
    return Plain("cudnnGetRNNTempSpaceSizes");
  };
  t.cudnnBuildRNNDynamic = [](cudnnHandle_t, cudnnRNNDescriptor_t, int batch) {
    return device->Note({"cudnnBuildRNNDynamic", {double(batch)}, {}});
  };
  t.cudnnSetCTCLossDescriptor_v9 = [](cudnnCTCLossDescriptor_t, int type, int norm, int gradients, int length) {
    return device->Note(
        {"cudnnSetCTCLossDescriptor_v9", {double(type), double(norm), double(gradients), double(length)}, {}});
  };
  t.cudnnSetCTCLossDescriptor_v8 = [](cudnnCTCLossDescriptor_t, int type, int norm, int gradients, int length) {
    return device->Note(
        {"cudnnSetCTCLossDescriptor_v8", {double(type), double(norm), double(gradients), double(length)}, {}});
  };
  t.cudnnGetCTCLossWorkspaceSize_v8 = [](cudnnHandle_t, int algo, cudnnCTCLossDescriptor_t,
                                         cudnnTensorDescriptor_t probs, cudnnTensorDescriptor_t gradients,
                                         std::size_t* bytes) {
    *bytes = 777;
    return device->Note({"cudnnGetCTCLossWorkspaceSize_v8", {double(algo), double(probs == gradients)}, {}});
  };
}

/// A communicator of one rank: a sum of one array is the array.
void BindRank(NcclTable& t) {
  t.ncclGetVersion = [](int* version) { return *version = 22000, 0; };
  t.ncclGetUniqueId = [](ncclUniqueId* id) {
    std::memset(id->internal, 'n', sizeof id->internal);
    return Plain("ncclGetUniqueId");
  };
  t.ncclCommInitRankConfig = [](ncclComm_t* communicator, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
    const int status = device->Note({"ncclCommInitRankConfig",
                                     {double(ranks), double(rank), double(id.internal[127]), double(config->size),
                                      double(config->magic), double(config->version), double(config->blocking)},
                                     {}});
    if (status == 0 || status == ncclInProgress) *communicator = static_cast<ncclComm_t>(device->Make("communicator"));
    return status;
  };
  t.ncclCommGetAsyncError = [](ncclComm_t, ncclResult_t* error) { return *error = device->nccl_state(), 0; };
  t.ncclCommFinalize = [](ncclComm_t) { return Plain("ncclCommFinalize"); };
  t.ncclCommDestroy = [](ncclComm_t communicator) {
    return Destroyed("ncclCommDestroy", "communicator", communicator);
  };
  t.ncclCommAbort = [](ncclComm_t communicator) { return Destroyed("ncclCommAbort", "communicator", communicator); };
  t.ncclAllReduce = [](const void* from, void* to, std::size_t count, int type, int operation, ncclComm_t,
                       cudaStream_t) {
    return device->Note({"ncclAllReduce", {static_cast<double>(count), double(type), double(operation)}, {from, to}});
  };
  t.ncclBroadcast = [](const void* from, void* to, std::size_t count, int type, int root, ncclComm_t, cudaStream_t) {
    return device->Note({"ncclBroadcast", {static_cast<double>(count), double(type), double(root)}, {from, to}});
  };
  t.ncclGroupStart = [] { return Plain("ncclGroupStart"); };
  t.ncclGroupEnd = [] { return Plain("ncclGroupEnd"); };
  t.ncclGetErrorString = [](ncclResult_t) { return "NCCL_ERROR_OF_THE_TEST"; };
  t.ncclGetLastError = [](ncclComm_t) { return "text of NCCL"; };
}

}  // namespace

HostDevice::HostDevice() {
  device = this;
  BindCudart(libraries.cudart);
  BindDriver(libraries.driver);
  BindNvrtc(libraries.nvrtc);
  BindCublas(libraries.cublas);
  BindCudnn(libraries.cudnn);
  BindRank(nccl);
  libraries.cudnn_major = 9;
}

HostDevice::~HostDevice() {
  for (const auto& [object, kind] : live_) std::free(object);
}

void HostDevice::Fail(const std::string& function, int status, int successes) {
  const std::lock_guard lock(mutex_);
  failures_[function] = {status, successes};
}

void HostDevice::Recover() {
  const std::lock_guard lock(mutex_);
  failures_.clear();
}

int HostDevice::Note(RecordedCall call) {
  const std::lock_guard lock(mutex_);
  const auto found = failures_.find(call.function);
  const bool fails = found != failures_.end() && --found->second.successes < 0;
  recorded_.push_back(std::move(call));
  return fails ? found->second.status : 0;
}

void* HostDevice::Make(const std::string& kind, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  void* object = std::malloc(bytes == 0 ? 1 : bytes);
  live_[object] = {kind, bytes};
  return object;
}

int HostDevice::Destroy(const std::string& kind, void* object) {
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(object);
  // Destroyed twice, or by the function of another kind.
  if (found == live_.end() || found->second.first != kind) return 1;
  if (kind == "memory") used -= found->second.second;
  live_.erase(found);
  std::free(object);
  return 0;
}

int HostDevice::count(const std::string& function) const { return static_cast<int>(calls(function).size()); }

std::vector<RecordedCall> HostDevice::calls(const std::string& function) const {
  const std::lock_guard lock(mutex_);
  std::vector<RecordedCall> found;
  for (const RecordedCall& call : recorded_) {
    if (call.function == function) found.push_back(call);
  }
  return found;
}

std::vector<std::string> HostDevice::names() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> all;
  for (const RecordedCall& call : recorded_) all.push_back(call.function);
  return all;
}

void HostDevice::Forget() {
  const std::lock_guard lock(mutex_);
  recorded_.clear();
}

std::map<std::string, int> HostDevice::live() const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, int> kinds;
  for (const auto& [object, kind] : live_) kinds[kind.first]++;
  return kinds;
}

}  // namespace cudnn_rnn
