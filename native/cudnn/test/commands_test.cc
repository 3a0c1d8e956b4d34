// The calls of cuDNN, cuBLAS and the driver that the commands make.
#include "commands.h"

#include <doctest/doctest.h>

#include <cmath>

#include "device_session.h"

namespace cudnn_rnn {
namespace {

TEST_CASE("Upload and download move more than a piece through one page-locked block") {
  OpenWorker open;
  // A piece and a part.
  std::vector<std::uint8_t> values(HostBlockPool::kPiece + 5);
  for (std::size_t k = 0; k < values.size(); k += 4099) values[k] = static_cast<std::uint8_t>(k / 4099 % 251 + 1);
  values.back() = 200;
  open.Make(1, values);
  std::vector<std::uint8_t> read(values.size());
  CHECK(open.Read(1, read) == nullptr);
  CHECK(read == values);
  std::vector<double> pieces;
  for (const auto& call : open.device.calls("cudaMemcpyAsync")) pieces.push_back(call.numbers[0]);
  CHECK(pieces == std::vector<double>{64.0 * kMiB, 5, 64.0 * kMiB, 5});
  // Each piece was waited for, as all use one block.
  CHECK(open.device.count("cudaStreamSynchronize") == 4);
  CHECK(open.device.count("cudaMallocHost") == 1);
}

TEST_CASE("Upload and download refuse bytes beyond the end of a buffer, and copy nothing") {
  const struct {
    double offset;
    std::size_t floats;
    bool fits;
  } cases[] = {{0, 4, true}, {0, 5, false}, {4, 3, true}, {8, 3, false}, {16, 0, true}, {20, 0, false}};
  for (const auto& [offset, floats, fits] : cases) {
    CAPTURE(offset);
    CAPTURE(floats);
    OpenWorker open;
    open.Make<float>(1, {1, 2, 3, 4});
    open.device.Forget();
    BatchWords up;
    up.Segment().Add(Opcode::kUpload, {up.Slot(1), offset, up.Source(open.pool, std::vector<float>(floats, 7))});
    const ErrorRef refused = open.Run(up).error;
    CHECK((refused == nullptr) == fits);
    if (!fits) {
      CHECK(refused->name == "NO_ROOM");
      CHECK(refused->call == "upload");
      CHECK(open.device.count("cudaMemcpyAsync") == 0);
      open.worker.Find(1)->error = nullptr;
    }
    std::vector<float> read(floats, -1);
    BatchWords down;
    down.Segment().Add(Opcode::kDownload, {down.Slot(1), offset, down.Target(read)});
    CHECK((open.Run(down).error == nullptr) == fits);
    CHECK(read == std::vector<float>(floats, fits ? 7 : -1));
  }
}

TEST_CASE("Copies of no bytes make no call") {
  OpenWorker open;
  open.Make<float>(1, {1});
  open.device.Forget();
  BatchWords words;
  std::vector<float> none;
  words.Segment().Add(Opcode::kUpload, {words.Slot(1), 0, words.Source(open.pool, none)});
  words.Add(Opcode::kDownload, {words.Slot(1), 0, words.Target(none)});
  words.Add(Opcode::kCopy, {words.Slot(1), 0, words.Slot(1), 0, 0});
  words.Add(Opcode::kClear, {words.Slot(1), 0, 0});
  CHECK(open.Run(words).error == nullptr);
  CHECK(open.device.names().empty());
}

TEST_CASE("A page-locked source is uploaded from where it is, a pageable one through a block of the pool") {
  OpenWorker open;
  open.Make<float>(1, {1});
  // The pool has a block of this class now.
  BatchWords words;
  const double source = words.Source<float>(open.pool, {2});
  const void* pinned = words.batch().sources[0].block->data;
  CHECK(words.batch().sources[0].block->pinned);
  open.device.Forget();
  words.Segment().Add(Opcode::kUpload, {words.Slot(1), 0, source});
  open.Run(words);
  CHECK(open.device.calls("cudaMemcpyAsync")[0].pointers[1] == pinned);
  CHECK(open.device.count("cudaMallocHost") == 0);
}

TEST_CASE("TrimMemory waits for the device before it trims the pool") {
  OpenWorker open;
  BatchWords words;
  words.Segment().Add(Opcode::kTrimMemory);
  CHECK(open.Run(words).error == nullptr);
  CHECK(open.device.names() == std::vector<std::string>{"cudaStreamSynchronize", "cudaMemPoolTrimTo"});
}

TEST_CASE("Descriptors of states are packed: strides are products of the later dimensions") {
  OpenWorker open;
  BatchWords words;
  words.Segment().Add(Opcode::kSetTensorDescriptor, {5, 1, 4, 3, 7});
  CHECK(open.Run(words).error == nullptr);
  CHECK(open.device.calls("cudnnSetTensorNdDescriptor")[0].numbers == std::vector<double>{1, 4, 3, 7, 21, 7, 1});
  CHECK(open.device.live()["TensorDescriptor"] == 1);
  BatchWords release;
  release.batch().releases = {5};
  open.Run(release);
  CHECK(open.device.live()["TensorDescriptor"] == 0);
}

TEST_CASE("Descriptors of sequences carry the lengths, and the padding in the element's type or none") {
  OpenWorker open;
  const auto described = [&](int dtype, const std::function<double(BatchWords&)>& fill) {
    BatchWords words;
    const double lengths = words.Source<std::int32_t>(open.pool, {5, 2, 0});
    words.Segment().Add(Opcode::kSetDataDescriptor, {6, double(dtype), 2, 5, 3, 8, lengths, fill(words)});
    open.device.Forget();
    CHECK(open.Run(words).error == nullptr);
    return open.device.calls("cudnnSetRNNDataDescriptor")[0];
  };
  const RecordedCall plain = described(0, [](BatchWords&) { return -1; });
  CHECK(plain.numbers == std::vector<double>{0, 2, 5, 3, 8, 5, 2, 0});
  CHECK(plain.pointers[0] == nullptr);
  CHECK(described(0, [&](BatchWords& words) { return words.Source<float>(open.pool, {-1.5F}); }).numbers.back() ==
        -1.5);
  CHECK(described(1, [&](BatchWords& words) { return words.Source<double>(open.pool, {0.1}); }).numbers.back() == 0.1);
}

TEST_CASE("A seed keeps its 64 bits, negative ones in two's complement") {
  const struct {
    double seed;
    double upper;
    double lower;
  } cases[] = {
      {0, 0, 0}, {4294967297.0, 1, 1}, {9007199254740991.0, 2097151, 4294967295.0}, {-1, 4294967295.0, 4294967295.0}};
  for (const auto& [seed, upper, lower] : cases) {
    OpenWorker open;
    BatchWords words;
    words.Segment().Allocate(1, 64).Add(Opcode::kSetDropoutDescriptor, {7, 0.25, words.Slot(1), seed});
    CHECK(open.Run(words).error == nullptr);
    const RecordedCall call = open.device.calls("cudnnSetDropoutDescriptor")[0];
    CHECK(call.numbers == std::vector<double>{0.25, 64, upper, lower});
    CHECK(call.pointers[0] == std::get<Buffer>(open.worker.Find(1)->value).pointer);
  }
}

TEST_CASE("An RNN descriptor clips where the bound is a number, by the function that the library has") {
  for (const bool has_v9 : {true, false}) {
    for (const double clip : {double{NAN}, 2.5}) {
      OpenWorker open;
      if (!has_v9) open.device.libraries.cudnn.cudnnRNNSetClip_v9 = nullptr;
      BatchWords words;
      words.Segment().Add(Opcode::kSetRnnDescriptor, {8, 0, 2, 3, 1, 0, 0, 0, 1, 10, 20, 15, 2, -1, 3, clip});
      CHECK(open.Run(words).error == nullptr);
      const RecordedCall set = open.device.calls("cudnnSetRNNDescriptor_v8")[0];
      CHECK(set.numbers == std::vector<double>{0, 2, 3, 1, 0, 0, 0, 1, 10, 20, 15, 2, 3});
      CHECK(set.pointers[0] == nullptr);
      const bool clips = !std::isnan(clip);
      const auto v8 = open.device.calls("cudnnRNNSetClip_v8");
      const auto v9 = open.device.calls("cudnnRNNSetClip_v9");
      REQUIRE(v9.size() == (clips && has_v9 ? 1 : 0));
      REQUIRE(v8.size() == (clips && !has_v9 ? 1 : 0));
      if (!v9.empty()) CHECK(v9[0].numbers == std::vector<double>{1, -2.5, 2.5});
      // With NaN propagated.
      if (!v8.empty()) CHECK(v8[0].numbers == std::vector<double>{1, 1, -2.5, 2.5});
    }
  }
}

TEST_CASE("A descriptor that could not be set carries the error to those that use it, and is destroyed") {
  OpenWorker open;
  open.device.Fail("cudnnSetRNNDescriptor_v8", 3);
  BatchWords words;
  words.Segment().Add(Opcode::kSetRnnDescriptor, {8, 0, 2, 3, 1, 0, 0, 0, 1, 10, 20, 15, 2, -1, 3, NAN});
  const ErrorRef error = open.Run(words).error;
  REQUIRE(error != nullptr);
  CHECK(error->detail == "text of cuDNN");
  BatchWords use;
  use.Segment().Add(Opcode::kWeightSpaceSize, {8});
  const ErrorRef refused = open.Run(use).error;
  REQUIRE(refused != nullptr);
  CHECK(refused->call == "cudnnSetRNNDescriptor_v8");
  CHECK(refused->status == 3);
  CHECK(open.device.count("cudnnGetRNNWeightSpaceSize") == 0);
  BatchWords unknown;
  unknown.Segment().Add(Opcode::kWeightSpaceSize, {1234});
  CHECK(open.Run(unknown).error->name == "UNKNOWN_OBJECT");
  BatchWords release;
  release.batch().releases = {8};
  open.Run(release);
  CHECK(open.device.live()["RNNDescriptor"] == 0);
}

/// A worker with an RNN descriptor of id 8 and a data descriptor of id 9.
void Describe(OpenWorker& open) {
  BatchWords words;
  words.Segment().Add(Opcode::kSetRnnDescriptor, {8, 0, 2, 3, 1, 0, 0, 0, 1, 10, 20, 15, 2, -1, 3, NAN});
  const double lengths = words.Source<std::int32_t>(open.pool, {5});
  words.Add(Opcode::kSetDataDescriptor, {9, 0, 2, 5, 1, 8, lengths, -1});
  REQUIRE(open.Run(words).error == nullptr);
}

TEST_CASE("Weight parameters are reported as offsets, 0 among them, and -1 where a piece is absent") {
  OpenWorker open;
  Describe(open);
  BatchWords words;
  words.Segment().Add(Opcode::kWeightParams, {8, 3, 1000, 0}).Add(Opcode::kWeightParams, {8, 3, 1000, 5});
  const Batch& batch = open.Run(words);
  REQUIRE(batch.error == nullptr);
  CHECK(batch.results == std::vector<double>{0, 2, 3, 4, 2, 3, 40, 2, 3, -1, 0, 0});
  CHECK(open.device.calls("cudnnGetRNNWeightParams")[0].numbers == std::vector<double>{3, 1000, 0});
  // The descriptors of the query are temporary.
  CHECK(open.device.live()["TensorDescriptor"] == 0);
  open.device.Fail("cudnnGetRNNWeightParams", 3);
  CHECK(open.Run(words).error != nullptr);
  open.device.Recover();
  CHECK(open.device.live()["TensorDescriptor"] == 0);
}

TEST_CASE("Sizes are reported in their order") {
  OpenWorker open;
  Describe(open);
  BatchWords words;
  words.Segment().Add(Opcode::kWeightSpaceSize, {8});
  words.Add(Opcode::kTempSpaceSizes, {8, 1, 9}).Add(Opcode::kTempSpaceSizes, {8, 0, 9});
  CHECK(open.Run(words).results == std::vector<double>{8589934597.0, 100, 300, 100, 0});
}

TEST_CASE("The loss of CTC is described by the function that the library has") {
  for (const bool has_v9 : {true, false}) {
    OpenWorker open;
    if (!has_v9) open.device.libraries.cudnn.cudnnSetCTCLossDescriptor_v9 = nullptr;
    BatchWords words;
    words.Segment().Add(Opcode::kSetCtcLossDescriptor, {30, 12}).Add(Opcode::kSetTensorDescriptor, {31, 0, 4, 3, 7});
    words.Add(Opcode::kCtcLossWorkspaceSize, {1, 30, 31});
    const Batch& batch = open.Run(words);
    REQUIRE(batch.error == nullptr);
    CHECK(batch.results == std::vector<double>{777});
    const char* used = has_v9 ? "cudnnSetCTCLossDescriptor_v9" : "cudnnSetCTCLossDescriptor_v8";
    // Float, softmax inside, zeros for gradients past the end.
    CHECK(open.device.calls(used)[0].numbers == std::vector<double>{0, 1, 0, 12});
    CHECK(open.device.calls("cudnnGetCTCLossWorkspaceSize_v8")[0].numbers == std::vector<double>{1, 1});
  }
}

TEST_CASE("The factors of a product have the type of its sums") {
  for (const int type : {0, 1}) {
    OpenWorker open;
    open.Make<double>(1, {1});
    open.Make<double>(2, {1});
    open.Make<double>(3, {1});
    BatchWords words;
    words.Segment().Add(Opcode::kMatrixProduct, {1, 0, 2, 3, 4, words.Slot(1), 8, 5, words.Slot(2), 16, 6, 0.5,
                                                 words.Slot(3), 24, 7, double(type), double(type), 68});
    REQUIRE(open.Run(words).error == nullptr);
    const RecordedCall call = open.device.calls("cublasGemmEx")[0];
    CHECK(call.numbers == std::vector<double>{1, 0, 2, 3, 4, 1, 5, 6, 0.5, 7, double(type), 68});
    const auto address = [&](Id id) { return std::get<Buffer>(open.worker.Find(id)->value).at(8 * id); };
    CHECK(call.pointers == std::vector<const void*>{address(1), address(2), address(3)});
  }
}

TEST_CASE("Products of many matrices are one call") {
  OpenWorker open;
  for (const Id id : {1, 2, 3}) open.Make<float>(id, {1});
  BatchWords words;
  words.Segment().Add(Opcode::kMatrixProducts,
                      {0, 1, 2, 3, 4, words.Slot(1), 5, 12, words.Slot(2), 6, 0, words.Slot(3), 7, 6, 9, 0, 68});
  REQUIRE(open.Run(words).error == nullptr);
  const RecordedCall call = open.device.calls("cublasGemmStridedBatchedEx")[0];
  CHECK(call.numbers == std::vector<double>{2, 3, 4, 12, 0, 6, 9});
}

/// Loads the kernels. The image has no terminating zero, as PTX from a file.
void Load(OpenWorker& open, bool is_double) {
  BatchWords words;
  words.Segment().Add(Opcode::kLoadKernels, {words.Source<char>(open.pool, {'p', 't', 'x'}), double(is_double)});
  REQUIRE(open.Run(words).error == nullptr);
}

int KernelOf(const std::string& name) {
  for (std::size_t k = 0; k < Kernels().size(); k++) {
    if (Kernels()[k].name == name) return static_cast<int>(k);
  }
  FAIL("no kernel " << name);
  return -1;
}

TEST_CASE("Kernels are loaded from an image that is terminated, and looked up by their names once they are needed") {
  OpenWorker open;
  Load(open, false);
  CHECK(open.device.count("image of ptx") == 1);
  CHECK(open.device.count("cuModuleGetFunction") == 0);
  for (int use = 0; use < 2; use++) {
    for (std::size_t k = 0; k < Kernels().size(); k++) {
      const char* const name = Kernels()[k].name;
      CHECK(std::string(reinterpret_cast<const char*>(open.worker.kernels.Function(k, name))) == name);
    }
  }
  CHECK(open.device.count("cuModuleGetFunction") == static_cast<int>(Kernels().size()));
  open.worker.Close();
  CHECK(open.device.live().empty());
}

TEST_CASE("A load of kernels that fails leaves no module, and the next one is whole") {
  OpenWorker open;
  open.device.Fail("cuModuleLoadData", 500);
  BatchWords words;
  words.Segment().Add(Opcode::kLoadKernels, {words.Source<char>(open.pool, {'p', 't', 'x'}), 1});
  const ErrorRef error = open.Run(words).error;
  REQUIRE(error != nullptr);
  CHECK(error->call == "cuModuleLoadData");
  CHECK(!open.worker.has_double_scalars);
  CHECK(open.device.live()["module"] == 0);
  open.device.Recover();
  Load(open, true);
  CHECK(open.device.live()["module"] == 1);
  CHECK(open.worker.has_double_scalars);
}

TEST_CASE("A kernel that cannot be looked up fails its launch, and the next launch looks again") {
  OpenWorker open;
  Load(open, false);
  const char* const name = Kernels()[0].name;
  open.device.Fail("cuModuleGetFunction", 500);
  CHECK_THROWS_AS(open.worker.kernels.Function(0, name), NativeError);
  open.device.Recover();
  CHECK(open.worker.kernels.Function(0, name) != nullptr);
}

TEST_CASE("A kernel gets its pointers, counts and scalars in order, and a null in place of live scalars") {
  for (const bool is_double : {false, true}) {
    OpenWorker open;
    Load(open, is_double);
    open.Make<float>(1, {1});
    open.Make<float>(2, {2});
    BatchWords words;
    words.batch().scalars = {0.1};
    words.Segment().Add(Opcode::kLaunchKernel,
                        {double(KernelOf("add_scaled")), 17, 256, words.Slot(1), words.Slot(2), 5e9, -1});
    int launches = 0;
    open.device.kernel = [&](unsigned blocks, unsigned threads, void** parameters) {
      launches++;
      CHECK(blocks == 17);
      CHECK(threads == 256);
      // out, in, count, scalar, optional in, live.
      CHECK(*static_cast<void**>(parameters[0]) == std::get<Buffer>(open.worker.Find(1)->value).pointer);
      CHECK(*static_cast<void**>(parameters[1]) == std::get<Buffer>(open.worker.Find(2)->value).pointer);
      CHECK(*static_cast<long long*>(parameters[2]) == 5000000000);
      if (is_double) {
        CHECK(*static_cast<double*>(parameters[3]) == 0.1);
      } else {
        CHECK(*static_cast<float*>(parameters[3]) == 0.1F);
      }
      CHECK(*static_cast<void**>(parameters[4]) == nullptr);
      CHECK(*static_cast<void**>(parameters[5]) == nullptr);
    };
    CHECK(open.Run(words).error == nullptr);
    CHECK(launches == 1);
  }
}

TEST_CASE("Captured kernels read their scalars at their place in the buffer of live scalars") {
  for (const bool is_double : {false, true}) {
    OpenWorker open;
    Load(open, is_double);
    open.Make<float>(1, {1});
    open.Make<double>(3, {0, 0, 0});
    BatchWords words;
    words.batch().graph = 100;
    words.batch().live_scalars = 3;
    words.batch().scalars = {1, 2, 3};
    words.Segment();
    for (int k = 0; k < 3; k++) {
      words.Add(Opcode::kLaunchKernel, {double(KernelOf("fill")), 1, 32, words.Slot(1), 1});
    }
    std::vector<std::ptrdiff_t> offsets;
    const auto* base = static_cast<char*>(std::get<Buffer>(open.worker.Find(3)->value).pointer);
    // out, count, scalar, live.
    open.device.kernel = [&](unsigned, unsigned, void** parameters) {
      offsets.push_back(*static_cast<char**>(parameters[3]) - base);
    };
    CHECK(open.Run(words).error == nullptr);
    const std::ptrdiff_t size = is_double ? 8 : 4;
    CHECK(offsets == std::vector<std::ptrdiff_t>{0, size, 2 * size});
  }
}

/// Loads the kernels of a shape as object 9, whose passes have clusters of so many blocks.
ErrorRef LoadPersistentKernels(OpenWorker& open, std::vector<double>* blocks = nullptr, double forward = 0,
                               double backward = 0) {
  BatchWords words;
  words.Segment().Add(Opcode::kLoadPersistent,
                      {9, words.Source<char>(open.pool, {'p', 't', 'x'}), forward, backward, 64, 999, 60000});
  const Batch& batch = open.Run(words);
  if (blocks != nullptr) *blocks = batch.results;
  return batch.error;
}

TEST_CASE("Persistent kernels are loaded with their shared memory, and unloaded with their object") {
  OpenWorker open;
  std::vector<double> blocks;
  REQUIRE(LoadPersistentKernels(open, &blocks) == nullptr);
  CHECK(blocks == std::vector<double>{2, 1});
  CHECK(open.device.calls("cuFuncSetAttribute")[1].numbers == std::vector<double>{8, 60000});
  CHECK(open.device.live()["module"] == 1);
  BatchWords words;
  words.batch().releases = {9};
  CHECK(open.Run(words).error == nullptr);
  CHECK(open.device.live()["module"] == 0);
}

TEST_CASE("Persistent kernels of clusters are asked how many clusters run at once") {
  OpenWorker open;
  std::vector<double> clusters;
  REQUIRE(LoadPersistentKernels(open, &clusters, 8, 8) == nullptr);
  CHECK(clusters == std::vector<double>{7, 7});
  auto calls = open.device.calls("cuOccupancyMaxActiveClusters");
  REQUIRE(calls.size() == 2);
  CHECK(calls[1].numbers == std::vector<double>{8, 64, 60000});
  REQUIRE(LoadPersistentKernels(open, &clusters, 0, 4) == nullptr);
  CHECK(clusters == std::vector<double>{2, 7});
  calls = open.device.calls("cuOccupancyMaxActiveClusters");
  REQUIRE(calls.size() == 3);
  CHECK(calls[2].numbers == std::vector<double>{4, 64, 60000});
}

TEST_CASE("Persistent kernels that cannot be loaded leave no module") {
  for (const char* function : {"cuModuleLoadData", "cuModuleGetFunction", "cuFuncSetAttribute",
                               "cuOccupancyMaxActiveBlocksPerMultiprocessor"}) {
    CAPTURE(function);
    OpenWorker open;
    open.device.Fail(function, 500);
    const ErrorRef error = LoadPersistentKernels(open);
    REQUIRE(error != nullptr);
    CHECK(error->call == function);
    open.worker.Close();
    CHECK(open.device.live().empty());
  }
}

TEST_CASE("A persistent kernel that waits too long ends the session's work until it is forgotten") {
  OpenWorker open;
  REQUIRE(LoadPersistentKernels(open) == nullptr);
  open.Make<float>(1, {1});
  open.Make<float>(2, {2});
  open.device.kernel = [&](unsigned blocks, unsigned, void** parameters) {
    CHECK(*static_cast<void**>(parameters[0]) == std::get<Buffer>(open.worker.Find(1)->value).pointer);
    CHECK(*static_cast<long long*>(parameters[4]) == 30);
    if (blocks == 3) **static_cast<unsigned**>(parameters[5]) = 1;
  };
  const auto launch = [&](double blocks, bool is_timed, double is_cooperative = 1) {
    BatchWords words;
    words.batch().is_timed = is_timed;
    // persistent_bias: dw, dbias, groups, bias, recurrentBias.
    words.Segment().Add(Opcode::kLaunchPersistent,
                        {9, 2, is_cooperative, blocks, 1, 64, 0, words.Slot(1), words.Slot(2), 1, 20, 30});
    return open.Run(words).error;
  };
  CHECK(launch(2, true) == nullptr);
  CHECK(launch(3, false) == nullptr);
  const ErrorRef error = launch(2, true);
  REQUIRE(error != nullptr);
  CHECK(error->name == "PERSISTENT_KERNEL_STUCK");
  BatchWords words;
  words.Segment().Add(Opcode::kClearWatch, {});
  CHECK(open.Run(words).error == nullptr);
  // The buffers that were to be written carry the error.
  open.worker.Find(1)->error = nullptr;
  CHECK(launch(2, true) == nullptr);
  CHECK(open.device.count("cuLaunchKernel") == 0);
  CHECK(launch(2, true, 0) == nullptr);
  CHECK(open.device.count("cuLaunchKernel") == 1);
  // A timed batch waits for the device itself.
  CHECK(launch(3, true)->name == "PERSISTENT_KERNEL_STUCK");
}

TEST_CASE("A kernel that cannot be launched is named, and one that does not exist is refused") {
  OpenWorker open;
  Load(open, false);
  open.Make<float>(1, {1});
  open.device.Fail("cuLaunchKernel", 701);
  BatchWords words;
  words.batch().scalars = {1};
  words.Segment().Add(Opcode::kLaunchKernel, {double(KernelOf("fill")), 1, 32, words.Slot(1), 1});
  const ErrorRef error = open.Run(words).error;
  REQUIRE(error != nullptr);
  CHECK(error->call == "cuLaunchKernel of fill");
  CHECK(error->status == 701);
  BatchWords unknown;
  unknown.Segment().Add(Opcode::kLaunchKernel, {1000, 1, 32});
  CHECK(open.Run(unknown).error->name == "HOST_FAILURE");
  // Fewer words than the command has.
  BatchWords cut;
  cut.Segment().Add(Opcode::kClear, {cut.Slot(1)});
  CHECK(open.Run(cut).error->name == "HOST_FAILURE");
}

}  // namespace
}  // namespace cudnn_rnn
