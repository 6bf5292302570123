// Tests of the metrics and of the alarms that follow from them.
#include <gtest/gtest.h>
#include <string>

#include "service/metrics.h"
#include "service/monitor.h"
#include "service/report.h"

namespace sotto::server {
namespace {

bool Shows(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

TEST(ServeMetrics, AreInTheTextFormatWithTypeAndHelp) {
  NetworkFigures network;
  network.connections = 7;
  network.max_connections = 4096;
  network.refused = 3;
  network.loop_stall_ms_max = 12.5;
  JobFigures job;
  job.rounds_released = 4;
  RoundOutcome outcome;
  outcome.released = true;
  outcome.reported = 80;
  job.rounds.Add(outcome);
  const std::string text = MetricsText(network, job);
  EXPECT_TRUE(Shows(text, "# TYPE sotto_connections gauge\nsotto_connections 7\n")) << text;
  EXPECT_TRUE(Shows(text, "# HELP sotto_connections_limit --max-connections")) << text;
  EXPECT_TRUE(Shows(text, "# TYPE sotto_connections_refused_total counter\n")) << text;
  EXPECT_TRUE(Shows(text, "sotto_connections_refused_total 3\n")) << text;
  EXPECT_TRUE(Shows(text, "sotto_loop_stall_seconds_max 0.0125\n")) << text;
  EXPECT_TRUE(Shows(text, "sotto_rounds_released 4\n")) << text;
  EXPECT_TRUE(Shows(text, "sotto_updates_accepted_total 80\n")) << text;
  EXPECT_TRUE(Shows(text, "# TYPE sotto_last_reported gauge\nsotto_last_reported 80\n")) << text;
}

// The alert SottoJobOver rests on it.
TEST(ServeMetrics, AJobIsOverHoweverItEnded) {
  JobFigures job;
  EXPECT_TRUE(Shows(MetricsText({}, job), "\nsotto_job_over 0\n"));
  job.rounds_planned = 60;
  job.rounds_released = 45;
  job.end = Halt::kBudget;
  const std::string text = MetricsText({}, job);
  EXPECT_TRUE(Shows(text, "\nsotto_job_over 1\n")) << text;
  EXPECT_TRUE(Shows(text, "sotto_job_ended{kind=\"budget\"} 1\n")) << text;
  EXPECT_TRUE(Shows(text, "sotto_job_ended{kind=\"all-rounds\"} 0\n")) << text;
}

TEST(ServeMetrics, AQuietNetworkIsNoReasonForAnAlarm) {
  NetworkFigures before;
  before.refused = 5;
  before.failed_handshakes = 100;
  before.loop_stall_ms_max = 70;
  NetworkFigures now = before;
  now.accepted = 1000;
  now.failed_handshakes += 60;
  EXPECT_TRUE(NetworkAlarms(before, now, 1.0).empty());
}

TEST(ServeMetrics, WhatAnOperatorMustLookAtIsALineWithWhatToDo) {
  const NetworkFigures before;
  NetworkFigures now;
  now.refused = 12;
  now.max_connections = 99;
  now.failed_handshakes = 200;
  now.overdue = 700;
  now.loop_stall_ms_max = 61;
  const std::vector<std::string> alarms = NetworkAlarms(before, now, 1.0);
  ASSERT_EQ(alarms.size(), 4u);
  EXPECT_TRUE(Shows(alarms[0], "ALARM: 12 connections were closed at once")) << alarms[0];
  EXPECT_TRUE(Shows(alarms[0], "all 99 are taken")) << alarms[0];
  EXPECT_TRUE(Shows(alarms[1], "WARNING: 200 handshakes failed")) << alarms[1];
  EXPECT_TRUE(Shows(alarms[2], "WARNING: 700 connections came without a key")) << alarms[2];
  EXPECT_TRUE(Shows(alarms[3], "served no device for 61 ms")) << alarms[3];
  EXPECT_EQ(NetworkAlarms(before, now, 10.0).size(), 2u) << "the same in ten minutes is little";
}

// What a healthy server sees in a minute: its fleet comes again after a night, all at once, among
// as many strangers as any public port has; it computes up to its limits.
TEST(ServeMetrics, AHealthyServerAlarmsNobody) {
  NetworkFigures before;
  before.connections = before.max_connections = 4096;
  before.accepted = 9000;
  NetworkFigures now = before;
  now.sessions = 4000;
  now.accepted += 4600;
  now.replaced += 4000;
  now.delayed += 4000;
  now.failed_handshakes += 60;
  now.no_client_hello += 200;
  now.overdue += 200;
  now.made_room += 200;
  now.loop_stall_ms_max = 50;
  EXPECT_TRUE(NetworkAlarms(before, now, 1.0).empty());
  EXPECT_TRUE(NetworkAlarms(now, now, 1.0).empty()) << "an idle one";
}

TEST(ServeMetrics, AHealthyRoundIsNoWarning) {
  const DeviceRegistry devices;
  RoundOutcome outcome;
  outcome.released = true;
  outcome.devices = outcome.checked_in = 1000;
  outcome.cohort = outcome.reported = 20;
  EXPECT_TRUE(WarningsOf(outcome, devices).empty());
  outcome.reported = 10;
  outcome.rejected = 1;
  outcome.lacking.devices = 5;
  EXPECT_TRUE(WarningsOf(outcome, devices).empty()) << "some are off, or lack what the job needs";
  outcome.cohort = outcome.reported = 0;
  EXPECT_TRUE(WarningsOf(outcome, devices).empty()) << "a Poisson draw of nobody";
  outcome.released = false;
  outcome.checked_in = 1;
  EXPECT_TRUE(WarningsOf(outcome, devices).empty()) << "given up, which costs nothing";
}

}  // namespace
}  // namespace sotto::server
