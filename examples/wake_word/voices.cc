// voices --out FOLDER [--word WORD] [--homes N] [--seed N]
//
// Makes up what the microphones of many homes hear, with the voices of espeak-ng: recordings of 16
// bits at 16 kHz, a second for each sample.
//
//   FOLDER/homes/home-0000/{other,word}/*.wav   one speaker in each home
//   FOLDER/unseen/VOICE-1/{other,word}/*.wav    every fifth voice; it is in no home
//   FOLDER/stream.wav, stream.csv               one of these speaks; where the words begin
//
// --word is the word that the homes learn: one word or a few, of a to z, that take less than a
// second; "okay sotto" by default. The same seed (1) gives the same bytes with the same espeak-ng,
// but for the whispers of version 1.52, which are noise of the moment. A home is the same in a
// larger fleet. Part of examples/wake_word.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using Sound = std::vector<int32_t>;  // within 16 bits, kRate a second

constexpr int kRate = 16000;
constexpr size_t kWindow = 16000;       // a sample: one second
constexpr size_t kLongestWord = 15200;  // that fits into it
constexpr int kSpoken = 4;              // samples of the word in a home; as many of other words
constexpr int kQuiet = 4;               // samples without speech
constexpr int kTakes = 4;               // speakers with each unseen voice
constexpr size_t kStreamWords = 9;      // every third is the word

const char* const kOthers[] = {
    "hello",   "apple",  "morning",  "spoon",  "kitchen",  "window", "garden",  "yellow",
    "seven",   "door",   "weather",  "music",  "computer", "table",  "forward", "visual",
    "bicycle", "lemon",  "tomorrow", "water",  "backward", "house",  "family",  "animal",
    "paper",   "letter", "number",   "river",  "summer",   "light",  "follow",  "learn",
    "coffee",  "bottle", "mirror",   "doctor", "station",  "eleven", "basket",  "turn it off"};

// Numbers from a seed: xorshift, by G. Marsaglia.
class Random {
 public:
  Random(uint64_t seed, uint64_t stream)
      : state_((seed * 0x9E3779B97F4A7C15U) ^ ((stream + 1) * 0xBF58476D1CE4E5B9U)) {
    if (state_ == 0) state_ = 1;
    for (int i = 0; i < 16; ++i) Next();
  }
  // From low to high, both included.
  int Between(int low, int high) {
    return low + static_cast<int>(Next() % static_cast<uint64_t>(high - low + 1));
  }
  // About normal, with a deviation of 1,000.
  int Normal() {
    int sum = 0;
    for (int i = 0; i < 12; ++i) sum += Between(-500, 500);
    return sum;
  }

 private:
  uint64_t Next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ >> 11;
  }
  uint64_t state_;
};

struct Options {
  std::string word = "okay sotto";
  std::string out;
  int homes = 100;
  uint64_t seed = 1;
};

std::string OutputOf(const std::string& command) {
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("no shell to run espeak-ng");
  std::string output;
  char part[4096];
  for (size_t n = 0; (n = fread(part, 1, sizeof(part), pipe)) > 0;) output.append(part, n);
  if (pclose(pipe) != 0) {
    throw std::runtime_error("espeak-ng failed: install the package espeak-ng; " + command);
  }
  return output;
}

// The names behind "!v/" in the list of voices, without names that a shell would not take
// unchanged.
std::vector<std::string> Voices() {
  const std::string list = OutputOf("espeak-ng --voices=variant");
  std::vector<std::string> voices;
  for (size_t at = 0; (at = list.find("!v/", at)) != std::string::npos; ++at) {
    const size_t end = list.find_first_of(" \n", at);
    const std::string name = list.substr(at + 3, end - at - 3);
    const bool is_plain = std::all_of(name.begin(), name.end(), [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    });
    // A name of two words is cut here, and then no voice.
    const bool is_whole = end == std::string::npos || list.compare(end, 2, "  ") == 0;
    if (is_plain && is_whole) voices.push_back(name);
  }
  if (voices.size() < 10)
    throw std::runtime_error("espeak-ng has fewer than ten variants of voices");
  std::sort(voices.begin(), voices.end());
  return voices;
}

// From 22,050 a second to kRate: each value is a mean with weights that fall to both sides.
Sound Resample(const int16_t* in, size_t size) {
  constexpr int64_t kFrom = 441, kTo = 320;  // 22,050 to 16,000
  Sound out(size * kTo / kFrom);
  for (size_t t = 0; t < out.size(); ++t) {
    const int64_t centre = static_cast<int64_t>(t) * kFrom;
    int64_t sum = 0, weights = 0;
    for (int64_t i = std::max<int64_t>(0, centre / kTo - 2);
         i <= centre / kTo + 2 && i < static_cast<int64_t>(size); ++i) {
      const int64_t weight = std::max<int64_t>(0, kFrom - std::abs(i * kTo - centre));
      sum += weight * in[i];
      weights += weight;
    }
    out[t] = static_cast<int32_t>(sum / std::max<int64_t>(1, weights));
  }
  return out;
}

// The stretches between silences of a fifth of a second, each scaled to a peak of 32,767.
std::vector<Sound> Cut(const Sound& speech) {
  constexpr size_t kSilence = kRate / 5;
  int32_t peak = 1;
  for (const int32_t x : speech) peak = std::max(peak, std::abs(x));
  std::vector<Sound> words;
  size_t last = 0;
  for (size_t t = 0; t < speech.size(); ++t) {
    if (std::abs(speech[t]) * 128 <= peak) continue;
    if (words.empty() || t - last > kSilence) {
      words.emplace_back();
    } else {
      for (size_t i = last + 1; i < t; ++i) words.back().push_back(speech[i]);
    }
    words.back().push_back(speech[t]);
    last = t;
  }
  for (Sound& word : words) {
    int32_t top = 1;
    for (const int32_t x : word) top = std::max(top, std::abs(x));
    for (int32_t& x : word) x = static_cast<int32_t>(int64_t{x} * 32767 / top);
  }
  return words;
}

// A person: a voice, its pitch and its speed. Each word is a bit slower or faster, lower
// or higher.
class Speaker {
 public:
  Speaker(std::string voice, Random* random)
      : voice_(std::move(voice)),
        pitch_(random->Between(25, 75)),
        speed_(random->Between(145, 195)),
        is_american_(random->Between(0, 1) == 1) {}

  // One sound a word; none if they cannot be told apart, as of a voice with an echo, or if one of
  // them is too long.
  std::vector<Sound> Say(const std::vector<std::string>& words, Random* random) const {
    std::string text;
    for (const std::string& word : words) {
      text += "<prosody rate=\"" + std::to_string(random->Between(88, 115)) + "%\" pitch=\"" +
              std::to_string(random->Between(90, 112)) + "%\">" + word +
              "</prosody><break time=\"500ms\"/>";
    }
    const std::string wave = OutputOf(
        "espeak-ng -m --stdout -v " + std::string(is_american_ ? "en-us" : "en") + "+" + voice_ +
        " -p " + std::to_string(pitch_) + " -s " + std::to_string(speed_) + " '" + text + "'");
    constexpr size_t kHead = 44;
    if (wave.size() < kHead || wave.compare(0, 4, "RIFF") != 0) {
      throw std::runtime_error("espeak-ng wrote no WAV file");
    }
    std::vector<int16_t> values((wave.size() - kHead) / sizeof(int16_t));
    std::memcpy(values.data(), wave.data() + kHead, values.size() * sizeof(int16_t));
    std::vector<Sound> sounds = Cut(Resample(values.data(), values.size()));
    const bool is_too_long = std::any_of(sounds.begin(), sounds.end(), [](const Sound& sound) {
      return sound.size() > kLongestWord;
    });
    if (sounds.size() != words.size() || is_too_long) return {};
    return sounds;
  }

 private:
  std::string voice_;
  int pitch_;
  int speed_;
  bool is_american_;
};

// Noise of a room: white, or duller with each step of `dullness`.
void AddNoise(int level, int dullness, Random* random, Sound* sound) {
  int64_t smooth = 0;
  for (int32_t& x : *sound) {
    smooth += (random->Normal() * 16 - smooth) / (int64_t{1} << dullness);
    // Smoothing makes noise quieter, by about the root of two a step.
    x += static_cast<int32_t>(smooth * level * (10 + 6 * dullness) / 160000);
  }
}

// A mains hum or a beeping machine: a triangle wave.
void AddTone(int level, int hertz, Sound* sound) {
  int phase = 0;
  for (int32_t& x : *sound) {
    phase = (phase + hertz) % kRate;
    x += level * (std::abs(phase - kRate / 2) - kRate / 4) / (kRate / 4);
  }
}

void AddWord(const Sound& word, int loudness, int64_t at, Sound* sound) {
  for (size_t i = 0; i < word.size(); ++i) {
    const int64_t t = at + static_cast<int64_t>(i);
    if (t < 0 || t >= static_cast<int64_t>(sound->size())) continue;
    (*sound)[static_cast<size_t>(t)] += static_cast<int32_t>(int64_t{word[i]} * loudness / 32767);
  }
}

// One speaker in one room.
struct Home {
  Speaker speaker;
  int dullness;
  int loudness;
  int noise;
};

Home MoveIn(const std::string& voice, Random* random) {
  Home home = {Speaker(voice, random), random->Between(0, 3), random->Between(4000, 20000), 0};
  home.noise = home.loudness / random->Between(20, 150);
  return home;
}

void WriteWave(const std::filesystem::path& path, const Sound& sound) {
  std::filesystem::create_directories(path.parent_path());
  FILE* const file = fopen(path.c_str(), "wb");
  if (file == nullptr) throw std::runtime_error(path.string() + ": cannot be written");
  const auto put = [&](uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) fputc(static_cast<int>(value >> (8 * i) & 0xff), file);
  };
  const auto size = static_cast<uint32_t>(2 * sound.size());
  fputs("RIFF", file);
  put(36 + size, 4);
  fputs("WAVEfmt ", file);
  for (const auto& [value, bytes] : {std::pair<uint32_t, int>{16, 4},
                                     {1, 2},
                                     {1, 2},
                                     {kRate, 4},
                                     {2 * kRate, 4},
                                     {2, 2},
                                     {16, 2}}) {
    put(value, bytes);
  }
  fputs("data", file);
  put(size, 4);
  for (const int32_t x : sound) put(static_cast<uint32_t>(std::clamp(x, -32768, 32767)), 2);
  if (fclose(file) != 0) throw std::runtime_error(path.string() + ": cannot be written");
}

std::string OtherWord(const Options& options, Random* random) {
  for (;;) {
    const std::string other = kOthers[random->Between(0, static_cast<int>(std::size(kOthers)) - 1)];
    if (other != options.word) return other;
  }
}

// A second for each sound. The word is whole; of other words a part may be outside.
Sound Samples(const Home& home, const std::vector<Sound>& spoken, size_t first, size_t count,
              bool is_cut, Random* random) {
  Sound all;
  for (size_t i = first; i < first + count; ++i) {
    const auto room = static_cast<int>(kWindow - spoken[i].size());
    const int outside = is_cut ? static_cast<int>(spoken[i].size()) / 3 : 0;
    const int loudness = home.loudness * random->Between(70, 130) / 100;
    Sound second(kWindow);
    AddWord(spoken[i], loudness, random->Between(-outside, room + outside), &second);
    AddNoise(home.noise, home.dullness, random, &second);
    all.insert(all.end(), second.begin(), second.end());
  }
  return all;
}

Sound Quiet(const Home& home, Random* random) {
  Sound all;
  for (int i = 0; i < kQuiet; ++i) {
    Sound second(kWindow);
    AddNoise(home.noise * random->Between(1, 8), random->Between(0, 3), random, &second);
    if (i % 2 == 1) AddTone(home.noise * random->Between(1, 8), random->Between(50, 2000), &second);
    all.insert(all.end(), second.begin(), second.end());
  }
  return all;
}

// False if the speaker's words cannot be told apart.
bool WriteHome(const Options& options, const std::string& voice,
               const std::filesystem::path& folder, Random* random) {
  const Home home = MoveIn(voice, random);
  std::vector<std::string> words(kSpoken, options.word);
  for (int i = 0; i < kSpoken; ++i) words.push_back(OtherWord(options, random));
  const std::vector<Sound> spoken = home.speaker.Say(words, random);
  if (spoken.empty()) return false;
  WriteWave(folder / "word/speech.wav", Samples(home, spoken, 0, kSpoken, false, random));
  WriteWave(folder / "other/speech.wav", Samples(home, spoken, kSpoken, kSpoken, true, random));
  WriteWave(folder / "other/noise.wav", Quiet(home, random));
  return true;
}

// The list of the words stands beside the sound.
bool WriteStream(const Options& options, const std::string& voice, Random* random) {
  const Home home = MoveIn(voice, random);
  std::vector<std::string> words;
  for (size_t i = 0; i < kStreamWords; ++i) {
    words.push_back(i % 3 == 1 ? options.word : OtherWord(options, random));
  }
  const std::vector<Sound> spoken = home.speaker.Say(words, random);
  if (spoken.empty()) return false;
  Sound stream(2 * kWindow * (kStreamWords + 1));
  const std::filesystem::path folder(options.out);
  FILE* const table = fopen((folder / "stream.csv").c_str(), "wb");
  if (table == nullptr) throw std::runtime_error(options.out + "/stream.csv: cannot be written");
  fputs("seconds,word\n", table);
  for (size_t i = 0; i < kStreamWords; ++i) {
    const int at = static_cast<int>(2 * kWindow * i + kWindow / 2) + random->Between(0, kRate);
    AddWord(spoken[i], home.loudness, at, &stream);
    fprintf(table, "%d.%d,%s\n", at / kRate, at % kRate * 10 / kRate, words[i].c_str());
  }
  AddNoise(home.noise, home.dullness, random, &stream);
  if (fclose(table) != 0) throw std::runtime_error(options.out + "/stream.csv: cannot be written");
  WriteWave(folder / "stream.wav", stream);
  return true;
}

void WriteHomes(const Options& options, const std::vector<std::string>& voices) {
  constexpr int kTries = 50;
  for (int i = 0; i < options.homes; ++i) {
    char name[16];
    std::snprintf(name, sizeof(name), "home-%04d", i);
    Random random(options.seed, static_cast<uint64_t>(i));
    int tries = 0;
    for (;;) {
      const int voice = random.Between(0, static_cast<int>(voices.size()) - 1);
      // 0, 5, 10 and so on are the unseen ones.
      if (voice % 5 == 0) continue;
      if (WriteHome(options, voices[static_cast<size_t>(voice)],
                    std::filesystem::path(options.out) / "homes" / name, &random)) {
        break;
      }
      if (++tries == kTries)
        throw std::runtime_error("--word takes more than a second: shorten it");
    }
  }
}

void WriteUnseen(const Options& options, const std::vector<std::string>& voices) {
  constexpr uint64_t kStream = uint64_t{1} << 32;  // homes are below it
  bool has_stream = false;
  for (size_t voice = 0; voice < voices.size(); voice += 5) {
    for (int take = 1; take <= kTakes; ++take) {
      Random random(options.seed, kStream + 8 * voice + static_cast<uint64_t>(take));
      WriteHome(options, voices[voice],
                std::filesystem::path(options.out) / "unseen" /
                    (voices[voice] + "-" + std::to_string(take)),
                &random);
    }
    Random random(options.seed, kStream + 8 * voice);
    has_stream = has_stream || WriteStream(options, voices[voice], &random);
  }
  if (!has_stream) throw std::runtime_error("--word takes more than a second: shorten it");
}

bool Parse(int argc, char** argv, Options* options) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    char* end = nullptr;
    if (name == "--word") {
      options->word = value;
    } else if (name == "--out") {
      options->out = value;
    } else if (name == "--homes") {
      options->homes = static_cast<int>(std::strtol(value.c_str(), &end, 10));
    } else if (name == "--seed") {
      options->seed = std::strtoull(value.c_str(), &end, 10);
    } else {
      return false;
    }
    if (end != nullptr && (*end != '\0' || value.empty())) return false;
  }
  // The word is part of a command.
  const bool is_plain = std::all_of(options->word.begin(), options->word.end(),
                                    [](char c) { return c == ' ' || (c >= 'a' && c <= 'z'); });
  return argc % 2 == 1 && !options->out.empty() && !options->word.empty() && is_plain &&
         options->homes >= 1 && options->homes <= 10000;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!Parse(argc, argv, &options)) {
    std::fprintf(stderr,
                 "usage: %s --out FOLDER [--word WORD] [--homes N] [--seed N]\n"
                 "WORD is of a to z and blanks, N of --homes from 1 to 10000\n",
                 argv[0]);
    return 2;
  }
  try {
    const std::vector<std::string> voices = Voices();
    WriteHomes(options, voices);
    WriteUnseen(options, voices);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "voices: %s\n", error.what());
    return 1;
  }
  return 0;
}
