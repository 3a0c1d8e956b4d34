#include "module.h"
#include "weights/network.h"
#include "weights/quantized_weights.h"

namespace cudnn_rnn {

CUDNN_RNN_EXPORT(networkNew) void* NetworkNew(const double* numbers) {
  return new Network<Element>(OptionsOf(numbers), TheEngine().kernels->panel_order);
}

CUDNN_RNN_EXPORT(networkFree) void NetworkFree(Network<Element>* network) { delete network; }

CUDNN_RNN_EXPORT(networkParamsSize) ptrdiff_t NetworkParamsSize(const Network<Element>* network) {
  return network->params_size();
}

// side: 0 input, 1 recurrent, 2 projection. into: from `canonical` to `params`.
CUDNN_RNN_EXPORT(networkMoveRegion)
void NetworkMoveRegion(const Network<Element>* network, Element* params, Element* canonical, int pseudo_layer, int side,
                       int gate, bool is_bias, bool into) {
  if (is_bias) {
    network->MoveBias(params, canonical, pseudo_layer, static_cast<Side>(side), gate, into);
  } else {
    network->MoveWeight(params, canonical, pseudo_layer, static_cast<Side>(side), gate, into);
  }
}

// float32 only
CUDNN_RNN_EXPORT(quantizedNew)
QuantizedWeights* QuantizedNew(const Network<float>* network, const float* params, int format) {
  if (sizeof(Element) != sizeof(float)) __builtin_trap();
  return new QuantizedWeights(*network, params, static_cast<WeightFormat>(format));
}

CUDNN_RNN_EXPORT(quantizedFree) void QuantizedFree(QuantizedWeights* quantized) { delete quantized; }

}  // namespace cudnn_rnn
