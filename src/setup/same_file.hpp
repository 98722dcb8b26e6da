// SPDX-License-Identifier: Apache-2.0
// Whether the ranks of a node that opened a file by one path found the same file.
#pragma once

#include <optional>
#include <span>
#include <string>

#include <tally/base/error.hpp>
#include <tally/comm/communicator.hpp>

namespace tally::app {

// What a rank opened.
struct OpenedFile {
  std::string host;
  std::string path;   // absolute
  std::string stamp;  // as of data::DataSet::stamp()
};

// Pure. `opened`, in rank order. An error where two ranks of one host have different stamps for one
// path: the file was replaced or written to between their openings. Ranks of different hosts, or
// with other working directories, may read copies, whose contents the identity compares.
std::optional<Error> refuse_different_files(std::span<const OpenedFile> opened);

// Collective. Fails on every rank with Error(dataset) in that case. path: as this rank opened it.
void agree_on_one_file(const comm::Communicator& comm, const std::string& path,
                       const std::string& stamp);

}  // namespace tally::app
