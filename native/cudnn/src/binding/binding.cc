#include "binding/binding.h"

namespace cudnn_rnn {

Napi::Error ErrorOf(Napi::Env env, const NativeError& error) {
  // The message is for debugging; packages/cudnn/src/sys/cudnn_error.ts writes the sentence that users see from the
  // fields.
  Napi::Error result = Napi::Error::New(env, error.call + ": " + error.name);
  Napi::Object fields = result.Value();
  fields.Set("library", error.library);
  fields.Set("call", error.call);
  fields.Set("status", error.status);
  fields.Set("statusName", error.name);
  fields.Set("detail", error.detail);
  fields.Set("requestedBytes", error.requested_bytes);
  fields.Set("freeBytes", error.free_bytes);
  fields.Set("totalBytes", error.total_bytes);
  return result;
}

}  // namespace cudnn_rnn
