#include "job_model.h"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>
#include <utility>

#include "sotto/model/model_bundle.h"
#include "sotto/model/model_difference.h"
#include "sotto/model/model_text.h"
#include "sotto/models.h"
#include "sotto/options/kit_file.h"
#include "trainee.h"

namespace sotto::posix {
namespace {

static_assert(kMaxDifference <= kMaxDifferenceSize);

constexpr double kMegabyte = 1e6;
constexpr size_t kMostToCompare = 1 << 20;  // bytes of a description that only tells what differs

// What to do about another model.
std::string Remedy(const std::string& name, const ModelInfo& own) {
  if (name.empty()) return "another one; name the job's model with --model";
  if (name == own.name) {
    return fmt::format("another model of the name {}; name the job's file with --model", name);
  }
  if (FindModel(name.c_str()) == nullptr) {
    return fmt::format("{}; name the file of that model with --model", name);
  }
  return fmt::format("{0}; name the job's model with --model {0}", name);
}

bool IsAccepted(const ClientOptions& options, const std::string& digest) {
  if (options.accept_model.empty()) return false;
  const std::vector<std::string> accepted = AcceptedDigests(options.accept_model);
  return options.accept_model == kEveryModel ||
         std::find(accepted.begin(), accepted.end(), digest) != accepted.end();
}

std::string Beginning(const std::string& text) { return text.substr(0, kMaxDifferenceSize); }

// One that the owner does not accept.
JobModel Unaccepted(const ClientOptions& options, const ModelInfo* own, const std::string& name,
                    const ModelInfo& job, const std::string& digest) {
  const std::string difference = own == nullptr ? std::string() : DifferenceOf(*own, job);
  if (options.accept_model.empty()) {
    return {nullptr,
            fmt::format("{}; {}, or take it with --accept-model {}", difference,
                        WhyMismatch(name, own), digest),
            difference};
  }
  const std::string why = fmt::format(
      "--accept-model does not list the job's model {}, of digest {}", DescribeModel(job), digest);
  return {nullptr, why, difference.empty() ? "its owner does not accept this model" : difference};
}

}  // namespace

Request Download::NextRequest() const {
  Request request;
  request.kind = Request::Kind::kGetDescription;
  request.offset = static_cast<uint32_t>(bytes_.size());
  return request;
}

bool Download::Refuse(std::string why) {
  why_ = std::move(why);
  return false;
}

bool Download::Take(const Reply& reply) {
  if (reply.kind != Reply::Kind::kDescriptionChunk) {
    return Refuse("the server does not describe its model");
  }
  if (reply.size > most_) {
    return Refuse(
        fmt::format("the description of the job's model has {} bytes, and this device "
                    "takes {}: see --model-memory",
                    reply.size, most_));
  }
  const bool is_other = size_ != 0 && reply.size != size_;
  if (is_other || reply.bytes.size() > reply.size - bytes_.size()) {
    return Refuse("the job's model has changed while the device asked for it");
  }
  size_ = reply.size;
  bytes_.insert(bytes_.end(), reply.bytes.begin(), reply.bytes.end());
  return true;
}

size_t MostDescriptionBytes(const ClientOptions& options) {
  if (options.accept_model.empty()) return kMostToCompare;
  return std::min(kMaxBundle, static_cast<size_t>(options.model_memory_mb * kMegabyte));
}

std::string WhyMismatch(const std::string& name, const ModelInfo* own) {
  if (own == nullptr) return "this device has no model; name the job's model with --model";
  return fmt::format("this device has model {}, the job trains {}", DescribeModel(*own),
                     Remedy(name, *own));
}

JobModel Judge(const ClientOptions& options, const ModelInfo* own, const std::string& name,
               ByteSpan description) {
  SharedModel model;
  try {
    model = ParseBundle(description);
  } catch (const std::invalid_argument& error) {
    return {nullptr,
            fmt::format("the server's description of its model is wrong: {}", error.what()),
            "the description of the model is wrong"};
  }
  const std::string digest = ModelDigestHex(*model);
  if (!IsAccepted(options, digest)) return Unaccepted(options, own, name, *model, digest);
  const double needs_mb =
      static_cast<double>(Trainee::Bytes(*model) + description.size()) / kMegabyte;
  if (needs_mb > options.model_memory_mb) {
    const std::string why =
        fmt::format("the job's model {} needs {:.1f} MB, and --model-memory is {}",
                    DescribeModel(*model), needs_mb, options.model_memory_mb);
    return {nullptr, why, Beginning(why)};
  }
  return {std::move(model), "", ""};
}

}  // namespace sotto::posix
