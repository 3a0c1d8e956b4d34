// Networks behind the addon's binding, in the layout of the portable kernels.
#pragma once

#include <vector>

#include "executor_calls.h"
#include "reference_network.h"

namespace cudnn_rnn {

// The descriptor of packages/canonical that has these options.
inline Napi::Object DescriptorOf(const AddonCalls& calls, const NetworkOptions& options) {
  const char* const modes[] = {"lstm", "gru", "rnn_relu", "rnn_tanh"};
  const char* bias = options.input_bias       ? options.recurrent_bias ? "double" : "single_input"
                     : options.recurrent_bias ? "single_recurrent"
                                              : "none";
  Napi::Object descriptor =
      calls.ObjectOf({{"cellMode", calls.Value(modes[static_cast<int>(options.cell)])},
                      {"numLayers", calls.Value(static_cast<double>(options.layers))},
                      {"direction", calls.Value(options.directions == 2 ? "bidirectional" : "unidirectional")},
                      {"numUnits", calls.Value(static_cast<double>(options.units))},
                      {"inputSize", calls.Value(static_cast<double>(options.input_size))},
                      {"inputMode", calls.Value(options.skip_input ? "skip_input" : "linear_input")},
                      {"biasMode", calls.Value(bias)},
                      {"dropout", calls.Value(options.dropout)},
                      {"seed", calls.Value(static_cast<double>(options.seed))}});
  if (options.projection > 0) descriptor.Set("numProj", calls.Value(static_cast<double>(options.projection)));
  if (std::isfinite(options.clip)) descriptor.Set("cellClip", calls.Value(options.clip));
  return descriptor;
}

template <typename T>
Napi::Object NewNetwork(const ExecutorCalls<T>& calls, const NetworkOptions& options) {
  return calls.New("NativeNetwork", calls.executor, DescriptorOf(calls, options));
}

// An array of numbers in double precision as one of T.
template <typename T>
Napi::Object ArrayOf(const AddonCalls& calls, const std::vector<double>& values) {
  return calls.Array(std::vector<T>(values.begin(), values.end()));
}

template <typename T>
Napi::Object Filled(const AddonCalls& calls, size_t count, T value) {
  return calls.Array(std::vector<T>(count, value));
}

}  // namespace cudnn_rnn
