// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include <tally/base/error.hpp>
#include <tally/base/host_and_libraries.hpp>

namespace tally {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(LoadedLibraries, HoldTheCLibraryOnce) {
  EXPECT_THAT(copies_of("libc.so", loaded_libraries()), testing::SizeIs(1));
  EXPECT_NO_THROW(require_single_copies({"libc.so", "libstdc++.so"}, loaded_libraries()));
}

TEST(ProgramBuildId, IsThatOfTheFile) {
  // The linker puts the bytes into a note of the file.
  const std::string id = program_build_id();
  ASSERT_EQ(id.size(), 40U) << "a SHA-1";
  std::string bytes;
  for (std::size_t i = 0; i < id.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(id.substr(i, 2), nullptr, 16));
  }
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const std::string program{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(program.find(std::string("GNU\0", 4) + bytes), std::string::npos);
}

TEST(CopiesOf, CountsFilesNotNames) {
  const std::vector<std::string> loaded{"/a/libnccl.so.2", "/b/libnccl.so.2", "/a/libnccl.so.2",
                                        "/a/libncclx.so.2", "linux-vdso.so.1"};
  EXPECT_THAT(copies_of("libnccl.so", loaded), ElementsAre("/a/libnccl.so.2", "/b/libnccl.so.2"));
  EXPECT_THAT(copies_of("libcudnn.so", loaded), IsEmpty());
}

TEST(RequireSingleCopies, NamesBothFiles) {
  const std::vector<std::string> loaded{"/a/libcudart.so.13", "/b/libcudart.so.12"};
  try {
    require_single_copies({"libnccl.so", "libcudart.so"}, loaded);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::environment);
    EXPECT_THAT(error.what(),
                testing::AllOf(HasSubstr("/a/libcudart.so.13"), HasSubstr("/b/libcudart.so.12")));
  }
}

}  // namespace
}  // namespace tally
