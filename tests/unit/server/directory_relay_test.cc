// The relay against nodes that are honest, cut off or hostile; and the folder of the state.
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "peers/directory_folder.h"
#include "sotto/posix/files.h"
#include "unit/server/directory_fixture.h"
#include "unit/test_folder.h"

namespace sotto::server {
namespace {

using Kind = PeerReply::Kind;

class Relay : public DirectoryTest {
 protected:
  // What the relay has of this publication.
  std::vector<uint8_t> Fetch(uint32_t node, const PeerHead& name) {
    std::vector<uint8_t> bytes;
    while (bytes.size() < name.size) {
      PeerRequest request = Ask(PeerRequest::Kind::kGetPublication);
      request.publication = name;
      request.offset = static_cast<uint32_t>(bytes.size());
      const PeerReply reply = Answer(node, request);
      if (reply.kind != Kind::kChunk) return {};
      EXPECT_LE(reply.bytes.size(), MaxPublicationChunkBytes(512)) << "the node's frame";
      bytes.insert(bytes.end(), reply.bytes.begin(), reply.bytes.end());
    }
    return bytes;
  }

  // Commits bytes that a hostile node has staged, under its own lease; they are refused, and the
  // head stays.
  void ExpectHostile(Published published) {
    published.name.version = head().version + 1;
    published.name.publisher = 0;
    const PeerHead before = head();
    const uint32_t fence = FenceOf(0);
    ASSERT_EQ(StageAll(0, published).kind, Kind::kStaged);
    ExpectRefused(Commit(0, published, before, fence), ErrorCode::kMalformed);
    EXPECT_TRUE(IsSamePublication(head(), before));
    EXPECT_TRUE(Fetch(1, published.name).empty());
    EXPECT_FALSE(Commit(0, published, before, fence).accepted) << "its bytes are gone";
    Release(0, fence);
  }
};

TEST_F(Relay, GivesHeadAndParentAndNothingElse) {
  const Published first = Publish(0, 0, 0.25f);
  const Published second = Publish(1, 0, 0.5f);
  const Published third = Publish(2, 0, 0.75f);
  EXPECT_EQ(Fetch(0, third.name), third.bytes);
  EXPECT_EQ(Fetch(0, second.name), second.bytes);
  PeerRequest request = Ask(PeerRequest::Kind::kGetPublication);
  request.publication = first.name;
  ExpectRefused(Answer(0, request), ErrorCode::kWrongAttempt);
  request.publication = third.name;
  request.publication.digest[0] ^= 1;
  ExpectRefused(Answer(0, request), ErrorCode::kWrongAttempt);
  EXPECT_EQ(directory_->counts().bytes_out, third.bytes.size() + second.bytes.size());
}

TEST_F(Relay, StagedBytesGoOnWhereTheyWereCutAndMayBeRepeated) {
  const uint32_t fence = FenceOf(0);
  const Published published = Next(0);
  ASSERT_GT(published.bytes.size(), 60u);
  EXPECT_EQ(StageAt(0, published, 0, 40).offset, 40u);
  EXPECT_EQ(StageAt(0, published, 50, 10).offset, 40u) << "a gap";
  EXPECT_EQ(StageAt(0, published, 0, 40).offset, 40u) << "a repetition";
  EXPECT_EQ(StageAt(0, published, 30, 20).offset, 50u) << "partly repeated";
  EXPECT_FALSE(Commit(0, published, head(), fence).accepted) << "not whole";
  EXPECT_EQ(StageAt(0, published, 50, published.bytes.size() - 50).offset, published.bytes.size());
  EXPECT_TRUE(Commit(0, published, head(), fence).accepted);
  EXPECT_EQ(StageAt(0, published, 0, 40).offset, published.bytes.size()) << "it is a version";
  EXPECT_EQ(directory_->counts().bytes_in, published.bytes.size());
}

TEST_F(Relay, OtherBytesInPlaceOfStagedOnesAreRefused) {
  FenceOf(0);
  Published published = Next(0);
  StageAt(0, published, 0, 40);
  published.bytes[39] ^= 1;
  ExpectRefused(StageAt(0, published, 0, 40), ErrorCode::kConflict);
  published.bytes[39] ^= 1;
  EXPECT_EQ(StageAt(0, published, 40, 10).offset, 50u) << "the first ones are still there";
}

TEST_F(Relay, StagingNeedsALeaseTheNextVersionItsOwnNameAndRoom) {
  const Published published = Next(0);
  ExpectRefused(StageAt(0, published, 0, 40), ErrorCode::kNotSelected);
  FenceOf(0);
  ExpectRefused(StageAt(1, Next(1), 0, 40), ErrorCode::kNotSelected);
  ExpectRefused(StageAt(0, Next(1), 0, 40), ErrorCode::kMalformed);
  Published other = published;
  other.name.version = 2;
  ExpectRefused(StageAt(0, other, 0, 40), ErrorCode::kWrongAttempt);
  other = published;
  other.name.size = static_cast<uint32_t>(MaxPublicationBytes(PeerModel().parameters)) + 1;
  ExpectRefused(StageAt(0, other, 0, 40), ErrorCode::kTooLarge);
  now_ms_ += kLeaseMs;
  ExpectRefused(StageAt(0, published, 0, 40), ErrorCode::kNotSelected);
}

TEST_F(Relay, CommittingSomethingElseThanWasStagedIsNotAccepted) {
  const uint32_t fence = FenceOf(0);
  const Published staged = Next(0, 0.5f);
  const Published other = Next(0, 0.25f);
  StageAll(0, staged);
  EXPECT_FALSE(Commit(0, other, head(), fence).accepted);
  EXPECT_TRUE(Commit(0, staged, head(), fence).accepted);
}

TEST_F(Relay, OnlyAPublicationOfThisJobVersionAndNodeBecomesTheHead) {
  Publish(1, 0);
  const auto& job = log_.state().job_id;
  uint8_t other_job[kJobIdSize] = {};
  ExpectHostile(PublicationOf(other_job, 2, 0, 0.5f));
  ExpectHostile(PublicationOf(job, 3, 0, 0.5f));
  ExpectHostile(PublicationOf(job, 2, 1, 0.5f));
  ExpectHostile(PublicationOf(job, 2, 0, 8.5f));  // beyond the job's range
  Published zeros;
  zeros.bytes.resize(100);
  NameBytes(&zeros);
  ExpectHostile(zeros);
  Published cut = PublicationOf(job, 2, 0, 0.5f);
  cut.bytes.pop_back();
  NameBytes(&cut);
  ExpectHostile(cut);
  Published other_digest = PublicationOf(job, 2, 0, 0.5f);
  other_digest.name.digest[31] ^= 1;
  ExpectHostile(other_digest);
  EXPECT_EQ(directory_->counts().refused, 7u);
  EXPECT_EQ(directory_->counts().versions, 1u);
  Publish(0, 9);
}

TEST_F(Relay, AReplayedPublicationOfAnotherVersionIsRefused) {
  const Published first = Publish(0, 0, 0.25f);
  Publish(1, 0, 0.5f);
  const uint32_t fence = FenceOf(0, 1);
  Published replayed = first;
  replayed.name.version = 3;
  StageAll(0, replayed);
  ExpectRefused(Commit(0, replayed, head(), fence), ErrorCode::kMalformed);
  EXPECT_EQ(head().version, 2u);
}

TEST_F(Relay, WhatWasStagedIsLostWithTheDirectoryAndStagedAgain) {
  uint32_t fence = FenceOf(0);
  const Published published = Next(0);
  StageAll(0, published);
  Start();
  EXPECT_FALSE(Commit(0, published, head(), fence).accepted);
  fence = FenceOf(0);
  StageAll(0, published);
  EXPECT_TRUE(Commit(0, published, head(), fence).accepted);
  Start();
  EXPECT_EQ(Fetch(1, published.name), published.bytes);
}

TEST_F(Relay, BytesThatAreNotTheStatesAreRefusedAtTheStart) {
  const Published published = Publish(0, 0);
  std::vector<uint8_t> damaged = published.bytes;
  damaged[70] ^= 1;
  EXPECT_THROW(Directory(options_, log_.state(), key_, damaged, {}, &log_), std::invalid_argument);
  EXPECT_THROW(Directory(options_, log_.state(), key_, {}, {}, &log_), std::invalid_argument);
}

TEST_F(Relay, AStateSurvivesAsText) {
  Publish(2, 0);
  Publish(1, 5);
  Finish(2);
  const std::string text = DirectoryStateText(log_.state());
  const DirectoryState back = ParseDirectoryState("x", text);
  EXPECT_EQ(DirectoryStateText(back), text);
  EXPECT_TRUE(IsSamePublication(back.head, head()));
  EXPECT_TRUE(back.nodes[2].is_finished);
  EXPECT_EQ(back.nodes[1].publications, 1u);
}

TEST_F(Relay, EachDamagedByteOfAStateIsNoticedOrMeansNothing) {
  Publish(0, 0);
  const std::string text = DirectoryStateText(log_.state());
  for (size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] ^= 1;
    try {
      EXPECT_EQ(DirectoryStateText(ParseDirectoryState("x", damaged)), text) << "byte " << i;
    } catch (const posix::FileError& error) {
      EXPECT_EQ(std::string(error.what()).substr(0, 3), "x: ");
    }
    const std::string cut = text.substr(0, i);
    if (i + 1 == text.size()) break;  // without its last line feed it is whole
    EXPECT_THROW(ParseDirectoryState("x", cut), posix::FileError);
  }
}

class StateFolder : public Relay {
 protected:
  static std::string Place(const TestFolder& folder) { return folder.Path("state"); }
};

TEST_F(StateFolder, KeepsHeadParentKeyAndStateForTheNextStart) {
  const TestFolder place;
  const std::string path = Place(place);
  Key key;
  {
    DirectoryFolder folder(path);
    EXPECT_TRUE(folder.LoadState().nodes.empty());
    key = folder.LoadKey();
    for (uint32_t version = 1; version <= 4; ++version) {
      const Published published = Publish(version % kNodes, version);
      folder.Save(log_.state(), published.view());
    }
  }
  const auto mode = std::filesystem::status(path).permissions();
  EXPECT_EQ(mode & (std::filesystem::perms::group_all | std::filesystem::perms::others_all),
            std::filesystem::perms::none);
  DirectoryFolder folder(path);
  EXPECT_EQ(std::memcmp(folder.LoadKey().bytes, key.bytes, kKeySize), 0);
  const DirectoryState state = folder.LoadState();
  EXPECT_EQ(DirectoryStateText(state), DirectoryStateText(log_.state()));
  EXPECT_EQ(folder.LoadPublication(state.head), log_.BytesOf(state.head));
  EXPECT_EQ(folder.LoadPublication(state.parent), log_.BytesOf(state.parent));
  EXPECT_TRUE(folder.LoadPublication({}).empty());
  EXPECT_FALSE(std::filesystem::exists(path + "/1.pub"));
  EXPECT_FALSE(std::filesystem::exists(path + "/2.pub"));
}

TEST_F(StateFolder, TwoDirectoriesDoNotShareIt) {
  const TestFolder place;
  const std::string path = Place(place);
  const DirectoryFolder folder(path);
  EXPECT_THROW(DirectoryFolder other(path), posix::FileIsLocked);
}

TEST_F(StateFolder, DamageAndMissingPublicationsAreRefused) {
  const TestFolder place;
  const std::string path = Place(place);
  const Published published = Publish(0, 0);
  DirectoryFolder folder(path);
  folder.Save(log_.state(), published.view());
  std::filesystem::remove(path + "/1.pub");
  EXPECT_THROW(folder.LoadPublication(head()), posix::FileError);
  std::ofstream(path + "/state.json") << "{}";
  EXPECT_THROW(folder.LoadState(), posix::FileError);
  std::ofstream(path + "/state.json") << "";
  EXPECT_THROW(folder.LoadState(), posix::FileError);
}

}  // namespace
}  // namespace sotto::server
