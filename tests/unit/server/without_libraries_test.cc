// Programs that were built without the libraries of some formats and services: this test links the
// tables as such a build compiles them.
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>

#include "backends/open_store.h"
#include "export/format.h"
#include "service/metrics.h"
#include "unit/data_files.h"
#include "web/http_server.h"

namespace sotto::server {
namespace {

class WithoutLibraries : public DataFiles {};

std::string ComplaintOfWriter(const ExportFormat& format) {
  try {
    RequireWriter(format);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST_F(WithoutLibraries, AReaderThatIsMissingNamesItsPackage) {
  EXPECT_SAYS(Complaint(Write("a.csv", "1,0\n")), "a.csv: this program was built without libcsv");
  EXPECT_SAYS(Complaint(Write("a.csv", "1,0\n")), "install libcsv-dev and build it again");
  EXPECT_SAYS(Complaint(Write("a.npz", "PK")), "install libzip-dev and build it again");
  EXPECT_SAYS(Complaint(Write("a.json", "{}")), "install nlohmann-json3-dev and build it again");
  EXPECT_SAYS(Complaint(Write("a.jsonl", "{}")), "install libcsv-dev and build it again");
  EXPECT_SAYS(Complaint(Write("a.wav", "RIFF")), "install libcsv-dev and build it again");
  EXPECT_SAYS(Complaint(Write("a.mat", "MATLAB 5")), "install libmatio-dev and build it again");
}

TEST_F(WithoutLibraries, AReaderThatNeedsNoLibraryReads) {
  EXPECT_EQ(Read(Write("a.libsvm", "1 1:2\n0 1:3\n"))->size(), 2u);
}

TEST_F(WithoutLibraries, AWriterThatIsMissingNamesItsPackages) {
  for (const ExportFormat& format : ExportFormats()) {
    const std::string complaint = ComplaintOfWriter(format);
    if (format.name != std::string("onnx")) {
      EXPECT_EQ(complaint, "") << format.name;
    } else {
      EXPECT_SAYS(complaint, "install libonnx-dev and libprotobuf-dev and build it again");
    }
  }
}

TEST_F(WithoutLibraries, AServerThatIsMissingNamesItsPackages) {
  const auto answer = [](const HttpRequest&) { return TextReply(200, ""); };
  std::string complaint;
  try {
    const HttpServer server("127.0.0.1", 0, answer);
  } catch (const std::invalid_argument& error) {
    complaint = error.what();
  }
  EXPECT_SAYS(complaint, "--http: this program was built without its HTTP server");
  EXPECT_SAYS(complaint, "install libmicrohttpd-dev and prometheus-cpp-dev and build it again");
}

TEST_F(WithoutLibraries, AStoreThatIsMissingNamesItsPackage) {
  std::string complaint;
  try {
    (void)StoreExists("postgresql:///fleet");
  } catch (const std::invalid_argument& error) {
    complaint = error.what();
  }
  EXPECT_SAYS(complaint, "postgresql://: this program was built without PostgreSQL's library");
  EXPECT_SAYS(complaint, "install libpq-dev and build it again");
}

}  // namespace
}  // namespace sotto::server
