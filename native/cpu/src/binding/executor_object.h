#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "binding/executor_core.h"
#include "binding/job.h"
#include "callbacks.h"
#include "napi_setup.h"
#include "threads/job_queue.h"

namespace cudnn_rnn {

// JavaScript's NativeExecutor. Every operation is queued, unless it is brief, and returns its number; done(number)
// resolves when it is done. The arguments of an operation are one object: a reference to it keeps every array in it
// alive until the operation is done.
class ExecutorObject : public Napi::ObjectWrap<ExecutorObject> {
 public:
  static Napi::Function Define(Napi::Env env);
  explicit ExecutorObject(const Napi::CallbackInfo& info);
  ~ExecutorObject() override;

  const std::shared_ptr<ExecutorCore>& core() const { return core_; }

 private:
  Napi::Value Describe(const Napi::CallbackInfo& info);
  Napi::Value ResultBuffer(const Napi::CallbackInfo& info);
  Napi::Value Completed(const Napi::CallbackInfo& info);
  Napi::Value Done(const Napi::CallbackInfo& info);
  void Wait(const Napi::CallbackInfo& info);
  void Close(const Napi::CallbackInfo& info);

  Job JobOf(const Napi::CallbackInfo& info);
  // Queues an operation, or runs it immediately if it is brief and nothing is queued.
  Napi::Value Queue(const Napi::CallbackInfo& info);
  // Runs an operation after those queued, and returns when it is done.
  void RunNow(const Napi::CallbackInfo& info);

  // Releases the arguments of finished operations and settles the promises that await them.
  void Settle();
  void Stop();

  // A queued operation and the object that keeps its arrays alive.
  struct Pending {
    uint64_t number;
    Napi::ObjectReference arguments;
  };

  std::shared_ptr<ExecutorCore> core_;
  std::unique_ptr<JobQueue> queue_;
  std::deque<Pending> pending_;
  // Promises by the number of the operation that they wait for; several may wait for one.
  std::multimap<uint64_t, Napi::Promise::Deferred> waiting_;
  napi_env env_;
  // Thread-safe function of the queue's thread, without data: the queue has the state. Closed with the executor.
  Completions<int> finished_;
};

}  // namespace cudnn_rnn
