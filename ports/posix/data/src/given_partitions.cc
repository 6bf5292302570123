// The rows of the table of partitions that do what the data or a file say.
#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "partition_rows.h"
#include "sotto/options/numbers.h"
#include "sotto/posix/files.h"
#include "sotto/posix/text.h"
#include "values.h"

namespace sotto {
namespace {

// A file of `--partition file`: a line a sample, or lines SAMPLE,DEVICE.
class PartitionFile {
 public:
  explicit PartitionFile(const Deal& deal) : deal_(deal), lines_(deal.value) {}

  Partition Read() {
    for (std::string line; lines_.Next(&line);) TakeLine(line);
    if (!has_pairs_ && samples_.size() != deal_.data.size()) {
      throw Defect(fmt::format("has {} samples, expected a line for each of the {} of {}",
                               samples_.size(), deal_.data.size(), deal_.data.name()));
    }
    RequireNoSampleTwice();
    OwnedShares shares = SharesOf(samples_, owners_, deal_.devices);
    return {std::move(shares.starts), std::move(shares.samples)};
  }

 private:
  void TakeLine(std::string_view line) {
    const size_t comma = line.find(',');
    const std::string_view first = Trimmed(line.substr(0, comma));
    const std::string_view last = comma == line.npos ? first : Trimmed(line.substr(comma + 1));
    if (lines_.is_first()) {
      has_pairs_ = comma != std::string_view::npos;
      if (IsWord(last, "device") && (!has_pairs_ || IsWord(first, "sample"))) return;
    }
    if (has_pairs_ != (comma != std::string_view::npos)) {
      throw LineDefect(line, has_pairs_ ? "SAMPLE,DEVICE as in the lines before"
                                        : "one device as in the lines before");
    }
    samples_.push_back(has_pairs_ ? Sample(line, first) : static_cast<uint32_t>(samples_.size()));
    owners_.push_back(Owner(line, last));
  }

  static bool IsWord(std::string_view text, std::string_view word) {
    return std::equal(text.begin(), text.end(), word.begin(), word.end(),
                      [](char a, char b) { return (a | 0x20) == b; });
  }

  uint32_t Sample(std::string_view line, std::string_view text) const {
    const std::optional<uint64_t> sample = posix::ParseCount(text);
    if (sample && *sample < deal_.data.size()) return static_cast<uint32_t>(*sample);
    throw LineDefect(line, fmt::format("SAMPLE,DEVICE with a sample of {} from 0 to {}",
                                       deal_.data.name(), deal_.data.size() - 1));
  }

  uint32_t Owner(std::string_view line, std::string_view text) const {
    if (text == "-") return kNobody;
    const std::optional<uint64_t> device = posix::ParseCount(text);
    if (device && *device < deal_.devices) return static_cast<uint32_t>(*device);
    throw LineDefect(line, fmt::format("{}a device from 0 to {} (--devices {}), or - for none",
                                       has_pairs_ ? "SAMPLE,DEVICE with " : "", deal_.devices - 1,
                                       deal_.devices));
  }

  // Both lists are walked in the order of sample and device.
  void RequireNoSampleTwice() const {
    if (!has_pairs_) return;
    std::vector<size_t> order(samples_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const auto key = [&](size_t i) { return std::make_pair(samples_[i], owners_[i]); };
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key(a) < key(b); });
    const auto twice = std::adjacent_find(order.begin(), order.end(), [&](size_t a, size_t b) {
      return key(a) == key(b) && owners_[a] != kNobody;
    });
    if (twice == order.end()) return;
    throw Defect(fmt::format("gives sample {} to device {} twice, expected once", samples_[*twice],
                             owners_[*twice]));
  }

  posix::FileError LineDefect(std::string_view line, const std::string& expected) const {
    const bool may_be_header = lines_.is_first() && line.find_first_of("0123456789-") == line.npos;
    return lines_.Defect(
        line, "expected " + expected +
                  (may_be_header ? "; a header names the columns in this order: device, or "
                                   "sample,device"
                                 : ""));
  }
  posix::FileError Defect(const std::string& what) const {
    return posix::FileError(fmt::format("{}: {}", deal_.value, what));
  }

  const Deal& deal_;
  posix::TextLines lines_;
  bool has_pairs_ = false;
  std::vector<uint32_t> samples_;
  std::vector<uint32_t> owners_;
};

}  // namespace

Partition DealGroups(const Deal& deal) {
  const uint32_t groups = deal.data.group_count();
  if (deal.devices > groups) {
    throw std::invalid_argument(
        fmt::format("partition group: {} is from {} groups, and {} devices want one each; use "
                    "--devices {} or fewer",
                    deal.data.name(), groups, deal.devices, groups));
  }
  std::vector<uint32_t> samples(deal.data.size());
  std::iota(samples.begin(), samples.end(), 0U);
  std::vector<uint32_t> owners;
  owners.reserve(samples.size());
  for (const uint32_t sample : samples) {
    const uint32_t group = deal.data.Group(sample);
    owners.push_back(group < deal.devices ? group : kNobody);
  }
  OwnedShares shares = SharesOf(samples, owners, deal.devices);
  return {std::move(shares.starts), std::move(shares.samples)};
}

Partition DealFile(const Deal& deal) { return PartitionFile(deal).Read(); }

}  // namespace sotto
