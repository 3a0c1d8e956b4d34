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
  return new Network<Element>(options, TheEngine().kernels->panel_order);
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
