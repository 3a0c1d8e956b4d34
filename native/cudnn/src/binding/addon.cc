#include "binding/binding.h"

namespace cudnn_rnn {

Napi::Object Init(Napi::Env, Napi::Object exports) {
  InitLibraries(exports);
  InitKernels(exports);
  InitSession(exports);
  InitNccl(exports);
  return exports;
}

// Context-aware: Node.js calls Init once in each environment (main thread and every worker thread). Process-wide state
// is the table of opened libraries and the close barrier; everything else belongs to an environment.
NODE_API_MODULE(NODE_GYP_MODULE_NAME, Init)

}  // namespace cudnn_rnn
