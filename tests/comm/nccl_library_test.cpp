// SPDX-License-Identifier: Apache-2.0
// Which NCCL is loaded, and the real one as far as it goes without a GPU.
#include "nccl_calls.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <tally/base/host_and_libraries.hpp>
#include <tally/device/gpus.hpp>

#include "expect_error.hpp"

namespace tally::comm {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class ChooseNccl : public testing::Test {
 protected:
  ~ChooseNccl() override { fs::remove_all(folder_); }

  // An empty file.
  std::string file(const std::string& name) {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path).put('\n');
    return path.string();
  }

 private:
  fs::path folder_ =
      fs::canonical(fs::temp_directory_path()) / ("tally-nccl-" + std::to_string(getpid()));
};

TEST_F(ChooseNccl, TakesTheOneThatIsThere) {
  const auto loaded = file("a/libnccl.so.2");
  file("nvidia/nccl/lib/libnccl.so.2");
  EXPECT_EQ(choose_nccl({"/lib/libc.so.6", loaded, file("torch/lib/libtorch_cpu.so")}), loaded);
  fs::create_symlink(loaded, loaded + ".28");
  EXPECT_EQ(choose_nccl({loaded, loaded + ".28"}), loaded);
}

TEST_F(ChooseNccl, TakesTheOneBesideLibTorch) {
  const auto torch = file("torch/lib/libtorch_cpu.so");
  EXPECT_EQ(choose_nccl({torch}), "libnccl.so.2");
  const auto wheel = file("nvidia/nccl/lib/libnccl.so.2");
  EXPECT_EQ(choose_nccl({torch}), wheel);
  EXPECT_EQ(choose_nccl({}), "libnccl.so.2");
}

TEST_F(ChooseNccl, RefusesTwo) {
  const auto one = file("a/libnccl.so.2");
  const auto other = file("b/libnccl.so.2.27.3");
  expect_error(ErrorKind::environment, {"two copies of libnccl.so", one, other}, [&] {
    choose_nccl({one, "/lib/libc.so.6", other});
  });
}

TEST(NcclNames, AreThoseOfItsHeader) {
  EXPECT_EQ(name(NcclCode::success), "ncclSuccess");
  EXPECT_EQ(name(NcclCode::in_progress), "ncclInProgress");
  EXPECT_EQ(name(static_cast<NcclCode>(8)), "NCCL result 8");
  EXPECT_EQ(name(static_cast<NcclCode>(-1)), "NCCL result -1");
  EXPECT_EQ(nccl_version_text(22809), "2.28.9");
  EXPECT_EQ(nccl_version_text(23004), "2.30.4");
}

class RealNccl : public testing::Test {
 protected:
  void SetUp() override {
    try {
      calls_ = load_nccl();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::environment);
      EXPECT_THAT(error.what(), HasSubstr("'--reduce mpi'"));
      GTEST_SKIP() << error.what();
    }
  }

  NcclCalls calls_;
};

TEST_F(RealNccl, IsTheVersionOfItsHeader) {
  int version = 0;
  ASSERT_EQ(calls_.get_version(version), NcclCode::success);
  EXPECT_EQ(version, calls_.header_version);
  EXPECT_THAT(calls_.path, HasSubstr("libnccl.so"));
  EXPECT_EQ(choose_nccl(loaded_libraries()), fs::canonical(calls_.path));
  EXPECT_EQ(load_nccl().path, calls_.path);  // again: still one copy
}

TEST_F(RealNccl, FailsCleanlyWithoutADriver) {
  const auto found = device::list_gpus();
  if (!found.gpus.empty()) GTEST_SKIP() << "there is a GPU";
  NcclUniqueId id{};
  ASSERT_EQ(calls_.get_unique_id(id), NcclCode::success);
  EXPECT_NE(id, NcclUniqueId{});
  NcclHandle comm = nullptr;
  const NcclCode code = calls_.init(comm, 1, {&id, 1}, 0);
  EXPECT_EQ(code, NcclCode::unhandled_cuda_error) << name(code);
  EXPECT_THAT(calls_.last_error(comm), HasSubstr("CUDA"));
  if (comm != nullptr) calls_.abort(comm);
}

}  // namespace
}  // namespace tally::comm
