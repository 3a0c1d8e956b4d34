#include "device/session.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "sys/status.h"

namespace cudnn_rnn {
namespace {

/// True if some transfer is a download.
bool HasDestination(const std::vector<Transfer>& transfers) {
  return std::any_of(transfers.begin(), transfers.end(),
                     [](const Transfer& transfer) { return transfer.destination != nullptr; });
}

/// Gives `batch` the error that `check` throws after its commands were issued.
template <typename Function>
void NoteFailure(Batch& batch, const Function& check) {
  if (!batch.error) batch.error = ErrorIn(check);
}

}  // namespace

NativeError SessionClosed(const char* call) { return {"session", call, "SESSION_CLOSED"}; }

Session::Session(std::shared_ptr<const Libraries> libraries, int device, Settle settle)
    : libraries_(std::move(libraries)),
      settle_(std::move(settle)),
      barrier_(device),
      // The worker keeps a reference to the pool, so the pool comes first.
      host_blocks_(*libraries_),
      worker_(*libraries_, device, host_blocks_) {}

Session::~Session() { Close(); }

void Session::Start(std::unique_ptr<Batch> first) {
  // The waiter first: the worker waits for its cudaSetDevice before it takes batches.
  waiter_thread_ = std::thread([this] { RunWaiter(); });
  worker_thread_ = std::thread([this, first = std::move(first)]() mutable { RunWorker(std::move(first)); });
}

void Session::BeginClose() {
  if (closed_) return;
  // Before the queue closes: Submit() then refuses with SESSION_CLOSED, and no batch can be posted and lost.
  closed_ = true;
  barrier_.BeginClose();
  const std::lock_guard lock(dropping_);
  for (auto& batch : queue_.Close()) {
    // Their promises reject with ERR_BACKEND_DISPOSED.
    batch->error = std::make_shared<NativeError>(SessionClosed("close"));
    Finish(std::move(batch));
  }
}

void Session::Close() {
  BeginClose();
  if (worker_thread_.joinable()) worker_thread_.join();
}

void Session::RunWorker(std::unique_ptr<Batch> first) {
  barrier_.Open();
  first->error = ErrorIn([this] {
    info_ = worker_.Open();
    CheckCudart(*libraries_, waiter_ready_.get_future().get(), "cudaSetDevice");
  });
  const ErrorRef failed = first->error;
  // Settles the open promise, whether it failed or not.
  Finish(std::move(first));
  while (std::unique_ptr<Batch> batch = queue_.Next()) {
    if (failed) {
      // Posted before JavaScript's thread learnt of it.
      batch->error = failed;
      Finish(std::move(batch));
      continue;
    }
    // Never throws: its error is in the batch.
    worker_.Run(*batch);
    // A batch that failed begins no section: its caller rejects and would never end it.
    if (batch->begins_exclusive && !batch->error) queue_.SetExclusive(true);
    if (batch->ends_exclusive) queue_.SetExclusive(false);
    Dispatch(std::move(batch));
  }
  {
    const std::lock_guard lock(waiting_mutex_);
    no_more_waiting_ = true;
    // The waiter finishes the batches under way, then ends.
    waiting_changed_.notify_one();
  }
  // Events are still being waited for: the handles go when the waiter is through.
  waiter_thread_.join();
  worker_.Close();
  barrier_.End();
  // JavaScript takes no settlement after null, so those of the batches that BeginClose() drops come before it.
  {
    const std::lock_guard lock(dropping_);
  }
  // The last call of this thread: JavaScript may join it from here on.
  settle_(nullptr);
}

void Session::Dispatch(std::unique_ptr<Batch> batch) {
  const auto& cudart = libraries_->cudart;
  // Nothing of the batch is under way on the device, or its caller only waits for success.
  if (batch->transfers.empty() && (!batch->waits || batch->error)) return Finish(std::move(batch));
  if (!batch->waits && !HasDestination(batch->transfers)) {
    // Uploads keep their staging memory until the device has read it; the batch is settled now, as its work is queued.
    auto uploads = std::make_unique<Batch>();
    uploads->transfers = std::move(batch->transfers);
    batch->transfers.clear();
    Finish(std::move(batch));
    batch = std::move(uploads);
  }
  Waiting waiting;
  // Blocking: the waiter sleeps instead of spinning on a core. Without timing, events are cheapest.
  const unsigned flags = cudaEventBlockingSync | cudaEventDisableTiming;
  cudaError_t status = cudart.cudaEventCreateWithFlags(&waiting.event, flags);
  if (status == 0) status = cudart.cudaEventRecord(waiting.event, worker_.stream);
  if (status != 0) {
    // Only the event reports that the copies have run, and their memory must not be reused before that.
    cudart.cudaGetLastError();
    if (waiting.event != nullptr) cudart.cudaEventDestroy(waiting.event);
    waiting.event = nullptr;
    status = cudart.cudaStreamSynchronize(worker_.stream);
  }
  NoteFailure(*batch, [&] { CheckCudart(*libraries_, status, "cudaStreamSynchronize"); });
  // In the order of the stream: events complete in that order too.
  waiting.batch = std::move(batch);
  const std::lock_guard lock(waiting_mutex_);
  waiting_.push_back(std::move(waiting));
  waiting_changed_.notify_one();
}

void Session::RunWaiter() {
  const auto& cudart = libraries_->cudart;
  waiter_ready_.set_value(cudart.cudaSetDevice(worker_.device));
  while (true) {
    // Unlocked during the wait for the event, so the worker can hand over the next batch.
    std::unique_lock lock(waiting_mutex_);
    waiting_changed_.wait(lock, [this] { return no_more_waiting_ || !waiting_.empty(); });
    // Only after no_more_waiting_: all batches have been settled.
    if (waiting_.empty()) return;
    Waiting waiting = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    if (waiting.event != nullptr) {
      const cudaError_t status = cudart.cudaEventSynchronize(waiting.event);
      // After a failure the staging memory may still be in use; only an idle stream makes it safe to reuse.
      if (status != 0) cudart.cudaStreamSynchronize(worker_.stream);
      NoteFailure(*waiting.batch, [&] { CheckCudart(*libraries_, status, "cudaEventSynchronize"); });
      NoteFailure(*waiting.batch, [&] { worker_.CheckWatch(); });
      cudart.cudaEventDestroy(waiting.event);
    }
    Finish(std::move(waiting.batch));
  }
}

void Session::Finish(std::unique_ptr<Batch> batch) {
  for (Transfer& transfer : batch->transfers) {
    // On the worker's or the waiter's thread. JavaScript must not read the array before its promise resolves; after a
    // failure it is left as it was.
    if (transfer.destination != nullptr && !batch->error) {
      std::memcpy(transfer.destination, transfer.block->data, transfer.bytes);
    }
  }
  batch->transfers.clear();
  batch->sources.clear();
  if (batch->settlement != nullptr) settle_(std::move(batch));
}

}  // namespace cudnn_rnn
