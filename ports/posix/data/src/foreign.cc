#include "sotto/data/foreign.h"

#include <exception>
#include <fmt/format.h>
#include <string_view>
#include <vector>

#include "byte_file.h"

namespace sotto {
namespace {

constexpr size_t kBeginning = 16;

struct Foreign {
  std::vector<const char*> endings;
  std::string_view mark;  // its first bytes; empty: the name alone tells
  const char* what;
  const char* samples;      // what to do if it holds samples
  const char* model;        // if it holds a model
  bool has_script = false;  // that makes samples of it, on the page
};

constexpr char kScript[] = "; a script does it: \"Other formats\" in server/YOUR_DATA.md";

constexpr char kNoModel[] =
    "a model is a file that `sotto model export` or --model-out wrote, or safetensors or NPZ with "
    "an array for each tensor";
constexpr char kAsCsv[] = "save the table as CSV, UTF-8";

constexpr char kLfs[] = "fetch the file that it stands for: git lfs pull";
constexpr char kWebPage[] = "the download failed, or wants a login: fetch the file once more";

const std::vector<Foreign>& ForeignTable() {
  using namespace std::string_view_literals;
  static const std::vector<Foreign> kTable = {
      {{".pt", ".pth", ".ckpt"},
       "",
       "a file of PyTorch",
       "write its tensors as arrays: numpy.savez('data.npz', x=x.numpy(), y=y.numpy())",
       "write its tensors as safetensors: safetensors.torch.save_file(model.state_dict(), "
       "'model.safetensors')",
       true},
      {{".pkl", ".pickle", ".joblib"},
       "\x80\x04"sv,
       "a pickle of Python",
       "write its arrays: numpy.savez('data.npz', x=x, y=y)",
       kNoModel},
      {{".parquet"},
       "PAR1"sv,
       "a Parquet file",
       "write it as CSV: pandas.read_parquet(FILE).to_csv('data.csv', index=False)",
       kNoModel,
       true},
      {{".feather", ".arrow"},
       "ARROW1"sv,
       "an Arrow file",
       "write it as CSV: pandas.read_feather(FILE).to_csv('data.csv', index=False)",
       kNoModel,
       true},
      {{".h5", ".hdf5", ".keras"},
       "\x89HDF\r\n"sv,
       "an HDF5 file",
       "write its arrays: numpy.savez('data.npz', x=f['x'][:], y=f['y'][:]) with f = "
       "h5py.File(FILE)",
       "write its weights: numpy.savez('model.npz', ...), an array for each tensor",
       true},
      {{},
       "MATLAB 7.3"sv,
       "of MATLAB 7.3, which is HDF5",
       "save it as MATLAB 5: save -v7",
       kNoModel},
      {{".xlsx", ".xls", ".ods"}, "\xD0\xCF\x11\xE0"sv, "a spreadsheet", kAsCsv, kNoModel},
      {{".sqlite", ".sqlite3", ".db"},
       "SQLite format 3"sv,
       "an SQLite database",
       "write its table as CSV: sqlite3 -header -csv FILE 'select ...' > data.csv",
       kNoModel},
      {{".json", ".jsonl", ".ndjson"}, "", "a JSON file", "say format=jsonl or leaf", kNoModel},
      {{".png"},
       "\x89PNG"sv,
       "an image",
       "write all images as one array: numpy.savez",
       kNoModel,
       true},
      {{".jpg", ".jpeg"},
       "\xFF\xD8\xFF"sv,
       "an image",
       "write all images as one array: numpy.savez",
       kNoModel,
       true},
      {{".onnx"}, "", "an ONNX model", "it holds no samples", kNoModel},
      {{".zip"}, "", "a zip archive", "unpack it and name the file in it", "unpack it"},
      {{".tar", ".tgz", ".tar.gz"}, "", "an archive", "unpack it: tar xf FILE", "unpack it"},
      {{".7z"}, "7z\xBC\xAF"sv, "an archive", "unpack it: 7z x FILE", "unpack it"},
      {{".bz2"}, "BZh"sv, "compressed by bzip2", "unpack it: bunzip2 FILE", "unpack it"},
      {{".xz"}, "\xFD\x37zXZ"sv, "compressed by xz", "unpack it: unxz FILE", "unpack it"},
      {{".zst"},
       "\x28\xB5\x2F\xFD"sv,
       "compressed by Zstandard",
       "unpack it: unzstd FILE",
       "unpack it"},
      {{".pdf"}, "%PDF"sv, "a PDF", kAsCsv, kNoModel},
      {{}, "version https://"sv, "a pointer of Git LFS", kLfs, kLfs},
      {{}, "<!DOCTYPE html"sv, "a web page", kWebPage, kWebPage},
      {{}, "<!doctype html"sv, "a web page", kWebPage, kWebPage},
      {{}, "<html"sv, "a web page", kWebPage, kWebPage},
  };
  return kTable;
}

bool EndsAs(const std::string& path, std::string_view ending) {
  return path.size() > ending.size() &&
         std::string_view(path).substr(path.size() - ending.size()) == ending;
}

bool Fits(const Foreign& row, const std::string& path, std::string_view begin) {
  if (!row.mark.empty() && begin.substr(0, row.mark.size()) == row.mark) return true;
  for (const char* ending : row.endings) {
    if (EndsAs(path, ending)) return true;
  }
  return false;
}

}  // namespace

std::string ForeignFile(const std::string& path, std::string_view begin, NamedAs use) {
  for (const Foreign& row : ForeignTable()) {
    if (!Fits(row, path, begin)) continue;
    if (use == NamedAs::kModel) return fmt::format("it is {}; {}", row.what, row.model);
    return fmt::format("it is {}; {}{}", row.what, row.samples, row.has_script ? kScript : "");
  }
  return "";
}

std::string FirstBytes(const std::string& path) {
  try {
    ByteFile file(path);
    std::string bytes(kBeginning, '\0');
    bytes.resize(file.Read(reinterpret_cast<uint8_t*>(bytes.data()), bytes.size()));
    return bytes;
  } catch (const std::exception&) {
    return "";
  }
}

}  // namespace sotto
