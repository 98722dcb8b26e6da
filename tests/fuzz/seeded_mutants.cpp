// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz test without libFuzzer, in any build: on a corpus, then on mutants of it, each of
// which follows from its number.
//
// usage: CORPUS FIRST COUNT FINDINGS [SECONDS MIB]
//
// Files of the corpus whose names begin with "refused" must be refused; the others are read, and
// mutants are made of them. These run in a process that is forked, and after each finding in a new
// one: a finding is what ends that process, takes more than SECONDS (10), or 1 GiB more memory than
// the corpus. Its bytes are written to the folder FINDINGS. Exit code 1 for findings.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <vector>

#include <tally/base/format.hpp>

#include "harness.hpp"
#include "mutator.hpp"

namespace tally::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr int kTooMuchMemory = 3;
constexpr int kMostFindings = 5;

// Of one input, in time, and above what the corpus takes, in memory.
struct Limits {
  int seconds = 10;
  std::int64_t memory_mib = 1024;
};

struct CorpusFile {
  std::string name, bytes;
};

// What the process that was forked says, in memory that both have.
struct Said {
  std::int64_t mutant = -1;  // at work; -1: the corpus
  std::size_t file = 0;      // of the corpus
  std::int64_t refused = 0;
};

bool is_refused(const std::string& name) { return name.starts_with("refused"); }

std::vector<CorpusFile> read_corpus(const fs::path& folder) {
  std::vector<CorpusFile> corpus;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    corpus.push_back(
        {entry.path().filename().string(), {std::istreambuf_iterator<char>(file), {}}});
  }
  std::ranges::sort(corpus, {}, [](const CorpusFile& file) {
    return std::pair(is_refused(file.name), file.name);
  });
  if (corpus.empty() || is_refused(corpus.front().name)) fail("no corpus in " + folder.string());
  return corpus;
}

std::string mutant_of(const std::vector<CorpusFile>& corpus, std::int64_t number) {
  // Sorted by name, but those that are refused come last.
  const auto is_read = [](const CorpusFile& file) { return !is_refused(file.name); };
  const auto num_read = std::ranges::count_if(corpus, is_read);
  const auto& file = corpus[static_cast<std::size_t>(number % num_read)];
  return Mutator(static_cast<unsigned>(number)).damage(file.bytes);
}

std::int64_t peak_memory_kib() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// What RLIMIT_DATA counts: the sixth number is that of pages. Sanitizers have terabytes, of which
// they touch little.
rlim_t data_bytes() {
  std::ifstream numbers("/proc/self/statm");
  rlim_t pages = 0;
  for (int i = 0; i < 6; ++i) numbers >> pages;
  return pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

void limit_time(int seconds) {
  const itimerval timer{.it_interval = {}, .it_value = {.tv_sec = seconds, .tv_usec = 0}};
  ::setitimer(ITIMER_REAL, &timer, nullptr);  // SIGALRM ends the process
}

void run_input(const std::string& bytes, int seconds) {
  limit_time(seconds);
  // A copy that ends where its memory ends: sanitizers see what is read behind it.
  const std::vector<std::uint8_t> copy(bytes.begin(), bytes.end());
  LLVMFuzzerTestOneInput(copy.data(), copy.size());
}

void run_corpus(const std::vector<CorpusFile>& corpus, int seconds, Said& said) {
  for (said.file = 0; said.file < corpus.size(); ++said.file) {
    const auto before = num_refused;
    run_input(corpus[said.file].bytes, seconds);
    const bool was_refused = num_refused > before;
    if (was_refused != is_refused(corpus[said.file].name)) {
      fail(corpus[said.file].name + (was_refused ? " is refused: " + last_refusal : " is read"));
    }
  }
}

[[noreturn]] void run_all(const std::vector<CorpusFile>& corpus, std::int64_t first,
                          std::int64_t end, const Limits& limits, Said& said) {
  // So that what takes all memory at once ends itself, and not the machine.
  const rlim_t most_data = data_bytes() + (rlim_t{16} << 30);
  const rlimit memory{.rlim_cur = most_data, .rlim_max = most_data};
  ::setrlimit(RLIMIT_DATA, &memory);
  run_corpus(corpus, limits.seconds, said);
  const auto most_kib = peak_memory_kib() + 1024 * limits.memory_mib;
  for (said.mutant = first; said.mutant < end; ++said.mutant) {
    const auto before = num_refused;
    run_input(mutant_of(corpus, said.mutant), limits.seconds);
    said.refused += num_refused > before ? 1 : 0;
    if (peak_memory_kib() > most_kib) ::_exit(kTooMuchMemory);
  }
  std::exit(0);  // not at once: what looks for leaks does it now
}

std::string ending(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return signal == SIGALRM ? "takes too long" : format("ends with signal {}", signal);
  }
  if (WEXITSTATUS(status) == kTooMuchMemory) return "takes too much memory";
  return format("ends with exit code {}", WEXITSTATUS(status));
}

// Returns how many findings there were.
int run(const fs::path& folder, std::int64_t first, std::int64_t count, const fs::path& findings,
        const Limits& limits) {
  const auto corpus = read_corpus(folder);
  void* memory =
      ::mmap(nullptr, sizeof(Said), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("no memory");
  auto& said = *new (memory) Said;
  int found = 0;
  for (auto next = first; found < kMostFindings; next = said.mutant + 1) {
    said.mutant = -1;
    const pid_t child = ::fork();
    if (child == 0) run_all(corpus, next, first + count, limits, said);
    int status = 0;
    if (::waitpid(child, &status, 0) != child) fail("no process");
    if (status == 0) break;
    ++found;
    const bool is_mutant = said.mutant >= 0 && said.mutant < first + count;
    const auto name = is_mutant ? format("{}-{}", folder.filename().string(), said.mutant)
                                : corpus[std::min(said.file, corpus.size() - 1)].name;
    fmt::print(stderr, "finding: '{}' {}\n", name, ending(status));
    if (!is_mutant) break;
    fs::create_directories(findings);
    std::ofstream(findings / name, std::ios::binary) << mutant_of(corpus, said.mutant);
  }
  fmt::print("{} mutants, {} refused, {} findings\n", count, said.refused, found);
  return found;
}

}  // namespace
}  // namespace tally::fuzz

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() != 4 && words.size() != 6) return 2;
  tally::fuzz::Limits limits;
  if (words.size() == 6) limits = {std::stoi(words[4]), std::stoll(words[5])};
  const auto corpus = fs::absolute(words[0]), findings = fs::absolute(words[3]);
  std::string scratch = (fs::temp_directory_path() / "tally-fuzz-XXXXXX").string();
  if (::mkdtemp(scratch.data()) == nullptr) return 2;
  fs::current_path(scratch);
  const int found =
      tally::fuzz::run(corpus, std::stoll(words[1]), std::stoll(words[2]), findings, limits);
  fs::remove_all(scratch);
  return found == 0 ? 0 : 1;
}
