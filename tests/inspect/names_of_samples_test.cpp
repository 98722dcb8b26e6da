// SPDX-License-Identifier: Apache-2.0
// Names for the lists of `tally compare`, from a data set that may have moved.
#include <tally/inspect/names_of_samples.hpp>

#include <tally/data/data_set.hpp>

#include "expect_error.hpp"
#include "inspect_fixture.hpp"
#include "sample_file.hpp"
#include "spoil.hpp"

namespace tally::app {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using Indices = std::vector<std::int64_t>;

class NamesOfSamplesTest : public InspectFixture {
 protected:
  std::string write_set(const std::vector<std::string>& names, std::int64_t rows_per_block = 2) {
    data::SampleFile{.num_samples = 3, .rows_per_block = rows_per_block, .names = names}.write(
        at("a.h5"));
    return data::DataSet(at("a.h5")).identity();
  }
};

TEST_F(NamesOfSamplesTest, AreThoseOfTheDataSetOfThisIdentity) {
  const auto identity = write_set({"a", "b", "c"});
  EXPECT_THAT(names_of_samples(at("a.h5"), identity, Indices{2, 0}),
              ElementsAre(Pair(0, "a"), Pair(2, "c")));
  EXPECT_THAT(names_of_samples(at("a.h5"), identity, Indices{-1, 1, 3}), ElementsAre(Pair(1, "b")));
  EXPECT_THAT(names_of_samples(at("a.h5"), identity, Indices{}), IsEmpty());
  EXPECT_THAT(names_of_samples(at("a.h5"), "another", Indices{1}), IsEmpty());
  EXPECT_THAT(names_of_samples(at("gone.h5"), identity, Indices{1}), IsEmpty());
  write("text.h5", "no data set");
  EXPECT_THAT(names_of_samples(at("text.h5"), identity, Indices{1}), IsEmpty());
}

TEST_F(NamesOfSamplesTest, ADataSetMayHaveNone) {
  EXPECT_THAT(names_of_samples(at("a.h5"), write_set({}), Indices{1}), IsEmpty());
}

TEST_F(NamesOfSamplesTest, DamagedNamesAreAnError) {
  const auto identity = write_set({"a", "b", "c"});
  const data::DataSetInfo info = data::DataSet(at("a.h5")).info();
  data::spoil(at("a.h5"), info.table("/samples/name/values"));
  expect_error(ErrorKind::dataset, {"/samples/name/values", "damaged"},
               [&] { names_of_samples(at("a.h5"), identity, Indices{2}); });
}

}  // namespace
}  // namespace tally::app
