#include "best_checkpoint_link.hpp"

#include <utility>

#include <tally/base/format.hpp>
#include <tally/base/log.hpp>
#include <tally/base/printable.hpp>
#include <tally/watch/best.hpp>

namespace tally::app {

BestCheckpointLink::BestCheckpointLink(std::string how, const std::filesystem::path& output,
                                       const watch::CheckpointFolder& folder)
    : how_(std::move(how)), target_(output / "best"), folder_(folder) {}

void BestCheckpointLink::update(const watch::Checkpoint& best) {
  if (how_ == "none") return;
  const bool is_linked = linked_ && watch::is_same_version(*linked_, best);
  if (is_linked && how_ == "copy") return;
  if (!folder_.is_still(best)) return remove(best);
  if (is_linked) return;
  if (how_ == "link") {
    watch::link_best(best.path, target_);
  } else if (!watch::copy_best(best.path, target_, [&] { return folder_.is_still(best); })) {
    return remove(best);
  }
  linked_ = best;
  lost_.reset();
}

void BestCheckpointLink::remove(const watch::Checkpoint& best) {
  if (lost_ && watch::is_same_version(*lost_, best)) return;
  lost_ = best;
  linked_.reset();
  if (how_ == "link") watch::remove_link(target_);
  log::warning(format("the best checkpoint '{}' is not there as it was: {}",
                      printable(best.path.string()),
                      how_ == "link" ? "nothing is left of it; --keep-best copy keeps the best"
                                     : format("'{}' stays as it is", printable(target_.string()))));
}

}  // namespace tally::app
