#include <algorithm>
#include <cstring>
#include <memory>

#include "areas.h"
#include "descriptor_handles.h"

// Setting a descriptor needs neither device nor handle and takes less than 0.1 ms, so it happens on the calling thread and
// throws there. Only the dropout descriptor, whose setting starts a kernel, goes through the queue.

namespace cudnn_rnn {
namespace {

// cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t descriptor, int dtype, int rank, const int dims[],
//                                          const int strides[])
// tensorDescriptor(libraries, dtype, d0, d1, d2): TensorDescriptor — three dimensions, fully packed
Napi::Value MakeTensorDescriptor(const Napi::CallbackInfo& info) {
  const auto libraries = Shown<Libraries>(info[0]);
  const int dims[3] = {info[2].ToNumber(), info[3].ToNumber(), info[4].ToNumber()};
  const int strides[3] = {dims[1] * dims[2], dims[2], 1};
  auto descriptor = std::make_shared<TensorDescriptor>(libraries, "cudnnCreateTensorDescriptor");
  CheckCudnn(*libraries,
             libraries->cudnn.cudnnSetTensorNdDescriptor(descriptor->get(), info[1].ToNumber(), 3, dims, strides),
             "cudnnSetTensorNdDescriptor");
  return Show(info.Env(), std::move(descriptor));
}

// cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t descriptor, int dtype, int layout, int maxSeqLength,
//                                         int batchSize, int vectorSize, const int seqLengthArray[], void* paddingFill)
// dataDescriptor(libraries, dtype, layout, time, batch, columns, lengths: Int32Array,
//                fill?: TypedArray | null): DataDescriptor
//   — `fill` is one element of dtype; 0 where it is left out, none for null
Napi::Value MakeDataDescriptor(const Napi::CallbackInfo& info) {
  const auto libraries = Shown<Libraries>(info[0]);
  const int batch = info[4].ToNumber();
  const auto lengths = info[6].As<Napi::Int32Array>();
  if (static_cast<int>(lengths.ElementLength()) != batch) {
    throw Napi::TypeError::New(info.Env(), "one length per row");
  }
  // Eight zero bytes are the number 0 in every element type.
  double zero = 0;
  void* fill = &zero;
  if (info[7].IsNull()) fill = nullptr;
  if (info[7].IsTypedArray()) {
    const HostArray given = HostArrayOf(info[7]);
    std::memcpy(&zero, given.data, std::min(sizeof zero, given.bytes));
  }
  auto descriptor = std::make_shared<DataDescriptor>(libraries, "cudnnCreateRNNDataDescriptor");
  CheckCudnn(*libraries,
             libraries->cudnn.cudnnSetRNNDataDescriptor(descriptor->get(), info[1].ToNumber(), info[2].ToNumber(),
                                                        info[3].ToNumber(), batch, info[5].ToNumber(), lengths.Data(),
                                                        fill),
             "cudnnSetRNNDataDescriptor");
  return Show(info.Env(), std::move(descriptor));
}

// cudnnStatus_t cudnnCreateDropoutDescriptor(cudnnDropoutDescriptor_t* descriptor)
// dropoutDescriptor(libraries): DropoutDescriptor
Napi::Value MakeDropoutDescriptor(const Napi::CallbackInfo& info) {
  const auto libraries = Shown<Libraries>(info[0]);
  return Show(info.Env(), std::make_shared<DropoutDescriptor>(libraries, "cudnnCreateDropoutDescriptor"));
}

// cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t descriptor, cudnnHandle_t handle, float rate,
//                                         void* states, size_t bytes, unsigned long long seed)
// setDropoutDescriptor(session, descriptor, rate: number, states: Buffer, seed: number): void
Napi::Value SetDropoutDescriptor(const Napi::CallbackInfo& info) {
  Arguments args(info);
  const auto descriptor = args.Object<DropoutDescriptor>();
  const float rate = static_cast<float>(args.Double());
  const BufferRef states = args.Write();
  const auto seed = static_cast<unsigned long long>(args.Long());
  descriptor->keeps = states;
  args.Enqueue([=](Worker& worker, Batch&) {
    CheckCudnn(worker.libraries,
               worker.libraries.cudnn.cudnnSetDropoutDescriptor(descriptor->get(), worker.cudnn, rate, states->at(),
                                                                states->bytes(), seed),
               "cudnnSetDropoutDescriptor");
  });
  return args.env().Undefined();
}

// cudnnStatus_t cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t descriptor, int algo, int cellMode, int biasMode,
//                                        int dirMode, int inputMode, int dataType, int mathPrec, int mathType,
//                                        int32_t inputSize, int32_t hiddenSize, int32_t projSize, int32_t numLayers,
//                                        cudnnDropoutDescriptor_t dropout, uint32_t auxFlags)
// cudnnStatus_t cudnnRNNSetClip_v9(cudnnRNNDescriptor_t descriptor, int clipMode, double left, double right)
// cudnnStatus_t cudnnRNNSetClip_v8(cudnnRNNDescriptor_t descriptor, int clipMode, int nanOption, double left,
//                                  double right)
// rnnDescriptor(libraries, algo, cellMode, biasMode, dirMode, inputMode, dataType, mathPrec, mathType, inputSize,
//               hiddenSize, projSize, numLayers, dropout: DropoutDescriptor | null, auxFlags, clip: number | null)
Napi::Value MakeRnnDescriptor(const Napi::CallbackInfo& info) {
  const auto libraries = Shown<Libraries>(info[0]);
  const auto number = [&info](std::size_t index) { return info[index].ToNumber().Int32Value(); };
  const auto dropout = info[13].IsNull() ? nullptr : Shown<DropoutDescriptor>(info[13]);
  auto descriptor = std::make_shared<RnnDescriptor>(libraries, "cudnnCreateRNNDescriptor");
  CheckCudnn(*libraries,
             libraries->cudnn.cudnnSetRNNDescriptor_v8(
                 descriptor->get(), number(1), number(2), number(3), number(4), number(5), number(6), number(7),
                 number(8), number(9), number(10), number(11), number(12), dropout ? dropout->get() : nullptr,
                 info[14].ToNumber().Uint32Value()),
             "cudnnSetRNNDescriptor_v8");
  if (!info[15].IsNull()) {
    const double limit = info[15].ToNumber().DoubleValue();
    constexpr int kMinMax = 1;
    constexpr int kPropagateNan = 1;
    const auto set_clip = libraries->cudnn.cudnnRNNSetClip_v9;
    if (set_clip != nullptr) {
      CheckCudnn(*libraries, set_clip(descriptor->get(), kMinMax, -limit, limit), "cudnnRNNSetClip_v9");
    } else {
      CheckCudnn(*libraries,
                 libraries->cudnn.cudnnRNNSetClip_v8(descriptor->get(), kMinMax, kPropagateNan, -limit, limit),
                 "cudnnRNNSetClip_v8");
    }
  }
  descriptor->keeps = dropout;
  return Show(info.Env(), std::move(descriptor));
}

template <typename T>
bool Released(const Napi::Value& value) {
  bool is_one = false;
  napi_check_object_type_tag(value.Env(), value, &TagOf<T>::kTag, &is_one);
  if (is_one) Holder<T>(value).reset();
  return is_one;
}

// cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t descriptor), and so on
// releaseDescriptor(descriptor): void — destroyed once nothing queued uses it; idempotent
Napi::Value ReleaseDescriptor(const Napi::CallbackInfo& info) {
  const bool is_one = Released<TensorDescriptor>(info[0]) || Released<DropoutDescriptor>(info[0]) ||
                      Released<RnnDescriptor>(info[0]) || Released<DataDescriptor>(info[0]);
  if (!is_one) throw Napi::TypeError::New(info.Env(), "not a handle of a descriptor");
  return info.Env().Undefined();
}

}  // namespace

void InitDescriptors(Napi::Object exports) {
  Export<MakeTensorDescriptor>(exports, "tensorDescriptor");
  Export<MakeDataDescriptor>(exports, "dataDescriptor");
  Export<MakeDropoutDescriptor>(exports, "dropoutDescriptor");
  Export<SetDropoutDescriptor>(exports, "setDropoutDescriptor");
  Export<MakeRnnDescriptor>(exports, "rnnDescriptor");
  Export<ReleaseDescriptor>(exports, "releaseDescriptor");
}

}  // namespace cudnn_rnn
