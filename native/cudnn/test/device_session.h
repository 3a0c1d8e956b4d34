// A worker over a HostDevice, and batches of commands in the words that packages/cudnn writes.
#pragma once

#include <doctest/doctest.h>

#include <cstring>
#include <initializer_list>

#include "commands.h"
#include "device/worker.h"
#include "host_device.h"

namespace cudnn_rnn {

/// A batch under construction. Buffers are named by id; their slots are added as they are used.
class BatchWords {
 public:
  BatchWords& Segment() { return Add(Opcode::kSegment); }
  BatchWords& Add(Opcode opcode, std::initializer_list<double> fields = {}) {
    batch_.words.push_back(static_cast<double>(opcode));
    batch_.words.insert(batch_.words.end(), fields);
    return *this;
  }
  /// The slot of a buffer, as a field.
  double Slot(Id id) {
    for (std::size_t k = 0; k < batch_.slots.size(); k++) {
      if (batch_.slots[k] == id) return static_cast<double>(k);
    }
    batch_.slots.push_back(id);
    return static_cast<double>(batch_.slots.size() - 1);
  }
  BatchWords& Allocate(Id id, double bytes) { return Add(Opcode::kAllocate, {Slot(id), bytes}); }
  BatchWords& Release(Id id) { return Add(Opcode::kRelease, {Slot(id)}); }
  template <typename T>
  double Source(HostBlockPool& pool, const std::vector<T>& values) {
    const std::size_t bytes = values.size() * sizeof(T);
    cudnn_rnn::Source source{pool.TakeWithoutCuda(bytes), bytes};
    if (bytes > 0) std::memcpy(source.block->data, values.data(), bytes);
    batch_.sources.push_back(std::move(source));
    return static_cast<double>(batch_.sources.size() - 1);
  }
  template <typename T>
  double Target(std::vector<T>& values) {
    batch_.targets.push_back({values.data(), values.size() * sizeof(T)});
    return static_cast<double>(batch_.targets.size() - 1);
  }
  Batch& batch() { return batch_; }

 private:
  Batch batch_;
};

/// An opened worker.
class OpenWorker {
 public:
  OpenWorker() : pool(device.libraries), worker(device.libraries, 0, pool) {
    info = worker.Open();
    device.Forget();
  }
  ~OpenWorker() { worker.Close(); }

  /// Runs a batch and writes its downloads, as a session does when the batch settles.
  Batch& Run(BatchWords& words) {
    Batch& batch = words.batch();
    worker.Run(batch);
    for (Transfer& transfer : batch.transfers) {
      if (transfer.destination != nullptr && !batch.error) {
        std::memcpy(transfer.destination, transfer.block->data, transfer.bytes);
      }
    }
    batch.transfers.clear();
    return batch;
  }
  /// Allocates a buffer and uploads `values` to it.
  template <typename T>
  void Make(Id id, const std::vector<T>& values) {
    BatchWords words;
    words.Segment().Allocate(id, static_cast<double>(values.size() * sizeof(T)));
    words.Add(Opcode::kUpload, {words.Slot(id), 0, words.Source(pool, values)});
    REQUIRE(Run(words).error == nullptr);
  }
  /// The contents of a buffer; the batch's error if it cannot be read.
  template <typename T>
  ErrorRef Read(Id id, std::vector<T>& values) {
    BatchWords words;
    words.Segment().Add(Opcode::kDownload, {words.Slot(id), 0, words.Target(values)});
    return Run(words).error;
  }
  /// The error that an object carries.
  ErrorRef ErrorOf(Id id) {
    const Object* object = worker.Find(id);
    REQUIRE(object != nullptr);
    return object->error;
  }

  HostDevice device;
  HostBlockPool pool;
  Worker worker;
  DeviceInfo info;
};

}  // namespace cudnn_rnn
