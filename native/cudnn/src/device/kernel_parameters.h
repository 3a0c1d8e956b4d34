#pragma once

#include <vector>

#include "device/command_reader.h"

namespace cudnn_rnn {

/// Kinds of parameters: pointers with their access, a `long long` count, or a REAL scalar.
enum class KernelParameter { kIn, kOptionalIn, kOut, kOptionalOut, kInOut, kCount, kScalar };

/// A kernel of kernels/. One with scalars has one parameter more: if they are in memory, or null.
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

/// Loads a cubin or PTX into the context of this thread. The driver translates PTX here, which may take seconds. Throws
/// NativeError.
void LoadModule(const Libraries& libraries, const Source& image, KernelModule& module);

/// Reads the parameters of a kernel.
KernelParameters KernelParametersOf(CommandReader& reader, const KernelShape& kernel);

}  // namespace cudnn_rnn
