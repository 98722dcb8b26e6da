// SPDX-License-Identifier: Apache-2.0
// Every sentence that a wrong command line, environment or config file can cause.
#include "config_fixture.hpp"

namespace tally::config {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Refusal {
  Words arguments;
  std::string sentence;
};

const std::vector<Refusal> kOnCommandLine{
    {{"--batchsize", "32"},
     "unknown option '--batchsize' (command line). Did you mean '--batch-size'?"},
    {{"--batch_size=32"},
     "unknown option '--batch_size' (command line). Did you mean '--batch-size'?"},
    {{"--batch", "32"}, "unknown option '--batch' (command line). Did you mean '--batch-size'?"},
    {{"--Modle", "m"}, "unknown option '--Modle' (command line). Did you mean '--model'?"},
    {{"--quite-another"},
     "unknown option '--quite-another' (command line). --help lists the "
     "options."},
    {{"--a\xff="}, "unknown option '--a\\xff' (command line). --help lists the options."},
    {{"-limit", "3"}, "unknown option '-limit' (command line). Did you mean '--limit'?"},
    {{"--a\x1b[2Jb"}, "unknown option '--a\\x1b[2Jb' (command line). --help lists the options."},
    {{"word"},
     "unexpected word 'word' (command line), which belongs to no option. Options have "
     "the form --name VALUE or --name=VALUE."},
    {{"--limit", "3", "4"},
     "unexpected word '4' (command line), which belongs to no option. Options have the form "
     "--name VALUE or --name=VALUE."},
    {{"--overwrite", "word"}, "option --overwrite = 'word' (command line), expected true or false"},
    {{"--overwrite", "true", "false"},
     "unexpected word 'false' (command line), which belongs to no option. Options have the form "
     "--name VALUE or --name=VALUE."},
    {{"--", "--limit"},
     "unexpected word '--limit' (command line), which belongs to no option. Options have the form "
     "--name VALUE or --name=VALUE."},
    {{"--limit"},
     "option --limit (command line) has no value, expected N. Options have the form --name VALUE "
     "or --name=VALUE."},
    {{"--limit="},
     "option --limit (command line) has no value, expected N. Options have the form --name VALUE "
     "or --name=VALUE."},
    {{"--limit", "--overwrite"},
     "option --limit (command line) has no value, expected N. Options have the form --name VALUE "
     "or --name=VALUE."},
    {{"--weights", "--nonsense"},
     "option --weights (command line) has no value, expected PATH. Options have the form --name "
     "VALUE or --name=VALUE."},
    {{"--weights", ""}, "option --weights = '' (command line), expected a value that is not empty"},
    {{"--limit", "3", "--limit=4"},
     "option --limit is given twice: '3' (command line) and '4' (command line)"},
    {{"--batch-size", "12x"},
     "option --batch-size = '12x' (command line), expected a whole number from 1 to 16777216 or "
     "'auto'"},
    {{"--batch-size", " 12"},
     "option --batch-size = ' 12' (command line), expected a whole number from 1 to 16777216 or "
     "'auto'"},
    {{"--batch-size", "0"},
     "option --batch-size = '0' (command line), expected a whole number from 1 to 16777216 or "
     "'auto'"},
    {{"--batch-size", "-1"},
     "option --batch-size = '-1' (command line), expected a whole number from 1 to 16777216 or "
     "'auto'"},
    {{"--batch-size", "1e3"},
     "option --batch-size = '1e3' (command line), expected a whole number from 1 to 16777216 or "
     "'auto'"},
    {{"--batch-size", "16777217"},
     "option --batch-size = '16777217' (command line), expected a whole number from 1 to 16777216 "
     "or 'auto'"},
    {{"--limit", "9223372036854775808"},
     "option --limit = '9223372036854775808' (command line), expected a whole number from 0 to "
     "9223372036854775807"},
    {{"--limit", "-1"},
     "option --limit = '-1' (command line), expected a whole number from 0 to "
     "9223372036854775807"},
    {{"--threads", "0"},
     "option --threads = '0' (command line), expected a whole number from 1 to 4096"},
    {{"--confusion-max-classes", "many"},
     "option --confusion-max-classes = 'many' (command line), expected a whole number from 0 to "
     "1048576"},
    {{"--device", "gpu"},
     "option --device = 'gpu' (command line), expected one of auto, cpu, "
     "cuda"},
    {{"--reduce", "MPI"},
     "option --reduce = 'MPI' (command line), expected one of auto, nccl, "
     "mpi"},
    {{"--outputs", "scores"},
     "option --outputs = 'scores' (command line), expected one of logits, log-probabilities, "
     "probabilities"},
    {{"--progress", "yes"},
     "option --progress = 'yes' (command line), expected one of auto, bar, log, off"},
    {{"--overwrite=maybe"}, "option --overwrite = 'maybe' (command line), expected true or false"},
    {{"--save", "labels,none"},
     "option --save = 'labels,none' (command line), expected a comma-separated list of labels, "
     "topk, probabilities, logits, masks, each once, or none alone"},
    {{"--save", "topk,topk"},
     "option --save = 'topk,topk' (command line), expected a comma-separated list of labels, "
     "topk, probabilities, logits, masks, each once, or none alone"},
    {{"--save", "topk,label"},
     "option --save = 'topk,label' (command line), expected a comma-separated list of labels, "
     "topk, probabilities, logits, masks, each once, or none alone. Did you mean 'labels'?"},
    {{"--metrics", "loss,,f1"},
     "option --metrics = 'loss,,f1' (command line), expected names separated by commas, each "
     "once"},
    {{"--gather-window", "64Mb"},
     "option --gather-window = '64Mb' (command line), expected a number of bytes of at least 1, "
     "as 65536, 64MiB or 1GiB"},
    {{"--gather-window", "0"},
     "option --gather-window = '0' (command line), expected a number of bytes of at least 1, as "
     "65536, 64MiB or 1GiB"},
    {{"--model-sha256", "12ab"},
     "option --model-sha256 = '12ab' (command line), expected 64 hexadecimal digits, as sha256sum "
     "prints them"},
    {{"--label-smoothing", "1"},
     "option --label-smoothing = '1' (command line), expected a number from 0 to below 1"},
    {{"--label-smoothing", "nan"},
     "option --label-smoothing = 'nan' (command line), expected a number from 0 to below 1"},
    {{"--label-smoothing", "0.1 "},
     "option --label-smoothing = '0.1 ' (command line), expected a number from 0 to below 1"},
    {{"--config", "/nonexistent/run.ini"},
     "cannot read config file '/nonexistent/run.ini' (No such file or directory). Check the path."},
    {{"--config", "/"}, "cannot read config file '/' (not a regular file). Check the path."},
};

TEST(Refusal, OnTheCommandLine) {
  for (const auto& [arguments, sentence] : kOnCommandLine) {
    EXPECT_EQ(complaint(with_required(arguments)), sentence);
  }
}

TEST(Refusal, RequiredOptions) {
  EXPECT_EQ(complaint({}),
            "option --model is missing. Give --model FILE, or set TALLY_MODEL, or write 'model = "
            "FILE' into the --config file.");
  EXPECT_THAT(complaint({"--model", "m"}), StartsWith("option --data is missing. Give --data"));
}

TEST(Refusal, TheHelpOfACommandIsNoOption) {
  EXPECT_THAT(complaint(with_required({"--help"})), StartsWith("unknown option"));
}

TEST(Refusal, InTheEnvironment) {
  EXPECT_EQ(complaint(with_required({}), {"TALLY_BATCH_SIZE=12x"}),
            "option --batch-size = '12x' (environment variable TALLY_BATCH_SIZE), expected a whole "
            "number from 1 to 16777216 or 'auto'");
  EXPECT_EQ(complaint(with_required({"--limit", "3"}), {"TALLY_LIMIT=-2"}),
            "option --limit = '-2' (environment variable TALLY_LIMIT), expected a whole number "
            "from 0 to 9223372036854775807");
  EXPECT_EQ(complaint(with_required({}), {"TALLY_LIMIT=1", "TALLY_LIMIT=2"}),
            "option --limit is given twice: '1' (environment variable TALLY_LIMIT) and '2' "
            "(environment variable TALLY_LIMIT)");
}

struct FileRefusal {
  std::string content;
  std::string before, after;  // what stands around the path in the sentence
};

const std::vector<FileRefusal> kInFile{
    {"\n# x\nbatchsize = 3\n", "unknown option 'batchsize' ('", "':3). Did you mean 'batch-size'?"},
    {"batch-size = 12x\n", "option --batch-size = '12x' ('",
     "':1), expected a whole number from 1 to 16777216 or 'auto'"},
    {"batch-size =\n", "option --batch-size = '' ('",
     "':1), expected a whole number from 1 to 16777216 or 'auto'"},
    {"overwrite =\n", "option --overwrite = '' ('", "':1), expected true or false"},
    {"limit = 1\nlimit = 1\n", "option --limit is given twice: '1' ('", "':2)"},
    {"just words\n", "'just words' ('",
     "':1) is no 'name = value'. Lines of a config file have the form 'batch-size = 32'."},
    {"= 3\n", "unknown option '' ('", "':1). --help lists the options."},
    {"[run]\nlimit = 3\n", "'[run]' ('",
     "':1) is no 'name = value'. Lines of a config file have the form 'batch-size = 32'."},
    {"weights = a#b\n", "a '#' behind a value ('",
     "':1). Give comments lines of their own, and a value that holds '#' on the command line."},
    {"weights = a #1.pth\n", "a '#' behind a value ('",
     "':1). Give comments lines of their own, and a value that holds '#' on the command line."},
    {"--batch-size = 3\n", "unknown option '--batch-size' ('", "':1). Did you mean 'batch-size'?"},
    {"config = other.ini\n", "a config file cannot name another one ('", "':1)"},
    {std::string("limit = 3\0\n", 11), "config file '",
     "' is not a text file. Lines of a config file have the form 'batch-size = 32'."},
};

TEST(Refusal, InAConfigFile) {
  for (const auto& [content, before, after] : kInFile) {
    const TemporaryFile file(content);
    const auto sentence = complaint(with_required({"--config", file.path()}));
    EXPECT_THAT(sentence, StartsWith(before + file.path()));
    EXPECT_THAT(sentence, ::testing::EndsWith(after));
    EXPECT_THAT(sentence, ::testing::Not(HasSubstr("\n")));
  }
}

}  // namespace
}  // namespace tally::config
