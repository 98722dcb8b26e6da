// SPDX-License-Identifier: Apache-2.0
#include <tally/base/host_and_libraries.hpp>

#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <span>
#include <utility>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

namespace tally {

std::string host_name() {
  // gethostname() may cut a name without ending it: the last byte stays 0.
  char name[HOST_NAME_MAX + 1] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) == 0) {
      const auto value = line.find_first_not_of(": \t", line.find(':'));
      if (value != std::string::npos) return line.substr(value);
    }
  }
  return "unknown";
}

namespace {

namespace fs = std::filesystem;

std::string real_path(const std::string& file) {
  std::error_code ignored;
  const fs::path path = fs::canonical(file, ignored);
  return path.empty() ? file : path.string();
}

}  // namespace

std::vector<std::string> loaded_libraries() {
  std::vector<std::string> files;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* list) {
        // The program itself is in the list without a name.
        if (info->dlpi_name != nullptr && *info->dlpi_name != '\0') {
          static_cast<std::vector<std::string>*>(list)->emplace_back(info->dlpi_name);
        }
        return 0;
      },
      &files);
  return files;
}

namespace {

// The bytes of the linker's note NT_GNU_BUILD_ID in a segment of notes, in hexadecimal.
std::string build_id_in(std::span<const std::byte> notes) {
  constexpr std::string_view kOwner("GNU\0", 4);  // with its zero
  const auto padded = [](std::size_t bytes) { return (bytes + 3) / 4 * 4; };
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes.data(), sizeof note);
    notes = notes.subspan(sizeof note);
    if (notes.size() < padded(note.n_namesz) + note.n_descsz) break;
    const auto* const text = reinterpret_cast<const char*>(notes.data());
    const std::string_view owner(text, note.n_namesz);
    if (note.n_type == NT_GNU_BUILD_ID && owner == kOwner) {
      return format("{:02x}", fmt::join(notes.subspan(padded(note.n_namesz), note.n_descsz), ""));
    }
    notes = notes.subspan(std::min(notes.size(), padded(note.n_namesz) + padded(note.n_descsz)));
  }
  return {};
}

std::string build_id_of(const dl_phdr_info& object) {
  for (const ElfW(Phdr) & header : std::span(object.dlpi_phdr, object.dlpi_phnum)) {
    if (header.p_type != PT_NOTE) continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader gives addresses as numbers.
    const auto* notes = reinterpret_cast<const std::byte*>(object.dlpi_addr + header.p_vaddr);
    if (auto id = build_id_in({notes, header.p_memsz}); !id.empty()) return id;
  }
  return {};
}

}  // namespace

std::string program_build_id() {
  std::string id;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* found) {
        *static_cast<std::string*>(found) = build_id_of(*info);
        return 1;  // the program itself comes first
      },
      &id);
  return id;
}

std::string library_build_id(std::string_view file_name) {
  std::pair<std::string_view, std::string> wanted{file_name, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& [name, id] = *static_cast<decltype(wanted)*>(data);
        if (fs::path(info->dlpi_name).filename() != name) return 0;
        id = build_id_of(*info);
        return 1;
      },
      &wanted);
  return wanted.second;
}

std::vector<std::string> copies_of(std::string_view name, const std::vector<std::string>& loaded) {
  std::set<std::string> copies;
  for (const auto& file : loaded) {
    if (fs::path(file).filename().string().starts_with(name)) copies.insert(real_path(file));
  }
  return {copies.begin(), copies.end()};
}

void require_single_copies(const std::vector<std::string_view>& names,
                           const std::vector<std::string>& loaded) {
  for (const auto name : names) {
    const auto copies = copies_of(name, loaded);
    if (copies.size() < 2) continue;
    throw Error(
        ErrorKind::environment,
        format("two copies of {} are in this process: {} and {}", name, copies[0], copies[1]),
        "Keep one of them out of LD_PRELOAD and LD_LIBRARY_PATH.");
  }
}

}  // namespace tally
