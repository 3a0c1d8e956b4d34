#include "device/close_barrier.h"

#include <doctest/doctest.h>

#include <future>

namespace cudnn_rnn {
namespace {

TEST_CASE("CloseBarrier opens at once where no session of the device is closing") {
  CloseBarrier first(3);
  CloseBarrier second(3);
  first.Open();
  // Two may be open at once.
  second.Open();
  first.BeginClose();
  CloseBarrier other(4);
  // This one is of another device.
  other.Open();
  other.BeginClose();
  other.End();
  first.End();
  second.BeginClose();
  second.End();
}

TEST_CASE("CloseBarrier waits for all sessions that are closing on the device") {
  CloseBarrier first(5);
  CloseBarrier second(5);
  first.Open();
  second.Open();
  first.BeginClose();
  second.BeginClose();
  // A second call counts nothing.
  second.BeginClose();
  CloseBarrier next(5);
  auto opened = std::async(std::launch::async, [&] { next.Open(); });
  const auto is_open = [&] { return opened.wait_for(std::chrono::milliseconds(20)) == std::future_status::ready; };
  CHECK(!is_open());
  first.End();
  CHECK(!is_open());
  second.End();
  opened.get();
  next.BeginClose();
  next.End();
}

TEST_CASE("CloseBarrier does not wait for a session that was closed before it opened, or that failed to open") {
  CloseBarrier waiting(6);
  waiting.BeginClose();
  waiting.Open();
  CloseBarrier failed(6);
  failed.Open();
  failed.End();
  CloseBarrier next(6);
  next.Open();
  next.BeginClose();
  next.End();
  waiting.BeginClose();
  waiting.End();
  // Everything is counted back.
  CloseBarrier last(6);
  last.Open();
}

}  // namespace
}  // namespace cudnn_rnn
