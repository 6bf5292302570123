// Reader of LEAF's JSON: samples by user.
#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

#include "alphabet.h"
#include "byte_file.h"
#include "formats.h"
#include "json_events.h"
#include "values.h"

namespace sotto {
namespace {

// What "x" or "y" of a user holds: numbers, texts, or arrays of numbers, all samples alike.
struct Elements {
  std::vector<uint32_t> axes;  // of an element; empty: it is one value
  bool are_texts = false;
  std::vector<double> numbers;     // one behind the other
  std::vector<std::string> texts;  // of numbers, too, where they are labels
  size_t count = 0;
  size_t text_bytes = 0;
  bool is_known = false;  // an element has said what all are

  // For the next user, whose elements are of the same kind.
  void Clear() {
    numbers.clear();
    texts.clear();
    count = text_bytes = 0;
  }
  size_t bytes() const { return numbers.capacity() * sizeof(double) + text_bytes; }
};

class LeafReader : public JsonVisitor {
 public:
  explicit LeafReader(const ReadRequest& request)
      : request_(request), labels_(request.MakeLabels()) {}

  SharedDataset Read() {
    for (const std::string& path : request_.files) ReadFile(path);
    if (info_ && !are_characters_ && info_->targets == 0 && request_.wants_labels()) {
      labels_.Finish(request_.path() + ": y", &samples_.labels, &*info_);
    }
    samples_.group_names = groups_.names();
    return Build(request_, info_.value_or(SampleInfo{}), std::move(samples_), seen_);
  }

  void OnNull() override { OnNumber(std::numeric_limits<double>::quiet_NaN(), ""); }
  void OnNumber(double value, std::string_view text) override {
    if (IsInElements()) {
      AddValue(false, value, text);
    } else if (Stands(2, "num_samples")) {
      promised_samples_ += value;
    } else {
      RequireSkippable();
    }
  }
  void OnText(std::string_view text) override {
    if (IsInElements()) {
      AddValue(true, 0, text);
    } else if (Stands(2, "users")) {
      ++promised_users_;
    } else {
      RequireSkippable();
    }
  }
  void OnKey(std::string_view key) override {
    if (depth_ == 1) top_ = key;
    if (depth_ == 2 && top_ == "user_data") BeginUser(key);
    if (depth_ == 3 && top_ == "user_data") part_ = key;
  }
  void OnBegin(bool is_object) override {
    ++depth_;
    if (depth_ == 1 && !is_object) throw NotLeaf("it begins with an array");
    if (depth_ == 2 && top_ == "user_data" && !is_object) throw NotLeaf("user_data is an array");
    if (depth_ == 3 && top_ == "user_data" && !is_object) {
      throw Wrong("an array", "an object with x and y");
    }
    if (depth_ < 4 || elements() == nullptr) return;
    if (is_object) throw Wrong("an object in " + part_, "arrays of numbers, or texts");
    counts_.push_back(0);
    if (counts_.size() > 1) ++counts_[counts_.size() - 2];
    if (counts_.size() > kMaxAxes + 1) throw Wrong("too many brackets", "three axes at most");
  }
  void OnEnd(bool) override {
    if (IsInElements()) EndElement();
    if (depth_ == 3 && top_ == "user_data") EndUser();
    --depth_;
  }

 private:
  static constexpr size_t kMaxAxes = 3;

  void ReadFile(const std::string& path) {
    path_ = path;
    ByteFile file(path);
    depth_ = 0;
    promised_users_ = users_ = 0;
    promised_samples_ = 0;
    const size_t before = seen_;
    try {
      ParseJson(&file, this);
    } catch (const JsonFault& fault) {
      throw posix::FileError(fmt::format(
          "{}: line {}, column {}: {}; expected one object of JSON, as LEAF writes it{}; if the "
          "file is incomplete, fetch it again",
          path, fault.line(), fault.column(), fault.what(),
          users_ == 0 ? "; if each line is an object, say format=jsonl" : ""));
    }
    if (users_ == 0) throw NotLeaf("it has no user_data, or no user in it");
    if (promised_users_ > 0 && promised_users_ != users_) {
      throw Defect(
          "", fmt::format("users lists {} users, but user_data has {}", promised_users_, users_),
          "write it anew, or fetch it again");
    }
    if (promised_samples_ > 0 && promised_samples_ != static_cast<double>(seen_ - before)) {
      throw Defect("",
                   fmt::format("num_samples says {} samples, but user_data has {}",
                               promised_samples_, seen_ - before),
                   "write it anew, or fetch it again");
    }
  }

  // Below the top, `depth` brackets deep, in this key.
  bool Stands(size_t depth, const char* key) const { return depth_ == depth && top_ == key; }
  void RequireSkippable() const {
    if (depth_ == 0) throw NotLeaf("it is one value");
    if (top_ == "user_data" && depth_ == 1) throw NotLeaf("user_data is one value");
    if (top_ == "user_data" && depth_ == 2) throw Wrong("a value", "an object with x and y");
    if (top_ == "user_data" && depth_ == 3 && (part_ == "x" || part_ == "y")) {
      throw Wrong(part_ + " is one value", "an array, an element a sample");
    }
  }

  Elements* elements() {
    if (top_ != "user_data") return nullptr;
    return part_ == "x" ? &x_ : part_ == "y" ? &y_ : nullptr;
  }
  bool IsInElements() { return depth_ >= 4 && elements() != nullptr; }

  void BeginUser(std::string_view user) {
    user_ = user;
    part_.clear();
    x_.Clear();
    y_.Clear();
    ++users_;
    try {
      group_ = groups_.Take(user);
    } catch (const std::invalid_argument& error) {
      throw Wrong("its name", error.what());
    }
  }

  // A value of an element; its depth says how many axes elements have.
  void AddValue(bool is_text, double value, std::string_view text) {
    Elements& of = *elements();
    const size_t axes = counts_.size() - 1;
    ++counts_.back();
    sample_ = of.count;
    if (!of.is_known) {
      of.is_known = true;
      of.are_texts = is_text;
      of.axes.assign(axes, 0);
    }
    const bool may_be_text = &of == &y_ && axes == 0;  // labels are texts or numbers
    if (of.axes.size() != axes || (is_text != of.are_texts && !may_be_text)) throw Uneven();
    if (is_text && axes > 0)
      throw Place(fmt::format("{} within an array", Quoted(text)), "a number");
    if (is_text || may_be_text) {
      of.texts.emplace_back(text);
      of.text_bytes += sizeof(std::string) + text.size();
    } else {
      of.numbers.push_back(value);
    }
    if (axes == 0) ++of.count;
    RequireRoom(request_, samples_, x_.bytes() + y_.bytes() + groups_.bytes());
  }

  void EndElement() {
    Elements& of = *elements();
    sample_ = of.count;
    const size_t axis = counts_.size() - 1;  // 0: the array of the elements itself
    if (axis > 0) {
      if (counts_.back() == 0) throw Place("an empty array", "numbers");
      if (of.axes.size() < axis) throw Uneven();
      uint32_t& known = of.axes[axis - 1];
      if (known == 0) known = counts_.back();
      if (known != counts_.back()) throw Uneven();
      if (axis == 1) ++of.count;
    }
    counts_.pop_back();
  }

  void EndUser() {
    if (x_.count != y_.count) {
      throw Wrong(fmt::format("x has {} samples, and y {}", x_.count, y_.count),
                  "one y for each sample");
    }
    for (size_t i = 0; i < x_.count; ++i) TakeSample(i);
  }

  void TakeSample(size_t at) {
    sample_ = at;
    if (!info_) info_ = MakeInfo();
    const size_t index = seen_++;
    // Every label counts, wanted or not: the set of classes follows from all labels.
    const uint32_t label = LabelOf(at);
    const bool is_kept = !request_.keep || request_.keep(index);
    if (x_.are_texts) {
      TakeText(x_.texts[at], is_kept);
    } else {
      TakeNumbers(at, is_kept);
    }
    RequireRoom(request_, samples_, x_.bytes() + y_.bytes() + groups_.bytes());
    if (!is_kept) return;
    samples_.groups.push_back(group_);
    if (info_->targets > 0) {
      TakeTarget(at);
    } else if (request_.wants_labels()) {
      samples_.labels.push_back(label);
    }
  }

  SampleInfo MakeInfo() {
    if (x_.are_texts) return MakeTextInfo();
    SampleInfo info = InfoFor(request_, x_.axes.empty() ? std::vector<uint32_t>{1} : x_.axes);
    AddTargets(&info);
    return info;
  }

  SampleInfo MakeTextInfo() {
    alphabet_.emplace(request_, "");
    const size_t length = x_.texts[0].size();
    if (length == 0 || length > kMaxJsonToken) throw Place("an empty text", "characters");
    SampleInfo info = InfoFor(request_, {static_cast<uint32_t>(length)});
    info.tokens = alphabet_->tokens();
    are_characters_ = y_.are_texts;
    if (!are_characters_) {
      AddTargets(&info);
      return info;
    }
    info.classes = request_.classes() > 0 ? request_.classes() : info.tokens;
    if (info.classes < alphabet_->known()) {
      throw std::invalid_argument(
          fmt::format("{}: the alphabet has {} characters, but the model {} classes; expected one "
                      "for each character",
                      path_, alphabet_->known(), info.classes));
    }
    return info;
  }

  // A regression's y is a number, or an array.
  void AddTargets(SampleInfo* info) const {
    if (request_.targets() == 0 && y_.axes.empty()) return;
    if (y_.axes.size() > 1) throw Wrong("y has several axes", "a number or an array of numbers");
    info->targets = y_.axes.empty() ? 1 : y_.axes[0];
  }

  uint32_t LabelOf(size_t at) {
    if (are_characters_) {
      if (y_.texts[at].size() != 1) {
        throw Place(fmt::format("y is {}", Quoted(y_.texts[at])), "the character behind x");
      }
      return TokenOf(y_.texts[at][0]);
    }
    if (info_->targets > 0 || !request_.wants_labels()) return 0;
    try {
      return labels_.Take(y_.texts[at]);
    } catch (const std::invalid_argument& error) {
      throw Defect(fmt::format("user {}, y[{}]", Quoted(user_), at), Quoted(y_.texts[at]),
                   error.what());
    }
  }

  uint8_t TokenOf(char c) const {
    const int id = alphabet_->TokenOf(c);
    if (id >= 0) return static_cast<uint8_t>(id);
    throw Place(
        fmt::format("the character {:#04x} is not in the alphabet", static_cast<uint8_t>(c)),
        "only its characters; add it to alphabet=, or take a model with one token more, for "
        "all others");
  }

  void TakeText(const std::string& text, bool is_kept) {
    if (text.size() != info_->shape.size()) {
      throw Place(fmt::format("a text of {} characters", text.size()),
                  fmt::format("{}, as the first sample has", info_->shape.size()));
    }
    for (const char c : text) {
      const uint8_t token = TokenOf(c);
      if (is_kept) samples_.bytes.push_back(token);
    }
  }

  void TakeNumbers(size_t at, bool is_kept) {
    const size_t each = info_->shape.size();
    if (x_.numbers.size() != x_.count * each) throw Uneven();
    for (size_t i = 0; i < each; ++i) {
      float feature = 0;
      try {
        feature = FeatureOf(request_, x_.numbers[at * each + i]);
      } catch (const std::invalid_argument& error) {
        throw Defect(fmt::format("user {}, x[{}]", Quoted(user_), at), fmt::format("number {}", i),
                     error.what());
      }
      if (is_kept) samples_.numbers.push_back(feature);
    }
  }

  void TakeTarget(size_t at) {
    for (uint32_t i = 0; i < info_->targets; ++i) {
      try {
        const double value =
            y_.axes.empty() ? NumberIn(y_.texts[at], "") : y_.numbers[at * info_->targets + i];
        samples_.targets.push_back(TargetOf(value));
      } catch (const std::invalid_argument& error) {
        throw Defect(fmt::format("user {}, y[{}]", Quoted(user_), at), fmt::format("number {}", i),
                     error.what());
      }
    }
  }

  posix::FileError Defect(const std::string& where, const std::string& what,
                          const std::string& advice) const {
    return posix::FileError(
        fmt::format("{}: {}{}{}; {}", path_, where, where.empty() ? "" : ": ", what, advice));
  }
  posix::FileError Wrong(const std::string& what, const std::string& expected) const {
    return Defect("user " + Quoted(user_), what, "expected " + expected);
  }
  posix::FileError Place(const std::string& what, const std::string& expected) const {
    return Defect(fmt::format("user {}, sample {}", Quoted(user_), sample_), what,
                  "expected " + expected);
  }
  posix::FileError Uneven() {
    return Wrong(part_ + " has elements of different kinds or lengths",
                 "as many numbers in each, or texts alone");
  }
  posix::FileError NotLeaf(const std::string& what) const {
    return Defect(
        "", "it is not LEAF's JSON: " + what,
        "expected {\"users\": [...], \"num_samples\": [...], \"user_data\": {USER: "
        "{\"x\": [...], \"y\": [...]}}}; records, one a line, are format=jsonl; for others "
        "see \"Other formats\" in server/YOUR_DATA.md");
  }

  const ReadRequest& request_;
  Labels labels_;
  Groups groups_;
  StoredSamples samples_;
  std::optional<SampleInfo> info_;
  std::optional<Alphabet> alphabet_;
  bool are_characters_ = false;  // y is the character behind x
  size_t seen_ = 0;

  // Of the file.
  std::string path_;
  size_t depth_ = 0;  // brackets that are open
  std::string top_;   // the key in the outermost object
  size_t promised_users_ = 0;
  double promised_samples_ = 0;
  size_t users_ = 0;

  // Of the user.
  std::string user_;
  uint32_t group_ = 0;
  std::string part_;  // "x" or "y", or another key
  Elements x_;
  Elements y_;
  std::vector<uint32_t> counts_;  // elements so far, of the arrays that are open in x or y
  size_t sample_ = 0;
};

}  // namespace

SharedDataset ReadLeaf(const ReadRequest& request) { return LeafReader(request).Read(); }

}  // namespace sotto
