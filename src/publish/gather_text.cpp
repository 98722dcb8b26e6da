#include "gather_text.hpp"

#include <optional>

#include <tally/base/byte_text.hpp>
#include <tally/base/files.hpp>
#include <tally/comm/agree.hpp>

#include "gather_columns.hpp"

namespace tally::app {

void gather_json(const comm::Communicator& comm, JsonForm form,
                 const predictions::PredictionLog& local, std::int64_t column,
                 std::int64_t window_bytes, const std::filesystem::path& path) {
  std::optional<PartialFile> file;
  comm::agree_on(comm, [&] {
    if (!comm.is_root()) return;
    file.emplace(path);
    file->append(form == JsonForm::object ? "{" : "[");
  });
  gather_elements(comm, local, column, window_bytes,
                  [&](std::int64_t, std::int64_t, std::span<const std::byte> bytes) {
                    file->append(as_text(bytes));
                  });
  comm::agree_on(comm, [&] {
    if (!file) return;
    file->append(form == JsonForm::object ? "\n}\n" : "\n]\n");
    file->finish();
  });
}

}  // namespace tally::app
