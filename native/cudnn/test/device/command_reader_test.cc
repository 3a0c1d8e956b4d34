#include "device/command_reader.h"

#include <doctest/doctest.h>

#include <cmath>

#include "device_session.h"

namespace cudnn_rnn {
namespace {

/// Uploads {1, 2} to buffer 1, copies it to buffer 2, clears its second half, and downloads it.
BatchWords Copied(OpenWorker& open, std::vector<float>& target) {
  BatchWords words;
  words.Segment().Allocate(1, 8).Allocate(2, 8);
  words.Add(Opcode::kUpload, {words.Slot(1), 0, words.Source<float>(open.pool, {1, 2})});
  words.Add(Opcode::kCopy, {words.Slot(2), 0, words.Slot(1), 0, 8});
  words.Segment().Add(Opcode::kClear, {words.Slot(2), 4, 4});
  words.Add(Opcode::kDownload, {words.Slot(2), 0, words.Target(target)});
  return words;
}

/// Releases the buffers of Copied().
void ReleaseAll(OpenWorker& open) {
  BatchWords words;
  words.batch().releases = {1, 2};
  open.Run(words);
}

TEST_CASE("A batch that is cut at any word fails or ends early, and the next one runs") {
  OpenWorker open;
  // The worker's own memory.
  const int before = open.device.live()["memory"];
  std::vector<float> target(2, -1);
  const std::size_t whole = Copied(open, target).batch().words.size();
  // A cut between two commands, or before a segment, leaves a shorter batch.
  int ended_early = 0;
  for (std::size_t length = 0; length < whole; length++) {
    CAPTURE(length);
    target = {-1, -1};
    BatchWords words = Copied(open, target);
    words.batch().words.resize(length);
    const ErrorRef error = open.Run(words).error;
    if (error == nullptr) ended_early++;
    if (error != nullptr) CHECK(error->name == "HOST_FAILURE");
    // The download is the last command.
    CHECK(target == std::vector<float>{-1, -1});
    ReleaseAll(open);
    CHECK(open.device.live()["memory"] == before);
  }
  // Nothing, the segment, two allocations, upload, copy, the second segment, clear.
  CHECK(ended_early == 8);
  BatchWords words = Copied(open, target);
  CHECK(open.Run(words).error == nullptr);
  CHECK(target == std::vector<float>{1, 0});
}

TEST_CASE("A segment whose words are cut issues none of its commands") {
  OpenWorker open;
  std::vector<float> target(2, -1);
  BatchWords words = Copied(open, target);
  // Within the copy.
  words.batch().words.resize(12);
  CHECK(open.Run(words).error != nullptr);
  CHECK(open.device.count("cudaMemcpyAsync") == 0);
}

TEST_CASE("An index of a slot, a source, a target or a scalar that is not there fails, and no command is issued") {
  enum Kind { kSlot, kSource, kTarget, kScalar };
  for (const Kind kind : {kSlot, kSource, kTarget, kScalar}) {
    CAPTURE(kind);
    OpenWorker open;
    open.Make<float>(1, {1});
    open.device.Forget();
    std::vector<float> target(1, -1);
    BatchWords words;
    words.Segment().Add(Opcode::kClear, {words.Slot(1), 0, 4});
    if (kind == kSlot) words.Add(Opcode::kClear, {7, 0, 4});
    if (kind == kSource) words.Add(Opcode::kUpload, {words.Slot(1), 0, 0});
    if (kind == kTarget) words.Add(Opcode::kDownload, {words.Slot(1), 0, 0});
    // A kernel with one scalar, in a batch without scalars.
    if (kind == kScalar) words.Add(Opcode::kLaunchKernel, {0, 1, 32, words.Slot(1), 1});
    const ErrorRef error = open.Run(words).error;
    REQUIRE(error != nullptr);
    CHECK(error->name == "HOST_FAILURE");
    CHECK(open.device.count("cudaMemsetAsync") == 0);
  }
}

/// Whether one of the commands below has called a function. A failure makes others, which query the device.
bool HasRun(const HostDevice& device) {
  for (const char* function : {"cudaMemsetAsync", "cudnnGetRNNWeightSpaceSize", "cudaGraphLaunch", "cudaFreeAsync"}) {
    if (device.count(function) > 0) return true;
  }
  return false;
}

TEST_CASE("Commands on objects that are not there, or were released, fail with that reason") {
  OpenWorker open;
  open.Make<float>(1, {1});
  BatchWords release;
  release.batch().releases = {1};
  open.Run(release);
  open.device.Forget();
  const auto error_of = [&](BatchWords& words) {
    const ErrorRef error = open.Run(words).error;
    REQUIRE(error != nullptr);
    return error->name + ": " + error->detail;
  };
  for (const Id id : {Id{1}, Id{99}}) {
    BatchWords words;
    words.Segment().Add(Opcode::kClear, {words.Slot(id), 0, 4});
    CHECK(error_of(words) == "UNKNOWN_OBJECT: a buffer");
  }
  BatchWords descriptor;
  descriptor.Segment().Add(Opcode::kWeightSpaceSize, {99});
  CHECK(error_of(descriptor) == "UNKNOWN_OBJECT: a descriptor");
  BatchWords graph;
  graph.Segment().Add(Opcode::kLaunchGraph, {99});
  CHECK(open.Run(graph).error->name == "UNKNOWN_OBJECT");
  BatchWords release_again;
  release_again.batch().releases = {1, 99};
  CHECK(open.Run(release_again).error == nullptr);
  CHECK(!HasRun(open.device));
}

TEST_CASE("An object of another kind is refused, and NVIDIA's functions do not get it") {
  OpenWorker open;
  open.Make<float>(1, {1});
  BatchWords describe;
  describe.Segment().Add(Opcode::kSetTensorDescriptor, {5, 0, 1, 1, 1});
  REQUIRE(open.Run(describe).error == nullptr);
  open.device.Forget();
  const auto fails = [&](Opcode opcode, double id) {
    BatchWords words;
    words.Segment().Add(opcode, {id});
    const ErrorRef error = open.Run(words).error;
    return error != nullptr && !HasRun(open.device);
  };
  // A buffer and a descriptor of a tensor, in the place of one of a network; both, in the place of a graph.
  CHECK(fails(Opcode::kWeightSpaceSize, 1));
  CHECK(fails(Opcode::kWeightSpaceSize, 5));
  CHECK(fails(Opcode::kLaunchGraph, 1));
  CHECK(fails(Opcode::kLaunchGraph, 5));
  BatchWords buffer;
  buffer.Segment().Add(Opcode::kClear, {buffer.Slot(5), 0, 4});
  const ErrorRef error = open.Run(buffer).error;
  REQUIRE(error != nullptr);
  CHECK(error->detail == "no buffer");
  CHECK(!HasRun(open.device));
}

TEST_CASE("Of several faults of a segment the first is reported, and its outputs carry it") {
  OpenWorker open;
  open.Make<float>(1, {1});
  BatchWords words;
  words.Segment().Add(Opcode::kCopy, {words.Slot(1), 0, words.Slot(98), 0, 4});
  words.Add(Opcode::kSetTensorDescriptor, {6, 0, 1, 1, 1}).Add(Opcode::kWeightSpaceSize, {99});
  const ErrorRef error = open.Run(words).error;
  REQUIRE(error != nullptr);
  CHECK(error->detail == "a buffer");
  CHECK(open.ErrorOf(1) == error);
  CHECK(open.ErrorOf(6) == error);
}

TEST_CASE("A pointer that may be left out is null, and a buffer there is read with its error") {
  OpenWorker open;
  open.Make<float>(1, {1});
  open.Make<float>(2, {2});
  open.Make<float>(3, {3});
  open.device.Fail("cudaMemsetAsync", 1);
  BatchWords clear;
  clear.Segment().Add(Opcode::kClear, {clear.Slot(3), 0, 4});
  const ErrorRef cause = open.Run(clear).error;
  REQUIRE(cause != nullptr);
  open.device.Recover();
  BatchWords load;
  load.Segment().Add(Opcode::kLoadKernels, {load.Source<char>(open.pool, {'p', 't', 'x'}), 0});
  REQUIRE(open.Run(load).error == nullptr);
  std::size_t add_scaled = 0;
  while (std::string(Kernels()[add_scaled].name) != "add_scaled") add_scaled++;
  // out, in, count, scalar, optional in.
  const auto launch = [&](Id guard) {
    BatchWords words;
    words.batch().scalars = {1};
    const double last = guard == 0 ? -1 : words.Slot(guard);
    words.Segment().Add(Opcode::kLaunchKernel, {double(add_scaled), 1, 32, words.Slot(1), words.Slot(2), 1, last});
    return open.Run(words).error;
  };
  std::vector<const void*> guards;
  open.device.kernel = [&](unsigned, unsigned, void** parameters) {
    guards.push_back(*static_cast<void**>(parameters[4]));
  };
  CHECK(launch(0) == nullptr);
  CHECK(launch(2) == nullptr);
  CHECK(guards == std::vector<const void*>{nullptr, std::get<Buffer>(open.worker.Find(2)->value).pointer});
  // Its contents are invalid.
  const ErrorRef error = launch(3);
  REQUIRE(error != nullptr);
  CHECK(error->call == cause->call);
  CHECK(guards.size() == 2);
}

}  // namespace
}  // namespace cudnn_rnn
