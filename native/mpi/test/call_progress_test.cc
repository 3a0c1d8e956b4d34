#include "call_progress.h"

#include <doctest/doctest.h>

namespace cudnn_rnn {
namespace {

TEST_CASE("CallProgress counts collectives alone, and keeps the number of the last one") {
  CallProgress calls;
  CHECK(calls.Current().kind == OperationKind::kNone);
  calls.Begin(OperationKind::kOpen, 0);
  CHECK(calls.Current().kind == OperationKind::kOpen);
  CHECK(calls.Current().sequence == 0);
  calls.End();
  calls.Begin(OperationKind::kAllReduce, 12);
  CHECK(calls.Current().sequence == 1);
  CHECK(calls.Current().bytes == 12);
  calls.End();
  CHECK(calls.Current().kind == OperationKind::kNone);
  CHECK(calls.Current().sequence == 1);
  calls.Begin(OperationKind::kClose, 0);
  CHECK(calls.Current().sequence == 1);
  calls.Begin(OperationKind::kBarrier, 0);
  CHECK(calls.Current().sequence == 2);
}

TEST_CASE("CallProgress counts calls of the devices beside those of MPI, in the order of their begins") {
  CallProgress calls;
  CHECK(!calls.Current().is_in_device_call());
  CHECK(calls.Current().device_seconds == 0);
  calls.BeginDeviceCall();
  calls.BeginDeviceCall();
  calls.Begin(OperationKind::kAllGather, 3);
  Progress both = calls.Current();
  CHECK(both.kind == OperationKind::kAllGather);
  CHECK(both.sequence == 1);
  CHECK(both.device_begun == 2);
  CHECK(both.device_ended == 0);
  calls.EndDeviceCall();
  calls.End();
  CHECK(calls.Current().is_in_device_call());
  calls.EndDeviceCall();
  CHECK(!calls.Current().is_in_device_call());
  CHECK(calls.Current().device_ended == 2);
  // No call is in progress, however long ago the last one ended.
  CHECK(calls.Current().device_seconds == 0);
}

TEST_CASE("CallProgress gives seconds of the call in progress, which do not decrease") {
  CallProgress calls;
  calls.Begin(OperationKind::kBroadcast, 1);
  calls.BeginDeviceCall();
  const Progress first = calls.Current();
  const Progress second = calls.Current();
  CHECK(first.seconds >= 0);
  CHECK(second.seconds >= first.seconds);
  CHECK(first.device_seconds >= 0);
  CHECK(second.device_seconds >= first.device_seconds);
}

}  // namespace
}  // namespace cudnn_rnn
