// The canonical tensors of a network, each with its place.
#pragma once

#include <vector>

#include "weights/network.h"

namespace cudnn_rnn {

struct Region {
  int pseudo_layer;
  Side side;
  int gate;
  bool is_bias;
};

template <typename T>
std::vector<Region> RegionsOf(const Network<T>& network) {
  std::vector<Region> regions;
  const NetworkOptions& options = network.options();
  for (int p = 0; p < network.pseudo_layers(); p++) {
    for (int gate = 0; gate < network.gates(); gate++) {
      if (network.layer(p).input.present()) regions.push_back({p, Side::kInput, gate, false});
      regions.push_back({p, Side::kRecurrent, gate, false});
      if (options.input_bias) regions.push_back({p, Side::kInput, gate, true});
      if (options.recurrent_bias) regions.push_back({p, Side::kRecurrent, gate, true});
    }
    if (options.projection > 0) regions.push_back({p, Side::kProjection, 0, false});
  }
  return regions;
}

template <typename T>
size_t SizeOf(const Network<T>& network, const Region& region) {
  return static_cast<size_t>(region.is_bias ? network.options().units
                                            : network.WeightSize(region.pseudo_layer, region.side));
}

template <typename T>
void Move(const Network<T>& network, const Region& region, T* params, T* canonical, bool into) {
  if (region.is_bias) {
    network.MoveBias(params, canonical, region.pseudo_layer, region.side, region.gate, into);
  } else {
    network.MoveWeight(params, canonical, region.pseudo_layer, region.side, region.gate, into);
  }
}

}  // namespace cudnn_rnn
