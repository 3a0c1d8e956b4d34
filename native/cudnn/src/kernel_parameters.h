#pragma once

#include <vector>

#include "command_reader.h"

namespace cudnn_rnn {

/// Kinds of parameters: pointers with their access, a `long long` count, or a REAL scalar.
enum class KernelParameter { kIn, kOptionalIn, kOut, kInOut, kCount, kScalar };

/// A kernel of kernels/dense.cu. One with scalars has one parameter more: if they are in memory, or null.
struct KernelShape {
  const char* name;
  std::vector<KernelParameter> parameters;
};

/// The value of one parameter, as the driver reads it.
union KernelValue {
  void* pointer;
  long long count;
  double real;
  float single;
};

using KernelParameters = std::vector<KernelValue>;

/// Reads the parameters of a kernel by its number.
KernelParameters KernelParametersOf(CommandReader& reader, int kernel);

}  // namespace cudnn_rnn
