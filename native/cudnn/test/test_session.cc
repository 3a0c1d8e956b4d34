// The threads of a session over the CUDA emulator, under ThreadSanitizer: npm run test:sanitized -- threads.
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "commands.h"
#include "device/session.h"
#include "sys/dynamic_library.h"

namespace cudnn_rnn {
namespace {

constexpr std::size_t kBytes = 4096;

std::shared_ptr<const Libraries> OpenLibraries(const std::string& folder) {
  auto libraries = std::make_shared<Libraries>();
  const std::pair<const char*, const char*> files[] = {{"driver", "libcuda.so.1"},
                                                       {"cudart", "libcudart.so.13"},
                                                       {"nvrtc", "libnvrtc.so.13"},
                                                       {"cublas", "libcublas.so.13"},
                                                       {"cudnn", "libcudnn.so.9"}};
  for (const auto& [kind, file] : files) {
    std::string error;
    std::string path = folder;
    path.append("/").append(file);
    void* library = OpenLibrary(path, &error);
    if (library == nullptr || !libraries->Bind(kind, library).empty()) {
      std::printf("Cannot bind %s: %s\n", path.c_str(), error.c_str());
      std::exit(1);
    }
  }
  libraries->cudnn_major = 9;
  return libraries;
}

/// Counts the batches that a session settles, on any thread.
class Settlements {
 public:
  Session::Settle Counter() {
    return [this](std::unique_ptr<Batch> batch) {
      const std::lock_guard lock(mutex_);
      if (batch == nullptr) {
        ended_ = true;
      } else if (batch->error) {
        failed_++;
      } else {
        done_++;
      }
      changed_.notify_all();
    };
  }
  void WaitFor(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ + failed_ >= count; });
  }
  int done() {
    const std::lock_guard lock(mutex_);
    return done_;
  }
  int failed() {
    const std::lock_guard lock(mutex_);
    return failed_;
  }
  bool ended() {
    const std::lock_guard lock(mutex_);
    return ended_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int done_ = 0;
  int failed_ = 0;
  bool ended_ = false;
};

std::unique_ptr<Batch> Settling() {
  auto batch = std::make_unique<Batch>();
  batch->settlement = std::make_shared<int>();
  return batch;
}

double Word(Opcode opcode) { return static_cast<double>(opcode); }

/// Allocates, uploads `value` in every byte, downloads to `target`, and frees.
std::unique_ptr<Batch> RoundTrip(Session& session, Id buffer, int value, std::vector<char>& target) {
  auto batch = Settling();
  batch->words = {Word(Opcode::kSegment),
                  Word(Opcode::kAllocate),
                  0,
                  kBytes,
                  Word(Opcode::kUpload),
                  0,
                  0,
                  0,
                  Word(Opcode::kDownload),
                  0,
                  0,
                  0,
                  Word(Opcode::kRelease),
                  0};
  batch->slots = {buffer};
  Source source{session.host_blocks().TakeWithoutCuda(kBytes), kBytes};
  std::memset(source.block->data, value, kBytes);
  batch->sources.push_back(std::move(source));
  batch->targets.push_back({target.data(), target.size()});
  batch->waits = true;
  return batch;
}

int failures = 0;

void Expect(bool holds, const char* what) {
  std::printf("%s %s\n", holds ? "ok  " : "FAIL", what);
  failures += holds ? 0 : 1;
}

void TransfersKeepTheirValues(const std::shared_ptr<const Libraries>& libraries) {
  constexpr int kBatches = 100;
  Settlements settled;
  Session session(libraries, 0, settled.Counter());
  session.Start(Settling());
  settled.WaitFor(1);
  std::vector<std::vector<char>> targets(kBatches, std::vector<char>(kBytes));
  for (int k = 0; k < kBatches; k++) {
    auto batch = RoundTrip(session, static_cast<Id>(k) + 1, k, targets[k]);
    session.Post(batch, false);
  }
  settled.WaitFor(1 + kBatches);
  bool equal = settled.failed() == 0;
  for (int k = 0; k < kBatches; k++) equal = equal && targets[k] == std::vector<char>(kBytes, static_cast<char>(k));
  Expect(equal, "downloads return the uploads");
  session.Close();
  Expect(settled.ended(), "a closed session reports that it is closed");
}

void EverythingSettlesWhereASessionCloses(const std::shared_ptr<const Libraries>& libraries) {
  constexpr int kRounds = 20;
  constexpr int kBatches = 30;
  bool all = true;
  for (int round = 0; round < kRounds; round++) {
    Settlements settled;
    std::vector<std::vector<char>> targets(kBatches, std::vector<char>(kBytes));
    Session session(libraries, 0, settled.Counter());
    session.Start(Settling());
    // In half of the rounds the device is not open yet.
    if (round % 2 == 0) settled.WaitFor(1);
    for (int k = 0; k < kBatches; k++) {
      auto batch = RoundTrip(session, static_cast<Id>(k) + 1, k, targets[k]);
      session.Post(batch, false);
    }
    session.BeginClose();
    session.Close();
    all = all && settled.ended() && settled.done() + settled.failed() == 1 + kBatches;
  }
  Expect(all, "every batch is settled where the session closes in the middle");
}

void SessionsOfOneDeviceTakeTurns(const std::shared_ptr<const Libraries>& libraries) {
  std::atomic<int> wrong{0};
  constexpr int kThreads = 4;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int thread = 0; thread < kThreads; thread++) {
    threads.emplace_back([&] {
      for (int round = 0; round < 5; round++) {
        Settlements settled;
        std::vector<char> target(kBytes);
        Session session(libraries, 0, settled.Counter());
        session.Start(Settling());
        settled.WaitFor(1);
        auto batch = RoundTrip(session, 1, round + 1, target);
        session.Post(batch, false);
        settled.WaitFor(2);
        session.Close();
        if (settled.failed() > 0 || target != std::vector<char>(kBytes, static_cast<char>(round + 1))) wrong++;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Expect(wrong == 0, "four threads open and close sessions on one device");
}

void ExclusiveSectionsHoldOthersBack(const std::shared_ptr<const Libraries>& libraries) {
  Settlements settled;
  Session session(libraries, 0, settled.Counter());
  session.Start(Settling());
  auto begin = Settling();
  begin->begins_exclusive = true;
  session.Post(begin, false);
  std::vector<char> target(kBytes);
  auto held = RoundTrip(session, 1, 1, target);
  session.Post(held, false);
  auto inside = Settling();
  session.Post(inside, true);
  settled.WaitFor(3);
  Expect(settled.done() == 3, "a batch waits while an exclusive section is under way");
  auto end = Settling();
  end->ends_exclusive = true;
  session.Post(end, true);
  settled.WaitFor(5);
  Expect(settled.failed() == 0 && target[0] == 1, "it runs after the section");
  session.Close();
}

}  // namespace
}  // namespace cudnn_rnn

int main(int, char** arguments) {
  using namespace cudnn_rnn;
  const auto libraries = OpenLibraries(arguments[1]);
  TransfersKeepTheirValues(libraries);
  EverythingSettlesWhereASessionCloses(libraries);
  SessionsOfOneDeviceTakeTurns(libraries);
  ExclusiveSectionsHoldOthersBack(libraries);
  return failures;
}
