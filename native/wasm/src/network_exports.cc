#include "module.h"
#include "weights/network.h"
#include "weights/quantized_weights.h"

namespace cudnn_rnn {

// descriptor: cell (0 LSTM, 1 GRU, 2 ReLU, 3 tanh), layers, directions, units, input size, projection or 0, whether the
// input is skipped, whether there are biases of the input and of the recurrent side, clip, dropout, seed
CUDNN_RNN_EXPORT(networkNew) void* NetworkNew(const double* descriptor) {
  NetworkOptions options{};
  options.cell = static_cast<Cell>(static_cast<int>(descriptor[0]));
  options.layers = static_cast<int>(descriptor[1]);
  options.directions = static_cast<int>(descriptor[2]);
  options.units = static_cast<ptrdiff_t>(descriptor[3]);
  options.input_size = static_cast<ptrdiff_t>(descriptor[4]);
  options.projection = static_cast<ptrdiff_t>(descriptor[5]);
  options.skip_input = descriptor[6] != 0;
  options.input_bias = descriptor[7] != 0;
  options.recurrent_bias = descriptor[8] != 0;
  options.clip = descriptor[9];
  options.dropout = descriptor[10];
  options.seed = static_cast<uint64_t>(descriptor[11]);
  return OfElementType(
      [&]<typename T>() -> void* { return new Network<T>(options, EngineOf<T>().kernels->panel_order); });
}

CUDNN_RNN_EXPORT(networkFree) void NetworkFree(void* network) {
  OfElementType([&]<typename T>() { delete static_cast<Network<T>*>(network); });
}

CUDNN_RNN_EXPORT(networkParamsSize) ptrdiff_t NetworkParamsSize(const void* network) {
  return OfElementType([&]<typename T>() { return static_cast<const Network<T>*>(network)->params_size(); });
}

// side: 0 input, 1 recurrent, 2 projection. into: from `canonical` to `params`.
CUDNN_RNN_EXPORT(networkMoveRegion)
void NetworkMoveRegion(const void* network, void* params, void* canonical, int pseudo_layer, int side, int gate,
                       bool is_bias, bool into) {
  OfElementType([&]<typename T>() {
    const auto* of = static_cast<const Network<T>*>(network);
    auto* panels = static_cast<T*>(params);
    auto* tensor = static_cast<T*>(canonical);
    if (is_bias) {
      of->MoveBias(panels, tensor, pseudo_layer, static_cast<Side>(side), gate, into);
    } else {
      of->MoveWeight(panels, tensor, pseudo_layer, static_cast<Side>(side), gate, into);
    }
  });
}

// float32 only
CUDNN_RNN_EXPORT(quantizedNew) void* QuantizedNew(const void* network, const void* params, int format) {
  return OfElementType([&]<typename T>() -> void* {
    if constexpr (sizeof(T) == sizeof(float)) {
      return new QuantizedWeights(*static_cast<const Network<T>*>(network), static_cast<const T*>(params),
                                  static_cast<WeightFormat>(format));
    } else {
      __builtin_trap();
    }
  });
}

CUDNN_RNN_EXPORT(quantizedFree) void QuantizedFree(void* quantized) {
  delete static_cast<QuantizedWeights*>(quantized);
}

}  // namespace cudnn_rnn
