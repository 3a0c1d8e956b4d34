#ifndef CUDNN_RNN_CPU_EXECUTOR_OBJECT_H_
#define CUDNN_RNN_CPU_EXECUTOR_OBJECT_H_

#include <napi.h>

#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include "executor_core.h"
#include "job_queue.h"

namespace cudnn_rnn {

// JavaScript's NativeExecutor. Every operation is queued, unless it is brief, and returns its number; done(number) resolves
// when it is done.
// The arguments of a queued operation are one object, which is kept alive until then, and with it the arrays in it.
class ExecutorObject : public Napi::ObjectWrap<ExecutorObject> {
 public:
  static Napi::Function Define(Napi::Env env);
  explicit ExecutorObject(const Napi::CallbackInfo& info);
  ~ExecutorObject() override;

  const std::shared_ptr<ExecutorCore>& core() const { return core_; }

 private:
  Napi::Value Describe(const Napi::CallbackInfo& info);
  Napi::Value Forward(const Napi::CallbackInfo& info);
  Napi::Value Backward(const Napi::CallbackInfo& info);
  Napi::Value Narrow(const Napi::CallbackInfo& info);
  Napi::Value Linear(const Napi::CallbackInfo& info);
  Napi::Value LinearGradients(const Napi::CallbackInfo& info);
  Napi::Value Embedding(const Napi::CallbackInfo& info);
  Napi::Value EmbeddingGradient(const Napi::CallbackInfo& info);
  Napi::Value SoftmaxCrossEntropyOf(const Napi::CallbackInfo& info);
  Napi::Value NormOf(const Napi::CallbackInfo& info);
  Napi::Value Update(const Napi::CallbackInfo& info);
  Napi::Value ResultBuffer(const Napi::CallbackInfo& info);
  Napi::Value Completed(const Napi::CallbackInfo& info);
  Napi::Value Done(const Napi::CallbackInfo& info);
  void Wait(const Napi::CallbackInfo& info);
  void Close(const Napi::CallbackInfo& info);

  template <typename T>
  Napi::Value ForwardOf(const Napi::CallbackInfo& info);
  template <typename T>
  Napi::Value BackwardOf(const Napi::CallbackInfo& info);
  template <typename T>
  std::function<void()> LinearJob(const Napi::Object& arguments);
  template <typename T>
  std::function<void()> LinearGradientsJob(const Napi::Object& arguments);
  template <typename T>
  std::function<void()> EmbeddingJob(const Napi::Object& arguments, bool gradient);
  template <typename T>
  std::function<void()> SoftmaxJob(const Napi::Object& arguments);
  template <typename T>
  std::function<void()> NormJob(const Napi::Object& arguments);
  template <typename T>
  std::function<void()> UpdateJob(const Napi::Object& arguments);

  // Queues `job`, which reads what `arguments` holds. With few `operations` (multiplications and additions) and nothing
  // queued it runs at once.
  Napi::Value Push(const Napi::Object& arguments, std::function<void()> job, double operations = kManyOperations);
  // Lets go of the arguments of finished operations and settles who waits for them.
  void Settle();
  void Stop();
  static void StopAtExit(void* self) { static_cast<ExecutorObject*>(self)->Stop(); }

  static constexpr double kManyOperations = std::numeric_limits<double>::infinity();

  struct Pending {
    uint64_t number;
    Napi::ObjectReference arguments;
  };

  std::shared_ptr<ExecutorCore> core_;
  std::unique_ptr<JobQueue> queue_;
  std::deque<Pending> pending_;
  std::multimap<uint64_t, Napi::Promise::Deferred> waiting_;
  napi_threadsafe_function notify_ = nullptr;
  napi_env env_;
};

}  // namespace cudnn_rnn

#endif  // CUDNN_RNN_CPU_EXECUTOR_OBJECT_H_
