// SPDX-License-Identifier: Apache-2.0
// Stands in for a profiler: NVTX loads it (NVTX_INJECTION64_PATH), and it notes the ranges it is
// told.
#include <nvtx3/nvToolsExt.h>

#include <string>

namespace {

std::string seen;

int push(const char* name) {
  seen += std::string(name) + "(";
  return 0;
}

int pop() {
  seen += ")";
  return 0;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): NVTX looks for the first name
extern "C" int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table) {
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (callbacks == nullptr ||
      callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size) == 0 ||
      size <= NVTX_CBID_CORE_RangePop) {
    return 0;
  }
  *table[NVTX_CBID_CORE_RangePushA] = reinterpret_cast<NvtxFunctionPointer>(&push);
  *table[NVTX_CBID_CORE_RangePop] = reinterpret_cast<NvtxFunctionPointer>(&pop);
  return 1;
}
// NOLINTEND(readability-identifier-naming)

extern "C" const char* ranges_seen() { return seen.c_str(); }
