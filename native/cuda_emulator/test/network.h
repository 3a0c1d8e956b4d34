#pragma once

#include <optional>
#include <string>

#include "test/device_array.h"

/// A network on the emulator, as a binding would set it up: float32 or float64, by T.
struct NetworkOptions {
  int mode = CUDNN_LSTM;
  int bias = CUDNN_RNN_DOUBLE_BIAS;
  int direction = CUDNN_UNIDIRECTIONAL;
  int input_mode = CUDNN_LINEAR_INPUT;
  int input = 3, hidden = 4, projection = 0, layers = 1;
  std::vector<int> lengths = {5, 5};
  int layout = CUDNN_SEQ_MAJOR_UNPACKED;
  double clip = 0;
  float dropout = 0;
};

template <class T>
class Network {
 public:
  explicit Network(const NetworkOptions& options) : o(options) {
    const int dtype = sizeof(T) == 8 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
    output = o.projection > 0 ? o.projection : o.hidden;
    directions = o.direction == CUDNN_BIDIRECTIONAL ? 2 : 1;
    batch = static_cast<int>(o.lengths.size());
    for (const int length : o.lengths) time = std::max(time, length);
    CHECK_EQUAL(dnn().cudnnCreate(&handle), 0);
    CHECK_EQUAL(dnn().cudnnCreateRNNDescriptor(&rnn), 0);
    CHECK_EQUAL(dnn().cudnnCreateRNNDataDescriptor(&x_descriptor), 0);
    CHECK_EQUAL(dnn().cudnnCreateRNNDataDescriptor(&y_descriptor), 0);
    CHECK_EQUAL(dnn().cudnnCreateTensorDescriptor(&h_descriptor), 0);
    CHECK_EQUAL(dnn().cudnnCreateTensorDescriptor(&c_descriptor), 0);
    CHECK_EQUAL(dnn().cudnnCreateDropoutDescriptor(&dropout), 0);
    if (o.dropout > 0) {
      std::size_t bytes = 0;
      CHECK_EQUAL(dnn().cudnnDropoutGetStatesSize(handle, &bytes), 0);
      states.emplace(bytes);
      SeedDropout();
    }
    CHECK_EQUAL(dnn().cudnnSetRNNDescriptor_v8(rnn, CUDNN_RNN_ALGO_STANDARD, o.mode, o.bias, o.direction, o.input_mode,
                                               dtype, dtype, 0, o.input, o.hidden, output, o.layers,
                                               o.dropout > 0 ? dropout : nullptr, CUDNN_PADDED_IO_ENABLED),
                0);
    if (o.clip > 0) CHECK_EQUAL(dnn().cudnnRNNSetClip_v8(rnn, CUDNN_RNN_CLIP_MINMAX, 0, -o.clip, o.clip), 0);
    T zero = 0;
    CHECK_EQUAL(
        dnn().cudnnSetRNNDataDescriptor(x_descriptor, dtype, o.layout, time, batch, o.input, o.lengths.data(), &zero),
        0);
    CHECK_EQUAL(dnn().cudnnSetRNNDataDescriptor(y_descriptor, dtype, o.layout, time, batch, output * directions,
                                                o.lengths.data(), &zero),
                0);
    SetState(h_descriptor, dtype, output);
    SetState(c_descriptor, dtype, o.hidden);
    CHECK_EQUAL(dnn().cudnnGetRNNWeightSpaceSize(handle, rnn, &weight_bytes), 0);
    CHECK_EQUAL(dnn().cudnnGetRNNTempSpaceSizes(handle, rnn, CUDNN_FWD_MODE_TRAINING, x_descriptor, &work_bytes,
                                                &reserve_bytes),
                0);
    work.emplace(work_bytes);
    reserve.emplace(reserve_bytes);
  }

  ~Network() {
    dnn().cudnnDestroyDropoutDescriptor(dropout);
    dnn().cudnnDestroyTensorDescriptor(h_descriptor);
    dnn().cudnnDestroyTensorDescriptor(c_descriptor);
    dnn().cudnnDestroyRNNDataDescriptor(x_descriptor);
    dnn().cudnnDestroyRNNDataDescriptor(y_descriptor);
    dnn().cudnnDestroyRNNDescriptor(rnn);
    dnn().cudnnDestroy(handle);
  }

  /// Starts the masks from the beginning.
  void SeedDropout() {
    CHECK_EQUAL(dnn().cudnnSetDropoutDescriptor(dropout, handle, o.dropout, states->get(), states->Bytes(), 7), 0);
  }

  std::size_t WeightCount() const { return weight_bytes / sizeof(T); }
  std::size_t Vectors() const {
    std::size_t sum = 0;
    for (const int length : o.lengths) sum += static_cast<std::size_t>(length);
    return o.layout == CUDNN_SEQ_MAJOR_PACKED ? sum : static_cast<std::size_t>(time * batch);
  }
  std::size_t InputCount() const { return Vectors() * static_cast<std::size_t>(o.input); }
  std::size_t OutputCount() const { return Vectors() * static_cast<std::size_t>(output * directions); }
  std::size_t HiddenCount() const { return static_cast<std::size_t>(o.layers * directions * batch * output); }
  std::size_t CellCount() const { return static_cast<std::size_t>(o.layers * directions * batch * o.hidden); }

  cudnnStatus_t Forward(const T* weights, const T* x, const T* hx, const T* cx, T* y, T* hy, T* cy) {
    return dnn().cudnnRNNForward(handle, rnn, CUDNN_FWD_MODE_TRAINING, device_lengths(), x_descriptor, x, y_descriptor, y,
                                 h_descriptor, hx, hy, c_descriptor, cx, cy, weight_bytes, weights, work_bytes,
                                 work->get(), reserve_bytes, reserve->get());
  }

  cudnnStatus_t BackwardData(const T* weights, const T* y, const T* dy, T* dx, const T* hx, const T* dhy, T* dhx,
                             const T* cx, const T* dcy, T* dcx) {
    return dnn().cudnnRNNBackwardData_v8(handle, rnn, device_lengths(), y_descriptor, y, dy, x_descriptor, dx,
                                         h_descriptor, hx, dhy, dhx, c_descriptor, cx, dcy, dcx, weight_bytes, weights,
                                         work_bytes, work->get(), reserve_bytes, reserve->get());
  }

  cudnnStatus_t BackwardWeights(const T* x, const T* hx, const T* y, T* dw) {
    return dnn().cudnnRNNBackwardWeights_v8(handle, rnn, CUDNN_WGRAD_ADD, device_lengths(), x_descriptor, x, h_descriptor,
                                            hx, y_descriptor, y, weight_bytes, dw, work_bytes, work->get(),
                                            reserve_bytes, reserve->get());
  }

  const NetworkOptions o;
  int output = 0, directions = 0, batch = 0, time = 0;
  cudnnHandle_t handle = nullptr;
  cudnnRNNDescriptor_t rnn = nullptr;
  cudnnRNNDataDescriptor_t x_descriptor = nullptr, y_descriptor = nullptr;
  cudnnTensorDescriptor_t h_descriptor = nullptr, c_descriptor = nullptr;
  cudnnDropoutDescriptor_t dropout = nullptr;
  std::size_t weight_bytes = 0, work_bytes = 0, reserve_bytes = 0;
  std::optional<DeviceArray<char>> states, work, reserve;
  /// From 8.9.1 on the library takes the lengths of the descriptors.
  static const std::int32_t* device_lengths() { return nullptr; }

 private:
  void SetState(cudnnTensorDescriptor_t descriptor, int dtype, int width) {
    const int dims[] = {o.layers * directions, batch, width};
    const int strides[] = {batch * width, width, 1};
    CHECK_EQUAL(dnn().cudnnSetTensorNdDescriptor(descriptor, dtype, 3, dims, strides), 0);
  }
};
