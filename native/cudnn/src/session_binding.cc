#include <algorithm>
#include <cstring>
#include <future>

#include "binding.h"
#include "command_reader.h"
#include "commands.h"

namespace cudnn_rnn {
namespace {

/// A batch that JavaScript's thread waits for.
using AwaitedBatch = std::promise<std::unique_ptr<Batch>>;

/// A promise, and the host arrays that the device's results go to: they must live until then.
struct Settlement {
  napi_deferred deferred = nullptr;
  std::vector<napi_ref> arrays;
  /// Set where JavaScript's thread waits for the batch. Shared: the waiting thread may return before `set_value` does.
  std::shared_ptr<AwaitedBatch> awaited;
};

void CloseAtEnvironmentEnd(void* data);

/// A promise less that keeps the event loop alive.
void Settled(SessionHandle& handle) {
  if (--handle.outstanding == 0 && handle.settled != nullptr)
    napi_unref_threadsafe_function(handle.env, handle.settled);
}

/// The session's threads have ended: joins them and releases the function that reported it.
void EndOnJavaScript(SessionHandle& handle) {
  if (handle.settled == nullptr) return;
  // The threads have ended or are about to: this only joins them.
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

Napi::Value ResultsOf(Napi::Env env, const Batch& batch) {
  auto results = Napi::Float64Array::New(env, batch.results.size());
  for (std::size_t k = 0; k < batch.results.size(); k++) results[k] = batch.results[k];
  return results;
}

/// The error of a failed batch; `segment` is the index of the segment that failed.
Napi::Object FailureOf(Napi::Env env, const Batch& batch) {
  Napi::Object error = ErrorOf(env, *batch.error).Value();
  error.Set("segment", static_cast<double>(batch.failed_segment));
  return error;
}

/// Called on JavaScript's thread for each settled batch, and with null data when the session has ended. Takes ownership
/// of the batch.
void SettleOnJavaScript(napi_env env, napi_value, void* context, void* data) {
  auto& handle = *static_cast<std::shared_ptr<SessionHandle>*>(context);
  if (data == nullptr) {
    if (env == nullptr) return;
    const Napi::HandleScope scope(env);
    return EndOnJavaScript(*handle);
  }
  const std::unique_ptr<Batch> batch(static_cast<Batch*>(data));
  const std::unique_ptr<Settlement> settlement(static_cast<Settlement*>(batch->settlement));
  // Node-API passes a null environment during its teardown: the promise can no longer be settled.
  if (env == nullptr) return;
  Napi::HandleScope scope(env);
  for (napi_ref array : settlement->arrays) napi_delete_reference(env, array);
  Settled(*handle);
  try {
    if (batch->error) {
      napi_reject_deferred(env, settlement->deferred, FailureOf(env, *batch));
      return;
    }
    const Napi::Value results = batch->results.empty() ? Napi::Env(env).Undefined() : ResultsOf(env, *batch);
    napi_resolve_deferred(env, settlement->deferred, results);
  } catch (const Napi::Error&) {
    return;  // A worker thread that is being terminated makes no values, and nothing waits for the promise.
  }
}

/// Hands a settled batch to JavaScript's thread if it waits for it; false where it does not.
bool GiveToAwaiter(std::unique_ptr<Batch>& batch) {
  if (batch == nullptr) return false;
  const std::shared_ptr<AwaitedBatch> awaited = static_cast<Settlement*>(batch->settlement)->awaited;
  if (awaited == nullptr) return false;
  awaited->set_value(std::move(batch));
  return true;
}

/// The settlement of a batch, made at first use. Freed by SettleOnJavaScript, or with the batch if the environment has
/// ended.
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

/// Waits for the session's threads: none may outlive the environment.
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
  std::shared_ptr<const Libraries> libraries = Unwrap<Libraries>(info[0]);
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
  // An idle session does not keep the process alive; pending promises do (PromiseFor).
  napi_unref_threadsafe_function(env, handle->settled);
  handle->session = std::make_shared<Session>(
      std::move(libraries), info[1].ToNumber().Int32Value(), [settled = handle->settled](std::unique_ptr<Batch> batch) {
        if (GiveToAwaiter(batch)) return;
        Batch* raw = batch.release();
        // Nonblocking, and the queue has no limit: a device thread never waits for JavaScript. napi_closing means that
        // the environment is ending, so the batch is freed here.
        if (napi_call_threadsafe_function(settled, raw, napi_tsfn_nonblocking) == napi_ok || raw == nullptr) return;
        delete static_cast<Settlement*>(raw->settlement);
        delete raw;
      });
  // Registered after the thread-safe function, so run before its end: hooks run last to first.
  napi_add_env_cleanup_hook(env, CloseAtEnvironmentEnd, handle.get());

  auto first = std::make_unique<Batch>();
  napi_value opened = PromiseFor(*handle, *first);
  handle->session->Start(std::move(first));
  // The opener must close the session; the finalizer is the fallback for a handle that was dropped.
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

// sessionInfo(session): properties and versions that were read when the session opened
Napi::Value SessionInfo(const Napi::CallbackInfo& info) {
  const DeviceInfo& device = Unwrap<SessionHandle>(info[0])->session->info();
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("name", device.name);
  for (const auto& [name, value] : device.numbers) result.Set(name, value);
  return result;
}

// closeSession(session): Promise<void> — resolves when the device has everything back; undefined where it has already
Napi::Value CloseSession(const Napi::CallbackInfo& info) {
  SessionHandle& handle = *Unwrap<SessionHandle>(info[0]);
  if (handle.settled == nullptr || handle.closing != nullptr) return info.Env().Undefined();
  napi_value promise = nullptr;
  napi_create_promise(info.Env(), &handle.closing, &promise);
  if (handle.outstanding++ == 0) napi_ref_threadsafe_function(handle.env, handle.settled);
  handle.session->BeginClose();
  return Napi::Value(info.Env(), promise);
}

// A message of submit(): numbers as device/command_list.ts writes them.
//   0 mode  1 graph to capture  2 buffer of its scalars  3-6 how many words, slots, scalars, releases follow, in this
//   order
class MessageReader {
 public:
  MessageReader(const double* numbers, std::size_t count) : next_(numbers), end_(numbers + count) {}

  double Next() { return *Take(1); }
  template <typename Number>
  std::vector<Number> Numbers(std::size_t count) {
    const double* first = Take(count);
    std::vector<Number> numbers(count);
    for (std::size_t k = 0; k < count; k++) numbers[k] = static_cast<Number>(first[k]);
    return numbers;
  }

 private:
  /// The next `count` numbers. The message comes from packages/cudnn, so a message that is too short is an error of
  /// ours; it throws instead of reading past the array.
  const double* Take(std::size_t count) {
    if (static_cast<std::size_t>(end_ - next_) < count) throw std::out_of_range("a message that is too short");
    return std::exchange(next_, next_ + count);
  }

  const double* next_;
  const double* const end_;
};

/// The memory of a typed array as it is now; over a SharedArrayBuffer too.
struct HostArray {
  void* data = nullptr;
  std::size_t bytes = 0;
};

HostArray HostArrayOf(const Napi::Value& value) {
  napi_typedarray_type type;
  std::size_t count = 0;
  void* data = nullptr;
  if (napi_get_typedarray_info(value.Env(), value, &type, &count, &data, nullptr, nullptr) != napi_ok) {
    throw Napi::TypeError::New(value.Env(), "not a typed array");
  }
  return {data, count * Napi::TypedArray(value.Env(), value).ElementSize()};
}

/// The batch of a message, without its host arrays; the bits of its mode.
std::unique_ptr<Batch> BatchOf(const Napi::Value& message, std::size_t count, unsigned* mode) {
  const HostArray numbers = HostArrayOf(message);
  MessageReader reader(static_cast<const double*>(numbers.data), std::min(count, numbers.bytes / sizeof(double)));
  auto batch = std::make_unique<Batch>();
  *mode = static_cast<unsigned>(reader.Next());
  batch->graph = static_cast<Id>(reader.Next());
  batch->live_scalars = static_cast<Id>(reader.Next());
  const auto sizes = reader.Numbers<std::size_t>(4);
  // Copies: JavaScript reuses the message for the next submission.
  batch->words = reader.Numbers<double>(sizes[0]);
  batch->slots = reader.Numbers<Id>(sizes[1]);
  batch->scalars = reader.Numbers<double>(sizes[2]);
  batch->releases = reader.Numbers<Id>(sizes[3]);
  batch->begins_exclusive = (*mode & mode::kBeginExclusive) != 0;
  batch->ends_exclusive = (*mode & mode::kEndExclusive) != 0;
  batch->waits = (*mode & mode::kWait) != 0;
  batch->is_timed = (*mode & mode::kTimed) != 0;
  batch->is_step = (*mode & mode::kStep) != 0;
  if ((*mode & mode::kIfCaptured) != 0) batch->condition = Batch::Condition::kIfCaptured;
  if ((*mode & mode::kUnlessCaptured) != 0) batch->condition = Batch::Condition::kUnlessCaptured;
  return batch;
}

/// Copies the host arrays that the commands read.
void AddSources(Batch& batch, const Napi::Value& sources, HostBlockPool& host_blocks) {
  if (!sources.IsArray()) return;
  const auto list = sources.As<Napi::Array>();
  for (std::uint32_t k = 0; k < list.Length(); k++) {
    const HostArray array = HostArrayOf(list.Get(k));
    Source source{host_blocks.TakeWithoutCuda(array.bytes), array.bytes};
    if (array.bytes > 0) std::memcpy(source.block->data, array.data, array.bytes);
    batch.sources.push_back(std::move(source));
  }
}

/// The host arrays that downloads fill.
void AddTargets(Batch& batch, const Napi::Value& targets) {
  if (!targets.IsArray()) return;
  const auto list = targets.As<Napi::Array>();
  for (std::uint32_t k = 0; k < list.Length(); k++) {
    const HostArray array = HostArrayOf(list.Get(k));
    batch.targets.push_back({array.data, array.bytes});
  }
}

/// The batch of a call of submit() or submitAndWait().
std::unique_ptr<Batch> SubmittedBatch(const Napi::CallbackInfo& info, SessionHandle& handle, unsigned* mode) {
  if (handle.session->closed()) throw SessionClosed("submit");
  std::unique_ptr<Batch> batch = BatchOf(info[1], info[2].As<Napi::Number>().Uint32Value(), mode);
  AddSources(*batch, info[3], handle.session->host_blocks());
  AddTargets(*batch, info[4]);
  return batch;
}

// submit(session, message: Float64Array, count: number, sources?: TypedArray[], targets?: TypedArray[]):
//   Promise<Float64Array | undefined> | undefined
//
// Queues one batch. `sources` are read now, `targets` are filled when the promise resolves, with the numbers that the
// commands reported. A rejection has `segment`: the index of the segment that failed.
Napi::Value Submit(const Napi::CallbackInfo& info) {
  SessionHandle& handle = *Unwrap<SessionHandle>(info[0]);
  unsigned mode = 0;
  std::unique_ptr<Batch> batch = SubmittedBatch(info, handle, &mode);
  if (!batch->targets.empty()) {
    const auto targets = info[4].As<Napi::Array>();
    for (std::uint32_t k = 0; k < targets.Length(); k++) {
      napi_ref reference = nullptr;
      napi_create_reference(info.Env(), targets.Get(k), 1, &reference);
      SettlementOf(*batch).arrays.push_back(reference);
    }
  }
  Napi::Value promise = info.Env().Undefined();
  if ((mode & mode::kPromise) != 0) promise = Napi::Value(info.Env(), PromiseFor(handle, *batch));
  // Cannot fail: this thread alone closes the session, and `closed` was checked above.
  handle.session->Post(batch, (mode & mode::kExclusive) != 0);
  return promise;
}

// submitAndWait(session, message: Float64Array, count: number, sources?: TypedArray[], targets?: TypedArray[]):
//   Float64Array
//
// As submit(), and blocks JavaScript's thread until the batch is settled; throws where submit() rejects. The worker and
// the waiter need nothing of JavaScript's thread to settle a batch. An exclusive section does, as JavaScript ends it:
// the caller makes sure that none is under way.
Napi::Value SubmitAndWait(const Napi::CallbackInfo& info) {
  SessionHandle& handle = *Unwrap<SessionHandle>(info[0]);
  unsigned mode = 0;
  std::unique_ptr<Batch> batch = SubmittedBatch(info, handle, &mode);
  const auto awaited = std::make_shared<AwaitedBatch>();
  const auto settlement = std::make_unique<Settlement>();
  settlement->awaited = awaited;
  batch->settlement = settlement.get();
  if (!handle.session->Post(batch, (mode & mode::kExclusive) != 0)) throw SessionClosed("submitAndWait");
  batch = awaited->get_future().get();
  if (batch->error) throw Napi::Error(info.Env(), FailureOf(info.Env(), *batch));
  return ResultsOf(info.Env(), *batch);
}

// runWithoutDevice(libraries, message: Float64Array, count: number, sources?: TypedArray[]): Float64Array
//
// Runs commands that need no device on this thread and returns the numbers that they report: scripts compare
// descriptors and weight layouts with a real cuDNN on machines without a GPU. cuDNN 9.24 only compares the handle with
// null in these calls.
Napi::Value RunWithoutDevice(const Napi::CallbackInfo& info) {
  const auto& libraries = Unwrap<Libraries>(info[0]);
  unsigned mode = 0;
  HostBlockPool host_blocks(*libraries);
  const std::unique_ptr<Batch> batch = BatchOf(info[1], info[2].As<Napi::Number>().Uint32Value(), &mode);
  AddSources(*batch, info[3], host_blocks);
  Worker worker(*libraries, 0, host_blocks);
  // Any value that is not null; no session and no device exist here.
  worker.cudnn = reinterpret_cast<cudnnHandle_t>(std::uintptr_t{1});  // NOLINT(performance-no-int-to-ptr): never read
  worker.RunWithoutDevice(*batch);
  if (batch->error) throw NativeError(*batch->error);
  return ResultsOf(info.Env(), *batch);
}

// adjustExternalMemory(bytes: number): void — reports to the garbage collector the device memory that JavaScript
// objects keep allocated
Napi::Value AdjustExternalMemory(const Napi::CallbackInfo& info) {
  Napi::MemoryManagement::AdjustExternalMemory(info.Env(), info[0].ToNumber().Int64Value());
  return info.Env().Undefined();
}

}  // namespace

void InitSession(Napi::Object exports) {
  Export<OpenSession>(exports, "openSession");
  Export<SessionInfo>(exports, "sessionInfo");
  Export<CloseSession>(exports, "closeSession");
  Export<Submit>(exports, "submit");
  Export<SubmitAndWait>(exports, "submitAndWait");
  Export<RunWithoutDevice>(exports, "runWithoutDevice");
  Export<AdjustExternalMemory>(exports, "adjustExternalMemory");
}

}  // namespace cudnn_rnn
