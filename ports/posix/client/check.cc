#include "check.h"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "connection.h"
#include "ending.h"
#include "failure.h"
#include "job_model.h"
#include "kit.h"
#include "outputs.h"
#include "share.h"
#include "sotto/data/device_share.h"
#include "sotto/model/model_bundle.h"
#include "sotto/model/model_text.h"
#include "sotto/posix/files.h"
#include "sotto/posix/terminal.h"

namespace sotto::posix {
namespace {

void Say(std::string_view what, const std::string& text) {
  fmt::print(stdout, "{}: {}\n", what, Printable(text));
}

// What the server has said.
struct Contact {
  int status = 0;  // of exit: whether it is the device's server, and knows its key
  std::string text;
  std::vector<uint8_t> description;  // of the job's model; empty: it has none for now
};

// The answer in the place of a part of the description.
void TakeOther(const Reply& reply, const Download& download, Contact* contact) {
  contact->text = "it knows this device's key";
  if (reply.kind != Reply::Kind::kError) {
    contact->text += "; " + download.why();
  } else if (reply.code == ErrorCode::kBusy) {
    contact->text += "; no job runs there now";
  } else {
    contact->status = kExitRefused;
    contact->text = Reason(reply.code);
  }
}

Contact AskServer(const ClientOptions& options, const HostPort& server, const DeviceKey& key) {
  Contact contact;
  Connection link({server}, key, kMaxFrame);
  Status status = link.Open() ? Status::kOk : Status::kLinkLost;
  Download download(MostDescriptionBytes(options));
  while (status == Status::kOk && !download.is_whole()) {
    Reply reply;
    status = link.Exchange(download.NextRequest(), &reply, kUntilAnsweredMs);
    if (status != Status::kOk || download.Take(reply)) continue;
    TakeOther(reply, download, &contact);
    link.Close();
    return contact;
  }
  if (status != Status::kOk) {
    const bool is_refused = status == Status::kPeerRefused || status == Status::kMismatch;
    contact.status = is_refused ? kExitRefused : kExitNoServer;
    contact.text = WhyLost(link, key.device_id, status).reason;
  } else {
    contact.text = "it knows this device's key, and a job runs there";
    contact.description.assign(download.bytes().begin(), download.bytes().end());
  }
  link.Close();
  return contact;
}

// Asks one server after the other until one is the device's, and prints what each has said.
Contact AskServers(const ClientOptions& options, const DeviceKey& key) {
  Contact contact;
  int status = kExitNoServer;
  for (const HostPort& server : ParseServerAddresses(options.server)) {
    contact = AskServer(options, server, key);
    Say("server", fmt::format("{}: {}", AddressText(server), contact.text));
    status = std::min(status, contact.status);
    if (contact.status == 0) break;
  }
  contact.status = status;
  return contact;
}

SharedModel ModelIn(const std::vector<uint8_t>& description) {
  try {
    return ParseBundle({description.data(), description.size()});
  } catch (const std::invalid_argument&) {
    return nullptr;  // Judge() says why
  }
}

// The model that a run would train, as far as it is known; null: it would wait for a job.
//   status  becomes kExitRefused if the job's is another one that the device does not take
SharedModel ModelToTrain(const ClientOptions& options, const SharedModel& own,
                         const std::vector<uint8_t>& description, int* status) {
  if (description.empty()) {
    Say("model", own != nullptr ? DescribeModel(*own)
                                : std::string("the next job's, which is not known yet"));
    return own;
  }
  const SharedModel job = ModelIn(description);
  if (own != nullptr && job != nullptr && ModelDigestHex(*own) == ModelDigestHex(*job)) {
    Say("model", DescribeModel(*own) + ", which the job trains");
    return own;
  }
  JobModel judged = Judge(options, own.get(), job == nullptr ? "" : job->name,
                          {description.data(), description.size()});
  if (judged.model == nullptr) {
    Say("model", judged.reason);
    *status = kExitRefused;
    return own;
  }
  Say("model", fmt::format("takes the job's, {}", DescribeModel(*judged.model)));
  return std::move(judged.model);
}

// Whether they suit the model, as far as it is known.
bool CheckData(const ClientOptions& options, const SharedModel& model) {
  if (model == nullptr) {
    try {
      RequireData(options);
    } catch (const FileError& error) {
      Say("data", error.what());
      return false;
    }
    Say("data",
        "they are there; which labels and columns they need is known once there is a model: "
        "check again when a job runs, or name the model with --model");
    return true;
  }
  const Share share = ShareFor(options, *model);
  if (!share.unsuited.empty()) {
    Say("data", fmt::format("they do not suit the model, or cannot be read: {}", share.unsuited));
    return false;
  }
  const DeviceShare samples(*share.data, share.view(), options.held_out);
  const RecordedSamples* const recorded = share.recorded.get();
  Say("data",
      fmt::format("{} samples to train on, and {} held out",
                  recorded != nullptr ? recorded->training() : samples.source().count,
                  recorded != nullptr ? recorded->held_out() : samples.held_out_source().count));
  for (const std::string& line : DescribeData(share)) {
    const size_t colon = line.rfind("labels: ", 0) == 0 ? 6 : std::string::npos;
    Say(colon == 6 ? "labels" : "note", colon == 6 ? line.substr(8) : line);
  }
  return true;
}

const char* ResultText(int status) {
  switch (status) {
    case 0:
      return "a run would take part";
    case kExitUsage:
      return "a run would train on none of these data, or not start: mend them";
    case kExitNoServer:
      return "a run would try the server again and again";
    default:
      return "a run would take no part";
  }
}

}  // namespace

int CheckDevice(const ClientOptions& options) {
  CheckOptions(options);
  RequireOutputs(options);
  const SharedModel own = ModelOf(options);
  const DeviceKey key = KeyOf(options);
  Say("device",
      fmt::format("{}, of {}", key.device_id, options.key.empty() ? options.kit : options.key));
  // First: the server sees the same whatever the data are.
  const Contact contact = AskServers(options, key);
  int status = contact.status;
  const SharedModel model = ModelToTrain(options, own, contact.description, &status);
  if (!CheckData(options, model)) status = kExitUsage;
  Say("result",
      status == 0 && model == nullptr ? "a run would wait for a job" : ResultText(status));
  return status;
}

}  // namespace sotto::posix
