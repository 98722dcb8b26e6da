// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
