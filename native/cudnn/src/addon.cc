#include "areas.h"

namespace cudnn_rnn {

Napi::Object Init(Napi::Env, Napi::Object exports) {
  InitLibraries(exports);
  InitSession(exports);
  InitMemory(exports);
  InitDescriptors(exports);
  InitRnn(exports);
  InitMatrixProduct(exports);
  InitKernels(exports);
  InitGraphs(exports);
  return exports;
}

NODE_API_MODULE(NODE_GYP_MODULE_NAME, Init)

}  // namespace cudnn_rnn
