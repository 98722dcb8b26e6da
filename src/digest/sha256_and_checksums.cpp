// SPDX-License-Identifier: Apache-2.0
#include <tally/digest/sha256_and_checksums.hpp>

#include <algorithm>
#include <limits>

#include <isa-l/crc.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <tally/base/activity.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/unique_handle.hpp>

namespace tally::digest {

std::uint32_t crc32(std::uint32_t before, std::span<const std::byte> bytes) {
  // Unlike crc32_iscsi() below, this function makes both inversions itself.
  return crc32_gzip_refl(before, reinterpret_cast<const unsigned char*>(bytes.data()),
                         bytes.size());
}

std::uint32_t crc32c(std::span<const std::byte> bytes) {
  // The library takes and returns the register as it is: the inversions before and after are ours.
  // It counts in int, and its argument is not const though it only reads.
  constexpr std::size_t kPiece = std::numeric_limits<int>::max();
  std::uint32_t crc = ~std::uint32_t{0};
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(bytes.size(), kPiece));
    auto* data = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(piece.data()));
    crc = crc32_iscsi(data, static_cast<int>(piece.size()), crc);
    bytes = bytes.subspan(piece.size());
  }
  return ~crc;
}

namespace {

// The sums are modulo 65535, where 2^16 is 1: the upper half may be added to the lower one.
constexpr std::uint32_t folded(std::uint32_t sum) { return (sum & 0xffffU) + (sum >> 16U); }

}  // namespace

std::uint32_t fletcher32(std::span<const std::byte> bytes) {
  constexpr std::size_t kWords = 360;  // until which the second sum stays below 2^32
  std::uint32_t first = 0, second = 0;
  while (bytes.size() >= 2) {
    const std::size_t words = std::min(kWords, bytes.size() / 2);
    for (std::size_t i = 0; i < words; ++i) {
      first += std::to_integer<std::uint32_t>(bytes[2 * i]) << 8U |
               std::to_integer<std::uint32_t>(bytes[2 * i + 1]);
      second += first;
    }
    first = folded(first);
    second = folded(second);
    bytes = bytes.subspan(2 * words);
  }
  if (!bytes.empty()) {
    first += std::to_integer<std::uint32_t>(bytes[0]) << 8U;
    second += first;
    first = folded(first);
    second = folded(second);
  }
  return folded(second) << 16U | folded(first);
}

namespace {

struct ContextTraits {
  using Handle = EVP_MD_CTX*;
  static Handle invalid() noexcept { return nullptr; }
  static void close(Handle context) noexcept { EVP_MD_CTX_free(context); }
};
using EvpContext = UniqueHandle<ContextTraits>;

void require(int result) {
  if (result != 1) throw Error(ErrorKind::environment, "OpenSSL cannot compute SHA-256");
}

// Before anything else OpenSSL would read its file of settings, which OPENSSL_CONF may name and
// which may load code. A hash needs none of them.
void leave_out_settings() {
  static const int kDone = OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
  require(kDone);
}

EvpContext new_context() {
  leave_out_settings();
  EvpContext context(EVP_MD_CTX_new());
  require(context ? 1 : 0);
  return context;
}

}  // namespace

struct Sha256::Context {
  EvpContext evp = new_context();
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  require(EVP_DigestInit_ex(context_->evp.get(), EVP_sha256(), nullptr));
}
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

void Sha256::update(std::span<const std::byte> bytes) {
  made_progress();
  require(EVP_DigestUpdate(context_->evp.get(), bytes.data(), bytes.size()));
  record(bytes);
}

void Sha256::keep(std::int64_t most_bytes) {
  most_bytes_ = most_bytes;
  num_bytes_ = 0;
  recorded_.clear();
}

void Sha256::record(std::span<const std::byte> bytes) {
  num_bytes_ += static_cast<std::int64_t>(bytes.size());
  if (num_bytes_ <= most_bytes_) {
    recorded_.insert(recorded_.end(), bytes.begin(), bytes.end());
  } else {
    std::vector<std::byte>().swap(recorded_);
  }
}

void Sha256::update(std::string_view text) { update(std::as_bytes(std::span(text))); }

std::string Sha256::hex() const {
  const EvpContext copy = new_context();  // finishing ends a context; the original may go on
  require(EVP_MD_CTX_copy_ex(copy.get(), context_->evp.get()));
  unsigned char value[EVP_MAX_MD_SIZE];
  unsigned int num_bytes = 0;
  require(EVP_DigestFinal_ex(copy.get(), value, &num_bytes));
  return format("{:02x}", fmt::join(value, value + num_bytes, ""));
}

std::string sha256_hex(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.hex();
}

std::string sha256_hex(std::string_view text) { return sha256_hex(std::as_bytes(std::span(text))); }

}  // namespace tally::digest
