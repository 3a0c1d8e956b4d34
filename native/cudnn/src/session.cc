#include "session.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "status.h"

namespace cudnn_rnn {
namespace {

bool HasDestination(const std::vector<Transfer>& transfers) {
  return std::any_of(transfers.begin(), transfers.end(),
                     [](const Transfer& transfer) { return transfer.destination != nullptr; });
}

}  // namespace

NativeError SessionClosed(const char* call) {
  NativeError error;
  error.library = "session";
  error.call = call;
  error.name = "SESSION_CLOSED";
  return error;
}

Session::Session(std::shared_ptr<const Libraries> libraries, int device, Settle settle)
    : libraries_(std::move(libraries)),
      settle_(std::move(settle)),
      turn_(device),
      host_blocks_(*libraries_),
      worker_(*libraries_, device, host_blocks_) {}

Session::~Session() { Close(); }

void Session::Start(std::unique_ptr<Batch> first) {
  waiter_thread_ = std::thread([this] { RunWaiter(); });
  worker_thread_ = std::thread([this, first = std::move(first)]() mutable { RunWorker(std::move(first)); });
}

Batch& Session::pending() {
  if (!pending_) pending_ = std::make_unique<Batch>();
  return *pending_;
}

std::unique_ptr<Batch> Session::TakePending() {
  pending();
  return std::exchange(pending_, nullptr);
}

void Session::BeginClose() {
  if (closed_) return;
  closed_ = true;
  pending_ = nullptr;
  turn_.BeginClose();
  auto dropped = inbox_->Close();
  for (auto& batch : dropped) {
    batch->error = std::make_shared<NativeError>(SessionClosed("close"));
    Finish(std::move(batch));
  }
}

void Session::DestroyHandle(Retired retire) {
  if (inbox_->RetireHandle(retire)) return;
  // A thread of its own: the device that this one uses is not ours to change.
  std::thread([&] {
    libraries_->cudart.cudaSetDevice(worker_.device);
    retire(*libraries_);
  }).join();
}

void Session::Close() {
  BeginClose();
  if (worker_thread_.joinable()) worker_thread_.join();
}

void Session::RunWorker(std::unique_ptr<Batch> first) {
  turn_.Open();
  try {
    info_ = worker_.Open();
  } catch (const NativeError& error) {
    first->error = std::make_shared<NativeError>(error);
  }
  const bool failed = first->error != nullptr;
  Finish(std::move(first));
  while (!failed) {
    Inbox::Work work = inbox_->Next();
    if (work.IsEmpty()) break;
    for (void* pointer : work.retired) worker_.Free(pointer);
    for (const Retired& retire : work.retired_handles) retire(*libraries_);
    if (!work.batch) continue;
    worker_.Run(*work.batch);
    if (work.batch->hold && !work.batch->error) inbox_->SetHeld(true);
    if (work.batch->release) inbox_->SetHeld(false);
    Dispatch(std::move(work.batch));
  }
  {
    const std::lock_guard lock(waiting_mutex_);
    no_more_waiting_ = true;
    waiting_changed_.notify_one();
  }
  // Events are still being waited for: the handles go when the waiter is through.
  waiter_thread_.join();
  for (const Retired& retire : inbox_->Drain()) retire(*libraries_);
  worker_.Close();
  turn_.End();
  settle_(nullptr);
}

void Session::Dispatch(std::unique_ptr<Batch> batch) {
  // What ran owns nothing any more: buffers are freed in the stream's order, not when somebody looks at the batch.
  batch->allocations.clear();
  batch->commands.clear();
  batch->reads.clear();
  batch->writes.clear();
  const auto& cudart = libraries_->cudart;
  if (batch->transfers.empty() && (!batch->wait || batch->error)) return Finish(std::move(batch));
  if (!batch->wait && !HasDestination(batch->transfers)) {
    // Uploads keep their staging memory until the device has read it; the batch is settled now, as its work is queued.
    auto uploads = std::make_unique<Batch>();
    uploads->transfers = std::move(batch->transfers);
    batch->transfers.clear();
    Finish(std::move(batch));
    batch = std::move(uploads);
  }
  Waiting waiting;
  const unsigned flags = cudaEventBlockingSync | cudaEventDisableTiming;
  cudaError_t status = cudart.cudaEventCreateWithFlags(&waiting.event, flags);
  if (status == 0) status = cudart.cudaEventRecord(waiting.event, worker_.stream);
  if (status != 0) {
    // Nothing else tells when the copies have run, and before that their memory must not serve again.
    cudart.cudaGetLastError();
    if (waiting.event != nullptr) cudart.cudaEventDestroy(waiting.event);
    waiting.event = nullptr;
    status = cudart.cudaStreamSynchronize(worker_.stream);
  }
  if (status != 0 && !batch->error) {
    try {
      CheckCudart(*libraries_, status, "cudaStreamSynchronize");
    } catch (const NativeError& error) {
      batch->error = std::make_shared<NativeError>(error);
    }
  }
  waiting.batch = std::move(batch);
  const std::lock_guard lock(waiting_mutex_);
  waiting_.push_back(std::move(waiting));
  waiting_changed_.notify_one();
}

void Session::RunWaiter() {
  const auto& cudart = libraries_->cudart;
  const cudaError_t chosen = cudart.cudaSetDevice(worker_.device);
  while (true) {
    std::unique_lock lock(waiting_mutex_);
    waiting_changed_.wait(lock, [this] { return no_more_waiting_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    Waiting waiting = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    if (waiting.event != nullptr && chosen != 0) {
      // Without a device this thread must not wait: the worker does, and keeps the staging memory until then.
      DestroyHandle([event = waiting.event, kept = waiting.batch->transfers](const Libraries& libraries) {
        libraries.cudart.cudaEventSynchronize(event);
        libraries.cudart.cudaEventDestroy(event);
      });
      try {
        if (!waiting.batch->error) CheckCudart(*libraries_, chosen, "cudaSetDevice");
      } catch (const NativeError& error) {
        waiting.batch->error = std::make_shared<NativeError>(error);
      }
    } else if (waiting.event != nullptr) {
      const cudaError_t status = cudart.cudaEventSynchronize(waiting.event);
      if (status != 0) cudart.cudaStreamSynchronize(worker_.stream);
      try {
        if (!waiting.batch->error) CheckCudart(*libraries_, status, "cudaEventSynchronize");
      } catch (const NativeError& error) {
        waiting.batch->error = std::make_shared<NativeError>(error);
      }
      cudart.cudaEventDestroy(waiting.event);
    }
    Finish(std::move(waiting.batch));
  }
}

void Session::Finish(std::unique_ptr<Batch> batch) {
  for (Transfer& transfer : batch->transfers) {
    if (transfer.destination != nullptr && !batch->error) {
      std::memcpy(transfer.destination, transfer.block->data, transfer.bytes);
    }
  }
  batch->transfers.clear();
  if (batch->settlement != nullptr) settle_(std::move(batch));
}

}  // namespace cudnn_rnn
