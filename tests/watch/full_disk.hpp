// SPDX-License-Identifier: Apache-2.0
// A disk without room for large files.
#pragma once

#include <sys/resource.h>

#include <csignal>

namespace tally::watch {

// While it lives, no file of this process grows beyond so many bytes.
class FullDisk {
 public:
  explicit FullDisk(rlim_t num_bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {num_bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int) = std::signal(SIGXFSZ, SIG_IGN);
};

}  // namespace tally::watch
