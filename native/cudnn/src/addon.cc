#include "binding.h"

namespace cudnn_rnn {

Napi::Object Init(Napi::Env, Napi::Object exports) {
  InitLibraries(exports);
  InitKernels(exports);
  InitSession(exports);
  return exports;
}

NODE_API_MODULE(NODE_GYP_MODULE_NAME, Init)

}  // namespace cudnn_rnn
