#pragma once

#include <string>

namespace cudnn_rnn {

// Physical cores that this process may run on, no more than its control groups have the time of, at least 1. Two
// hyper-threads of one core share its multiply-add units, so a second thread on a core only adds waiting.
int PhysicalCores();

#if defined(__linux__)
// The processors whose time the control groups of this process allow, as `docker run --cpus 2` and the limits of
// Kubernetes set it: at least 1, or 0 without a limit. `groups` is /proc/self/cgroup, `mounts` is /sys/fs/cgroup.
int QuotaCores(const std::string& groups, const std::string& mounts);
#endif

}  // namespace cudnn_rnn
