// SPDX-License-Identifier: Apache-2.0
// Files that were damaged, or made to do harm: the older generation is taken, or none.
#include <algorithm>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>

#include <tally/base/error.hpp>
#include <tally/digest/sha256_and_checksums.hpp>

#include "expect_error.hpp"
#include "mutator.hpp"
#include "part_files.hpp"
#include "record_frames.hpp"
#include "small_part.hpp"

namespace tally::resume {
namespace {

namespace fs = std::filesystem;

// Two generations with records, of which the second has more.
class DamagedProgress : public testing::Test {
 protected:
  DamagedProgress() {
    SmallPart part(folder_.path());
    part.evaluate({0, 2});
    part.writer.write_now(part.progress());
    older_ = loaded();
    older_bytes_ = bytes_of(records()).size();
    part.evaluate({2, 1});
    part.evaluate({3, 2});
    part.writer.write_now(part.progress());
    newer_ = loaded();
    newer_bytes_ = bytes_of(records()).size();
    part.evaluate({5, 1});  // belongs to no state file
  }

  std::string loaded() const { return text_of(load_part(folder_.path(), {})); }
  fs::path state(int generation) const { return folder_.path() / state_name({}, generation); }
  fs::path records() const { return folder_.path() / records_name({}); }
  // What is left where the first byte of the records that changed, or is missing, is this one.
  std::string expected_of_records(std::size_t first_changed) const {
    if (first_changed < older_bytes_) return "none";
    return first_changed < newer_bytes_ ? older_ : newer_;
  }
  void expect_refused(const std::string& header, const std::string& rest = {}) const {
    const std::string content = header + "\n" + rest;
    put_bytes(state(1), content + digest::sha256_hex(content));
    EXPECT_EQ(loaded(), older_) << header.substr(0, 400);
  }

  TemporaryFolder folder_;
  std::string older_, newer_;
  std::size_t older_bytes_ = 0, newer_bytes_ = 0;
};

TEST_F(DamagedProgress, NothingIsDamagedYet) {
  EXPECT_EQ(loaded(), newer_);
  EXPECT_NE(older_, newer_);
  EXPECT_GT(older_bytes_, 0U);
  EXPECT_GT(newer_bytes_, older_bytes_);
  EXPECT_GT(bytes_of(records()).size(), newer_bytes_);
}

TEST_F(DamagedProgress, EveryBitOfAStateFileCounts) {
  const std::string bytes = bytes_of(state(1));
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string changed = bytes;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    put_bytes(state(1), changed);
    ASSERT_EQ(loaded(), older_) << "bit " << bit;
  }
  put_bytes(state(0), "");
  EXPECT_EQ(loaded(), "none");
}

TEST_F(DamagedProgress, EveryLengthOfAStateFileCounts) {
  const std::string bytes = bytes_of(state(1));
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    put_bytes(state(1), bytes.substr(0, length));
    ASSERT_EQ(loaded(), older_) << length << " bytes";
    put_bytes(state(1), bytes.substr(length + 1));
    ASSERT_EQ(loaded(), older_) << "without the first " << length + 1 << " bytes";
  }
  put_bytes(state(1), bytes + '\0');
  EXPECT_EQ(loaded(), older_);
}

TEST_F(DamagedProgress, EveryBitOfTheRecordsCounts) {
  const std::string bytes = bytes_of(records());
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string changed = bytes;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    put_bytes(records(), changed);
    ASSERT_EQ(loaded(), expected_of_records(bit / 8)) << "bit " << bit;
  }
}

TEST_F(DamagedProgress, EveryLengthOfTheRecordsCounts) {
  const std::string bytes = bytes_of(records());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    put_bytes(records(), bytes.substr(0, length));
    ASSERT_EQ(loaded(), expected_of_records(length)) << length << " bytes";
  }
}

TEST_F(DamagedProgress, MutantsOfAStateFileAreRefused) {
  const std::string bytes = bytes_of(state(1));
  Mutator mutator(1);
  for (int i = 0; i < 5000; ++i) {
    const std::string mutant = mutator.damage(bytes);
    put_bytes(state(1), mutant);
    ASSERT_EQ(loaded(), mutant == bytes ? newer_ : older_) << "mutant " << i;
  }
}

TEST_F(DamagedProgress, MutantsOfTheRecordsAreRefused) {
  const std::string bytes = bytes_of(records());
  Mutator mutator(2);
  for (int i = 0; i < 5000; ++i) {
    const std::string mutant = mutator.damage(bytes);
    put_bytes(records(), mutant);
    const auto differs = std::ranges::mismatch(bytes, mutant).in1 - bytes.begin();
    ASSERT_EQ(loaded(), expected_of_records(static_cast<std::size_t>(differs))) << "mutant " << i;
  }
}

// With the right digest, so that the header itself is looked at: most still are JSON.
TEST_F(DamagedProgress, SignedMutantsOfHeadersDoNoHarm) {
  const std::string bytes = bytes_of(state(1));
  const std::string content = bytes.substr(0, bytes.size() - 64);
  const std::size_t header_bytes = content.find('\n');
  Mutator mutator(3);
  int num_taken = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::string mutant =
        mutator.damage(content.substr(0, header_bytes)) + content.substr(header_bytes);
    put_bytes(state(1), mutant + digest::sha256_hex(mutant));
    const auto progress = load_part(folder_.path(), {});
    ASSERT_TRUE(progress);
    if (text_of(*progress) == older_) continue;
    ++num_taken;  // such as with another world_size
    ASSERT_EQ(progress->part, PartName{});
    ASSERT_LE(progress->records_bytes, static_cast<std::int64_t>(bytes_of(records()).size()));
  }
  EXPECT_GT(num_taken, 0);
  EXPECT_LT(num_taken, 2000);
}

constexpr std::string_view kGoodHeader =
    R"({"format":"tally-progress","version":1,"attempt":1,"rank":0,"world_size":1,"sequence":9,)"
    R"("records_bytes":0,"done":[],"identity_bytes":0,"observations_bytes":0,"state_length":0})";

std::string header_with(std::string_view from, std::string_view to) {
  std::string header(kGoodHeader);
  const std::size_t at = header.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return header.replace(at, from.size(), to);
}

TEST_F(DamagedProgress, AHeaderOfThisTestIsTaken) {
  const std::string content = std::string(kGoodHeader) + "\n";
  put_bytes(state(1), content + digest::sha256_hex(content));
  EXPECT_EQ(load_part(folder_.path(), {}).value().sequence, 9);
}

TEST_F(DamagedProgress, HostileNumbersAreRefused) {
  const std::vector<std::string> fields{"\"version\":1",
                                        "\"attempt\":1",
                                        "\"rank\":0",
                                        "\"world_size\":1",
                                        "\"sequence\":9",
                                        "\"records_bytes\":0",
                                        "\"done\":[]",
                                        "\"identity_bytes\":0",
                                        "\"observations_bytes\":0",
                                        "\"state_length\":0",
                                        "\"format\":\"tally-progress\""};
  const std::vector<std::string> values{"-1",
                                        "-9223372036854775808",
                                        "9223372036854775808",
                                        "18446744073709551615",
                                        "1e300",
                                        "0.5",
                                        "\"1\"",
                                        "null",
                                        "true",
                                        "{}",
                                        "[1]",
                                        "[[1]]",
                                        "[[1,2,3]]",
                                        "[[0,0]]",
                                        "[[-1,1]]",
                                        "[[0,9223372036854775807],[1,1]]",
                                        "[[1,9223372036854775807]]",
                                        "[[0,1],[1,1]]",
                                        "[[5,1],[1,1]]",
                                        "[[0.5,1]]",
                                        "[{\"0\":0,\"1\":1}]"};
  for (const std::string& field : fields) {
    const std::string name = field.substr(0, field.find(':') + 1);
    for (const std::string& value : values) expect_refused(header_with(field, name + value));
    expect_refused(header_with(name, "\"x\":"));
  }
  for (const char* length : {"1", "4611686018427387904", "9223372036854775807"}) {
    for (const char* field : {"\"identity_bytes\":", "\"observations_bytes\":", "\"state_length\":",
                              "\"records_bytes\":"}) {
      expect_refused(header_with(std::string(field) + "0", field + std::string(length)));
    }
  }
  // 2^61 values would have 2^64 bytes, which is 0 in 64 bits.
  expect_refused(header_with("\"state_length\":0", "\"state_length\":2305843009213693952"));
  expect_refused(std::string(kGoodHeader), "more than it says");
  expect_refused(header_with("\"sequence\":9", "\"sequence\":0"));
}

TEST_F(DamagedProgress, HostileTextsAreRefused) {
  const std::string deep(200000, '[');
  expect_refused(deep);
  expect_refused(header_with("[]", deep + std::string(200000, ']')));
  expect_refused(header_with("[]", "[[[[1]]]]"));
  expect_refused("");
  expect_refused("null");
  expect_refused("[]");
  expect_refused("{}");
  expect_refused("\"\xff\"");
  expect_refused(std::string(kGoodHeader) + "x");
  expect_refused(std::string(kGoodHeader).substr(1));
}

// Nearly all of it is a hole, which takes no space on the disk.
TEST_F(DamagedProgress, AFileLargerThanMemoryIsNotTakenForADamagedOne) {
  fs::resize_file(state(1), 4'000'000'000'000);
  expect_error(ErrorKind::environment, {state(1).string()}, [&] { (void)loaded(); });
}

// Frames with checksums that fit.
TEST_F(DamagedProgress, HostileFramesAreRefused) {
  const std::string all = bytes_of(records());
  const auto frame = [](std::int64_t first, std::int64_t count, std::size_t num_bytes) {
    std::vector<std::byte> bytes(kFrameHeaderBytes + num_bytes);
    fill_in_header({first, count}, bytes);
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::size_t room = newer_bytes_ - older_bytes_ - kFrameHeaderBytes;
  const auto expect = [&](const std::string& second, const std::string& expected) {
    put_bytes(records(), all.substr(0, older_bytes_) + second);
    EXPECT_EQ(loaded(), expected);
  };
  expect(frame(2, 3, room), newer_);  // what could be there
  expect(frame(-1, 3, room), older_);
  expect(frame(2, 0, room), older_);
  expect(frame(2, -1, room), older_);
  expect(frame(2, kMost, room), older_);
  expect(frame(2, 3, room - 1), older_);
  expect(frame(2, 3, room - 1) + "x", older_);
  expect(frame(2, 3, room + 1), older_);
  expect(frame(2, 3, room - kFrameHeaderBytes) + frame(5, 1, 0), newer_);
  expect(frame(2, 3, room - kFrameHeaderBytes) + frame(5, 1, 1), older_);
  // Samples and rows that do not fit each other are noticed by who reads them.
  expect(frame(2, kMost - 2, room), newer_);
  const auto progress = load_part(folder_.path(), {});
  const RecordsReader reader(folder_.path(), *progress, all_sorts_of_columns());
  EXPECT_THROW(reader.read({2, 3}, [](const auto&, const auto&) {}), Error);
}

}  // namespace
}  // namespace tally::resume
