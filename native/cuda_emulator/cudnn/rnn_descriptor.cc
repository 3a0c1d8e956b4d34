#include <cmath>

#include "core/cudnn_objects.h"
#include "core/ledger.h"
#include "core/settings.h"
#include "cudnn/rnn_shape.h"
#include "cudnn/status.h"
#include "cudnn/version.h"

using namespace emulator;

namespace {

bool Between(int value, int first, int last) { return value >= first && value <= last; }

bool IsPersistent(int algo) { return algo != CUDNN_RNN_ALGO_STANDARD; }

// The pairs of storage and computation that the library has; bfloat16 exists since 9.13.
bool LegalTypes(int dtype, int precision) {
  switch (dtype) {
    case CUDNN_DATA_FLOAT: return precision == CUDNN_DATA_FLOAT;
    case CUDNN_DATA_DOUBLE: return precision == CUDNN_DATA_DOUBLE;
    case CUDNN_DATA_HALF: return precision == CUDNN_DATA_FLOAT || precision == CUDNN_DATA_HALF;
    case CUDNN_DATA_BFLOAT16: return precision == CUDNN_DATA_FLOAT && CudnnVersion() >= 91300;
    default: return false;
  }
}

void CheckAlgorithm(const RnnDescriptor& d) {
  if (!IsPersistent(d.algo)) return;
  Require(d.proj_size == d.hidden_size, "persistent algorithms have no projection", kNotSupported);
  const bool half_math = d.dtype == CUDNN_DATA_HALF && d.precision == CUDNN_DATA_HALF;
  Require(!half_math, "persistent algorithms compute in float", kNotSupported);
  const bool doubles = d.dtype == CUDNN_DATA_DOUBLE;
  Require(!doubles || d.algo == CUDNN_RNN_ALGO_PERSIST_DYNAMIC, "double with this algorithm", kNotSupported);
}

void SetClip(cudnnRNNDescriptor_t descriptor, int mode, int nan_option, double left, double right) {
  const auto rnn = Live(TheCudnnTables().rnns, descriptor, "rnnDesc");
  Require(Between(mode, CUDNN_RNN_CLIP_NONE, CUDNN_RNN_CLIP_MINMAX), "clipMode");
  Require(!std::isnan(left) && !std::isnan(right) && left <= right, "lclip > rclip");
  rnn->clip_mode = mode;
  rnn->nan_option = nan_option;
  rnn->clip_left = left;
  rnn->clip_right = right;
}

}  // namespace

cudnnStatus_t cudnnCreateRNNDescriptor(cudnnRNNDescriptor_t* descriptor) {
  EMULATOR_ENTER(kCudnnHost);
  if (descriptor == nullptr) return kBadParam;
  *descriptor = TheCudnnTables().rnns.Add(std::make_shared<RnnDescriptor>());
  return kSuccess;
}

cudnnStatus_t cudnnDestroyRNNDescriptor(cudnnRNNDescriptor_t descriptor) {
  EMULATOR_ENTER(kCudnnHost);
  if (descriptor == nullptr) return kSuccess;
  return TheCudnnTables().rnns.Remove(descriptor) == nullptr ? kBadParam : kSuccess;
}

cudnnStatus_t cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t descriptor, int algo, int cellMode, int biasMode,
                                       int dirMode, int inputMode, int dataType, int mathPrec, int mathType,
                                       int32_t inputSize, int32_t hiddenSize, int32_t projSize, int32_t numLayers,
                                       cudnnDropoutDescriptor_t dropout, uint32_t auxFlags) {
  EMULATOR_ENTER(kCudnnHost);
  return Guarded([&] {
    const auto rnn = Live(TheCudnnTables().rnns, descriptor, "rnnDesc");
    RnnDescriptor d;
    d.set = true;
    d.algo = algo;
    d.cell_mode = cellMode;
    d.bias_mode = biasMode;
    d.direction = dirMode;
    d.input_mode = inputMode;
    d.dtype = dataType;
    d.precision = mathPrec;
    d.math = mathType;
    d.input_size = inputSize;
    d.hidden_size = hiddenSize;
    d.proj_size = projSize;
    d.layers = numLayers;
    d.dropout = dropout;
    d.flags = auxFlags;
    Require(Between(algo, CUDNN_RNN_ALGO_STANDARD, CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H), "algo");
    // PERSIST_STATIC_SMALL_H exists since 8.1.
    Require(algo != CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H || CudnnVersion() >= 8100, "algo");
    Require(Between(cellMode, CUDNN_RNN_RELU, CUDNN_GRU), "cellMode");
    Require(Between(biasMode, CUDNN_RNN_NO_BIAS, CUDNN_RNN_SINGLE_REC_BIAS), "biasMode");
    Require(Between(dirMode, CUDNN_UNIDIRECTIONAL, CUDNN_BIDIRECTIONAL), "dirMode");
    Require(Between(inputMode, CUDNN_LINEAR_INPUT, CUDNN_SKIP_INPUT), "inputMode");
    Require(Between(mathType, 0, 3), "mathType");
    Require(inputSize >= 1 && hiddenSize >= 1 && numLayers >= 1, "size <= 0");
    const bool has_biases = !IsPersistent(algo) || biasMode == CUDNN_RNN_DOUBLE_BIAS;
    Require(has_biases, "persistent algorithms want double bias", kNotSupported);
    Require(projSize >= 1, "projSize <= 0");
    Require((auxFlags & ~1u) == 0, "auxFlags");
    Require(LegalTypes(dataType, mathPrec), "dataType and mathPrec", kNotSupported);
    Require(projSize <= hiddenSize, "projSize > hiddenSize", kNotSupported);
    Require(projSize == hiddenSize || cellMode == CUDNN_LSTM, "projection without LSTM", kNotSupported);
    CheckAlgorithm(d);
    if (dropout != nullptr) Live(TheCudnnTables().dropouts, dropout, "dropoutDesc");
    *rnn = d;
  });
}

cudnnStatus_t cudnnGetRNNDescriptor_v8(cudnnRNNDescriptor_t descriptor, int* algo, int* cellMode, int* biasMode,
                                       int* dirMode, int* inputMode, int* dataType, int* mathPrec, int* mathType,
                                       int32_t* inputSize, int32_t* hiddenSize, int32_t* projSize, int32_t* numLayers,
                                       cudnnDropoutDescriptor_t* dropout, uint32_t* auxFlags) {
  EMULATOR_ENTER(kCudnnHost);
  return Guarded([&] {
    const auto d = Live(TheCudnnTables().rnns, descriptor, "rnnDesc");
    const auto put = [](auto* place, auto value) {
      if (place != nullptr) *place = value;
    };
    put(algo, d->algo);
    put(cellMode, d->cell_mode);
    put(biasMode, d->bias_mode);
    put(dirMode, d->direction);
    put(inputMode, d->input_mode);
    put(dataType, d->dtype);
    put(mathPrec, d->precision);
    put(mathType, d->math);
    put(inputSize, d->input_size);
    put(hiddenSize, d->hidden_size);
    put(projSize, d->proj_size);
    put(numLayers, d->layers);
    put(dropout, d->dropout);
    put(auxFlags, d->flags);
  });
}

cudnnStatus_t cudnnRNNSetClip_v8(cudnnRNNDescriptor_t descriptor, int clipMode, int nanOption, double left,
                                 double right) {
  EMULATOR_ENTER(kCudnnHost);
  return Guarded([&] {
    Require(Between(nanOption, 0, 1), "clipNanOpt");
    SetClip(descriptor, clipMode, nanOption, left, right);
  });
}

cudnnStatus_t cudnnRNNGetClip_v8(cudnnRNNDescriptor_t descriptor, int* clipMode, int* nanOption, double* left,
                                 double* right) {
  EMULATOR_ENTER(kCudnnHost);
  return Guarded([&] {
    const auto d = Live(TheCudnnTables().rnns, descriptor, "rnnDesc");
    if (clipMode != nullptr) *clipMode = d->clip_mode;
    if (nanOption != nullptr) *nanOption = d->nan_option;
    if (left != nullptr) *left = d->clip_left;
    if (right != nullptr) *right = d->clip_right;
  });
}

cudnnStatus_t cudnnBuildRNNDynamic(cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor, int batch) {
  EMULATOR_ENTER(kCudnn);
  return Guarded([&] {
    const HandleInUse used(handle);
    const auto d = Live(TheCudnnTables().rnns, descriptor, "rnnDesc");
    Require(batch >= 1, "miniBatch");
    Require(CheckUncaptured(__func__) == 0, "cudnnBuildRNNDynamic during a stream capture", kExecutionFailedCudart);
    if (d->built_batch != 0 && d->built_batch != batch) {
      ReportViolation("cudnnBuildRNNDynamic for another batch: passes and graphs of the first one use the descriptor");
    }
    d->built_batch = batch;
  });
}

cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor, size_t* bytes) {
  EMULATOR_ENTER(kCudnnHost);
  return Guarded([&] {
    Require(handle != nullptr, "!handle");  // all that the real library requires here
    const auto d = Live(TheCudnnTables().rnns, descriptor, "rnnDesc");
    Require(bytes != nullptr, "!weightSpaceSize");
    if (!d->set) {
      *bytes = 0;
      return;
    }
    const RnnShape shape(*d);
    const std::size_t matrices = shape.BiasStart(0);
    *bytes = shape.Elements() * SizeOf(shape.type);
    // The real library counts matrix elements in 32 bits, succeeds, and is wrong.
    if (matrices >= 1ull << 31) *bytes = 0 - *bytes;
  });
}

cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor, int32_t pseudoLayer,
                                      size_t weightSpaceSize, const void* weightSpace, int32_t linLayerID,
                                      cudnnTensorDescriptor_t mDesc, void** mAddr, cudnnTensorDescriptor_t bDesc,
                                      void** bAddr) {
  EMULATOR_ENTER(kCudnnHost);
  return Guarded([&] {
    Require(handle != nullptr, "!handle");
    const auto d = Live(TheCudnnTables().rnns, descriptor, "rnnDesc");
    const RnnShape shape(*d);
    Require(pseudoLayer >= 0 && static_cast<std::size_t>(pseudoLayer) < shape.PseudoLayers(), "pseudoLayer");
    Require(linLayerID >= 0 && static_cast<std::size_t>(linLayerID) <= 2 * shape.gates, "linLayerID");
    Require(weightSpaceSize != 0, "weightSpaceSize");
    Require(reinterpret_cast<std::uintptr_t>(weightSpace) % SizeOf(shape.type) == 0, "weightSpace alignment");
    Require(mDesc != nullptr || mAddr == nullptr, "!mDesc");
    Require(bDesc != nullptr || bAddr == nullptr, "!bDesc");
    const auto pseudo = static_cast<std::size_t>(pseudoLayer);
    const auto id = static_cast<std::size_t>(linLayerID);
    const auto tell = [&](const std::optional<Piece>& piece, cudnnTensorDescriptor_t handle_of, void** address) {
      if (handle_of == nullptr || address == nullptr) return;
      const auto tensor = Live(TheCudnnTables().tensors, handle_of, "tensorDesc");
      *tensor = {};
      *address = nullptr;
      if (!piece) return;  // status 0 all the same: a descriptor of rank 0 and a null address say that there is none
      const auto rows = static_cast<int>(piece->rows);
      const auto columns = static_cast<int>(piece->columns);
      *tensor = {d->dtype, {1, rows, columns}, {rows * columns, columns, 1}};
      *address = const_cast<char*>(static_cast<const char*>(weightSpace)) + piece->offset * SizeOf(shape.type);
    };
    tell(shape.Matrix(pseudo, id), mDesc, mAddr);
    tell(shape.Bias(pseudo, id), bDesc, bAddr);
  });
}

#if EMULATOR_CUDNN_MAJOR >= 9
cudnnStatus_t cudnnAdvVersionCheck() {
  EMULATOR_ENTER(kCudnnHost);
  return SublibraryVersion("cudnn_adv") == CudnnVersion() ? kSuccess : kVersionMismatch;
}

cudnnStatus_t cudnnRNNSetClip_v9(cudnnRNNDescriptor_t descriptor, int clipMode, double left, double right) {
  EMULATOR_ENTER(kCudnnHost);
  return Guarded([&] { SetClip(descriptor, clipMode, 0, left, right); });
}

cudnnStatus_t cudnnRNNGetClip_v9(cudnnRNNDescriptor_t descriptor, int* clipMode, double* left, double* right) {
  return cudnnRNNGetClip_v8(descriptor, clipMode, nullptr, left, right);
}
#else
cudnnStatus_t cudnnAdvInferVersionCheck() {
  EMULATOR_ENTER(kCudnnHost);
  return SublibraryVersion("cudnn_adv_infer") == CudnnVersion() ? kSuccess : kVersionMismatch;
}
#endif
