// NCCL's communicators for JavaScript. Options were checked in TypeScript.
#include <cstring>
#include <functional>

#include "arguments.h"
#include "binding/binding.h"
#include "nccl/nccl_communicator.h"
#include "sys/dynamic_library.h"

namespace cudnn_rnn {

/// A communicator as JavaScript holds it.
struct NcclHandle {
  std::unique_ptr<NcclCommunicator> communicator;
  Completions<NcclOperation> settled;
  bool is_open = true;
};
HANDLE_TAG(NcclHandle, 3)

/// The bits of bfloat16.
template <>
inline constexpr napi_typedarray_type kArrayType<std::uint16_t> = napi_uint16_array;

namespace {

/// Elements of the arrays, as ncclDataType_t numbers them.
enum { kNcclInt32 = 2, kNcclFloat32 = 7, kNcclFloat64 = 8, kNcclBfloat16 = 9 };

/// Opens the library for every call. The loader counts references and returns the same handle, which is never closed:
/// NCCL has its own threads that run its code.
NcclTable TableOf(const std::string& path) {
  std::string text;
  void* library = OpenLibrary(path, &text);
  if (library != nullptr) return BindNccl(library);
  throw NativeError("nccl", "dlopen", text);
}

/// Runs on JavaScript's thread.
void SettleOnJavaScript(Napi::Env env, NcclHandle& handle, const NcclOperation& operation) {
  auto& settlement = *static_cast<Settlement*>(operation.settlement.get());
  settlement.Settled(env, handle.settled);
  const bool has_failed = operation.error != nullptr;
  if (operation.kind == NcclOperationKind::kClose || (operation.kind == NcclOperationKind::kOpen && has_failed)) {
    handle.is_open = false;
    // The thread ends after the call that queued this settlement, so joining it does not block.
    handle.communicator->Stop();
    handle.settled.Close();
  }
  if (has_failed) {
    settlement.Reject(env, ErrorOf(env, *operation.error).Value());
  } else {
    settlement.Resolve(env, env.Undefined());
  }
}

/// The promise of `operation`, which is about to be queued.
Napi::Value PromiseOf(Napi::Env env, NcclHandle& handle, NcclOperation& operation, const Napi::Value& array) {
  const auto settlement = std::make_shared<Settlement>();
  operation.settlement = settlement;
  if (!array.IsEmpty()) settlement->Hold(array);
  return settlement->Promise(env, handle.settled);
}

Napi::Value Post(const Napi::CallbackInfo& info, std::unique_ptr<NcclOperation> operation, const Napi::Value& array) {
  NcclHandle& handle = *Unwrap<NcclHandle>(info[0]);
  if (!handle.is_open) throw SessionClosed("post");
  const Napi::Value promise = PromiseOf(info.Env(), handle, *operation, array);
  handle.communicator->Post(std::move(operation));
  return promise;
}

// ncclResult_t ncclGetUniqueId(ncclUniqueId* id)
// ncclUniqueId(file: string): Uint8Array
Napi::Value UniqueId(const Napi::CallbackInfo& info) {
  const ncclUniqueId id = NewNcclId(TableOf(info[0].ToString().Utf8Value()));
  auto bytes = Napi::Uint8Array::New(info.Env(), sizeof id.internal);
  std::memcpy(bytes.Data(), id.internal, sizeof id.internal);
  return bytes;
}

// ncclResult_t ncclGetVersion(int* version)
// ncclVersion(file: string): number
Napi::Value Version(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), NcclVersion(TableOf(info[0].ToString().Utf8Value())));
}

// openNccl(libraries, file: string, options: { devices: number[], rank, size, id: Uint8Array, timeoutSeconds }):
//   { communicator, opened: Promise<void> } — the devices have the ranks from `rank` on
Napi::Value OpenNccl(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto& libraries = Unwrap<Libraries>(info[0]);
  const NcclTable table = TableOf(info[1].ToString().Utf8Value());
  const auto given = info[2].As<Napi::Object>();
  const auto number = [&](const char* name) { return given.Get(name).As<Napi::Number>().DoubleValue(); };
  NcclOptions options;
  const auto devices = given.Get("devices").As<Napi::Array>();
  for (std::uint32_t k = 0; k < devices.Length(); k++) {
    options.devices.push_back(devices.Get(k).ToNumber().Int32Value());
  }
  if (options.devices.empty()) throw Napi::TypeError::New(env, "a communicator has one device at least");
  options.rank = static_cast<int>(number("rank"));
  options.size = static_cast<int>(number("size"));
  options.timeout_seconds = number("timeoutSeconds");
  const auto id = Span<std::uint8_t>(given.Get("id"));
  if (id.count != sizeof options.id.internal) throw Napi::TypeError::New(env, "an id has 128 bytes");
  std::memcpy(options.id.internal, id.data, sizeof options.id.internal);

  auto handle = std::make_shared<NcclHandle>();
  handle->communicator = std::make_unique<NcclCommunicator>(libraries, table, options);
  // The settlements own a share of the handle: it must outlive the thread. Stop() aborts the operation under way, so
  // that the end of the environment does not wait for other ranks.
  handle->settled.Open(
      env, "cudnn_rnn nccl",
      [handle](Napi::Env on, const std::unique_ptr<NcclOperation>& done) { SettleOnJavaScript(on, *handle, *done); },
      [raw = handle.get()] { raw->communicator->Stop(); });
  auto first = std::make_unique<NcclOperation>();
  first->kind = NcclOperationKind::kOpen;
  Napi::Object result = Napi::Object::New(env);
  result.Set("opened", PromiseOf(env, *handle, *first, Napi::Value()));
  result.Set("communicator", Wrap(env, handle));
  handle->communicator->Start(std::move(first), handle->settled.Reporter());
  return result;
}

// ncclAllReduce(communicator, array: Float32Array | Float64Array | Int32Array | Uint16Array, reduction: number):
//   Promise<void> — a Uint16Array has the bits of bfloat16
Napi::Value AllReduce(const Napi::CallbackInfo& info) {
  auto operation = std::make_unique<NcclOperation>();
  operation->reduction = info[2].ToNumber().Int32Value();
  const auto fill = [&](int type, const auto& span) {
    operation->type = type;
    operation->element_bytes = sizeof *span.data;
    operation->data = span.data;
    operation->count = static_cast<std::size_t>(span.count);
  };
  const auto type = info[1].As<Napi::TypedArray>().TypedArrayType();
  if (type == napi_float64_array) {
    fill(kNcclFloat64, Span<double>(info[1]));
  } else if (type == napi_int32_array) {
    fill(kNcclInt32, Span<int32_t>(info[1]));
  } else if (type == napi_uint16_array) {
    fill(kNcclBfloat16, Span<std::uint16_t>(info[1]));
  } else {
    fill(kNcclFloat32, Span<float>(info[1]));
  }
  return Post(info, std::move(operation), info[1]);
}

/// Queues a call on the streams of sessions, one of each device of the communicator. `access` has one for each.
Napi::Value PostOnStreams(const Napi::CallbackInfo& info, std::unique_ptr<NcclOperation> operation,
                          const std::function<StreamAccess(std::uint32_t)>& access) {
  NcclHandle& handle = *Unwrap<NcclHandle>(info[0]);
  if (!handle.is_open) throw SessionClosed("post");
  const auto sessions = info[1].As<Napi::Array>();
  const auto buffers = info[2].As<Napi::Array>();
  const auto counts = info[3].As<Napi::Array>();
  operation->type = info[4].ToNumber().Int32Value();
  for (std::uint32_t k = 0; k < counts.Length(); k++) {
    operation->counts.push_back(static_cast<std::size_t>(counts.Get(k).ToNumber().Int64Value()));
  }
  std::vector<std::shared_ptr<SessionHandle>> targets;
  std::vector<std::unique_ptr<Batch>> batches;
  for (std::uint32_t device = 0; device < sessions.Length(); device++) {
    targets.push_back(Unwrap<SessionHandle>(sessions.Get(device)));
    // Before anything is queued: all devices make the call, or none.
    if (targets.back()->session->closed()) throw SessionClosed("submit");
    auto batch = std::make_unique<Batch>();
    const auto own = buffers.Get(device).As<Napi::Array>();
    for (std::uint32_t k = 0; k < own.Length(); k++) {
      batch->slots.push_back(static_cast<Id>(own.Get(k).ToNumber().Int64Value()));
    }
    WorkerEnd& end = batch->stream_call.emplace();
    end.access = access(device);
    CommunicatorEnd& other = operation->stream_calls.emplace_back();
    other.arrived = end.arrived.get_future();
    end.taken = other.taken.get_future();
    batches.push_back(std::move(batch));
  }
  // Hooks run last to first: a session's waits for its device, on which this call may wait for other ranks.
  handle.settled.EndFirst();
  const Napi::Value promise = Post(info, std::move(operation), Napi::Value());
  for (std::size_t k = 0; k < targets.size(); k++) targets[k]->session->Post(batches[k], false);
  return promise;
}

// ncclReduceOnStreams(communicator, sessions: Session[], buffers: number[][], counts: number[], type: number,
//   reduction: number): Promise<void> — combines the first `counts` elements of the buffers of each session in place,
//   at this position of the sessions' queues; settles when the devices have done it
Napi::Value ReduceOnStreams(const Napi::CallbackInfo& info) {
  auto operation = std::make_unique<NcclOperation>();
  operation->kind = NcclOperationKind::kReduceOnStream;
  operation->reduction = info[5].ToNumber().Int32Value();
  return PostOnStreams(info, std::move(operation), [](std::uint32_t) { return StreamAccess::kReadWrite; });
}

// ncclBroadcastOnStreams(communicator, sessions: Session[], buffers: number[][], counts: number[], type: number,
//   root: number): Promise<void> — as ncclReduceOnStreams; copies the elements of sessions[root], which are ranks 0, 1,
//   …
Napi::Value BroadcastOnStreams(const Napi::CallbackInfo& info) {
  auto operation = std::make_unique<NcclOperation>();
  operation->kind = NcclOperationKind::kBroadcastOnStream;
  operation->root = info[5].ToNumber().Int32Value();
  const auto root = static_cast<std::uint32_t>(operation->root);
  return PostOnStreams(info, std::move(operation), [root](std::uint32_t device) {
    return device == root ? StreamAccess::kRead : StreamAccess::kWrite;
  });
}

// closeNccl(communicator): Promise<void> — waits for all ranks
Napi::Value CloseNccl(const Napi::CallbackInfo& info) {
  auto operation = std::make_unique<NcclOperation>();
  operation->kind = NcclOperationKind::kClose;
  const Napi::Value closed = Post(info, std::move(operation), Napi::Value());
  // The thread runs nothing after it.
  Unwrap<NcclHandle>(info[0])->is_open = false;
  return closed;
}

}  // namespace

void InitNccl(Napi::Object exports) {
  Export<UniqueId>(exports, "ncclUniqueId");
  Export<Version>(exports, "ncclVersion");
  Export<OpenNccl>(exports, "openNccl");
  Export<AllReduce>(exports, "ncclAllReduce");
  Export<ReduceOnStreams>(exports, "ncclReduceOnStreams");
  Export<BroadcastOnStreams>(exports, "ncclBroadcastOnStreams");
  Export<CloseNccl>(exports, "closeNccl");
}

}  // namespace cudnn_rnn
