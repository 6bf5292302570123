#include <fmt/format.h>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/rows.h"
#include "sotto/frame_link.h"
#include "spec/make_job.h"
#include "traffic/planned_download.h"
#include "traffic/traffic.h"
#include "views/output_file.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kFooter[] =
    "Bytes are counted in the stream under TLS; what TCP, IP or a radio adds comes on top.\n"
    "Example: sotto traffic --model lenet --frame 510 --link-frame 64 --delay 120 --speed 1200";

struct TrafficRequest : JobRequest {
  uint32_t devices = 1000;
  LinkShape link;
  double delay_ms = 0;
  double bytes_per_s = 0;  // 0: any number
  std::string json;
};

std::vector<Field<TrafficRequest>> TrafficRows() {
  using Row = Field<TrafficRequest>;
  std::vector<Row> rows = {
      Row("devices", &TrafficRequest::devices, "devices in the fleet, N").Within({1, 1000000}),
      Row("frame", At(&TrafficRequest::link, &LinkShape::max_frame),
          "largest message that a device takes, ClientConfig::max_frame; sotto-client takes 4096")
          .Within({kMinMaxFrame, 16384})
          .Unit("bytes"),
      Row("link-frame", At(&TrafficRequest::link, &LinkShape::link_frame),
          "frame of a link of small frames below TLS, sdk/LINKS.md; 0: the link is a stream")
          .Within({0, kLargestFrame})
          .Unit("bytes"),
      Row("window", At(&TrafficRequest::link, &LinkShape::window),
          "frames in a turn of the link of --link-frame, a power of two")
          .Within({1, kLargestWindow})
          .Needs("link-frame"),
      Row("delay", &TrafficRequest::delay_ms,
          "time of a turnaround on the link, to compute the time of a participation")
          .Within({0, 1e6})
          .Unit("ms"),
      Row("speed", &TrafficRequest::bytes_per_s,
          "speed of the link each way, to compute the time; 0: no limit")
          .Within({0, 1e9})
          .Unit("bytes a second"),
  };
  for (Row& row : rows) row.group = Group::kFleet;
  Row json = JsonRow<TrafficRequest>();
  json.group = Group::kRun;
  rows.push_back(json);
  return rows;
}

// A line of the table.
struct Line {
  const char* name;
  const char* json;
  Traffic traffic;
};

struct Answer {
  JobConfig job;
  double upload = 0;
  PlannedParticipation planned;
  std::vector<Line> lines;  // of a participation, in its order
  Traffic handshake;
  Traffic resumed_handshake;
  Traffic idle_poll;
};

Answer AnswerOf(const TrafficRequest& r) {
  Answer answer;
  answer.job = MakeJob(r, r.devices);
  if (!answer.job.codec->servable) {
    throw std::invalid_argument(
        fmt::format("--mechanism {}: only simulations have such updates, and no device sends them; "
                    "name a mechanism of `sotto serve`",
                    answer.job.codec->name));
  }
  answer.upload = UpdateBytes(answer.job);
  answer.planned = PlanParticipation(answer.job, answer.upload, r.link);
  const Participation& parts = answer.planned.parts;
  answer.lines = {{"Hello, Train", "task", parts.task},
                  {"model", "model", parts.model},
                  {"update", "update", parts.update}};
  answer.handshake = HandshakeOver(kFullHandshake, r.link);
  answer.resumed_handshake = HandshakeOver(kResumedHandshake, r.link);
  answer.idle_poll = IdlePoll(r.link);
  return answer;
}

std::string BytesText(double bytes) { return fmt::format("{:.0f}", bytes); }

// Of traffic on the link that was asked for; empty: no link was.
std::string TimeText(const TrafficRequest& r, const Traffic& traffic) {
  if (r.delay_ms == 0 && r.bytes_per_s == 0) return "";
  const double on_the_way = r.bytes_per_s == 0 ? 0 : (traffic.up + traffic.down) / r.bytes_per_s;
  return fmt::format("{:>10.1f} s", on_the_way + traffic.turns * r.delay_ms / 1000);
}

std::string LineText(const TrafficRequest& r, const char* name, const Traffic& traffic) {
  return fmt::format("  {:<28}{:>12}{:>12}{:>9.0f}{}\n", name, BytesText(traffic.up),
                     BytesText(traffic.down), traffic.turns, TimeText(r, traffic));
}

std::string Describe(const TrafficRequest& r, const Answer& answer) {
  const JobConfig& job = answer.job;
  std::string text = fmt::format(
      "{}, {} parameters; {} sampling, {} of {} devices; messages of at most {} bytes\n",
      job.model->name, job.model->parameters, privacy::Name(job.plan.sampling),
      BytesText(job.plan.ExpectedCohort()), job.plan.devices, r.link.max_frame);
  text += fmt::format("  {:<28}{:>12}{:>12}{:>9}\n", "one participation", "bytes up", "bytes down",
                      "turns");
  for (const Line& line : answer.lines) text += LineText(r, line.name, line.traffic);
  const Traffic total = answer.planned.parts.Total();
  const Traffic& as_float32 = answer.planned.as_float32;
  text += LineText(r, "all of it", total);
  text += LineText(r, "with float32 both ways", as_float32);
  text += fmt::format("  both ways {:.1f} times fewer bytes than float32\n",
                      as_float32.Bytes() / total.Bytes());
  if (answer.planned.download) {
    text += fmt::format(
        "  the model is a code of {:.0f} bytes in the mean of all rounds, of which the first one "
        "needs "
        "none; {:.0f} for a newcomer, {:.0f} at most; float32 {}\n",
        answer.planned.download->mean, answer.planned.download->first,
        answer.planned.download->largest, 4 * uint64_t{job.model->parameters});
  }
  text += LineText(r, "once a connection: handshake", answer.handshake);
  text += LineText(r, "  resumed by a ticket", answer.resumed_handshake);
  text += LineText(r, "a poll without work", answer.idle_poll);
  return text;
}

Json TrafficToJson(const Traffic& traffic) {
  return {{"bytes_up", traffic.up}, {"bytes_down", traffic.down}, {"turns", traffic.turns}};
}

Json ToJson(const TrafficRequest& r, const Answer& answer) {
  Json json = {{"model", answer.job.model->name},
               {"parameters", answer.job.model->parameters},
               {"frame", r.link.max_frame},
               {"upload_bytes", answer.upload},
               {"download_bytes", nullptr}};
  if (answer.planned.download) {
    json["download_bytes"] = {{"mean", answer.planned.download->mean},
                              {"first", answer.planned.download->first},
                              {"largest", answer.planned.download->largest}};
  }
  for (const Line& line : answer.lines) json[line.json] = TrafficToJson(line.traffic);
  json["participation"] = TrafficToJson(answer.planned.parts.Total());
  json["float32_both_ways"] = TrafficToJson(answer.planned.as_float32);
  json["handshake"] = TrafficToJson(answer.handshake);
  json["resumed_handshake"] = TrafficToJson(answer.resumed_handshake);
  json["idle_poll"] = TrafficToJson(answer.idle_poll);
  return json;
}

void RunTraffic(const TrafficRequest& request) {
  const uint32_t frame = request.link.link_frame;
  if (frame != 0 && frame < kSmallestFrame) {
    throw std::invalid_argument(fmt::format(
        "--link-frame {}: a link of small frames takes frames of {} to {} bytes; 0: a stream",
        frame, kSmallestFrame, kLargestFrame));
  }
  const uint32_t window = request.link.window;
  if ((window & (window - 1)) != 0) {
    throw std::invalid_argument(
        fmt::format("--window {}: a link of small frames has a power of two, up to {}", window,
                    kLargestWindow));
  }
  RequireOutput(request.json);
  const Answer answer = AnswerOf(request);
  PrintResults(request.json, Describe(request, answer), ToJson(request, answer));
}

}  // namespace

posix::Command TrafficCommand() {
  posix::CommandFor<TrafficRequest> command(
      "traffic", "bytes and turnarounds of a participation, both ways, for a plan and a link");
  TakeJob(TrafficRows(), Group::kFleet, {}, JobFields(), &command);
  return command.Footer(kFooter).Runs(RunTraffic);
}

}  // namespace sotto::server
