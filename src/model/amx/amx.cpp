#include <tally/model/amx.hpp>

#include <cstdlib>

#include "amx/amx_decision.hpp"
#include "amx/amx_instructions.hpp"
#include "amx/child_process.hpp"
#include "kernels/isa_cap.hpp"

namespace tally::model {
namespace {

bool decide() {
  AmxFacts facts;
  facts.is_announced = announces_amx();
  facts.works = facts.is_announced && succeeds_in_child(multiply_tiles);
  facts.onednn_cap = onednn_cap();
  if (const char* cap = std::getenv("MKL_ENABLE_INSTRUCTIONS")) facts.mkl_cap = cap;
  const auto decision = decide_amx(facts);
  for (const auto& [name, value] : decision.to_set) setenv(name.c_str(), value.c_str(), 1);
  return decision.is_left_out;
}

}  // namespace

bool leave_out_broken_amx() {
  static const bool kIsLeftOut = decide();
  return kIsLeftOut;
}

}  // namespace tally::model
