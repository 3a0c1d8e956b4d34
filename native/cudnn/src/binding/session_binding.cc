#include <algorithm>
#include <cstring>
#include <future>

#include "binding/binding.h"
#include "commands.h"
#include "device/command_reader.h"

namespace cudnn_rnn {
namespace {

/// A batch that JavaScript's thread waits for.
using AwaitedBatch = std::promise<std::unique_ptr<Batch>>;

/// Its arrays are the targets of the device's results.
struct BatchSettlement : Settlement {
  /// Set if JavaScript's thread waits for the batch. Shared: the waiting thread may return before `set_value` does.
  std::shared_ptr<AwaitedBatch> awaited;
};

/// The session's threads have ended: joins them.
void EndOnJavaScript(Napi::Env env, SessionHandle& handle) {
  if (!handle.settled.is_open()) return;
  // The threads have ended or are about to: this only joins them.
  handle.session->Close();
  if (handle.closing != nullptr) {
    handle.closing->Settled(env, handle.settled);
    handle.closing->Resolve(env, env.Undefined());
  }
  handle.settled.Close();
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

/// Called on JavaScript's thread for each settled batch, and with null when the session has ended.
void SettleOnJavaScript(Napi::Env env, SessionHandle& handle, const Batch* batch) {
  if (batch == nullptr) return EndOnJavaScript(env, handle);
  auto& settlement = *static_cast<BatchSettlement*>(batch->settlement.get());
  settlement.Settled(env, handle.settled);
  if (batch->error) return settlement.Reject(env, FailureOf(env, *batch));
  settlement.Resolve(env, batch->results.empty() ? env.Undefined() : ResultsOf(env, *batch));
}

/// Hands a settled batch to JavaScript's thread if it waits for it; false if it does not.
bool GiveToAwaiter(std::unique_ptr<Batch>& batch) {
  if (batch == nullptr) return false;
  const std::shared_ptr<AwaitedBatch> awaited = static_cast<BatchSettlement*>(batch->settlement.get())->awaited;
  if (awaited == nullptr) return false;
  awaited->set_value(std::move(batch));
  return true;
}

/// The settlement of a batch, made at first use.
BatchSettlement& SettlementOf(Batch& batch) {
  if (batch.settlement == nullptr) batch.settlement = std::make_shared<BatchSettlement>();
  return *static_cast<BatchSettlement*>(batch.settlement.get());
}

// openSession(libraries, device: number): { session, opened: Promise<Float64Array> }
Napi::Value OpenSession(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  std::shared_ptr<const Libraries> libraries = Unwrap<Libraries>(info[0]);
  auto handle = std::make_shared<SessionHandle>();
  // The settlements own a share of the handle, as there may be one after the last JavaScript reference.
  handle->settled.Open(
      env, "cudnn_rnn session",
      [handle](Napi::Env on, const std::unique_ptr<Batch>& batch) { SettleOnJavaScript(on, *handle, batch.get()); },
      // No thread of the session may outlive the environment.
      [raw = handle.get()] { raw->session->Close(); });
  handle->session = std::make_shared<Session>(std::move(libraries), info[1].ToNumber().Int32Value(),
                                              [report = handle->settled.Reporter()](std::unique_ptr<Batch> batch) {
                                                if (!GiveToAwaiter(batch)) report(std::move(batch));
                                              });

  auto first = std::make_unique<Batch>();
  const Napi::Value opened = SettlementOf(*first).Promise(env, handle->settled);
  handle->session->Start(std::move(first));
  // The opener must close the session; the finalizer is the fallback for a handle that was dropped.
  auto* holder = new std::shared_ptr<SessionHandle>(handle);
  auto session = Napi::External<std::shared_ptr<SessionHandle>>::New(
      env, holder, [](Napi::Env, std::shared_ptr<SessionHandle>* held) {
        if ((*held)->settled.is_open()) (*held)->session->BeginClose();
        delete held;
      });
  napi_type_tag_object(env, session, &TagOf<SessionHandle>::kTag);
  Napi::Object result = Napi::Object::New(env);
  result.Set("session", session);
  result.Set("opened", opened);
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

// closeSession(session): Promise<void> — resolves when the device has everything back; undefined if it has already
Napi::Value CloseSession(const Napi::CallbackInfo& info) {
  SessionHandle& handle = *Unwrap<SessionHandle>(info[0]);
  if (!handle.settled.is_open() || handle.closing != nullptr) return info.Env().Undefined();
  handle.closing = std::make_unique<Settlement>();
  const Napi::Value promise = handle.closing->Promise(info.Env(), handle.settled);
  handle.session->BeginClose();
  return promise;
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
    for (std::uint32_t k = 0; k < targets.Length(); k++) SettlementOf(*batch).Hold(targets.Get(k));
  }
  Napi::Value promise = info.Env().Undefined();
  if ((mode & mode::kPromise) != 0) promise = SettlementOf(*batch).Promise(info.Env(), handle.settled);
  // Cannot fail: this thread alone closes the session, and `closed` was checked above.
  handle.session->Post(batch, (mode & mode::kExclusive) != 0);
  return promise;
}

// submitAndWait(session, message: Float64Array, count: number, sources?: TypedArray[], targets?: TypedArray[]):
//   Float64Array
//
// As submit(), and blocks JavaScript's thread until the batch is settled; throws if submit() rejects. The worker and
// the waiter need nothing of JavaScript's thread to settle a batch. An exclusive section does, as JavaScript ends it:
// the caller makes sure that none is under way.
Napi::Value SubmitAndWait(const Napi::CallbackInfo& info) {
  SessionHandle& handle = *Unwrap<SessionHandle>(info[0]);
  unsigned mode = 0;
  std::unique_ptr<Batch> batch = SubmittedBatch(info, handle, &mode);
  const auto awaited = std::make_shared<AwaitedBatch>();
  SettlementOf(*batch).awaited = awaited;
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
