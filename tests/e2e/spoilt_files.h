// How files are spoilt: in any byte, or so that their digest covers what they now say.
#pragma once

#include <cstdint>
#include <gtest/gtest.h>
#include <iterator>
#include <string>

#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/json_text.h"
#include "sotto/crypto.h"
#include "sotto/shard.h"
#include "unit/mutation.h"

namespace sotto {

using OrderedJson = nlohmann::ordered_json;

using Spoil = std::string (*)(MutationRandom& random, const std::string& good);

inline std::string Bytes(MutationRandom& random, const std::string& good) {
  return MutatedBytes(random, good);
}

// A value anywhere in a text of JSON becomes another one, of another kind, or goes.
inline std::string ValueInJson(MutationRandom& random, const std::string& good) {
  static const OrderedJson kValues[] = {nullptr,
                                        true,
                                        -1,
                                        0,
                                        1.5,
                                        1e308,
                                        ~uint64_t{0},
                                        INT64_MIN,
                                        4294967296,
                                        "",
                                        "-1",
                                        "nan",
                                        "\n\x01",
                                        OrderedJson::array(),
                                        OrderedJson::object(),
                                        OrderedJson::array({1, "a"})};
  OrderedJson json = server::ParseJson(good);
  const OrderedJson flat = json.flatten();
  auto leaf = flat.items().begin();
  for (size_t skip = random.Below(flat.size()); skip > 0; --skip) ++leaf;
  OrderedJson::json_pointer place(leaf.key());
  while (!place.empty() && random.Below(4) == 0) place = place.parent_pointer();
  if (!place.empty() && random.Below(4) == 0) {
    OrderedJson& parent = json[place.parent_pointer()];
    if (parent.is_object()) {
      parent.erase(place.back());
    } else {
      parent.erase(std::stoul(place.back()));
    }
  } else {
    json[place] = random.Of(kValues);
  }
  return server::JsonText(json, 1);
}

inline std::string BytesOrJson(MutationRandom& random, const std::string& good) {
  return random.Below(2) == 0 ? Bytes(random, good) : ValueInJson(random, good);
}

// A file of kept_file.h, mostly with the digest of what it now says.
template <Spoil spoil>
inline std::string Kept(MutationRandom& random, const std::string& good) {
  if (random.Below(4) == 0) return Bytes(random, good);
  const size_t digest = good.find('\n') + 1;
  const size_t body = good.find('\n', digest) + 1;
  const std::string spoilt = spoil(random, good.substr(body));
  return good.substr(0, digest) + "sha256 " + server::Sha256Hex(spoilt) + "\n" + spoilt;
}

// Recorded samples: a head of 4096 bytes, the same, and pages.
inline std::string SampleLogs(MutationRandom& random, const std::string& good) {
  constexpr size_t kHead = 4096;
  const std::string head = good.substr(0, kHead);
  const std::string pages = good.substr(kHead);
  return random.Below(2) == 0 ? Kept<Bytes>(random, head) + pages : head + Bytes(random, pages);
}

// The state of a directory, the same.
inline std::string Directorys(MutationRandom& random, const std::string& good) {
  if (random.Below(4) == 0) return Bytes(random, good);
  OrderedJson file = server::ParseJson(good);
  file["state"] = server::ParseJson(ValueInJson(random, server::JsonText(file["state"])));
  file["sha256"] = server::Sha256Hex(server::JsonText(file["state"]));
  return server::JsonText(file, 1);
}

// A line of the runs of an experiment, the same.
inline std::string Runs(MutationRandom& random, const std::string& good) {
  if (random.Below(4) == 0) return Bytes(random, good);
  OrderedJson line = server::ParseJson(good);
  line.erase("sha256");
  std::string text =
      server::JsonText(server::ParseJson(ValueInJson(random, server::JsonText(line))));
  if (text.back() == '}') text.pop_back();
  return text + ",\"sha256\":\"" + server::Sha256Hex(text) + "\"}\n";
}

// A shard, the same: the digest begins at byte 48 of its head.
inline std::string Shards(MutationRandom& random, const std::string& good) {
  std::string spoilt = Bytes(random, good);
  if (random.Below(4) == 0 || spoilt.size() < kShardHeadSize) return spoilt;
  const std::string summed = spoilt.substr(0, 48) + spoilt.substr(kShardHeadSize);
  uint8_t sum[kSha256Size];
  EXPECT_EQ(Sha256Digest({reinterpret_cast<const uint8_t*>(summed.data()), summed.size()}, sum),
            Status::kOk);
  return spoilt.replace(48, 16, reinterpret_cast<const char*>(sum), 16);
}

// The ledger of a node without a server, the same: its digest stands behind all other bytes.
inline std::string NodeLedgers(MutationRandom& random, const std::string& good) {
  if (random.Below(4) == 0) return Bytes(random, good);
  const std::string spoilt = Bytes(random, good.substr(0, good.size() - kSha256Size));
  uint8_t sum[kSha256Size];
  EXPECT_EQ(Sha256Digest({reinterpret_cast<const uint8_t*>(spoilt.data()), spoilt.size()}, sum),
            Status::kOk);
  return spoilt + std::string(sum, std::end(sum));
}

}  // namespace sotto
