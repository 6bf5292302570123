#include <chrono>
#include <fmt/format.h>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "certificate/certificate.h"
#include "cli/rows.h"
#include "lab/commands.h"
#include "sotto/certificate.h"
#include "sotto/posix/terminal.h"
#include "views/output_file.h"
#include "views/progress.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

struct CertificateRun {
  Certificate certificate;
  double wall_seconds = 0;

  bool holds() const {
    return certificate.eta <= kDitherEta && certificate.tau <= kDitherTau &&
           certificate.range >= kDitherRange;
  }
};

CertificateRun Prove() {
  const auto start = std::chrono::steady_clock::now();
  CertificateRun run;
  run.certificate = ProveCertificate(kDitherRange, [](size_t done, size_t all) {
    if (posix::StandardErrorIsTerminal()) {
      Progress(all, true).Show(done, fmt::format("{} of {} pieces of the tables", done, all));
    }
  });
  const auto elapsed = std::chrono::steady_clock::now() - start;
  run.wall_seconds = std::chrono::duration<double>(elapsed).count();
  return run;
}

std::string Describe(const CertificateRun& run) {
  const Certificate& c = run.certificate;
  return fmt::format(
      "the dither's noise e against the standard Gaussian, bounds proved for all layers\n"
      "  eta            {:.3g}: |ln(probability / Gaussian)| of every e, |e| <= {}\n"
      "                 largest at |e| = {:.4f}\n"
      "  tau            {:.3g}: probability of |e| > {}\n"
      "  mean           0, by symmetry\n"
      "  variance       1, up to {:.2g}\n"
      "  kurtosis       3, up to {:.2g}\n"
      "  work           {} nodes, {:.1f} s\n"
      "  constants      eta {}, tau {}, range {}: {}\n",
      c.eta, c.range, c.eta_at, c.tau, c.range, c.variance_error, c.kurtosis_error, c.nodes,
      run.wall_seconds, kDitherEta, kDitherTau, kDitherRange, run.holds() ? "hold" : "DO NOT HOLD");
}

Json ToJson(const CertificateRun& run) {
  const Certificate& c = run.certificate;
  return {{"eta", c.eta},
          {"eta_at", c.eta_at},
          {"range", c.range},
          {"tau", c.tau},
          {"mean", 0},
          {"variance", 1},
          {"variance_error", c.variance_error},
          {"kurtosis", 3},
          {"kurtosis_error", c.kurtosis_error},
          {"nodes", c.nodes},
          {"constants", {{"eta", kDitherEta}, {"tau", kDitherTau}, {"range", kDitherRange}}},
          {"holds", run.holds()},
          {"wall_seconds", run.wall_seconds}};
}

struct CertificateOptions {
  std::string json;
};

void RunCertificate(const CertificateOptions& o) {
  RequireOutput(o.json);
  const CertificateRun run = Prove();
  PrintResults(o.json, Describe(run), ToJson(run));
  if (!run.holds()) {
    throw std::runtime_error("the constants of sotto/certificate.h promise more than is proved");
  }
}

}  // namespace

posix::Command CertificateCommand() {
  return posix::CommandFor<CertificateOptions>(
             "certificate", "prove how close the dither's noise is to the Gaussian")
      .Takes({JsonRow<CertificateOptions>("the bounds")})
      .Runs(RunCertificate);
}

}  // namespace sotto::server
