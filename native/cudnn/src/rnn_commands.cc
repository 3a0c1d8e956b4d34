#include "areas.h"
#include "descriptor_handles.h"
#include "status.h"

namespace cudnn_rnn {
namespace {

void* AddressOf(const BufferRef& buffer) { return buffer ? buffer->at() : nullptr; }

template <typename D>
auto Raw(const std::shared_ptr<D>& descriptor) -> decltype(descriptor->get()) {
  return descriptor ? descriptor->get() : nullptr;
}

const std::int32_t* LengthsOf(const BufferRef& buffer) { return static_cast<const std::int32_t*>(AddressOf(buffer)); }

std::size_t BytesOf(const BufferRef& buffer) { return buffer ? buffer->bytes() : 0; }

// cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor, size_t* bytes)
// weightSpaceSize(session, rnn: RnnDescriptor): void — reports bytes
Napi::Value WeightSpaceSize(const Napi::CallbackInfo& info) {
  Arguments args(info);
  const auto rnn = args.Object<RnnDescriptor>();
  args.Enqueue([=](Worker& worker, Batch& batch) {
    std::size_t bytes = 0;
    CheckCudnn(worker.libraries, worker.libraries.cudnn.cudnnGetRNNWeightSpaceSize(worker.cudnn, rnn->get(), &bytes),
               "cudnnGetRNNWeightSpaceSize");
    batch.results.push_back(static_cast<double>(bytes));
  });
  return args.env().Undefined();
}

/// A stand-in for the address of a weight space that is asked for offsets only: null would make offset 0 ambiguous.
char* WeightSpaceBase() { return reinterpret_cast<char*>(std::uintptr_t{1} << 40); }

/// Appends offset (-1 where absent), rows and columns of one piece of a weight space.
void ReportPiece(const Libraries& libraries, cudnnTensorDescriptor_t descriptor, const void* address,
                 std::vector<double>& results) {
  int dtype = 0;
  int rank = 0;
  int dims[3] = {0, 0, 0};
  int strides[3] = {0, 0, 0};
  CheckCudnn(libraries, libraries.cudnn.cudnnGetTensorNdDescriptor(descriptor, 3, &dtype, &rank, dims, strides),
             "cudnnGetTensorNdDescriptor");
  const bool present = address != nullptr && rank == 3;
  results.push_back(present ? static_cast<double>(static_cast<const char*>(address) - WeightSpaceBase()) : -1);
  results.push_back(present ? dims[1] : 0);
  results.push_back(present ? dims[2] : 0);
}

/// The pieces of one linear layer. `handle` is only compared with null by cuDNN 9.24.
void ReportWeightParams(const Libraries& libraries, cudnnHandle_t handle, const RnnDescriptor& rnn, int pseudo_layer,
                        std::size_t weight_space_bytes, int linear_layer, std::vector<double>& results) {
  // The descriptors live for this call; the shared table outlives it.
  const std::shared_ptr<const Libraries> borrowed(&libraries, [](const Libraries*) {});
  const TensorDescriptor matrix(borrowed, "cudnnCreateTensorDescriptor");
  const TensorDescriptor bias(borrowed, "cudnnCreateTensorDescriptor");
  void* matrix_address = nullptr;
  void* bias_address = nullptr;
  CheckCudnn(libraries,
             libraries.cudnn.cudnnGetRNNWeightParams(handle, rnn.get(), pseudo_layer, weight_space_bytes,
                                                     WeightSpaceBase(), linear_layer, matrix.get(), &matrix_address,
                                                     bias.get(), &bias_address),
             "cudnnGetRNNWeightParams");
  ReportPiece(libraries, matrix.get(), matrix_address, results);
  ReportPiece(libraries, bias.get(), bias_address, results);
}

// cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor, int32_t pseudoLayer,
//                                       size_t weightSpaceSize, const void* weightSpace, int32_t linLayerID,
//                                       cudnnTensorDescriptor_t mDesc, void** mAddr, cudnnTensorDescriptor_t bDesc,
//                                       void** bAddr)
// weightParams(session, rnn, pseudoLayer, weightSpaceBytes, linLayerId): void
//   — reports byte offset (-1: absent), rows, columns of the matrix, then of the bias
Napi::Value WeightParams(const Napi::CallbackInfo& info) {
  Arguments args(info);
  const auto rnn = args.Object<RnnDescriptor>();
  const int pseudo_layer = args.Int();
  const std::size_t weight_space_bytes = args.Size();
  const int linear_layer = args.Int();
  args.Enqueue([=](Worker& worker, Batch& batch) {
    ReportWeightParams(worker.libraries, worker.cudnn, *rnn, pseudo_layer, weight_space_bytes, linear_layer,
                       batch.results);
  });
  return args.env().Undefined();
}

// The two above without a device: weightLayoutWithoutDevice(libraries, rnn, pseudoLayers, linLayers): number[]
//   — weight space bytes, then the six numbers of weightParams for every pseudo-layer and linear layer
//
// Scripts compare layouts with a real cuDNN on machines without a GPU; cuDNN 9.24 reads nothing through the handle here.
Napi::Value WeightLayoutWithoutDevice(const Napi::CallbackInfo& info) {
  const auto libraries = Shown<Libraries>(info[0]);
  const auto rnn = Shown<RnnDescriptor>(info[1]);
  const int pseudo_layers = info[2].ToNumber();
  const int linear_layers = info[3].ToNumber();
  const auto handle = reinterpret_cast<cudnnHandle_t>(std::uintptr_t{1});
  std::size_t bytes = 0;
  CheckCudnn(*libraries, libraries->cudnn.cudnnGetRNNWeightSpaceSize(handle, rnn->get(), &bytes),
             "cudnnGetRNNWeightSpaceSize");
  std::vector<double> results{static_cast<double>(bytes)};
  for (int pseudo_layer = 0; pseudo_layer < pseudo_layers; pseudo_layer++) {
    for (int linear_layer = 0; linear_layer < linear_layers; linear_layer++) {
      ReportWeightParams(*libraries, handle, *rnn, pseudo_layer, bytes, linear_layer, results);
    }
  }
  auto numbers = Napi::Float64Array::New(info.Env(), results.size());
  for (std::size_t k = 0; k < results.size(); k++) numbers[k] = results[k];
  return numbers;
}

// cudnnStatus_t cudnnBuildRNNDynamic(cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor, int batch)
// buildRnnDynamic(session, rnn, batch: number): void
Napi::Value BuildRnnDynamic(const Napi::CallbackInfo& info) {
  Arguments args(info);
  const auto rnn = args.Object<RnnDescriptor>();
  const int rows = args.Int();
  args.Enqueue([=](Worker& worker, Batch&) {
    CheckCudnn(worker.libraries, worker.libraries.cudnn.cudnnBuildRNNDynamic(worker.cudnn, rnn->get(), rows),
               "cudnnBuildRNNDynamic");
  });
  return args.env().Undefined();
}

// cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor, int mode,
//                                         cudnnRNNDataDescriptor_t xDesc, size_t* workSpaceSize,
//                                         size_t* reserveSpaceSize)
// tempSpaceSizes(session, rnn, mode, x: DataDescriptor): void — reports workspace and reserve bytes
Napi::Value TempSpaceSizes(const Napi::CallbackInfo& info) {
  Arguments args(info);
  const auto rnn = args.Object<RnnDescriptor>();
  const int mode = args.Int();
  const auto x = args.Object<DataDescriptor>();
  args.Enqueue([=](Worker& worker, Batch& batch) {
    std::size_t work = 0;
    std::size_t reserve = 0;
    CheckCudnn(worker.libraries,
               worker.libraries.cudnn.cudnnGetRNNTempSpaceSizes(worker.cudnn, rnn->get(), mode, x->get(), &work,
                                                                &reserve),
               "cudnnGetRNNTempSpaceSizes");
    batch.results.push_back(static_cast<double>(work));
    batch.results.push_back(static_cast<double>(reserve));
  });
  return args.env().Undefined();
}

// cudnnStatus_t cudnnRNNForward(cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor, int mode,
//                               const int32_t devSeqLengths[], cudnnRNNDataDescriptor_t xDesc, const void* x,
//                               cudnnRNNDataDescriptor_t yDesc, void* y, cudnnTensorDescriptor_t hDesc, const void* hx,
//                               void* hy, cudnnTensorDescriptor_t cDesc, const void* cx, void* cy,
//                               size_t weightSpaceSize, const void* weightSpace, size_t workSpaceSize, void* workSpace,
//                               size_t reserveSpaceSize, void* reserveSpace)
// rnnForward(session, rnn, mode, lengths | null, xDesc, x, yDesc, y, hDesc, hx | null, hy, cDesc | null, cx | null,
//            cy | null, weightSpace, workSpace, reserveSpace | null): void
//
// cuDNN does not refuse a null x or y; they cannot be null here. Since 8.9.1 it takes the lengths of the descriptors where
// there are none.
Napi::Value RnnForward(const Napi::CallbackInfo& info) {
  Arguments args(info);
  const auto rnn = args.Object<RnnDescriptor>();
  const int mode = args.Int();
  const BufferRef lengths = args.OptionalRead();
  const auto x_desc = args.Object<DataDescriptor>();
  const BufferRef x = args.Read();
  const auto y_desc = args.Object<DataDescriptor>();
  const BufferRef y = args.Write();
  const auto h_desc = args.Object<TensorDescriptor>();
  const BufferRef hx = args.OptionalRead();
  const BufferRef hy = args.Write();
  const auto c_desc = args.OptionalObject<TensorDescriptor>();
  const BufferRef cx = args.OptionalRead();
  const BufferRef cy = args.OptionalWrite();
  const BufferRef weights = args.Read();
  const BufferRef work = args.Write();
  const BufferRef reserve = args.OptionalWrite();
  args.Enqueue([=](Worker& worker, Batch&) {
    CheckCudnn(worker.libraries,
               worker.libraries.cudnn.cudnnRNNForward(
                   worker.cudnn, rnn->get(), mode, LengthsOf(lengths), x_desc->get(),
                   x->at(), y_desc->get(), y->at(), h_desc->get(), AddressOf(hx), hy->at(), Raw(c_desc),
                   AddressOf(cx), AddressOf(cy), weights->bytes(), weights->at(), work->bytes(), work->at(),
                   BytesOf(reserve), AddressOf(reserve)),
               "cudnnRNNForward");
  });
  return args.env().Undefined();
}

// cudnnStatus_t cudnnRNNBackwardData_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor,
//     const int32_t devSeqLengths[], cudnnRNNDataDescriptor_t yDesc, const void* y, const void* dy,
//     cudnnRNNDataDescriptor_t xDesc, void* dx, cudnnTensorDescriptor_t hDesc, const void* hx, const void* dhy,
//     void* dhx, cudnnTensorDescriptor_t cDesc, const void* cx, const void* dcy, void* dcx, size_t weightSpaceSize,
//     const void* weightSpace, size_t workSpaceSize, void* workSpace, size_t reserveSpaceSize, void* reserveSpace)
// rnnBackwardData(session, rnn, lengths | null, yDesc, y, dy, xDesc, dx, hDesc, hx | null, dhy | null, dhx, cDesc | null,
//                 cx | null, dcy | null, dcx | null, weightSpace, workSpace, reserveSpace): void
Napi::Value RnnBackwardData(const Napi::CallbackInfo& info) {
  Arguments args(info);
  const auto rnn = args.Object<RnnDescriptor>();
  const BufferRef lengths = args.OptionalRead();
  const auto y_desc = args.Object<DataDescriptor>();
  const BufferRef y = args.Read();
  const BufferRef dy = args.Read();
  const auto x_desc = args.Object<DataDescriptor>();
  const BufferRef dx = args.Write();
  const auto h_desc = args.Object<TensorDescriptor>();
  const BufferRef hx = args.OptionalRead();
  const BufferRef dhy = args.OptionalRead();
  const BufferRef dhx = args.Write();
  const auto c_desc = args.OptionalObject<TensorDescriptor>();
  const BufferRef cx = args.OptionalRead();
  const BufferRef dcy = args.OptionalRead();
  const BufferRef dcx = args.OptionalWrite();
  const BufferRef weights = args.Read();
  const BufferRef work = args.Write();
  const BufferRef reserve = args.Read();
  args.Enqueue([=](Worker& worker, Batch&) {
    CheckCudnn(worker.libraries,
               worker.libraries.cudnn.cudnnRNNBackwardData_v8(
                   worker.cudnn, rnn->get(), LengthsOf(lengths), y_desc->get(), y->at(),
                   dy->at(), x_desc->get(), dx->at(), h_desc->get(), AddressOf(hx), AddressOf(dhy), dhx->at(),
                   Raw(c_desc), AddressOf(cx), AddressOf(dcy), AddressOf(dcx), weights->bytes(), weights->at(),
                   work->bytes(), work->at(), reserve->bytes(), reserve->at()),
               "cudnnRNNBackwardData_v8");
  });
  return args.env().Undefined();
}

// cudnnStatus_t cudnnRNNBackwardWeights_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor, int addGrad,
//     const int32_t devSeqLengths[], cudnnRNNDataDescriptor_t xDesc, const void* x, cudnnTensorDescriptor_t hDesc,
//     const void* hx, cudnnRNNDataDescriptor_t yDesc, const void* y, size_t weightSpaceSize, void* dweightSpace,
//     size_t workSpaceSize, void* workSpace, size_t reserveSpaceSize, void* reserveSpace)
// rnnBackwardWeights(session, rnn, lengths | null, xDesc, x, hDesc, hx | null, yDesc, y, dweightSpace, workSpace,
//                    reserveSpace, addGrad = CUDNN_WGRAD_ADD): void — cuDNN 9.24 refuses CUDNN_WGRAD_SET
Napi::Value RnnBackwardWeights(const Napi::CallbackInfo& info) {
  Arguments args(info);
  const auto rnn = args.Object<RnnDescriptor>();
  const BufferRef lengths = args.OptionalRead();
  const auto x_desc = args.Object<DataDescriptor>();
  const BufferRef x = args.Read();
  const auto h_desc = args.Object<TensorDescriptor>();
  const BufferRef hx = args.OptionalRead();
  const auto y_desc = args.Object<DataDescriptor>();
  const BufferRef y = args.Read();
  const BufferRef dweights = args.Write();
  const BufferRef work = args.Write();
  const BufferRef reserve = args.Read();
  const Napi::Value add_grad = args.Next();
  const int mode = add_grad.IsUndefined() ? 0 : add_grad.ToNumber().Int32Value();
  args.Enqueue([=](Worker& worker, Batch&) {
    CheckCudnn(worker.libraries,
               worker.libraries.cudnn.cudnnRNNBackwardWeights_v8(
                   worker.cudnn, rnn->get(), mode, LengthsOf(lengths), x_desc->get(),
                   x->at(), h_desc->get(), AddressOf(hx), y_desc->get(), y->at(), dweights->bytes(), dweights->at(),
                   work->bytes(), work->at(), reserve->bytes(), reserve->at()),
               "cudnnRNNBackwardWeights_v8");
  });
  return args.env().Undefined();
}

}  // namespace

void InitRnn(Napi::Object exports) {
  Export<WeightSpaceSize>(exports, "weightSpaceSize");
  Export<WeightParams>(exports, "weightParams");
  Export<WeightLayoutWithoutDevice>(exports, "weightLayoutWithoutDevice");
  Export<BuildRnnDynamic>(exports, "buildRnnDynamic");
  Export<TempSpaceSizes>(exports, "tempSpaceSizes");
  Export<RnnForward>(exports, "rnnForward");
  Export<RnnBackwardData>(exports, "rnnBackwardData");
  Export<RnnBackwardWeights>(exports, "rnnBackwardWeights");
}

}  // namespace cudnn_rnn
