// Networks behind the addon's binding, in the layout of the portable kernels.
#pragma once

#include <vector>

#include "executor_calls.h"
#include "reference_network.h"

namespace cudnn_rnn {

template <typename T>
Napi::Object NewNetwork(const ExecutorCalls<T>& calls, const NetworkOptions& options) {
  const auto number = [](auto value) { return static_cast<double>(value); };
  const std::vector<double> numbers = {number(options.cell),
                                       number(options.layers),
                                       number(options.directions),
                                       number(options.units),
                                       number(options.input_size),
                                       number(options.projection),
                                       number(options.skip_input),
                                       number(options.input_bias),
                                       number(options.recurrent_bias),
                                       options.clip,
                                       options.dropout,
                                       number(options.seed)};
  return calls.New("NativeNetwork", calls.executor, calls.Array(numbers));
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
