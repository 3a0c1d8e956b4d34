#include "binding/executor_object.h"

#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "kernels/instruction_sets.h"
#include "memory/block_cache.h"
#include "memory/memory_block.h"

namespace cudnn_rnn {
namespace {

// Null if this processor or this build lacks the instruction set.
const Kernels* KernelsNamed(const std::string& name) {
  for (const Kernels* kernels : SupportedKernels()) {
    if (kernels->name == name) return kernels;
  }
  return nullptr;
}

}  // namespace

// The job of the operation whose reader the method has as its data.
Job ExecutorObject::JobOf(const Napi::CallbackInfo& info) {
  const auto& reader = *static_cast<const JobReader*>(info.Data());
  return (core_->is_double ? reader.f64 : reader.f32)({core_, &queue_->canceled(), info}, info[0].As<Napi::Object>());
}

// <operation>(arguments: object): number, or 0 if it is done. Settling first lets go of arguments that finished
// operations still hold.
Napi::Value ExecutorObject::Queue(const Napi::CallbackInfo& info) {
  // May throw: nothing has been queued then.
  Job job = JobOf(info);
  Settle();
  const bool is_brief = job.operations <= core_->brief_operations();
  const uint64_t number = is_brief ? queue_->RunOrPush(std::move(job.run)) : queue_->Push(std::move(job.run));
  if (queue_->completed() < number) {
    // The reference keeps the arrays alive until Settle() sees the job done. Jobs complete in order, so the deque is
    // sorted.
    const Napi::Array arguments = Napi::Array::New(env_, info.Length());
    for (uint32_t k = 0; k < info.Length(); k++) arguments.Set(k, info[k]);
    pending_.push_back({number, Napi::Persistent(Napi::Object(arguments))});
  }
  return Napi::Number::New(env_, static_cast<double>(number));
}

// <operation>(arguments: object): void. Throws the error of the operation.
void ExecutorObject::RunNow(const Napi::CallbackInfo& info) {
  Job job = JobOf(info);
  const uint64_t number = queue_->RunOrPush(std::move(job.run));
  // Blocks JavaScript's thread. Only for operations whose callers are synchronous (packages/cpu, the products of layers
  // written in TypeScript).
  queue_->Wait(number);
  const JobQueue::Failure failure = queue_->FailureOf(number);
  if (failure.is_out_of_memory) ThrowOutOfMemory(env_, "multiply matrices");
  if (!failure.message.empty()) throw Napi::Error::New(env_, failure.message);
}

Napi::Function ExecutorObject::Define(Napi::Env env) {
  std::vector<Napi::ClassPropertyDescriptor<ExecutorObject>> methods = {
      InstanceMethod<&ExecutorObject::Describe>("describe"),
      InstanceMethod<&ExecutorObject::ResultBuffer>("resultBuffer"),
      InstanceMethod<&ExecutorObject::Completed>("completed"),
      InstanceMethod<&ExecutorObject::Done>("done"),
      InstanceMethod<&ExecutorObject::Wait>("wait"),
      InstanceMethod<&ExecutorObject::Close>("close"),
  };
  for (const auto* readers : {&RnnJobs(), &DenseJobs(), &LstmSequenceJobs()}) {
    for (const JobReader& reader : *readers) {
      void* data = const_cast<JobReader*>(&reader);
      methods.push_back(reader.blocks ? InstanceMethod<&ExecutorObject::RunNow>(reader.name, napi_default, data)
                                      : InstanceMethod<&ExecutorObject::Queue>(reader.name, napi_default, data));
    }
  }
  return DefineClass(env, "NativeExecutor", methods);
}

// new NativeExecutor(instructionSet: string, threads: number, float64: boolean, roundsProducts: boolean)
ExecutorObject::ExecutorObject(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<ExecutorObject>(info), env_(info.Env()) {
  const Kernels* kernels = KernelsNamed(info[0].ToString().Utf8Value());
  if (kernels == nullptr)
    throw Napi::Error::New(env_, "Cannot open the executor as this processor lacks the instruction set");
  const bool rounds_products = info[3].ToBoolean().Value();
  if (rounds_products) kernels = WithTiles(kernels);
  core_ = std::make_shared<ExecutorCore>(kernels, info[1].ToNumber().Int32Value(), info[2].ToBoolean().Value(),
                                         rounds_products);
  // An operation in flight reads JavaScript's memory: it must end before the environment does.
  finished_.Open(env_, "cudnn_rnn_cpu", [this](Napi::Env, std::unique_ptr<int>) { Settle(); }, [this] { Stop(); });
  queue_ = std::make_unique<JobQueue>([report = finished_.Reporter()] { report(nullptr); });
}

ExecutorObject::~ExecutorObject() { Stop(); }

// Ends the queue's thread after the job at work, then the notifications. In this order: the thread notifies until it
// has ended. Idempotent.
void ExecutorObject::Stop() {
  if (!finished_.is_open()) return;
  if (queue_ != nullptr) queue_->Stop();
  finished_.Close();
}

// close(): drops queued operations, rejects the promises that await them, and joins the threads.
void ExecutorObject::Close(const Napi::CallbackInfo& info) {
  Stop();
  Settle();
  for (auto& [number, deferred] : std::exchange(waiting_, {})) {
    deferred.Reject(Napi::Error::New(info.Env(), "closed").Value());
  }
  // Runs after the thread has ended: no job reads the arrays any more.
  pending_.clear();
  core_.reset();
}

// describe(): { instructionSet: string, threads: number }
Napi::Value ExecutorObject::Describe(const Napi::CallbackInfo& info) {
  Napi::Object description = Napi::Object::New(info.Env());
  description.Set("instructionSet", core_->kernels->name);
  description.Set("threads", core_->pool.size());
  // The same in either element type.
  description.Set("panelOrder", core_->kernels->f32.panel_order == PanelOrder::kRows ? "rows" : "chunks");
  return description;
}

// On JavaScript's thread. The loop ends when no promise waits, or when Await() has registered the next one with the
// queue; a job that completes in between is seen by the next round, so no notification is lost.
void ExecutorObject::Settle() {
  const Napi::HandleScope scope(env_);
  for (;;) {
    const uint64_t completed = queue_->completed();
    while (!pending_.empty() && pending_.front().number <= completed) pending_.pop_front();
    while (!waiting_.empty() && waiting_.begin()->first <= completed) {
      const auto [number, deferred] = *waiting_.begin();
      waiting_.erase(waiting_.begin());
      finished_.Done();
      const JobQueue::Failure failure = queue_->FailureOf(number);
      if (failure.message.empty()) {
        deferred.Resolve(Napi::Env(env_).Undefined());
      } else {
        Napi::Error error = Napi::Error::New(env_, failure.message);
        if (failure.is_out_of_memory) error.Set("code", Napi::String::New(env_, "ERR_OUT_OF_MEMORY"));
        deferred.Reject(error.Value());
      }
    }
    if (waiting_.empty() || !finished_.is_open() || queue_->Await(waiting_.begin()->first)) return;
  }
}

// resultBuffer(bytes): ArrayBuffer with undefined contents, aligned to a cache line. The garbage collector returns its
// memory to the cache of results (memory/block_cache.h states why).
Napi::Value ExecutorObject::ResultBuffer(const Napi::CallbackInfo& info) {
  const auto bytes = static_cast<size_t>(info[0].ToNumber().Int64Value());
  std::shared_ptr<MemoryBlock> block;
  try {
    block = std::make_shared<MemoryBlock>(core_->results->Take(bytes));
  } catch (const std::bad_alloc&) {
    ThrowOutOfMemory(info.Env(), "allocate a result");
  }
  // A share of the cache: JavaScript may hold the buffer for longer than the executor lives.
  const auto give_back = [block, cache = core_->results] { cache->GiveBack(std::move(*block)); };
  napi_value buffer;
  const napi_status status = LendArrayBuffer(info.Env(), block->data(), bytes, give_back, &buffer);
  if (status == napi_ok) return Napi::Value(info.Env(), buffer);
  // V8 with pointer compression refuses memory outside its cage: Electron. Such a buffer is not recycled.
  // https://www.electronjs.org/blog/v8-memory-cage
  if (status == napi_no_external_buffers_allowed) return Napi::ArrayBuffer::New(info.Env(), bytes);
  throw Napi::Error::New(info.Env());
}

// completed(number): boolean
Napi::Value ExecutorObject::Completed(const Napi::CallbackInfo& info) {
  const auto number = static_cast<uint64_t>(info[0].ToNumber().Int64Value());
  return Napi::Boolean::New(info.Env(), queue_->completed() >= number);
}

// done(number): Promise<void>
Napi::Value ExecutorObject::Done(const Napi::CallbackInfo& info) {
  const auto number = static_cast<uint64_t>(info[0].ToNumber().Int64Value());
  const auto deferred = Napi::Promise::Deferred::New(info.Env());
  waiting_.insert({number, deferred});
  finished_.Begin();
  Settle();
  return deferred.Promise();
}

// wait(number): void
void ExecutorObject::Wait(const Napi::CallbackInfo& info) {
  queue_->Wait(static_cast<uint64_t>(info[0].ToNumber().Int64Value()));
}

}  // namespace cudnn_rnn
