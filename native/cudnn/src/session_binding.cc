#include <algorithm>
#include <cstring>

#include "areas.h"
#include "status.h"

namespace cudnn_rnn {
namespace {

/// A promise, and the host arrays that the device's results go to: they must live until then.
struct Settlement {
  napi_deferred deferred = nullptr;
  std::vector<napi_ref> arrays;
};

void CloseAtEnvironmentEnd(void* data);

/// A promise less that keeps the event loop alive.
void Settled(SessionHandle& handle) {
  if (--handle.outstanding == 0 && handle.settled != nullptr) napi_unref_threadsafe_function(handle.env, handle.settled);
}

/// The session has ended by itself: lets go of its thread, and of the function that told so.
void EndOnJavaScript(SessionHandle& handle) {
  if (handle.settled == nullptr) return;
  handle.session->Close();
  napi_remove_env_cleanup_hook(handle.env, CloseAtEnvironmentEnd, &handle);
  if (handle.closing != nullptr) {
    napi_value undefined = nullptr;
    napi_get_undefined(handle.env, &undefined);
    napi_resolve_deferred(handle.env, handle.closing, undefined);
  }
  napi_release_threadsafe_function(handle.settled, napi_tsfn_release);
  handle.settled = nullptr;
}

void SettleOnJavaScript(napi_env env, napi_value, void* context, void* data) {
  auto& handle = *static_cast<std::shared_ptr<SessionHandle>*>(context);
  if (data == nullptr) {
    if (env == nullptr) return;
    const Napi::HandleScope scope(env);
    return EndOnJavaScript(*handle);
  }
  const std::unique_ptr<Batch> batch(static_cast<Batch*>(data));
  const std::unique_ptr<Settlement> settlement(static_cast<Settlement*>(batch->settlement));
  // A null environment is one that is being torn down: nobody is left to be told.
  if (env == nullptr) return;
  Napi::HandleScope scope(env);
  for (napi_ref array : settlement->arrays) napi_delete_reference(env, array);
  Settled(*handle);
  try {
    if (batch->error) {
      napi_reject_deferred(env, settlement->deferred, ErrorOf(env, *batch->error).Value());
      return;
    }
    auto results = Napi::Float64Array::New(env, batch->results.size());
    for (std::size_t k = 0; k < batch->results.size(); k++) results[k] = batch->results[k];
    napi_resolve_deferred(env, settlement->deferred, results);
  } catch (const Napi::Error&) {
    // A worker thread that is being terminated makes no values any more, and has nobody left to be told.
  }
}

Settlement& SettlementOf(Batch& batch) {
  if (batch.settlement == nullptr) batch.settlement = new Settlement;
  return *static_cast<Settlement*>(batch.settlement);
}

/// Makes the promise for a batch that is about to be posted.
napi_value PromiseFor(SessionHandle& handle, Batch& batch) {
  napi_value promise = nullptr;
  napi_create_promise(handle.env, &SettlementOf(batch).deferred, &promise);
  if (handle.outstanding++ == 0) napi_ref_threadsafe_function(handle.env, handle.settled);
  return promise;
}

/// The one place where JavaScript's thread waits for a session: no thread of ours may outlive the environment.
void CloseAtEnvironmentEnd(void* data) {
  SessionHandle& handle = *static_cast<SessionHandle*>(data);
  if (handle.settled == nullptr) return;
  handle.session->Close();
  napi_release_threadsafe_function(handle.settled, napi_tsfn_release);
  handle.settled = nullptr;
}

// openSession(libraries, device: number): { session, opened: Promise<Float64Array> }
Napi::Value OpenSession(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  auto libraries = Shown<Libraries>(info[0]);
  auto handle = std::make_shared<SessionHandle>();
  handle->env = env;
  // The thread-safe function owns a share of the handle, as it may still be called after the last JavaScript reference.
  auto* context = new std::shared_ptr<SessionHandle>(handle);
  const napi_status status = napi_create_threadsafe_function(
      env, nullptr, nullptr, Napi::String::New(env, "cudnn_rnn session"), 0, 1, nullptr,
      [](napi_env, void*, void* hint) { delete static_cast<std::shared_ptr<SessionHandle>*>(hint); }, context,
      SettleOnJavaScript, &handle->settled);
  if (status != napi_ok) {
    delete context;
    throw Napi::Error::New(env, "napi_create_threadsafe_function failed");
  }
  napi_unref_threadsafe_function(env, handle->settled);
  handle->session = std::make_shared<Session>(
      std::move(libraries), info[1].ToNumber().Int32Value(), [settled = handle->settled](std::unique_ptr<Batch> batch) {
        Batch* raw = batch.release();
        if (napi_call_threadsafe_function(settled, raw, napi_tsfn_nonblocking) == napi_ok || raw == nullptr) return;
        delete static_cast<Settlement*>(raw->settlement);
        delete raw;
      });
  // Registered after the thread-safe function, so run before its end: hooks run last to first.
  napi_add_env_cleanup_hook(env, CloseAtEnvironmentEnd, handle.get());

  auto first = std::make_unique<Batch>();
  napi_value opened = PromiseFor(*handle, *first);
  handle->session->Start(std::move(first));
  // The finalizer is only a net: whoever opens a session closes it.
  auto* holder = new std::shared_ptr<SessionHandle>(handle);
  auto session = Napi::External<std::shared_ptr<SessionHandle>>::New(
      env, holder, [](Napi::Env, std::shared_ptr<SessionHandle>* held) {
        if ((*held)->settled != nullptr) (*held)->session->BeginClose();
        delete held;
      });
  napi_type_tag_object(env, session, &TagOf<SessionHandle>::kTag);
  Napi::Object result = Napi::Object::New(env);
  result.Set("session", session);
  result.Set("opened", Napi::Value(env, opened));
  return result;
}

// sessionInfo(session): what the device said when it was opened
Napi::Value SessionInfo(const Napi::CallbackInfo& info) {
  const DeviceInfo& device = Shown<SessionHandle>(info[0])->session->info();
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("name", device.name);
  for (const auto& [name, value] : device.numbers) result.Set(name, value);
  return result;
}

// closeSession(session): Promise<void> — resolves when the device has everything back; undefined where it has already
Napi::Value CloseSession(const Napi::CallbackInfo& info) {
  SessionHandle& handle = *Shown<SessionHandle>(info[0]);
  if (handle.settled == nullptr || handle.closing != nullptr) return info.Env().Undefined();
  napi_value promise = nullptr;
  napi_create_promise(info.Env(), &handle.closing, &promise);
  if (handle.outstanding++ == 0) napi_ref_threadsafe_function(handle.env, handle.settled);
  handle.session->BeginClose();
  return Napi::Value(info.Env(), promise);
}

// post(session, mode: number): Promise<Float64Array> | undefined
//
// Queues the commands appended so far as one batch. Bits of mode: 1 urgent, 2 hold, 4 release, 8 wait for the device,
// 16 return a promise (of the numbers that the commands reported), 32 the first batch of a step, 64 a later one.
Napi::Value Post(const Napi::CallbackInfo& info) {
  Arguments args(info);
  const int mode = args.Int();
  std::unique_ptr<Batch> batch = args.session().TakePending();
  batch->hold = (mode & 2) != 0;
  batch->release = (mode & 4) != 0;
  batch->wait = (mode & 8) != 0;
  if ((mode & 32) != 0) batch->place = Batch::kFirstOfStep;
  if ((mode & 64) != 0) batch->place = Batch::kOfStep;
  Napi::Value promise = args.env().Undefined();
  if (args.session().closed()) throw SessionClosed("post");
  if ((mode & 16) != 0) promise = Napi::Value(args.env(), PromiseFor(*args.handle(), *batch));
  args.session().Post(batch, (mode & 1) != 0);
  return promise;
}

// discard(session): void — forgets the commands appended so far
Napi::Value Discard(const Napi::CallbackInfo& info) {
  const std::unique_ptr<Batch> batch = Shown<SessionHandle>(info[0])->session->TakePending();
  const std::unique_ptr<Settlement> settlement(static_cast<Settlement*>(batch->settlement));
  if (settlement) {
    for (napi_ref array : settlement->arrays) napi_delete_reference(info.Env(), array);
  }
  return info.Env().Undefined();
}

/// Copies through one page-locked block, and waits for each piece.
void DownloadInPieces(Worker& worker, const DeviceBuffer& from, std::size_t offset, void* destination,
                      std::size_t bytes) {
  const HostBlockRef block = worker.host_blocks.Take(HostBlockPool::kPiece);
  for (std::size_t done = 0; done < bytes; done += HostBlockPool::kPiece) {
    const std::size_t piece = std::min(HostBlockPool::kPiece, bytes - done);
    CheckCudart(worker.libraries,
                worker.libraries.cudart.cudaMemcpyAsync(block->data, from.at(offset + done), piece,
                                                        cudaMemcpyDeviceToHost, worker.stream),
                "cudaMemcpyAsync");
    CheckCudart(worker.libraries, worker.libraries.cudart.cudaStreamSynchronize(worker.stream),
                "cudaStreamSynchronize");
    std::memcpy(static_cast<char*>(destination) + done, block->data, piece);
  }
}

// cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, int kind, cudaStream_t stream)
// download(session, from: Buffer, offset: number, to: TypedArray): void — filled when the batch's promise resolves
Napi::Value Download(const Napi::CallbackInfo& info) {
  Arguments args(info);
  const BufferRef from = args.Read();
  const std::size_t offset = args.Size();
  const HostArray to = args.Array();
  const std::size_t bytes = to.bytes;
  void* destination = to.data;
  if (offset + bytes > from->bytes()) ThrowBytes(args.env(), from->bytes() - offset, bytes);
  napi_ref reference = nullptr;
  napi_create_reference(args.env(), to.value, 1, &reference);
  SettlementOf(args.session().pending()).arrays.push_back(reference);
  if (bytes == 0) return args.env().Undefined();
  args.Enqueue([=](Worker& worker, Batch& batch) {
    if (bytes > HostBlockPool::kPiece) return DownloadInPieces(worker, *from, offset, destination, bytes);
    Transfer transfer{worker.host_blocks.Take(bytes), destination, bytes};
    CheckCudart(worker.libraries,
                worker.libraries.cudart.cudaMemcpyAsync(transfer.block->data, from->at(offset), bytes,
                                                        cudaMemcpyDeviceToHost, worker.stream),
                "cudaMemcpyAsync");
    batch.transfers.push_back(std::move(transfer));
  });
  return args.env().Undefined();
}

}  // namespace

void InitSession(Napi::Object exports) {
  Export<OpenSession>(exports, "openSession");
  Export<SessionInfo>(exports, "sessionInfo");
  Export<CloseSession>(exports, "closeSession");
  Export<Post>(exports, "post");
  Export<Discard>(exports, "discard");
  Export<Download>(exports, "download");
}

}  // namespace cudnn_rnn
