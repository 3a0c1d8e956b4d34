#pragma once

// The areas of the addon; addon.cc registers them in this order.

#include "napi_setup.h"

namespace cudnn_rnn {

void InitLibraries(Napi::Object exports);
void InitSession(Napi::Object exports);
void InitMemory(Napi::Object exports);
void InitDescriptors(Napi::Object exports);
void InitRnn(Napi::Object exports);
void InitMatrixProduct(Napi::Object exports);
void InitKernels(Napi::Object exports);
void InitGraphs(Napi::Object exports);

}  // namespace cudnn_rnn
