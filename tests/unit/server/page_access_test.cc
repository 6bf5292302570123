// Tests of who may see the operator's page.
#include "web/page_access.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <sys/stat.h>
#include <vector>

#include "unit/test_folder.h"

namespace sotto::server {
namespace {

posix::SecretText Token() {
  posix::SecretText token;
  token.text = std::string(60, 'a') + "0123";
  return token;
}

PageAccess Access(const std::string& name = "") { return {Token(), "127.0.0.1", 8080, name}; }

HttpRequest With(const std::vector<std::pair<std::string, std::string>>& headers) {
  HttpRequest request;
  request.method = "GET";
  request.headers = headers;
  return request;
}

// SECURITY.md S27.
TEST(PageAccess, ListensOnLoopbackOnly) {
  EXPECT_NO_THROW(RequireLoopback("127.0.0.1"));
  EXPECT_NO_THROW(RequireLoopback("127.9.8.7"));
  EXPECT_NO_THROW(RequireLoopback("::1"));
  for (const char* host : {"0.0.0.0", "::", "192.168.1.2", "1.127.0.1", "example.org", ""}) {
    EXPECT_THROW(RequireLoopback(host), std::invalid_argument) << host;
  }
}

TEST(PageAccess, AnswersUnderItsOwnNamesOnly) {
  const PageAccess access = Access();
  for (const char* host : {"127.0.0.1:8080", "localhost:8080", "[::1]:8080"}) {
    EXPECT_TRUE(access.IsOwnHost(With({{"Host", host}}))) << host;
  }
  for (const char* host : {"evil.example", "evil.example:8080", "127.0.0.1", "127.0.0.1:8081",
                           "127.0.0.1:8080.evil.example", "localhost:8080@evil.example", ""}) {
    EXPECT_FALSE(access.IsOwnHost(With({{"Host", host}}))) << host;
  }
  EXPECT_FALSE(access.IsOwnHost(With({})));
  const PageAccess proxied = Access("fleet.example.org");
  EXPECT_TRUE(proxied.IsOwnHost(With({{"Host", "fleet.example.org"}})));
  EXPECT_FALSE(proxied.IsOwnHost(With({{"Host", "example.org"}})));
}

TEST(PageAccess, RefusesWhatAnotherPageAsks) {
  const PageAccess access = Access("fleet.example.org");
  const std::pair<std::string, std::string> host = {"Host", "127.0.0.1:8080"};
  EXPECT_TRUE(access.IsOwnOrigin(With({host})));
  EXPECT_TRUE(access.IsOwnOrigin(With({host, {"Sec-Fetch-Site", "same-origin"}})));
  EXPECT_TRUE(access.IsOwnOrigin(With({host, {"Sec-Fetch-Site", "none"}})));
  EXPECT_TRUE(access.IsOwnOrigin(With({host, {"Origin", "http://127.0.0.1:8080"}})));
  EXPECT_FALSE(access.IsOwnOrigin(With({host, {"Sec-Fetch-Site", "cross-site"}})));
  EXPECT_FALSE(access.IsOwnOrigin(With({host, {"Sec-Fetch-Site", "same-site"}})));
  EXPECT_FALSE(access.IsOwnOrigin(With({host, {"Origin", "http://127.0.0.1:9999"}})));
  EXPECT_FALSE(access.IsOwnOrigin(With({host, {"Origin", "https://evil.example"}})));
  EXPECT_FALSE(access.IsOwnOrigin(With({host, {"Origin", "null"}})));
  const std::pair<std::string, std::string> proxy = {"Host", "fleet.example.org"};
  EXPECT_TRUE(access.IsOwnOrigin(With({proxy, {"Origin", "https://fleet.example.org"}})));
  EXPECT_FALSE(access.IsOwnOrigin(With({proxy, {"Origin", "http://fleet.example.org"}})));
}

TEST(PageAccess, WantsTheTokenOrItsCookie) {
  const PageAccess access = Access();
  const std::string token = Token().text;
  EXPECT_TRUE(access.IsOperator(With({{"Authorization", "Bearer " + token}})));
  for (const std::string& wrong :
       std::vector<std::string>{"", "Bearer", "Bearer ", token, "Bearer " + token + "0",
                                "bearer " + token, "Bearer " + token.substr(1), "Basic " + token}) {
    EXPECT_FALSE(access.IsOperator(With({{"Authorization", wrong}}))) << wrong;
  }
  HttpRequest login = With({{"Host", "127.0.0.1:8080"}});
  login.body = "token=" + token;
  EXPECT_TRUE(access.HoldsToken(login));
  const std::string set = access.Cookie(login);
  EXPECT_EQ(set.find(token), std::string::npos);
  EXPECT_NE(set.find("; HttpOnly; SameSite=Strict"), std::string::npos);
  EXPECT_EQ(set.find("Secure"), std::string::npos);
  const std::string cookie = set.substr(0, set.find(';'));
  EXPECT_TRUE(access.IsOperator(With({{"Cookie", cookie}})));
  EXPECT_TRUE(access.IsOperator(With({{"cookie", "a=b; " + cookie + "; c=d"}})));
  EXPECT_FALSE(access.IsOperator(With({{"Cookie", cookie + "0"}})));
  EXPECT_FALSE(access.IsOperator(With({{"Cookie", "x" + cookie}})));
  EXPECT_FALSE(access.IsOperator(With({{"Cookie", "sotto_8080=" + token}})));
  EXPECT_FALSE(access.IsOperator(With({})));
  // Another port's page has another cookie, and the same token makes the same one again.
  EXPECT_EQ(Access().Cookie(login), set);
  const PageAccess other(Token(), "127.0.0.1", 8081, "");
  EXPECT_FALSE(other.IsOperator(With({{"Cookie", cookie}})));
  for (const std::string& wrong :
       std::vector<std::string>{"", "token=", "token=" + token + "&a=b", token}) {
    login.body = wrong;
    EXPECT_FALSE(access.HoldsToken(login)) << wrong;
  }
}

TEST(PageAccess, ACookieForAProxyWithTlsIsSecure) {
  const PageAccess access = Access("fleet.example.org");
  const HttpRequest login = With({{"Host", "fleet.example.org"}});
  EXPECT_NE(access.Cookie(login).find("; Secure"), std::string::npos);
}

TEST(PageToken, IsMadeOnceForItsOwnerAlone) {
  const TestFolder folder;
  const std::string path = folder.Path("token");
  const std::string made = ReadOrMakeToken(path).text;
  EXPECT_EQ(made.size(), 64U);
  EXPECT_EQ(ReadOrMakeToken(path).text, made);
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  EXPECT_NE(ReadOrMakeToken(folder.Path("other")).text, made);
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  EXPECT_THROW(ReadOrMakeToken(path), std::runtime_error);
}

TEST(PageToken, IsNotReadFromAnotherFile) {
  const TestFolder folder;
  for (const std::string& text :
       {std::string(), std::string(63, 'a'), std::string(64, 'A'), std::string(64, 'a') + "\n\n"}) {
    posix::WriteSecretFile(folder.Path("token"), text);
    EXPECT_THROW(ReadOrMakeToken(folder.Path("token")), posix::FileError) << text;
    std::filesystem::remove(folder.Path("token"));
  }
  posix::WriteSecretFile(folder.Path("token"), std::string(64, 'a') + "\n");
  EXPECT_EQ(ReadOrMakeToken(folder.Path("token")).text, std::string(64, 'a'));
}

}  // namespace
}  // namespace sotto::server
