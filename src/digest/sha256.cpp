#include <openssl/evp.h>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/unique_handle.hpp>
#include <tally/digest/digest.hpp>

namespace tally::digest {
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

EvpContext new_context() {
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
  require(EVP_DigestUpdate(context_->evp.get(), bytes.data(), bytes.size()));
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
